/*
 * What stands around the editor: schema explorer, import, charts, server page and so on. One server and one browser
 * for all of it.
 */
import { gzipSync } from "node:zlib";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { around, axe, close, launch, long, open, run, write } from "./browser";
import { Server } from "./server";

let server: Server;
let browser: Browser;
const EVIL = "<img src=x onerror=alert>";

around(
  async () => {
    server = await new Server().start();
    browser = await launch();
    await server.sql(
      "CREATE TABLE trades AS (SELECT dateadd('s', (x * 4)::int, " +
        "'2026-01-05T00:00:00.000000Z'::timestamp) ts, CASE WHEN x % 2 = 0 THEN 'BTC' ELSE 'ETH' " +
        "END::symbol sym, 100 + sin(x / 1000.0) * 10 price, x::double amount FROM " +
        "long_sequence(50000)) TIMESTAMP(ts) PARTITION BY DAY",
    );
    await server.sql(
      "CREATE TABLE ticks AS (SELECT dateadd('s', x::int, '2026-01-05T00:00:00.000000Z'::timestamp) " +
        "ts, CASE WHEN x % 2 = 0 THEN 'a' ELSE '<i>b</i>' END::symbol sym, sin(x / 9000.0) v, " +
        "x::double w FROM long_sequence(200000)) TIMESTAMP(ts) PARTITION BY DAY",
    );
    await server.sql("CREATE VIEW newest AS (SELECT * FROM trades LATEST ON ts PARTITION BY sym)");
    await server.sql(`CREATE TABLE "${EVIL}" ("<b>c<b>" INT)`);
  },
  async () => {
    await browser?.close();
    await server?.remove();
  },
);

const row = (page: Page, name: string) =>
  page.locator(".tree-row", { has: page.locator(".tree-name", { hasText: new RegExp(`^${name}$`) }) });
const text = (page: Page) => page.locator(".cm-content").textContent();
/* Files of some size are not sent through the browser's protocol, which takes its time. */
function onDisk(name: string, data: string | Buffer): string {
  const path = join(server.root, name);
  writeFileSync(path, data);
  return path;
}
const menu = (page: Page, name: string) => page.getByRole("menuitem", { name, exact: true });

describe("schema explorer", () => {
  test("tables, columns with marks, partitions; names go into the editor; details", async () => {
    const o = await open(browser, server.url);
    const { page } = o;
    await page.getByRole("button", { name: "Tables" }).click();
    await row(page, "trades").locator("[data-do=turn]").click();
    await expect
      .poll(() => row(page, "ts").locator(".tree-type").textContent())
      .toBe("TIMESTAMP, designated timestamp");
    await expect.poll(() => row(page, "sym").locator(".tree-type").textContent()).toBe("SYMBOL · 2");
    await expect
      .poll(() => row(page, "trades").locator(".tree-facts").textContent())
      .toMatch(/^50,000 · [\d.]+ [KM]iB$/);
    await row(page, "Partitions").click();
    await expect.poll(() => page.locator(".tree-row.partition").count()).toBe(3);
    await row(page, "price").click();
    await expect.poll(() => text(page)).toBe("price");
    /* names are text, whatever they hold */
    expect(await page.locator(".tree img").count()).toBe(0);
    await page.locator(".tree-row.table", { hasText: "<img" }).locator("[data-do=turn]").click();
    await row(page, "<b>c<b>").click();
    await expect.poll(() => text(page)).toBe('price "<b>c<b>"');
    /* by keys alone */
    await page.getByRole("tree").focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("t");
    await page.keyboard.press("r");
    await page.keyboard.press("Shift+F10");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.locator(".run-summary.done").waitFor();
    await expect.poll(() => text(page)).toBe("SELECT * FROM trades LIMIT -100;");
    await row(page, "trades").click({ button: "right" });
    await menu(page, "Details").click();
    await page.locator(".facts dd", { hasText: "up to date" }).waitFor();
    expect(await axe(page)).toEqual([]);
    await page.getByRole("button", { name: "Partitions", exact: true }).click();
    await expect
      .poll(() => page.locator(".list tbody tr").first().textContent())
      .toMatch(/^2026-01-05nativeattached21,599/);
    await page.getByRole("button", { name: "Statement", exact: true }).click();
    await page.locator(".ddl", { hasText: "CREATE TABLE 'trades'" }).waitFor();
    await page.keyboard.press("Escape");
    /* a filter knows columns that are not loaded, and what is not there */
    await page.getByLabel("Filter tables and columns").fill("amoun");
    await page.locator(".tree-hits").first().waitFor();
    await expect.poll(() => page.locator(".tree-row.table .tree-name").allTextContents()).toEqual(["trades", "newest"]);
    await close(o);
  });

  test("dropping asks twice; a statement in the editor refreshes the tree", async () => {
    await server.sql("CREATE TABLE gone (a INT)");
    const o = await open(browser, server.url);
    const { page } = o;
    await page.getByRole("button", { name: "Tables" }).click();
    await row(page, "gone").click({ button: "right" });
    await menu(page, "Rename").click();
    await page.getByLabel("New name").fill("soon gone");
    await page.getByRole("button", { name: "Rename" }).click();
    await row(page, "soon gone").click({ button: "right" });
    await menu(page, "Drop …").click();
    const drop = page.getByRole("button", { name: /^Drop/ });
    await drop.click();
    await expect.poll(() => drop.isDisabled()).toBe(true);
    expect((await server.sql("SELECT count() FROM tables() WHERE table_name = 'soon gone'")).dataset).toEqual([[1]]);
    await page.getByLabel(/Type its name/).fill("soon gone");
    await drop.click();
    await row(page, "soon gone").waitFor({ state: "detached" });
    expect((await server.sql("SELECT count() FROM tables() WHERE table_name = 'soon gone'")).dataset).toEqual([[0]]);
    await close(o);
  });
});

describe("many", () => {
  long(
    "10,000 tables and 2,000 columns: a window of the tree is drawn, wherever it is",
    async () => {
      for (let i = 0; i < 10_000; i += 100)
        await server.sql(
          Array.from({ length: 100 }, (_, j) => `CREATE TABLE many_${i + j} (ts TIMESTAMP, v DOUBLE)`).join(";"),
        );
      await server.sql(`CREATE TABLE wide (${Array.from({ length: 2000 }, (_, i) => `c${i} DOUBLE`).join(", ")})`);
      const o = await open(browser, server.url);
      const { page } = o;
      await page.getByRole("button", { name: "Tables" }).click();
      await row(page, "many_0").waitFor();
      await page.getByRole("tree").focus();
      await page.keyboard.press("End");
      await page.locator(".tree-row.table", { hasText: "trades" }).or(row(page, "wide")).first().waitFor();
      await expect.poll(() => page.locator(".tree-row").count()).toBeLessThan(80);
      /* far down, and then only a few are left: they are seen */
      await page.getByLabel("Filter tables and columns").fill("wide");
      await row(page, "wide").locator("[data-do=turn]").click();
      await row(page, "c0").waitFor();
      await page.getByRole("tree").focus();
      await page.keyboard.press("End");
      await row(page, "c1999").waitFor();
      await expect.poll(() => page.locator(".tree-row").count()).toBeLessThan(80);
      await close(o);
      for (let i = 0; i < 10_000; i += 100)
        await server.sql(Array.from({ length: 100 }, (_, j) => `DROP TABLE many_${i + j}`).join(";"));
    },
    300_000,
  );
});

describe("import and create", () => {
  test("a CSV file: detected, corrected, stored, with the rows that were left out", async () => {
    const o = await open(browser, server.url);
    const { page } = o;
    await page.getByRole("button", { name: "Tables" }).click();
    await page.getByRole("button", { name: "Import a file" }).click();
    const lines = Array.from(
      { length: 50 },
      (_, i) => `2026-01-06T10:00:${String(i).padStart(2, "0")}.000000Z,ABC,${i === 5 ? "oops" : i},"<b>x</b>, ${i}"`,
    );
    await page.locator("input[type=file]").setInputFiles({
      name: "Some trades.csv",
      mimeType: "text/csv",
      buffer: Buffer.from(`when,sym,px,note\n${lines.join("\n")}\n`),
    });
    await page.locator(".import-preview td", { hasText: "<b>x</b>, 7" }).waitFor();
    await expect.poll(() => page.getByLabel("Type of when").inputValue()).toBe("TIMESTAMP");
    await expect.poll(() => page.getByLabel("Type of px").inputValue()).toBe("VARCHAR");
    await expect.poll(() => page.getByLabel("Designated timestamp").inputValue()).toBe("when");
    await page.getByLabel("Type of px").fill("DOUBLE");
    await page.getByLabel("Type of px").press("Enter"); /* ends the field; nothing is stored */
    await page.waitForTimeout(300);
    expect(await page.getByRole("button", { name: "Import", exact: true }).count()).toBe(1);
    await page.getByLabel("Type of sym").fill("SYM");
    await expect
      .poll(() => page.locator("td.bad").textContent())
      .toContain("oops"); /* drawn anew; what is typed there stays */
    await page.getByLabel("Type of sym").press("End");
    await page.keyboard.type("BOL");
    await page.keyboard.press("Tab");
    await expect.poll(() => page.locator("td.bad").textContent()).toContain("oops");
    expect(await axe(page)).toEqual([]);
    expect((await server.sql("SELECT count() FROM tables() WHERE table_name = 'Some_trades'")).dataset).toEqual([[0]]);
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await page.getByText("49 rows are in Some_trades").waitFor();
    await expect
      .poll(() => page.locator(".import-faults").textContent())
      .toBe('line 7, column px: "oops" is not a value of type DOUBLE');
    await page.getByRole("button", { name: "Look at it" }).click();
    await page.locator(".run-summary.done", { hasText: "49 rows" }).waitFor();
    expect((await server.sql("SELECT \"column\", type, designated FROM table_columns('Some_trades')")).dataset).toEqual(
      [
        ["when", "TIMESTAMP", true],
        ["sym", "SYMBOL", false],
        ["px", "DOUBLE", false],
        ["note", "VARCHAR", false],
      ],
    );
    await close(o);
  });

  test("a CSV file whose columns have other names than those of the table: renamed, then appended", async () => {
    await server.sql("CREATE TABLE renamed (at TIMESTAMP, sym SYMBOL, px DOUBLE) TIMESTAMP(at) PARTITION BY DAY");
    const o = await open(browser, server.url);
    const { page } = o;
    o.allow(/status of 400/);
    await page.getByRole("button", { name: "Tables" }).click();
    await page.getByRole("button", { name: "Import a file" }).click();
    await page.locator("input[type=file]").setInputFiles({
      name: "renamed.csv",
      mimeType: "text/csv",
      buffer: Buffer.from("at,s,price\n2026-01-06T10:00:00.000000Z,ABC,1.5\n2026-01-06T10:00:01.000000Z,DEF,2.5\n"),
    });
    await page.locator(".form-error", { hasText: "has no column 's'" }).waitFor();
    const send = page.getByRole("button", { name: "Import", exact: true });
    expect(await send.isDisabled()).toBe(true);
    await page.getByLabel("Name of column 2").fill("sym");
    await page.getByLabel("Name of column 3").focus();
    await page.locator(".form-error", { hasText: "has no column 'price'" }).waitFor();
    await page.getByLabel("Name of column 3").fill("px");
    await page.keyboard.press("Tab");
    await expect.poll(() => page.locator(".form-error").count()).toBe(0);
    await expect.poll(() => page.locator(".import-preview th", { hasText: "SYMBOL" }).count()).toBe(1);
    await expect
      .poll(() =>
        page.locator("#column-names option").evaluateAll((list) => list.map((n) => (n as HTMLOptionElement).value)),
      )
      .toEqual(["at", "sym", "px"]);
    await send.click();
    await page.getByText("2 rows are in renamed").waitFor();
    expect((await server.sql("SELECT sym, px FROM renamed")).dataset).toEqual([
      ["ABC", 1.5],
      ["DEF", 2.5],
    ]);
    await close(o);
  });

  test("packed files and lines of objects are read, others are refused by name", async () => {
    const o = await open(browser, server.url);
    const { page } = o;
    await page.getByRole("button", { name: "Tables" }).click();
    await page.getByRole("button", { name: "Import a file" }).click();
    const lines = Array.from(
      { length: 60_000 },
      (_, i) =>
        `2026-01-06T10:${String(Math.floor(i / 60) % 60).padStart(2, "0")}:${String(i % 60).padStart(2, "0")}` +
        `.000000Z,${i},${Math.sin(i)}`,
    );
    await page.locator("input[type=file]").setInputFiles({
      name: "packed.csv.gz",
      mimeType: "application/gzip",
      buffer: gzipSync(`at,n,x\n${lines.join("\n")}\n`),
    });
    await page.getByText("packed by gzip").waitFor();
    await page.locator(".import-preview td", { hasText: "2026-01-06T10:00:19.000000Z" }).waitFor();
    await expect.poll(() => page.getByLabel("Type of x").inputValue()).toBe("DOUBLE");
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await page.getByText("60,000 rows are in packed").waitFor();
    await page.getByRole("button", { name: "Import another file" }).click();
    await page.locator("input[type=file]").setInputFiles({
      name: "things.ndjson",
      mimeType: "application/x-ndjson",
      buffer: Buffer.from(
        '{"at":"2026-01-06T10:00:00Z","name":"<b>one</b>"}\n{"at":"2026-01-06T10:00:01Z","name":null,"n":2}\n',
      ),
    });
    await page.getByText("NDJSON", { exact: false }).first().waitFor();
    await page.locator(".import-preview td", { hasText: "<b>one</b>" }).waitFor();
    await page.getByLabel("Name of column 2").fill("title");
    await page.keyboard.press("Tab");
    expect(await axe(page)).toEqual([]);
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await page.getByText("2 rows are in things").waitFor();
    expect((await server.sql("SELECT title, n FROM things")).dataset).toEqual([
      ["<b>one</b>", null],
      [null, 2],
    ]);
    o.allow(/status of 400/);
    await page.getByRole("button", { name: "Import another file" }).click();
    await page.locator("input[type=file]").setInputFiles({
      name: "picture.csv",
      mimeType: "text/csv",
      buffer: Buffer.from("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "latin1"),
    });
    await page.locator(".form-error", { hasText: "the file is a PNG picture" }).waitFor();
    expect(await page.getByRole("button", { name: "Import", exact: true }).isDisabled()).toBe(true);
    await close(o);
  });

  test("numbers of another unit are told, and read by the one that is chosen", async () => {
    const o = await open(browser, server.url);
    const { page } = o;
    await page.getByRole("button", { name: "Tables" }).click();
    await page.getByRole("button", { name: "Import a file" }).click();
    await page.locator("input[type=file]").setInputFiles({
      name: "counted.csv",
      mimeType: "text/csv",
      buffer: Buffer.from("t,v\n1700000000000,1\n1700000001000,2\n"),
    });
    await page.getByLabel("Type of t").fill("TIMESTAMP");
    await page.keyboard.press("Tab");
    await page.locator(".import-warning", { hasText: "look like milliseconds since 1970" }).waitFor();
    await page.getByLabel("Unit of the numbers in t").selectOption({ label: "milliseconds (suggested)" });
    await page.locator(".import-warning").waitFor({ state: "detached" });
    await page.getByLabel("Designated timestamp").selectOption("t");
    expect(await axe(page)).toEqual([]);
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await page.getByText("2 rows are in counted").waitFor();
    expect((await server.sql("SELECT t, v FROM counted")).dataset).toEqual([
      ["2023-11-14T22:13:20.000000Z", 1],
      ["2023-11-14T22:13:21.000000Z", 2],
    ]);
    await close(o);
  });

  test("a Parquet file: its schema is shown, corrected, stored; of a long one slices are looked at", async () => {
    const o = await open(browser, server.url);
    const { page } = o;
    const parquet = async (query: string) =>
      Buffer.from(
        await (
          await fetch(`${server.url}/exp?${new URLSearchParams({ query, fmt: "parquet" }).toString()}`)
        ).arrayBuffer(),
      );
    const type = "application/vnd.apache.parquet";
    await page.getByRole("button", { name: "Tables" }).click();
    await page.getByRole("button", { name: "Import a file" }).click();
    const small = await parquet(
      "SELECT dateadd('s', x::int, '2026-01-06T10:00:00.000000Z'::timestamp) at, CASE WHEN x = 3 " +
        "THEN 'oops' ELSE x::varchar END px, CASE WHEN x > 1 THEN '<b>x</b>' END::varchar note FROM " +
        "long_sequence(50)",
    );
    await page.locator("input[type=file]").setInputFiles({ name: "Some ticks.parquet", mimeType: type, buffer: small });
    await page.getByText("Parquet, 50 rows").waitFor();
    await page.locator(".import-preview td", { hasText: "<b>x</b>" }).first().waitFor();
    await expect.poll(() => page.locator(".import-preview td.null").allTextContents()).toEqual(["null"]);
    await expect.poll(() => page.getByLabel("Type of px").inputValue()).toBe("VARCHAR");
    await expect.poll(() => page.getByLabel("Designated timestamp").inputValue()).toBe("at");
    await page.getByLabel("Name of column 1").fill("ts");
    await page.getByLabel("Type of px").fill("LONG");
    await page.keyboard.press("Tab");
    await expect.poll(() => page.locator("td.bad").textContent()).toContain("oops");
    await expect.poll(() => page.getByLabel("Designated timestamp").inputValue()).toBe("ts");
    expect(await axe(page)).toEqual([]);
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await page.getByText("49 rows are in Some_ticks").waitFor();
    await expect
      .poll(() => page.locator(".import-faults").textContent())
      .toBe('row 3, column px: "oops" is not a value of type LONG');
    expect((await server.sql("SELECT \"column\", type, designated FROM table_columns('Some_ticks')")).dataset).toEqual([
      ["ts", "TIMESTAMP", true],
      ["px", "LONG", false],
      ["note", "VARCHAR", false],
    ]);
    await page.getByRole("button", { name: "Import another file" }).click();
    const large = await parquet("SELECT x, rnd_long() r FROM long_sequence(1200000)");
    expect(large.length).toBeGreaterThan(8 << 20);
    await page.locator("input[type=file]").setInputFiles(onDisk("long.parquet", large));
    await page.getByText("Parquet, 1,200,000 rows").waitFor();
    await page.locator(".import-preview tbody tr", { hasText: /^20/ }).waitFor(); /* of slices of it */
    await expect.poll(() => page.getByLabel("Type of r").inputValue()).toBe("LONG");
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await page.getByText("1,200,000 rows are in long").waitFor();
    expect((await server.sql("SELECT sum(x) FROM long")).dataset).toEqual([[720000600000]]);
    o.allow(/status of 400/);
    await page.getByRole("button", { name: "Import another file" }).click();
    await page
      .locator("input[type=file]")
      .setInputFiles({ name: "cut.parquet", mimeType: type, buffer: small.subarray(0, 200) });
    await page.locator(".form-error", { hasText: "parquet file 'upload'" }).waitFor();
    await close(o);
  });

  long("an import that is cancelled on its way leaves nothing", async () => {
    const o = await open(browser, server.url);
    const { page } = o;
    const network = await o.context.newCDPSession(page);
    await network.send("Network.emulateNetworkConditions", {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput: 4_000_000,
    });
    await page.getByRole("button", { name: "Tables" }).click();
    await page.getByRole("button", { name: "Import a file" }).click();
    const line = "2026-01-06T10:00:00.000000Z,ABC,1.5\n";
    await page.locator("input[type=file]").setInputFiles(onDisk("half.csv", "ts,sym,v\n" + line.repeat(1_000_000)));
    await page.locator(".import-preview").waitFor();
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await page.locator(".import-progress", { hasText: /[1-9]\d* MiB of 34 MiB/ }).waitFor();
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.locator(".form-error", { hasText: "Cancelled. Nothing was imported." }).waitFor();
    expect((await server.sql("SELECT count() FROM tables() WHERE table_name = 'half'")).dataset).toEqual([[0]]);
    await close(o);
  });

  long("a table by form, on a phone; an error of the server is shown", async () => {
    const o = await open(browser, server.url, { width: 380, height: 800, theme: "dark" });
    o.allow(/status of 400/);
    const { page } = o;
    await page.getByRole("button", { name: "Tables" }).click();
    await page.getByRole("button", { name: "Create a table" }).click();
    await page.getByLabel("Name", { exact: true }).fill("trades");
    await page.getByLabel("Name of column 2").fill("v");
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await page.locator(".form-error", { hasText: "already exists" }).waitFor();
    await page.getByLabel("Name", { exact: true }).fill("by form");
    await page.getByLabel(/DEDUP/).check();
    expect(await axe(page)).toEqual([]);
    await page.getByRole("button", { name: "Create", exact: true }).click();
    await row(page, "by form").waitFor();
    expect((await server.sql("SELECT dedup, partitionBy FROM tables() WHERE table_name = 'by form'")).dataset).toEqual([
      [true, "DAY"],
    ]);
    await close(o);
  });
});

const note = (page: Page, text: RegExp | string) => page.locator(".chart-note", { hasText: text }).waitFor();

describe("charts", () => {
  test("reduced by the server; zoomed by drag; written into the query; saved as PNG", async () => {
    const o = await open(browser, server.url);
    const { page } = o;
    const asked: string[] = [];
    page.on("request", (r) => asked.push(r.postData() ?? ""));
    await run(page, "SELECT ts, sym, v, w FROM ticks");
    await page.getByRole("button", { name: "Chart" }).click();
    await note(page, "200,000 rows, reduced to the least and greatest per pixel by the server");
    await expect.poll(() => page.locator(".legend-item").allTextContents()).toEqual(["<i>b</i> ", "a "]);
    expect(asked.filter((a) => a.includes("GROUP+BY+b")).length).toBe(1);
    const box = await page.locator(".u-over").boundingBox();
    if (box === null) throw new Error("no chart");
    /* the sine has its first top at 9000 * pi / 2 s: the line at the cursor says so */
    await page.mouse.move(box.x + (box.width * 14137) / 200000, box.y + 30);
    await expect
      .poll(async () => Number((await page.locator(".legend-value").first().textContent()) ?? ""))
      .toBeGreaterThan(0.99);
    await page.mouse.move(box.x + box.width * 0.25, box.y + 30);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.5, box.y + 40, { steps: 4 });
    await page.mouse.up();
    await note(page, /^(49,9|50,0)\d\d rows, reduced/);
    await page.getByRole("button", { name: "Write into the query" }).click();
    await page.locator(".run-summary.done", { hasText: /^(49,9|50,0)\d\d rows/ }).waitFor();
    await expect
      .poll(() => text(page))
      .toMatch(
        /^SELECT ts, sym, v, w FROM ticks WHERE ts BETWEEN '2026-01-05T13:5\d:\d\d\.\d{6}Z' AND '2026-01-06T03:4\d/,
      );
    await note(page, "rows");
    await page.getByLabel("One line by each value of").selectOption({ label: "nothing" });
    await page.getByRole("button", { name: /^y:/ }).click();
    await menu(page, "w").click();
    await page.getByRole("button", { name: /^y:/ }).click();
    await menu(page, "w: right axis").click();
    await expect.poll(() => page.locator(".legend-item").allTextContents()).toEqual(["v ", "w "]);
    await page.getByLabel("Chart type").selectOption("area");
    await page.locator(".legend-item").first().click();
    await expect.poll(() => page.locator(".legend-item").first().getAttribute("aria-pressed")).toBe("false");
    expect(await axe(page)).toEqual([]);
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save as PNG" }).click();
    const chunks: Buffer[] = [];
    for await (const c of await (await download).createReadStream()) chunks.push(c as Buffer);
    const png = Buffer.concat(chunks);
    expect([png.subarray(1, 4).toString(), png.readUInt32BE(16) > 900]).toEqual(["PNG", true]);
    await close(o);
  });

  test("candles and bars, in a worker where the server cannot help; on a phone, dark", async () => {
    const o = await open(browser, server.url, { width: 380, theme: "dark" });
    const { page } = o;
    await run(page, "SELECT ts, first(v) open, max(v) high, min(v) low, last(v) close FROM ticks SAMPLE BY 1h");
    await page.getByRole("button", { name: "Chart" }).click();
    await note(page, /^56 rows, \d\d candles/);
    await expect.poll(() => page.getByLabel("Chart type").inputValue()).toBe("candle");
    /* not a SELECT, so no query around it: the worker reads all of it */
    await run(page, "long_sequence(60000)");
    await page.locator(".side-note", { hasText: "A chart needs" }).waitFor();
    await run(page, "ticks");
    await note(page, "200,000 rows, reduced to the least and greatest per pixel in the browser");
    await run(page, "SELECT sym, count() n FROM ticks");
    await note(page, "2 rows");
    await expect.poll(() => page.getByLabel("Chart type").inputValue()).toBe("bar");
    expect(await axe(page)).toEqual([]);
    await close(o);
  });
});

describe("beside the editor", () => {
  test("column statistics, saved queries, reference, and a statement ended on the server page", async () => {
    const o = await open(browser, server.url);
    o.allow(/status of 4\d\d/);
    const { page } = o;
    await run(
      page,
      "SELECT x, CASE WHEN x > 90 THEN null ELSE x * 0.5 END h, CASE WHEN x > 10 THEN 'b' ELSE '<a>' " +
        "END t FROM long_sequence(100)",
    );
    await page.getByRole("button", { name: "Column statistics" }).click();
    await page.getByRole("button", { name: "h", exact: true }).click();
    await page
      .locator(".stats-facts", { hasText: "Nulls10 (10.0 %)Distinct values90Least0.5Greatest45Mean22.75" })
      .waitFor();
    const counts = await page.locator(".histogram .visually-hidden").allTextContents();
    expect(counts.map((c) => Number(c.split(": ")[1])).reduce((a, b) => a + b)).toBe(90);
    await page.getByRole("button", { name: "t", exact: true }).click();
    await page.locator(".frequent li").nth(1).waitFor();
    await expect.poll(() => page.locator(".frequent li").allTextContents()).toEqual(["b90", "<a>10"]);
    await run(
      page,
      "SELECT timestamp_sequence('2026-01-01', 3600000000) ts FROM long_sequence(24)",
    ); /* even ones leave no gaps */
    await page.getByRole("button", { name: "Column statistics" }).click();
    await page.getByText("the highest bar: 1 row").waitFor();
    expect(await page.locator(".histogram .visually-hidden").count()).toBe(24);
    await page.getByRole("button", { name: "Saved queries" }).click();
    /* somebody else saves meanwhile: neither is lost */
    await page.locator(".side-note", { hasText: "Nothing is saved yet" }).waitFor();
    await fetch(`${server.url}/settings?version=0`, {
      method: "POST",
      body: JSON.stringify({ "query.theirs": "SELECT 2" }),
    });
    await page.getByLabel("Name of the query").fill("mine <b>");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.locator(".saved-entry", { hasText: "mine <b>" }).waitFor();
    await expect.poll(() => page.locator(".saved-entry strong").allTextContents()).toEqual(["mine <b>", "theirs"]);
    /* what it replaces stays */
    await write(page, "SELECT 'newer'");
    await page.getByLabel("Name of the query").fill("mine <b>");
    await page.getByRole("button", { name: "Replace", exact: true }).click();
    await page.locator(".saved-entry", { hasText: "newer" }).waitFor();
    await page.getByRole("button", { name: "More about mine <b>" }).click();
    await page.getByRole("menuitem", { name: /^Open what was replaced at/ }).click();
    await expect.poll(() => page.locator(".cm-content").textContent()).toContain("SELECT timestamp_sequence");
    expect(await axe(page)).toEqual([]);
    /* whose server it is, for all */
    await page.locator(".head .instance").click();
    const own = page.getByRole("dialog", { name: "This server" });
    await own.getByLabel("Name").fill("<i>lab</i>");
    await own.getByLabel("Kind").selectOption("production");
    await own.getByLabel("red").check();
    await own.getByRole("button", { name: "Save" }).click();
    await page.locator(".head .instance.tag-r", { hasText: "<i>lab</i>" }).waitFor();
    await expect.poll(() => page.locator(".instance-type").textContent()).toBe("production");
    await page.getByRole("button", { name: "Functions and keywords" }).click();
    await page.getByLabel("Search the reference").fill("date_trunc");
    await expect
      .poll(() => page.locator(".reference-entry").first().textContent())
      .toMatch(/^date_trunc.*date_trunc\(/);
    expect(await axe(page)).toEqual([]);
    const long = fetch(
      `${server.url}/exec?` +
        new URLSearchParams({ query: "SELECT sum(sqrt(x)) FROM long_sequence(100000000000)" }).toString(),
    ).then((r) => r.json() as Promise<{ error: string }>);
    await page.getByRole("button", { name: "Server", exact: true }).click();
    await page.locator(".server-queries tr", { hasText: "long_sequence(100000000000)" }).getByRole("button").click();
    expect((await long).error).toMatch(/cancel/i);
    await page
      .locator(".small-chart", { hasText: "HTTP" })
      .locator("path[d*=L]")
      .first()
      .waitFor({ state: "attached" });
    await expect.poll(() => page.locator(".server-facts").textContent()).toMatch(/Tables\d+Rows[\d,]+Partitions\d+/);
    expect(await axe(page)).toEqual([]);
    await close(o);
  });
});
