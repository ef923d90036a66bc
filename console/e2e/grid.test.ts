/* The grid: a million rows, digits, nulls, keys, copies, columns, the whole value, sort and filter, downloads. */
import { readFileSync } from "node:fs";
import type { Browser } from "playwright-core";
import { describe, expect, test } from "vitest";
import { around, cell, close, launch, long, open, ran, run, write } from "./browser";
import { Server } from "./server";

let server: Server;
let browser: Browser;

around(
  async () => {
    server = await new Server().start();
    browser = await launch();
    await server.sql(
      "create table trades (ts timestamp, symbol symbol, price double, amount long) timestamp(ts) partition by day",
    );
    await server.sql(
      "insert into trades select timestamp_sequence('2026-01-01', 1000000), rnd_symbol('BTC', " +
        "'ETH'), x * 0.25, x from long_sequence(5000)",
    );
  },
  async () => {
    await browser?.close();
    await server?.remove();
  },
);

const clipboard = (o: Awaited<ReturnType<typeof open>>) => o.page.evaluate(() => navigator.clipboard.readText());

describe("grid", () => {
  test("1,000,000 rows scrolled to their end, of one run", async () => {
    const o = await open(browser, server.url);
    await run(o.page, "select x, rnd_long() r, x * 2 y, x * 0.5 z from long_sequence(1000000)");
    await expect.poll(() => o.page.locator(".run-summary").textContent()).toContain("1,000,000 rows");
    const first = await cell(o.page, 1, 3).textContent();
    const grid = o.page.locator("[role=grid]");
    await grid.focus();
    await o.page.keyboard.press("Control+End");
    await expect.poll(() => cell(o.page, 1_000_000, 2).textContent(), { timeout: 5000 }).toBe("1000000");
    await expect.poll(() => cell(o.page, 1_000_000, 4).textContent()).toBe("2000000");
    /* no digit of a number is cut, wherever it stands */
    await expect
      .poll(() => cell(o.page, 999_999, 5).evaluate((e) => `${e.textContent} ${e.scrollWidth <= e.clientWidth}`))
      .toBe("499999.5 true");
    /* by the scroll bar to the middle and to the very end: the last row is seen whole */
    await o.page.locator(".grid-scroller").evaluate((el) => (el.scrollTop = el.scrollHeight / 2));
    const middle = async () =>
      Number((await o.page.locator(".grid-number").first().textContent())?.replaceAll(",", ""));
    await expect.poll(async () => Math.abs((await middle()) - 500_000)).toBeLessThan(2000);
    await expect.poll(() => o.page.locator(".grid-cell.waiting").count()).toBe(0);
    await o.page.locator(".grid-scroller").evaluate((el) => (el.scrollTop = el.scrollHeight));
    await expect.poll(() => cell(o.page, 1_000_000, 2).isVisible()).toBe(true);
    await o.page.locator(".grid-go input").fill("1");
    await o.page.keyboard.press("Enter");
    await expect.poll(() => cell(o.page, 1, 3).textContent()).toBe(first);
    await close(o);
  });

  test("the first page does not wait for the rows behind it; cancelled, it stays", async () => {
    const o = await open(browser, server.url);
    const { page } = o;
    await write(page, "select x, pg_sleep(0.00001) s from long_sequence(100000000)");
    await page.keyboard.press("F9");
    await cell(page, 1000, 2)
      .or(cell(page, 1, 2))
      .first()
      .waitFor();
    await expect.poll(() => page.locator(".run-summary").textContent()).toMatch(/Running.*rows so far|Running/);
    await expect.poll(() => page.locator(".grid-note").textContent()).toContain("still coming");
    await expect.poll(() => page.getByRole("button", { name: "Chart" }).isDisabled()).toBe(true);
    await page.getByRole("button", { name: "Cancel" }).click();
    await page.locator(".run-summary", { hasText: "Cancelled" }).waitFor();
    await expect.poll(() => page.locator(".grid-note").textContent()).toContain("these are its first rows");
    await expect.poll(() => cell(page, 1, 2).textContent()).toBe("1");
    await run(page, "select x, rnd_str(5, 20, 2) t from long_sequence(500000)");
    await expect.poll(() => page.locator(".run-summary").textContent()).toContain("500,000 rows");
    await page.locator("[role=grid]").focus();
    await page.keyboard.press("Control+End");
    await expect.poll(() => cell(page, 500_000, 2).textContent(), { timeout: 5000 }).toBe("500000");
    await close(o);
  });

  test("sort and filter of all rows, by the server, as a statement", async () => {
    const o = await open(browser, server.url);
    const { page } = o;
    await run(page, "select amount, symbol from trades");
    await page.locator(".grid-filter input").fill("btc 49");
    await page.locator("[role=columnheader]", { hasText: "amount" }).click();
    await page.locator("[role=columnheader]", { hasText: "amount" }).click();
    await expect
      .poll(() => page.locator(".grid-note").textContent())
      .toContain("Of the 1,000 rows that are loaded, of 5,000");
    await ran(page, () => page.getByRole("button", { name: "Of all rows" }).click());
    await expect.poll(() => page.locator(".cm-content").textContent()).toContain('ORDER BY "amount" DESC');
    const [wanted] = (
      await server.sql("select max(amount), count() from trades where amount::string like '%49%' and symbol = 'BTC'")
    ).dataset;
    await expect.poll(() => cell(page, 1, 2).textContent()).toBe(String(wanted?.[0]));
    await expect
      .poll(async () => (await page.locator(".run-summary").textContent())?.replace(",", ""))
      .toContain(`${String(wanted?.[1])} row`);
    await close(o);
  });

  test("digits, nulls, empty texts and markup are shown as they are", async () => {
    const o = await open(browser, server.url);
    const html = "<img src=x onerror=alert(1)><b>x</b>";
    await run(
      o.page,
      `select 9223372036854775807 a, 0.1 b, null::string c, '' d, '${html}' "<i>e</i>", ` +
        "-9223372036854775807 f, 1.0e300 g, 12345678901234567.89m h",
    );
    const texts = [];
    for (let c = 2; c <= 9; c++) texts.push(await cell(o.page, 1, c).textContent());
    expect(texts.slice(0, 6)).toEqual(["9223372036854775807", "0.1", "null", "''", html, "-9223372036854775807"]);
    expect(texts[7]).toBe("12345678901234567.89");
    await expect.poll(() => cell(o.page, 1, 4).getAttribute("class")).toContain("null");
    expect(await o.page.locator(".grid img, .grid b, .grid i").count()).toBe(0);
    await expect.poll(() => o.page.locator(".grid-name").nth(4).textContent()).toBe("<i>e</i>");
    await close(o);
  });

  test("selection by keys and copies in each form", async () => {
    const o = await open(browser, server.url);
    await run(o.page, "select x, case when x = 2 then null else 'a|' || x end t from long_sequence(3)");
    await o.page.locator("[role=grid]").focus();
    await o.page.keyboard.press("Control+c");
    await expect.poll(() => clipboard(o)).toBe("1");
    await o.page.keyboard.press("Control+a");
    await o.page.keyboard.press("Control+c");
    await expect.poll(() => clipboard(o)).toBe("1\ta|1\n2\t\n3\ta|3");
    const want: Record<string, string> = {
      CSV: "x,t\r\n1,a|1\r\n2,\r\n3,a|3\r\n",
      JSON: '[\n  {"x": 1, "t": "a|1"},\n  {"x": 2, "t": null},\n  {"x": 3, "t": "a|3"}\n]\n',
      Markdown: "| x | t |\n|--:|---|\n| 1 | a\\|1 |\n| 2 |  |\n| 3 | a\\|3 |",
      INSERT: "INSERT INTO long_sequence (x, t) VALUES\n  (1, 'a|1'),\n  (2, null),\n  (3, 'a|3');\n",
    };
    for (const [format, text] of Object.entries(want)) {
      await o.page.keyboard.press("Shift+F10");
      await o.page.getByRole("menuitem", { name: `Copy as ${format}` }).click();
      await expect.poll(() => clipboard(o)).toBe(text);
    }
    await o.page.keyboard.press("Control+Home");
    await o.page.keyboard.press("Shift+ArrowDown");
    await o.page.keyboard.press("Shift+ArrowRight");
    await o.page.keyboard.press("Control+c");
    await expect.poll(() => clipboard(o)).toBe("1\ta|1\n2\t");
    await close(o);
  });

  long("columns: width, order, frozen, hidden, and as they came", async () => {
    const o = await open(browser, server.url, { width: 700 });
    const list = Array.from({ length: 2000 }, (_, i) => `x + ${i} c${i}`).join(", ");
    await run(o.page, `select ${list} from long_sequence(50)`);
    await expect.poll(() => o.page.locator("[role=grid]").getAttribute("aria-colcount")).toBe("2001");
    await expect.poll(() => o.page.locator(".grid-cell").count()).toBeLessThan(800);
    const head = (name: string) => o.page.locator(".grid-column", { hasText: new RegExp(`^${name}LONG$`) });
    const before = (await head("c0").boundingBox())?.width ?? 0;
    const box = await head("c0").boundingBox();
    if (box === null) throw new Error("no column");
    await o.page.mouse.move(box.x + box.width - 3, box.y + 10);
    await o.page.mouse.down();
    await o.page.mouse.move(box.x + box.width + 57, box.y + 10, { steps: 4 });
    await o.page.mouse.up();
    await expect.poll(async () => Math.round(((await head("c0").boundingBox())?.width ?? 0) - before)).toBe(60);
    /* dragged behind its neighbour */
    const a = await head("c0").boundingBox();
    const b = await head("c1").boundingBox();
    if (a === null || b === null) throw new Error("no column");
    await o.page.mouse.move(a.x + 20, a.y + 10);
    await o.page.mouse.down();
    await o.page.mouse.move(b.x + 20, b.y + 10, { steps: 5 });
    await o.page.mouse.up();
    await expect
      .poll(async () => [
        await head("c1").getAttribute("aria-colindex"),
        await head("c0").getAttribute("aria-colindex"),
      ])
      .toEqual(["2", "3"]);
    const menu = async (name: string, item: string) => {
      await head(name).click({ button: "right" });
      await o.page.getByRole("menuitem", { name: item }).click();
    };
    await menu("c1", "Freeze up to here");
    await o.page.locator(".grid-scroller").evaluate((el) => (el.scrollLeft = el.scrollWidth));
    await head("c1999").waitFor();
    await expect.poll(() => head("c1").isVisible()).toBe(true);
    await expect.poll(() => cell(o.page, 3, 2001).textContent()).toBe("2002");
    await menu("c1", "Hide");
    await expect.poll(() => o.page.locator("[role=grid]").getAttribute("aria-colcount")).toBe("2000");
    await menu("c1999", "Columns as they came");
    await expect.poll(() => o.page.locator("[role=grid]").getAttribute("aria-colcount")).toBe("2001");
    await close(o);
  });

  long("the whole value, sort and filter of what is loaded", async () => {
    const o = await open(browser, server.url);
    await run(o.page, `select x, '{"a":[' || x || ']}' j from long_sequence(2500)`);
    await o.page.locator(".grid-column", { hasText: "x" }).first().click();
    await o.page.locator(".grid-column", { hasText: "x" }).first().click();
    await expect.poll(() => cell(o.page, 1, 2).textContent()).toBe("1000");
    await expect
      .poll(() => o.page.locator(".grid-note").textContent())
      .toContain("Of the 1,000 rows that are loaded, of 2,500");
    await o.page.getByRole("searchbox", { name: "Filter the rows" }).fill("77 [9");
    await expect.poll(() => o.page.locator("[role=grid]").getAttribute("aria-rowcount")).toBe("2");
    await o.page.locator("[role=grid]").focus();
    await o.page.keyboard.press("ArrowRight");
    await o.page.keyboard.press("Enter");
    await expect.poll(() => o.page.locator(".value").textContent()).toBe('{\n  "a": [\n    977\n  ]\n}');
    await close(o);
  });

  test("downloads are what /exp answers, and errors are no files", async () => {
    const o = await open(browser, server.url);
    await run(o.page, "select * from trades where symbol = 'BTC'");
    for (const [title, fmt] of [
      ["CSV", "csv"],
      ["Parquet", "parquet"],
    ] as const) {
      await o.page.getByRole("button", { name: "Download all rows" }).click();
      const [file] = await Promise.all([
        o.page.waitForEvent("download"),
        o.page.getByRole("menuitem", { name: `Download ${title}` }).click(),
      ]);
      expect(file.suggestedFilename()).toBe(`trades.${fmt}`);
      const want = Buffer.from(
        await (
          await fetch(
            `${server.url}/exp?${new URLSearchParams({ query: "select * from trades where symbol = 'BTC'", fmt })}`,
          )
        ).arrayBuffer(),
      );
      const got = readFileSync(await file.path());
      expect(fmt === "csv" ? got.equals(want) : got.subarray(0, 4).toString() === "PAR1" && got.length > 1000).toBe(
        true,
      );
    }
    o.allow(/status of 400/);
    await server.sql("drop table trades");
    await o.page.getByRole("button", { name: "Download all rows" }).click();
    await o.page.getByRole("menuitem", { name: "Download CSV" }).click();
    await o.page.locator(".notice.error", { hasText: "table does not exist" }).waitFor();
    await close(o);
  });

  long("a page stays what it was when the table changes", async () => {
    await server.sql("create table moving (x long)");
    await server.sql("insert into moving select x from long_sequence(3000)");
    const o = await open(browser, server.url);
    await run(o.page, "select * from moving");
    await server.sql("update moving set x = -1");
    await o.page.locator("[role=grid]").focus();
    await o.page.keyboard.press("Control+End");
    await expect.poll(() => cell(o.page, 3000, 2).textContent()).toBe("3000");
    await close(o);
  });
});
