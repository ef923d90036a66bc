/*
 * Bad input and bad times: the server goes away, cells and results of every size, statements without end, storage
 * that is full or cleared, logins.
 */
import type { Browser } from "playwright-core";
import { describe, expect, test } from "vitest";
import { around, cell, close, kept, launch, long, open, run, write } from "./browser";
import { Server } from "./server";

let server: Server;
let browser: Browser;

around(
  async () => {
    server = await new Server().start();
    browser = await launch();
  },
  async () => {
    await browser?.close();
    await server?.remove();
  },
);

describe("bad times", () => {
  test("a server that goes away: said, the text kept, and all goes on when it is back", async () => {
    const o = await open(browser, server.url);
    o.allow(/ERR_CONNECTION|ERR_EMPTY|ERR_SOCKET/);
    await run(o.page, "select 1");
    await server.stop();
    await o.page.keyboard.insertText(" + 1");
    await o.page.keyboard.press("F9");
    await o.page.locator(".banner.error", { hasText: "does not answer" }).waitFor();
    await expect.poll(() => o.page.locator(".run-error").textContent()).toContain("The server does not answer");
    expect(await o.page.locator(".cm-lintRange-error").count()).toBe(0); /* no fault of the text */
    await expect.poll(() => o.page.locator(".cm-content").textContent()).toContain("select 1 + 1");
    await server.start();
    await o.page.locator(".banner.error").waitFor({ state: "detached", timeout: 10_000 });
    await run(o.page);
    await expect.poll(() => cell(o.page, 1, 2).textContent()).toBe("2");
    await close(o);
  });

  test("a statement without end is cancelled on the server, with its time while it runs", async () => {
    const o = await open(browser, server.url);
    o.allow(/status of 40[04]/);
    await write(o.page, "select count() from long_sequence(1000000000000) where x % 7 = 8");
    await o.page.keyboard.press("F9");
    await expect.poll(() => o.page.locator(".elapsed").textContent()).toMatch(/\d ms|\d s/);
    const active = async () =>
      (
        await server.sql(
          "select count() from query_activity() where query like '%1000000000000%' and query not " +
            "like '%query_activity%'",
        )
      ).dataset[0]?.[0];
    await expect.poll(active).toBe(1);
    await o.page.getByRole("button", { name: "Cancel" }).click();
    await o.page.locator(".run-summary", { hasText: "Cancelled" }).waitFor();
    await expect.poll(active).toBe(0);
    await close(o);
  });

  long("rows so far, and a result that is more than the server holds", async () => {
    const small = await new Server({ ALMANAC_HTTP_SNAPSHOT_RESULT_BYTES_MAX: "2m" }).start();
    const o = await open(browser, small.url);
    await run(o.page, "select rnd_long() r from long_sequence(1000000000)");
    await expect.poll(() => o.page.locator(".run-summary").textContent()).toMatch(/The first [\d,]+ rows/);
    await expect.poll(() => o.page.locator(".grid-note").textContent()).toContain("The server holds no more");
    await close(o);
    await small.remove();
  });
});

describe("bad input", () => {
  long("a cell of 10 MB is shown in part, and as a whole to be saved", async () => {
    const o = await open(browser, server.url);
    await run(
      o.page,
      "select rpad('', 1000000, 'z') || rpad('', 1000000, 'y') || rpad('', 1000000, 'x') || rpad('', " +
        "1000000, 'w') || rpad('', 1000000, 'v') || rpad('', 1000000, 'u') || rpad('', 1000000, 't') " +
        "|| rpad('', 1000000, 's') || rpad('', 1000000, 'r') || rpad('', 1000000, 'q') t",
    );
    await expect.poll(async () => (await cell(o.page, 1, 2).textContent())?.length).toBeLessThan(500);
    await o.page.locator("[role=grid]").focus();
    await o.page.keyboard.press("Enter");
    await expect.poll(() => o.page.locator(".value-panel").textContent()).toContain("10,000,000 characters");
    await expect.poll(async () => (await o.page.locator(".value").textContent())?.length).toBe(100_000);
    await close(o);
  });

  test("columns of the same name, and answers that are no JSON", async () => {
    const o = await open(browser, server.url);
    o.allow(/status of 400/);
    await o.page.route("**/exec", (r) =>
      r.request().postData()?.includes("twice") === true
        ? r.fulfill({
            json: {
              query: "",
              columns: [
                { name: "a", type: "INT" },
                { name: "a", type: "STRING" },
              ],
              timestamp: -1,
              dataset: [[1, "x"]],
              count: 1,
            },
          })
        : r.request().postData()?.includes("broken") === true
          ? r.fulfill({ body: '{"columns":[' })
          : r.continue(),
    );
    await run(o.page, "select twice");
    await expect
      .poll(async () => [await cell(o.page, 1, 2).textContent(), await cell(o.page, 1, 3).textContent()])
      .toEqual(["1", "x"]);
    await o.page.locator("[role=grid]").focus();
    await o.page.keyboard.press("Control+a");
    await o.page.keyboard.press("Shift+F10");
    await o.page.getByRole("menuitem", { name: "Copy as JSON" }).click();
    await expect
      .poll(() => o.page.evaluate(() => navigator.clipboard.readText()))
      .toBe('[\n  {"a": 1, "a_2": "x"}\n]\n');
    await run(o.page, "select broken");
    await expect.poll(() => o.page.locator(".run-error").textContent()).toContain("The answer is no JSON");
    await close(o);
  });

  test("markup in names of tables, tabs, errors and history stays text", async () => {
    const o = await open(browser, server.url);
    o.allow(/status of 400/);
    const html = "<img src=x onerror=alert(1)>";
    await server.sql(`create table "t<b>x" (a int)`).catch(() => undefined);
    await run(o.page, `select "${html}" from long_sequence(1)`);
    await o.page.locator(".tab").dblclick();
    await o.page.locator(".tab-rename").fill(html);
    await o.page.keyboard.press("Enter");
    await o.page.getByRole("button", { name: "History" }).click();
    await o.page.locator(".history-entry").waitFor();
    expect(
      await o.page.locator("main img:not(.cm-widgetBuffer)").evaluateAll((all) => all.map((e) => e.outerHTML)),
    ).toEqual([]);
    await expect.poll(() => o.page.locator(".tab").first().textContent()).toBe(html);
    await close(o);
  });
});

describe("storage", () => {
  test("full: said, and the page works on", async () => {
    const o = await open(browser, server.url);
    await o.page.evaluate(() => {
      IDBObjectStore.prototype.put = function put() {
        throw new DOMException("full", "QuotaExceededError");
      };
    });
    await run(o.page, "select 7");
    await o.page.locator(".banner", { hasText: "storage is full" }).waitFor();
    await expect.poll(() => cell(o.page, 1, 2).textContent()).toBe("7");
    await close(o);
  });

  test("cleared while the page is open: saved again", async () => {
    const o = await open(browser, server.url);
    await write(o.page, "select 'kept'");
    await kept(o.page, "select 'kept'");
    await o.page.evaluate(() => new Promise((r) => (indexedDB.deleteDatabase("almanac-console").onsuccess = r)));
    await kept(o.page, "select 'kept'");
    await o.page.reload();
    await expect.poll(() => o.page.locator(".cm-content").textContent()).toBe("select 'kept'");
    await close(o);
  });

  long("not to be had at all: the page starts", async () => {
    const context = await browser.newContext();
    await context.addInitScript(() =>
      Object.defineProperty(window, "indexedDB", {
        get: () => ({
          open: () => {
            throw new DOMException("no", "SecurityError");
          },
        }),
      }),
    );
    const o = await open(browser, server.url, { context });
    await o.page.locator(".banner", { hasText: "cannot be used" }).waitFor();
    await run(o.page, "select 8");
    await expect.poll(() => cell(o.page, 1, 2).textContent()).toBe("8");
    await close(o);
  });
});

describe("login", () => {
  test("the form, a wrong password, the right one, after a reload, log out", async () => {
    const locked = await new Server({ ALMANAC_HTTP_USER: "ann", ALMANAC_HTTP_PASSWORD: "s3crét" }).start();
    const o = await open(browser, locked.url, { allow: /status of 401/ });
    const { page } = o;
    const log = async (password: string) => {
      await page.getByLabel("User").fill("ann");
      await page.getByLabel("Password").fill(password);
      await page.locator("dialog").getByRole("button", { name: "Log in" }).click();
    };
    await log("wrong");
    await page.getByRole("alert").filter({ hasText: "does not know" }).waitFor();
    await log("s3crét");
    await page.locator("dialog").waitFor({ state: "detached" });
    await run(page, "select 5");
    await expect.poll(() => cell(page, 1, 2).textContent()).toBe("5");
    await page.reload();
    await page.locator(".user-name").waitFor();
    expect(await page.locator("dialog").count()).toBe(0);
    await page.getByTitle(/^Signed in as/).click();
    await page.getByRole("menuitem", { name: "Log out" }).click();
    await page.locator("dialog", { hasText: "Log in" }).waitFor();
    await page.reload();
    await page.locator("dialog", { hasText: "Log in" }).waitFor();
    await close(o);
    await locked.remove();
  });
});
