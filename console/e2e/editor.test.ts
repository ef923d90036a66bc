/* The editor: completion, what runs, marks, tabs, history, parameters, plans, format, comments, find and replace. */
import type { Browser, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { around, axe, cell, close, kept, launch, long, open, ran, run, stored, write } from "./browser";
import { Server } from "./server";

let server: Server;
let browser: Browser;

around(
  async () => {
    server = await new Server().start();
    browser = await launch();
    await server.sql(
      'create table trades (timestamp timestamp, symbol symbol, price double, "odd name" long) ' +
        "timestamp(timestamp) partition by day",
    );
    await server.sql(
      "insert into trades select timestamp_sequence('2026-01-01', 1000000), rnd_symbol('BTC', " +
        "'ETH'), x * 0.25, x from long_sequence(100)",
    );
  },
  async () => {
    await browser?.close();
    await server?.remove();
  },
);

const text = (page: Page) =>
  page
    .locator(".cm-content .cm-line")
    .allTextContents()
    .then((lines) => lines.join("\n"));
const options = (page: Page) => page.locator(".cm-tooltip-autocomplete li .cm-completionLabel").allTextContents();
const marks = (page: Page) => page.locator(".cm-run-gutter [data-run]").allTextContents();

async function typed(page: Page, start: string, rest: string): Promise<void> {
  await write(page, start);
  await page.keyboard.type(rest, { delay: 15 });
  await page.locator(".cm-tooltip-autocomplete").waitFor();
}

interface Watched {
  seen: Array<{ text: string; after: number }>;
}
/* From now on: each text that is underlined, and how many ms after the last key. */
const watchErrors = (page: Page) =>
  page.locator(".cm-content").evaluate((content) => {
    const seen: Watched["seen"] = [];
    let key = performance.now();
    (window as unknown as Watched).seen = seen;
    window.addEventListener("keydown", () => (key = performance.now()), true);
    new MutationObserver(() => {
      for (const e of content.querySelectorAll(".cm-lintRange-error"))
        seen.push({ text: e.textContent, after: performance.now() - key });
    }).observe(content, { childList: true, subtree: true, attributes: true });
  });
const wrong = (page: Page) => page.locator(".cm-lintRange-error").allTextContents();

describe("errors while typing", () => {
  test("of all statements, which do not run; the word at the caret has time; gone as the text gets right", async () => {
    const o = await open(browser, server.url);
    const { page } = o;
    await write(
      page,
      "create table made (a int); select a from made; select 'é😀', nope from trades; update trades " +
        "set prise = @p where price > @p;\nselect 1",
    );
    await expect.poll(() => wrong(page)).toEqual(["nope", "prise"]);
    await page.locator(".cm-lintRange-error").first().hover();
    await page.locator(".cm-tooltip-lint", { hasText: "Invalid column: nope" }).waitFor();
    expect((await server.sql("select count() from tables() where table_name = 'made'")).dataset).toEqual([[0]]);
    /* keys that follow at once: what was asked is given up, nothing is underlined but what stands there in the end */
    await write(page, "");
    await watchErrors(page);
    await page.keyboard.type("select price from tradez", { delay: 10 });
    await expect.poll(() => wrong(page)).toEqual(["tradez"]);
    const seen = await page.evaluate(() => (window as unknown as Watched).seen);
    expect(new Set(seen.map((s) => s.text))).toEqual(new Set(["tradez"]));
    expect(seen[0]?.after).toBeGreaterThan(850); /* ms since the last key: it might have gone on */
    await page.keyboard.press("Backspace");
    await page.keyboard.type("s");
    await expect.poll(() => wrong(page)).toEqual([]);
    /* a table that comes into being is no error any more */
    await write(page, "select * from soon_there");
    await expect.poll(() => wrong(page)).toEqual(["soon_there"]);
    await page.keyboard.press("Control+a");
    await run(page, "create table soon_there (a int)");
    await watchErrors(page);
    const looked = page.waitForResponse(
      (r) => r.url().includes("validate") && (r.request().postData() ?? r.url()).includes("soon_there"),
    );
    await write(page, "select * from soon_there");
    await looked;
    await page.waitForTimeout(1000); /* even the word at the caret counts now */
    expect(await page.evaluate(() => (window as unknown as Watched).seen)).toEqual([]);
    await close(o);
  });
});

describe("time range", () => {
  test("written into the statement at the cursor, replaced by the next one, taken away; and run", async () => {
    const o = await open(browser, server.url);
    const { page } = o;
    await write(page, "select 1;\nselect count() c from trades where price > 1 or price < 0; select 2");
    for (let i = 0; i < 12; i++) await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Alt+r");
    const dialog = page.getByRole("dialog", { name: "Time range" });
    await ran(page, () => dialog.getByRole("button", { name: "Last 24 hours" }).click());
    await expect
      .poll(() => text(page))
      .toBe(
        "select 1;\nselect count() c from trades where timestamp IN '$now - 24h..$now' AND (price > " +
          "1 or price < 0); select 2",
      );
    await expect.poll(() => cell(page, 1, 2).textContent()).toBe("0");
    await page.getByRole("button", { name: /^Time range/ }).click();
    await dialog.getByLabel("From (UTC)").fill("2026-01-01T00:00:00");
    await dialog.getByLabel("To (UTC)").fill("2026-01-01T00:00:09");
    await dialog.getByRole("button", { name: "Write and run" }).click();
    await expect.poll(() => cell(page, 1, 2).textContent()).toBe("6"); /* of ten seconds those with a price above 1 */
    await expect
      .poll(() => text(page))
      .toContain("where timestamp BETWEEN '2026-01-01T00:00:00Z' AND '2026-01-01T00:00:09Z' AND (price");
    await page.keyboard.press("Alt+r");
    await expect.poll(() => page.evaluate(() => document.activeElement?.textContent)).toBe("Last 5 minutes");
    await dialog.getByText("Rows from 2026-01-01 00:00:00 to 2026-01-01 00:01:39 UTC.").waitFor();
    await ran(page, () => dialog.getByRole("button", { name: "Last day with rows" }).click());
    await expect.poll(() => text(page)).toContain("where timestamp IN '2026-01-01' AND (price");
    await page.keyboard.press("Alt+r");
    await dialog.getByRole("button", { name: "Take it away" }).click();
    await expect
      .poll(() => text(page))
      .toBe("select 1;\nselect count() c from trades where (price > 1 or price < 0); select 2");
    await write(page, "select x from long_sequence(1)");
    await page.keyboard.press("Alt+r");
    await dialog.getByText("No table with a designated timestamp").waitFor();
    await close(o);
  });
});

describe("completion", () => {
  test("keywords, tables, columns by alias, functions with their line, values of symbols", async () => {
    const o = await open(browser, server.url);
    const { page } = o;
    await page.getByRole("button", { name: "Functions and keywords", exact: true }).click();
    await page.locator(".reference-entry").first().waitFor(); /* names come from the server */
    await page.getByRole("button", { name: "Functions and keywords", exact: true }).click();
    await typed(page, "", "sel");
    await expect.poll(async () => (await options(page))[0]?.toLowerCase()).toContain("select");
    await page.keyboard.press("Escape");
    await typed(page, "select * from ", "tra");
    await expect.poll(async () => (await options(page))[0]).toBe("trades");
    await page.keyboard.press("Enter");
    await write(page, "select t. from trades t");
    for (let i = 0; i < " from trades t".length; i++) await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Control+Space");
    await expect.poll(() => options(page)).toEqual(["timestamp", "odd name", "price", "symbol"]);
    await page.keyboard.type("od");
    await expect.poll(() => options(page)).toEqual(["odd name"]);
    await page.waitForTimeout(200); /* a choice that comes at once is not taken */
    await page.keyboard.press("Enter");
    await expect.poll(() => text(page)).toBe('select t."odd name" from trades t');
    await typed(page, "select ", "regr_sl");
    await expect
      .poll(() => page.locator(".cm-completionInfo").textContent())
      .toContain("Slope of the line of least squares.");
    await page.waitForTimeout(200); /* a choice that comes at once is not taken */
    await page.keyboard.press("Enter");
    await expect.poll(() => text(page)).toBe("select regr_slope()");
    await typed(page, "select * from trades where symbol = '", "E");
    await expect.poll(() => options(page)).toEqual(["ETH"]);
    await close(o);
  });

  test("what the place calls for: periods, fills, spans, units, types, columns; nothing behind a value", async () => {
    const o = await open(browser, server.url);
    const { page } = o;
    await expect
      .poll(async () => (await typed(page, "select * from ", "tr"), options(page)))
      .toContain("trades"); /* names have come */
    for (const [begin, rest, first] of [
      ["select timestamp, avg(price) from trades sample by", " ", "1s"],
      ["select timestamp, avg(price) from trades sample by 1h fill", "(", "prev"],
      ["select * from trades latest on timestamp partition by", " ", "symbol"],
      ["select * from trades where timestamp in ", "'", "$today"],
      ["select * from trades where timestamp > ", "'", "2026-01-01"],
      ["select date_trunc(", "'", "minute"],
      ["select price:", ":", "timestamp"],
      ["alter table trades drop column", " ", "timestamp"],
      ["select avg(", "pri", "price"],
    ] as const) {
      await typed(page, begin, rest);
      await expect.poll(async () => (await options(page))[0], begin).toBe(first);
    }
    await typed(page, "select * from trades ", "s");
    await expect.poll(() => options(page)).toEqual(["sample by", "splice join"]);
    await page.waitForTimeout(200); /* a choice that comes at once is not taken */
    await page.keyboard.press("Tab");
    await expect.poll(() => text(page)).toBe("select * from trades sample by");
    await close(o);
  });
});

describe("runs", () => {
  test("the statement at the cursor, the selection, all; each with its mark", async () => {
    const o = await open(browser, server.url);
    const { page } = o;
    await write(page, "select 1 a;\nselect 2 b;\n\nselect 3 c");
    await run(page);
    await expect.poll(() => page.locator(".grid-name").first().textContent()).toBe("c");
    await expect.poll(() => marks(page)).toEqual([expect.stringMatching(/^✓ /)]);
    await page.locator(".cm-content").focus();
    await page.keyboard.press("Control+Home");
    await run(page);
    await expect.poll(() => page.locator(".grid-name").first().textContent()).toBe("a");
    await page.locator(".cm-content").focus();
    await page.keyboard.press("Control+Home");
    await page.keyboard.press("Shift+ArrowDown");
    await page.keyboard.press("Shift+ArrowDown");
    await run(page);
    await expect.poll(() => marks(page)).toHaveLength(2);
    await page.locator(".cm-content").focus();
    await run(page, undefined, true);
    await expect.poll(() => marks(page)).toHaveLength(3);
    await page.locator(".cm-run-gutter [data-run]").nth(1).click();
    await expect.poll(() => page.locator(".grid-name").first().textContent()).toBe("b");
    await close(o);
  });

  test("all statements are asked about, until that is not wanted", async () => {
    const o = await open(browser, server.url);
    const { page } = o;
    const dialog = page.locator("dialog", { hasText: "Run all 2 statements?" });
    await write(page, "select 1 a;\nselect 2 b");
    await page.keyboard.press("Control+Shift+Enter");
    await dialog.getByRole("button", { name: "Leave it" }).click();
    expect(await marks(page)).toEqual([]);
    await page.locator(".cm-content").focus();
    await page.keyboard.press("Control+Shift+Enter");
    await dialog.getByLabel("Do not ask again").check();
    await ran(page, () => dialog.getByRole("button", { name: "Run" }).click());
    await expect.poll(() => marks(page)).toHaveLength(2);
    await page.locator(".cm-content").focus();
    await ran(page, () => page.keyboard.press("Control+Shift+Enter"));
    await close(o);
  });

  test("an error behind characters of two units and a parameter is where it belongs", async () => {
    const o = await open(browser, server.url);
    o.allow(/status of 400/);
    await write(o.page, "select '😀é', @value, wrong from long_sequence(1)");
    await o.page.locator(".param-bar input").fill("7");
    await o.page.locator(".cm-content").focus();
    await run(o.page);
    await expect.poll(() => o.page.locator(".cm-lintRange-error").textContent()).toBe("wrong");
    await close(o);
  });

  test("parameters, by number and by name", async () => {
    const o = await open(browser, server.url);
    await write(o.page, "select $1::int + 1 a, @who || '!' b, $2::string c");
    for (const [name, value] of [
      ["$1", "41"],
      ["@who", "a'; drop"],
    ] as const)
      await o.page.locator(".param-bar label", { hasText: name }).locator("input").fill(value);
    await o.page.locator(".cm-content").focus();
    await run(o.page);
    await expect
      .poll(async () => [
        await cell(o.page, 1, 2).textContent(),
        await cell(o.page, 1, 3).textContent(),
        await cell(o.page, 1, 4).textContent(),
      ])
      .toEqual(["42", "a'; drop!", "null"]);
    await close(o);
  });

  test("the plan as a tree with times", async () => {
    const o = await open(browser, server.url);
    await write(o.page, "select symbol, avg(price) from trades order by 2 limit 1");
    await o.page.getByRole("button", { name: "Explain" }).click();
    await o.page.locator(".plan [role=treeitem]").first().waitFor();
    const items = await o.page.locator(".plan .plan-row").allTextContents();
    expect(items.length).toBeGreaterThan(2);
    expect(items[items.length - 1]).toMatch(/scan trades.*ms \(\d+ %\).*100 rows/);
    await close(o);
  });

  test("what takes much away is asked about", async () => {
    const o = await open(browser, server.url);
    await server.sql("create table doomed (a int)");
    await write(o.page, "drop table doomed");
    await o.page.keyboard.press("F9");
    await o.page.getByRole("button", { name: "Leave it" }).click();
    expect((await server.sql("select count() from tables() where table_name = 'doomed'")).dataset).toEqual([[1]]);
    await o.page.locator(".cm-content").focus();
    await o.page.keyboard.press("F9");
    await o.page.locator("dialog").getByRole("button", { name: "Run" }).click();
    await o.page.locator(".run-summary", { hasText: "Done" }).waitFor();
    expect((await server.sql("select count() from tables() where table_name = 'doomed'")).dataset).toEqual([[0]]);
    await close(o);
  });
});

describe("text", () => {
  long("format, comment, find and replace", async () => {
    const o = await open(browser, server.url);
    const { page } = o;
    await write(page, "select a,b from t where a=1");
    await page.getByRole("button", { name: /^Format/ }).click();
    await expect.poll(() => text(page)).toBe("SELECT a, b\nFROM t\nWHERE a=1");
    await page.keyboard.press("Control+Home");
    await page.keyboard.press("Control+/");
    await expect.poll(() => text(page)).toBe("-- SELECT a, b\nFROM t\nWHERE a=1");
    await page.keyboard.press("Control+/");
    await page.keyboard.press("Control+f");
    await page.locator(".cm-search input[name=search]").fill("a");
    await page.locator(".cm-search input[name=replace]").fill("z");
    await page.locator(".cm-search [name=replaceAll]").click();
    await expect.poll(() => text(page)).toBe("SELECT z, b\nFROM t\nWHERE z=1");
    await close(o);
  });
});

describe("tabs and history", () => {
  test("tabs are renamed, moved, closed, opened again, and survive a reload", async () => {
    const o = await open(browser, server.url);
    const { page } = o;
    const titles = () => page.locator(".tab").allTextContents();
    await write(page, "select 'first'");
    await page.getByRole("button", { name: /^New tab/ }).click();
    await write(page, "select 'second'");
    await page.locator(".tab", { hasText: "Query 2" }).dblclick();
    await page.keyboard.type("Mine");
    await page.keyboard.press("Enter");
    await expect.poll(titles).toEqual(["Query 1", "Mine"]);
    await page.locator(".tab", { hasText: "Mine" }).focus();
    await page.keyboard.press("Alt+ArrowLeft");
    await expect.poll(titles).toEqual(["Mine", "Query 1"]);
    await kept(page, "select 'second'");
    await expect
      .poll(async () => (await stored(page, "tabs")).sort((a, b) => a.order - b.order).map((t) => t.title))
      .toEqual(["Mine", "Query 1"]);
    await page.reload();
    await expect.poll(titles).toEqual(["Mine", "Query 1"]);
    await expect.poll(() => page.locator(".tab[aria-selected=true]").textContent()).toBe("Mine");
    await expect.poll(() => text(page)).toBe("select 'second'");
    await page.locator(".tab", { hasText: "Mine" }).focus();
    await page.keyboard.press("Delete");
    await expect.poll(titles).toEqual(["Query 1"]);
    await page.keyboard.press("Alt+Shift+T");
    await expect.poll(titles).toEqual(["Query 1", "Mine"]);
    await expect.poll(() => text(page)).toBe("select 'second'");
    await close(o);
  });

  long("history is kept and searched", async () => {
    const o = await open(browser, server.url);
    o.allow(/status of 400/);
    const { page } = o;
    await run(page, "select 'needle'");
    await run(page, "select nothing_there");
    await expect.poll(async () => (await stored(page, "history")).length).toBe(2);
    await page.reload();
    await page.getByRole("button", { name: "History" }).click();
    await expect.poll(() => page.locator(".history-entry").count()).toBe(2);
    await expect
      .poll(() => page.locator(".history-entry").first().textContent())
      .toContain("Invalid column: nothing_there");
    await page.getByRole("searchbox", { name: "Search the history" }).fill("needle");
    await expect.poll(() => page.locator(".history-entry code").allTextContents()).toEqual(["select 'needle'"]);
    await page.locator(".history-text").click();
    await expect.poll(() => text(page)).toBe("select 'needle'");
    await close(o);
  });

  test("a link brings a tab that does not run", async () => {
    const o = await open(browser, server.url, {
      path: "/#/?" + new URLSearchParams({ title: "Shared", sql: "select 'from a link'" }),
    });
    const { page } = o;
    await expect.poll(() => page.locator(".tab[aria-selected=true]").textContent()).toBe("Shared");
    await expect.poll(() => text(page)).toBe("select 'from a link'");
    expect(await page.locator(".run-summary").count()).toBe(0);
    expect(new URL(page.url()).hash).toBe("#/");
    await close(o);
  });

  test("F1 finds a command by its name and runs it", async () => {
    const o = await open(browser, server.url);
    const { page } = o;
    await write(page, "select 1");
    await page.keyboard.press("F1");
    const dialog = page.getByRole("dialog", { name: "Commands" });
    await dialog.getByLabel("Command", { exact: true }).fill("tab new");
    await expect.poll(() => dialog.getByRole("option").allTextContents()).toEqual([expect.stringContaining("New tab")]);
    expect(await axe(page)).toEqual([]);
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator(".tab").allTextContents()).toEqual(["Query 1", "Query 2"]);
    await page.keyboard.press("F1");
    await dialog.getByLabel("Command", { exact: true }).fill("run");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await close(o);
  });

  long("? lists the keys; F6 goes from pane to pane", async () => {
    const o = await open(browser, server.url);
    await run(o.page, "select 1");
    await o.page.locator("[role=grid]").focus();
    await o.page.keyboard.press("?");
    await expect.poll(() => o.page.locator("dialog .keys").textContent()).toContain("Run all statements of the tab");
    const focused = () =>
      o.page.evaluate(() => document.activeElement?.getAttribute("role") ?? document.activeElement?.className);
    await o.page.keyboard.press("Escape");
    await o.page.locator("dialog").waitFor({ state: "detached" });
    await expect.poll(focused).toBe("grid"); /* given back */
    await o.page.keyboard.press("F6");
    await expect.poll(focused).toBe("editor");
    await o.page.keyboard.press("F6");
    await expect.poll(focused).toBe("grid");
    await close(o);
  });
});
