/* Boards: dashboards and notebooks, kept on the server for all of its users. */
import type { Browser, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { around, axe, close, launch, open, run } from "./browser";
import { Server } from "./server";

let server: Server;
let browser: Browser;

around(
  async () => {
    server = await new Server().start();
    browser = await launch();
    await server.sql("create table trades (ts timestamp, symbol symbol, price double) timestamp(ts) partition by day");
    await server.sql(
      "insert into trades select timestamp_sequence('2026-01-01', 60000000), case when x % 2 = 0 " +
        "then 'BTC' else 'ETH' end, x from long_sequence(1440)",
    );
    await server.sql("create table deployments (ts timestamp, what varchar) timestamp(ts) partition by day");
    await server.sql(
      "insert into deployments values ('2026-01-01T06:00:00', 'one <b>'), ('2026-01-01T06:10:00', 'two')",
    );
  },
  async () => {
    await browser?.close();
    await server?.remove();
  },
);

interface Settings {
  preferences: Record<string, string>;
  "preferences.version": number;
}
const settings = async () => (await (await fetch(`${server.url}/settings`)).json()) as Settings;
const keep = async (name: string, board: object) => {
  const r = await fetch(`${server.url}/settings?version=${(await settings())["preferences.version"]}`, {
    method: "POST",
    body: JSON.stringify({ [`board.${name}`]: JSON.stringify({ almanacBoard: 1, ...board }) }),
  });
  expect(r.status).toBe(200);
};
const cellOf = (page: Page, title: string) => page.getByRole("region", { name: title, exact: true });
const value = (page: Page, title: string) => cellOf(page, title).locator(".board-value strong").textContent();
const sqlField = async (page: Page, text: string) => {
  await page.locator(".sql-field .cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
};

describe("boards", () => {
  test("made by hand: a value, a chart, a text; parameters, time range; kept for all, and refreshed", async () => {
    const o = await open(browser, server.url, { path: "/#/boards" });
    const { page } = o;
    await page.getByText("No boards yet.").waitFor();
    await page.getByLabel("Name of a new board").fill("My <b> board");
    await page.getByRole("button", { name: "New dashboard" }).click();
    await page.getByText("Nothing is on this board yet.").waitFor();
    const dialog = page.locator("dialog");
    const add = async (kind: string) => {
      await page.getByRole("button", { name: "Add", exact: true }).click();
      await page.getByRole("menuitem", { name: kind }).click();
    };
    await add("Chart, table or value");
    await dialog.getByLabel("Title").fill("Highest");
    await dialog.getByLabel("Show it as").selectOption("value");
    await sqlField(page, "SELECT max(price) high FROM trades WHERE symbol = @symbol");
    await dialog.getByRole("button", { name: "Apply" }).click();
    await page.getByLabel("@symbol: query for its values").fill("SELECT DISTINCT symbol FROM trades ORDER BY symbol");
    await page.getByLabel("@symbol: value at first").fill("ETH");
    await expect.poll(() => value(page, "Highest")).toBe("1,439");
    await add("Chart, table or value");
    await dialog.getByLabel("Title").fill("Prices");
    await sqlField(page, "SELECT ts, symbol, price FROM trades");
    await dialog.getByRole("button", { name: "Run" }).click();
    await dialog.getByLabel("Chart type").selectOption("scatter");
    await dialog.locator(".chart-host canvas").waitFor();
    expect(await axe(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Apply" }).click();
    await add("Text");
    await dialog
      .getByLabel("Markdown")
      .fill("## What it is\n\n**Prices** <img src=x onerror=alert(1)>, [bad](javascript:alert(1))");
    await dialog.getByRole("button", { name: "Apply" }).click();
    await page.locator(".markdown h5", { hasText: "What it is" }).waitFor();
    expect(await page.locator(".markdown img, .markdown a").count()).toBe(0);
    expect(await axe(page)).toEqual([]);
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("The board is saved on the server.").waitFor();
    const kept = JSON.parse((await settings()).preferences["board.My <b> board"] ?? "{}") as {
      cells: Array<{ spec?: object }>;
      variables: object[];
    };
    expect(kept.variables).toEqual([
      { name: "@symbol", value: "ETH", choices: "SELECT DISTINCT symbol FROM trades ORDER BY symbol" },
    ]);
    expect(kept.cells[1]?.spec).toMatchObject({ type: "scatter", x: "ts", ys: ["price"], series: "symbol" });
    /* somebody else opens it */
    await page.reload();
    await expect.poll(() => value(page, "Highest")).toBe("1,439");
    await page.getByLabel("@symbol").selectOption("BTC");
    await expect.poll(() => value(page, "Highest")).toBe("1,440");
    await page.getByLabel("Refresh", { exact: true }).selectOption("5");
    await server.sql("insert into trades values ('2026-01-02T00:00:00', 'BTC', 9999.5)");
    await expect.poll(() => value(page, "Highest")).toBe("9,999.5");
    await page.getByLabel("Time range").selectOption("$today");
    await expect.poll(() => value(page, "Highest")).toBe("null");
    await page.goto(
      `${server.url}/#/boards?` +
        new URLSearchParams({ name: "My <b> board", only: "1", range: "2026-01-01", "@symbol": "BTC" }).toString(),
    );
    await expect.poll(() => value(page, "Highest")).toBe("1,440");
    expect(await page.locator("header.head").count()).toBe(0);
    await cellOf(page, "Prices").getByRole("button", { name: "ETH" }).click();
    expect(await axe(page)).toEqual([]);
    await close(o);
  });

  test("cells are moved, changed in size, copied, taken away; errors; two at once: neither is lost", async () => {
    await keep("two", {
      cells: [
        { kind: "sql", title: "a", text: "select nope from trades", show: "table" },
        { kind: "sql", title: "b", text: "select * from trades where price < 0" },
        {
          kind: "sql",
          title: "c",
          text: "select symbol, max(price) p from trades group by symbol order by symbol",
          show: "table",
          sql: true,
        },
      ],
    });
    const o = await open(browser, server.url, { path: "/#/boards", allow: /status of 400/ });
    const { page } = o;
    await page.getByRole("link", { name: /^two/ }).click();
    await cellOf(page, "a").getByText("Invalid column: nope").waitFor();
    await cellOf(page, "b").getByText("No rows.").waitFor();
    await expect.poll(() => cellOf(page, "c").locator("tbody tr").first().textContent()).toMatch(/^BTC/);
    await cellOf(page, "c").locator(".board-sql", { hasText: "select symbol" }).waitFor();
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    const titles = () => page.locator(".board-cell h3").allTextContents();
    await page.getByRole("button", { name: "Move a backward" }).click();
    expect(await titles()).toEqual(["b", "a", "c"]);
    await page.getByRole("button", { name: "More about a" }).click();
    await page.getByRole("menuitem", { name: "Take away" }).click();
    await page.getByRole("button", { name: "More about c" }).click();
    await page.getByRole("menuitem", { name: "Width: 12 of 12" }).click();
    await page.getByRole("button", { name: "More about c" }).click();
    await page.getByRole("menuitem", { name: "Make a copy" }).click();
    expect(await titles()).toEqual(["b", "c", "c"]);
    await keep("two", { cells: [{ kind: "text", title: "theirs", text: "x" }] });
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Somebody else has changed this board meanwhile").waitFor();
    expect(await titles()).toEqual(["b", "c", "c"]);
    /* another page and back: the changes are still there */
    await page.getByRole("button", { name: "Server", exact: true }).click();
    await page.goBack();
    await expect.poll(titles).toEqual(["b", "c", "c"]);
    await page.getByRole("button", { name: "Take back" }).click();
    await expect.poll(titles).toEqual(["theirs"]);
    await page.getByRole("button", { name: "More about the board" }).click();
    await page.getByRole("menuitem", { name: "Rename" }).click();
    await page.getByLabel("New name").fill("three");
    await page.getByRole("button", { name: "Rename", exact: true }).click();
    await page.getByRole("heading", { name: "three" }).waitFor();
    expect(Object.keys((await settings()).preferences).filter((k) => k === "board.two" || k === "board.three")).toEqual(
      ["board.three"],
    );
    await close(o);
  });

  test("whoever opens a board changes nothing by it", async () => {
    await keep("trap", {
      cells: [
        { kind: "sql", title: "a", text: "drop table deployments" },
        { kind: "sql", title: "b", text: "insert into deployments values (now(), 'x')", show: "table" },
      ],
      events: "truncate table deployments",
      variables: [{ name: "@a", value: "", choices: "delete from deployments where what = @a" }],
    });
    const o = await open(browser, server.url, { path: "/#/boards?name=trap", allow: /status of 4\d\d/ });
    for (const title of ["a", "b"]) await cellOf(o.page, title).getByText("A board only reads.").waitFor();
    await o.page.getByText("Events: A board only reads.").waitFor();
    expect((await server.sql("select count() from deployments")).dataset).toEqual([[2]]);
    await close(o);
  });

  test("a chart of a result goes onto a board as it is seen; events are marked in it", async () => {
    await keep("ops", { cells: [], events: "select ts, what from deployments" });
    const o = await open(browser, server.url, { theme: "dark", width: 380 });
    const { page } = o;
    await run(page, "select symbol, price from trades latest on ts partition by symbol");
    await page.getByRole("button", { name: "Put on a board" }).click();
    await page.getByLabel("Board, of those that are there or a new one").fill("tables");
    await page.getByRole("button", { name: "Put it there" }).click();
    await expect.poll(() => page.locator(".board-rows tbody tr").count()).toBe(2);
    await page.getByRole("link", { name: "Almanac" }).click();
    await run(page, "select ts, price p, price * 2 q from trades");
    await page.getByRole("button", { name: "Chart", exact: true }).click();
    await page.getByLabel("Chart type").selectOption("area");
    await page.getByRole("button", { name: /^y: / }).click();
    await page.getByRole("menuitem", { name: "q: right axis" }).click();
    await page.getByRole("button", { name: "Put on a board" }).click();
    await page.getByLabel("Board, of those that are there or a new one").fill("ops");
    await page.getByLabel("Title").fill("p and q");
    await page.getByRole("button", { name: "Put it there" }).click();
    await cellOf(page, "p and q").locator("canvas").waitFor();
    const kept = JSON.parse((await settings()).preferences["board.ops"] ?? "{}") as { cells: object[] };
    expect(kept.cells).toMatchObject([
      { title: "p and q", spec: { type: "area", x: "ts", ys: ["p", "q"], axes: { q: "right" } } },
    ]);
    /* the colour of the marks is in the picture */
    const marked = () =>
      page.locator(".board-cell canvas").evaluate((canvas: HTMLCanvasElement) => {
        const probe = document.createElement("canvas").getContext("2d") as CanvasRenderingContext2D;
        probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--mark");
        probe.fillRect(0, 0, 1, 1);
        const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
        const { data } = (canvas.getContext("2d") as CanvasRenderingContext2D).getImageData(
          0,
          0,
          canvas.width,
          canvas.height,
        );
        let n = 0;
        for (let i = 0; i < data.length; i += 4) if (data[i] === r && data[i + 1] === g && data[i + 2] === b) n++;
        return n;
      });
    await expect.poll(marked).toBeGreaterThan(50);
    expect(await axe(page)).toEqual([]);
    await close(o);
  });

  test("a notebook; a server whose settings are read-only shows boards and lets none change", async () => {
    const o = await open(browser, server.url, { path: "/#/boards" });
    await o.page.getByLabel("Name of a new board").fill("notes");
    await o.page.getByRole("button", { name: "New notebook" }).click();
    await o.page.locator(".board-sql", { hasText: "SELECT 1" }).waitFor();
    await o.page.getByRole("heading", { name: "A note" }).waitFor();
    await close(o);
    await server.stop();
    server.env.ALMANAC_HTTP_SETTINGS_READONLY = "true";
    await server.start();
    const again = await open(browser, server.url, { path: "/#/boards?name=notes" });
    expect(await again.page.getByRole("button", { name: "Edit", exact: true }).isDisabled()).toBe(true);
    await again.page.locator("td", { hasText: "1" }).waitFor();
    await close(again);
  });
});
