/*
 * Change of user: a log-out in any tab, or another user's log-in, removes all data of the previous user from the
 * page. A user who logs in again gets their own tabs and history back.
 */
import type { Browser, Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { around, cell, close, kept, launch, open, type Opened, run, stored } from "./browser";
import { Server } from "./server";

let server: Server;
let browser: Browser;

around(
  async () => {
    [server, browser] = await Promise.all([
      new Server({
        ALMANAC_ACL_ENABLED: "true",
        ALMANAC_ACL_ADMIN_PASSWORD: "for-the-tests",
        ALMANAC_ACL_PASSWORD_HASH_ITERATION_COUNT: "4096",
      }).start(),
      launch(),
    ]);
    server.login = `Basic ${btoa("admin:for-the-tests")}`;
    for (const sql of [
      "create table anns_secret (ts timestamp, who symbol) timestamp(ts) partition by day",
      "insert into anns_secret values ('2026-01-01', 'anns_row')",
      "create user ann with password 'for-ann'",
      "create user bob with password 'for-bob'",
      "grant http to ann",
      "grant http to bob",
      "grant select on anns_secret to ann",
    ])
      await server.sql(sql);
  },
  async () => {
    await browser?.close();
    await server?.remove();
  },
);

const start = (more: object = {}) => open(browser, server.url, { allow: /status of 40[0134]|ERR_ABORTED/, ...more });

async function logIn(page: Page, user: string): Promise<void> {
  await page.getByLabel("User").fill(user);
  await page.getByLabel("Password").fill(`for-${user}`);
  await page.locator("dialog").getByRole("button", { name: "Log in" }).click();
  await expect.poll(() => page.locator(".user-name").textContent()).toBe(user);
  await page.locator(".cm-content").waitFor();
}

async function logOut(page: Page): Promise<void> {
  await page.getByTitle(/^Signed in as/).click();
  await page.getByRole("menuitem", { name: "Log out" }).click();
  await page.getByRole("dialog", { name: "Log in" }).waitFor();
}

/*
 * All text of the document, hidden elements included: field values, title attributes and the contents of shadow
 * roots.
 */
const held = (page: Page) =>
  page.evaluate(() => {
    const texts = [document.title, location.href];
    const walk = (root: Document | ShadowRoot) => {
      for (const e of root.querySelectorAll("*")) {
        if (e instanceof HTMLInputElement || e instanceof HTMLTextAreaElement || e instanceof HTMLSelectElement)
          texts.push(e.value);
        for (const a of e.attributes) texts.push(a.value);
        if (e.shadowRoot !== null) walk(e.shadowRoot);
      }
      texts.push(root instanceof Document ? (root.body.textContent ?? "") : (root.textContent ?? ""));
    };
    walk(document);
    return texts.join("\n");
  });
const nothingOf = (page: Page, word: RegExp) => expect.poll(() => held(page)).not.toMatch(word);
const ANNS = /\bann(s|abel|\b)/i;

/* Ann's page, with something in each place. */
async function asAnn(more: object = {}): Promise<Opened> {
  const o = await start(more);
  const { page } = o;
  await logIn(page, "ann");
  await run(page, "select ts, who, 'anns_long_value' v from anns_secret where who = @anns_param or true");
  await expect.poll(() => cell(page, 1, 3).textContent()).toBe("anns_row");
  await page.keyboard.press("Alt+t");
  await run(page, "select who anns_column from anns_secret");
  await expect.poll(() => cell(page, 1, 2).textContent()).toBe("anns_row");
  await kept(page, "anns_column");
  await page.getByRole("button", { name: "History" }).click();
  await page.locator(".history-entry", { hasText: "anns_column" }).waitFor();
  return o;
}

async function findsHers(page: Page): Promise<void> {
  await expect.poll(() => page.locator(".cm-content").textContent()).toContain("anns_column");
  expect(await page.locator(".tab").count()).toBe(2);
  const list = page.locator(".history-entry");
  if ((await list.count()) === 0 && (await page.getByLabel("Search the history").count()) === 0)
    await page.getByRole("button", { name: "History" }).click();
  await list.filter({ hasText: "anns_column" }).first().waitFor();
}

describe("log-out", () => {
  test("nothing of Ann is in the page; Bob gets nothing of hers, and she all of it again", async () => {
    const o = await asAnn();
    const { page } = o;
    await page.getByLabel("Search the history").fill("anns_");
    expect(await held(page)).toMatch(ANNS);
    await logOut(page);
    await nothingOf(page, ANNS);
    await logIn(page, "bob");
    await nothingOf(page, ANNS);
    expect(await page.locator(".tab").allTextContents()).toEqual(["Query 1"]);
    await page.locator(".cm-content").click();
    await page.keyboard.press("Control+z"); /* nothing of hers comes back */
    await page.keyboard.press("Alt+Shift+T");
    await page.getByRole("button", { name: "History" }).click();
    await page.getByText("Nothing was run yet").waitFor();
    await page.getByRole("button", { name: "Tables" }).click();
    await page.locator(".cm-content").click();
    await page.keyboard.insertText("select * from an");
    await page.keyboard.press("Control+Space");
    await page.waitForTimeout(300);
    await nothingOf(page, ANNS);
    await run(page, "select 'bobs'");
    await logOut(page);
    await nothingOf(page, /bob/);
    await logIn(page, "ann");
    await findsHers(page);
    await nothingOf(page, /bob/);
    /* and after a reload */
    await page.reload();
    await findsHers(page);
    await close(o);
  });

  test("a statement that runs ends on the server; its rows come to nobody", async () => {
    const o = await start();
    const { page } = o;
    await logIn(page, "ann");
    await page.locator(".cm-content").click();
    await page.keyboard.insertText(
      "select count(), 'anns_endless' v from long_sequence(1000000) a cross join long_sequence(100000000) b",
    );
    await page.keyboard.press("F9");
    const running = async () =>
      (await server.sql("select count() from query_activity() where username = 'ann' and query like '%endless%'"))
        .dataset[0]?.[0];
    await expect.poll(running).toBe(1);
    await logOut(page);
    await expect.poll(running).toBe(0);
    await logIn(page, "bob");
    await nothingOf(page, ANNS);
    await close(o);
  });

  test("a board's name and values leave the address", async () => {
    const o = await start();
    await logIn(o.page, "ann");
    await o.page.goto(`${server.url}/#/boards?name=Anns&symbol=anns_value`);
    await expect.poll(() => o.page.title()).toContain("Boards");
    await logOut(o.page);
    await nothingOf(o.page, ANNS);
    await close(o);
  });
});

describe("without a log-out here", () => {
  test("a log-out in one tab is one in all, and so is who comes then", async () => {
    const o = await asAnn();
    const second = await start({ context: o.context });
    await findsHers(second.page);
    await run(second.page, "select who from anns_secret");
    await logOut(o.page);
    await second.page.getByText("You logged out in another tab").waitFor();
    await nothingOf(second.page, ANNS);
    await logIn(o.page, "bob");
    await expect.poll(() => second.page.locator(".user-name").textContent()).toBe("bob");
    await nothingOf(second.page, ANNS);
    expect(second.faults).toEqual([]);
    await close(o);
  });

  test("a session that ran out: the page is hidden; Ann finds it as it was, Bob nothing of it", async () => {
    const o = await asAnn();
    const { page } = o;
    const end = async () => {
      await o.context.clearCookies();
      await page.locator(".cm-content").click();
      await page.keyboard.press("F9");
      await page.getByRole("dialog", { name: "Log in" }).waitFor();
      expect(await page.locator("body").innerText()).not.toMatch(/anns_/);
    };
    await end();
    await logIn(page, "ann");
    await findsHers(page);
    await page
      .locator(".run-error", { hasText: "Log in first." })
      .waitFor(); /* what the last statement was told is hers, too */
    await end();
    await logIn(page, "bob");
    await nothingOf(page, ANNS);
    await page.reload();
    await expect.poll(() => page.locator(".user-name").textContent()).toBe("bob");
    await nothingOf(page, ANNS);
    await close(o);
  });
});

describe("what an older version kept without a name", () => {
  const asOld = (page: Page) =>
    page.evaluate(
      () =>
        new Promise<void>((done) => {
          const request = indexedDB.open("almanac-console");
          request.onsuccess = () => {
            const tx = request.result.transaction("tabs", "readwrite");
            tx.objectStore("tabs").put({ id: "old", title: "Old", text: "select annabel", order: 9, params: {} });
            tx.oncomplete = () => {
              request.result.close();
              done();
            };
          };
        }),
    );

  test("is nobody's after a log-in, and of who was in all along", async () => {
    const o = await start();
    await asOld(o.page);
    await logIn(o.page, "bob");
    await nothingOf(o.page, ANNS);
    await o.page.reload();
    await o.page.locator(".cm-content").waitFor();
    await nothingOf(o.page, ANNS);
    await asOld(o.page); /* Bob is in while the console becomes this one */
    await o.page.reload();
    await o.page.locator(".tab", { hasText: "Old" }).waitFor();
    expect(
      (await stored<{ title: string; user: string }>(o.page, "tabs"))
        .filter((t) => t.title === "Old")
        .map((t) => t.user),
    ).toEqual(["user:bob"]);
    await close(o);
  });

  test("without access control all is as it was", async () => {
    const free = await new Server().start();
    const o = await open(browser, free.url);
    await o.page.locator(".cm-content").waitFor();
    await asOld(o.page);
    await o.page.reload();
    await o.page.locator(".tab", { hasText: "Old" }).waitFor();
    await expect
      .poll(async () =>
        (await stored<{ title: string; user: string }>(o.page, "tabs")).map((t) => `${t.title} ${t.user}`),
      )
      .toContain("Old ");
    expect(await o.page.evaluate(() => Object.keys(localStorage).filter((k) => k.includes(":")))).toEqual([]);
    expect(await o.page.getByTitle(/^Signed in as/).count()).toBe(0);
    await close(o);
    await free.remove();
  });
});
