/*
 * Sign-on by OpenID Connect, the whole way: this page, a real provider (test/idp) and the server. Who comes in and
 * who is told why not; tokens that end, users that are disabled, tabs, the log-out; and answers that nobody asked
 * for.
 */
import type { Browser, Page } from "playwright-core";
import { afterAll, describe, expect, test } from "vitest";
import { around, axe, cell, close, kept, launch, long, open, type Opened, run } from "./browser";
import { Provider, serverBeside, signOn } from "./provider";
import type { Server } from "./server";

let provider: Provider;
let server: Server;
let browser: Browser;

around(
  async () => {
    provider = await new Provider().start();
    [server, browser] = await Promise.all([serverBeside(provider, { ALMANAC_ACL_OIDC_CACHE_TTL: "1500" }), launch()]);
  },
  async () => {
    await browser?.close();
    await server?.remove();
    await provider?.stop();
  },
);

const start = (more: object = {}) => open(browser, server.url, { hosts: [provider.url], ...more });
const cookies = async (o: Opened) => (await o.context.cookies(server.url)).filter((c) => c.name === "qdb_session");
const userName = (page: Page) => page.locator(".user-name");
const reason = (page: Page) => page.locator(".login-reason");

async function into(user: string, more: object = {}): Promise<Opened> {
  const o = await start(more);
  await signOn(o.page, user);
  return o;
}

/* What is left of a sign-on in this browser, and in the page's address and history. */
const traces = (page: Page) =>
  page.evaluate(async () => {
    const databases = await indexedDB.databases();
    return {
      url: location.href,
      local: JSON.stringify({ ...localStorage }),
      session: JSON.stringify({ ...sessionStorage }),
      databases: databases.map((d) => d.name),
      cookie: document.cookie,
    };
  });

describe("who comes in", () => {
  test("alice sees and runs; every request carries her token; nothing of it is stored or in an address", async () => {
    const o = await start();
    const { page } = o;
    const requests: string[] = [];
    page.on("request", (r) => {
      if (new URL(r.url()).origin === server.url && /\/(exec|api|exp|imp|snapshot|query)/.test(r.url()))
        requests.push(r.headers().authorization ?? r.url());
    });
    const codes: string[] = [];
    page.on("framenavigated", (f) => codes.push(f.url()));
    const asked = page.waitForRequest((r) => r.url().startsWith(`${provider.url}/auth?`));
    await signOn(page, "alice");
    const sent = new URL((await asked).url()).searchParams;
    expect([
      sent.get("code_challenge_method"),
      sent.get("response_type"),
      sent.get("scope"),
      sent.get("redirect_uri"),
    ]).toEqual(["S256", "code", "openid profile", `${server.url}/index.html`]);
    for (const name of ["state", "nonce", "code_challenge"]) expect(sent.get(name)?.length).toBeGreaterThanOrEqual(43);
    await expect.poll(() => userName(page).textContent()).toBe("Alice Analyst");
    await run(page, "select count() c, current_user() who from trades");
    await expect.poll(() => cell(page, 1, 3).textContent()).toBe("Alice Analyst");
    expect(requests.length).toBeGreaterThan(3);
    expect(requests.filter((r) => !r.startsWith("Bearer "))).toEqual([]);
    const token = requests[0]?.slice(7) ?? "";
    const left = await traces(page);
    expect(left.url).toBe(`${server.url}/index.html`);
    expect(left.cookie).toBe("");
    for (const text of [left.local, left.session])
      for (const secret of [token, "refresh", "eyJ"]) expect(text).not.toContain(secret);
    expect(JSON.parse(left.session)).not.toHaveProperty("almanac.signon");
    expect(await page.evaluate(() => history.length)).toBeGreaterThan(1);
    await page.goBack();
    expect(page.url()).not.toContain("code=");
    await close(o);
  });

  test("the page's policy names the provider and no other host", async () => {
    const policy = (await fetch(`${server.url}/index.html`)).headers.get("content-security-policy") ?? "";
    expect(/connect-src ([^;]*);/.exec(policy)?.[1]).toBe(`'self' ${provider.url}`);
    expect(policy).not.toContain("unsafe");
  });

  test("bob, carol and dave are told that they have no access, and why; then another account comes in", async () => {
    const o = await into("bob", { allow: /status of 403/ });
    const { page } = o;
    const denied = page.getByRole("dialog", { name: "You have no access" });
    for (const [name, why, next] of [
      ["Bob Bare", "the identity provider names no groups of this user", "carol"],
      ["Carol Clear", "the identity provider names no groups of this user", "dave"],
      ["Dave Door", "no group of this user has the permission HTTP", "alice"],
    ] as const) {
      await denied.getByText(`Access denied for ${name} [HTTP]`).waitFor();
      await expect.poll(() => denied.textContent()).toContain(why);
      expect(await userName(page).count()).toBe(0);
      if (next === "carol") expect(await axe(page)).toEqual([]);
      const asked = page.waitForRequest((r) => r.url().startsWith(`${provider.url}/auth?`));
      await signOn(page, next);
      expect(new URL((await asked).url()).searchParams.get("prompt")).toBe("login");
    }
    await expect.poll(() => userName(page).textContent()).toBe("Alice Analyst");
    await close(o);
  });

  long("what a permission forbids in a statement is an error of that statement", async () => {
    await server.sql("create table secret (a int)");
    const o = await into("alice", { allow: /status of 403/ });
    await expect.poll(() => userName(o.page).textContent()).toBe("Alice Analyst");
    await run(o.page, "select * from secret");
    await expect.poll(() => o.page.locator(".run-error").textContent()).toContain("Access denied for Alice Analyst");
    expect(await o.page.getByRole("dialog").count()).toBe(0);
    await close(o);
  });

  test("a new table belongs to a group of hers: by import and by form; what her groups are here", async () => {
    await server.sql("grant create table to analysts");
    const o = await into("alice");
    const { page } = o;
    await expect.poll(() => userName(page).textContent()).toBe("Alice Analyst");
    await page.getByRole("button", { name: "Tables", exact: true }).click();
    await page.getByRole("button", { name: "Import a file" }).click();
    await page
      .getByLabel("File", { exact: true })
      .setInputFiles({ name: "brought.csv", mimeType: "text/csv", buffer: Buffer.from("a,b\n1,x\n2,y\n") });
    await expect.poll(() => page.getByLabel("Owner").inputValue()).toBe("analysts");
    await page.getByRole("button", { name: "Import", exact: true }).click();
    await page.getByText("2 rows are in brought").waitFor();
    expect(
      (
        await server.sql(
          "select count() from permissions_of('analysts') where table_name = 'brought' and permission = 'INSERT'",
        )
      ).dataset,
    ).toEqual([[1]]);
    await page.getByRole("button", { name: "Look at it" }).click();
    await expect.poll(() => cell(page, 2, 3).textContent()).toBe("y");
    await page
      .locator(".menu-button", { has: userName(page) })
      .locator("button")
      .click();
    await page.getByRole("menuitem", { name: "My groups" }).click();
    await page.getByRole("tab", { name: "My groups" }).click();
    await expect.poll(() => cell(page, 1, 2).textContent()).toBe("analysts");
    await close(o);
  });

  test("what all users share is changed with her token, where she may; else she is told so and stays", async () => {
    const o = await into("alice", { path: "/#/boards", allow: /status of 403/ });
    const { page } = o;
    await expect.poll(() => userName(page).textContent()).toBe("Alice Analyst");
    await page.getByLabel("Name of a new board").fill("hers");
    await page.getByRole("button", { name: "New notebook" }).click();
    await page.getByText("Access denied for Alice Analyst [SETTINGS]").waitFor();
    expect(await page.locator("dialog").count()).toBe(0);
    await server.sql("grant settings to analysts");
    await page.getByRole("button", { name: "New notebook" }).click();
    await page.getByRole("heading", { name: "A note" }).waitFor();
    /* a board in the address is there again after the way to the provider */
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.locator(".board-rows td", { hasText: "1" }).waitFor();
    await page.reload();
    await page.getByRole("heading", { name: "hers" }).waitFor();
    await page.locator(".board-rows td", { hasText: "1" }).waitFor();
    await server.sql("revoke settings from analysts");
    await close(o);
  });

  test("a server that has not found its provider yet says so, and offers another try", async () => {
    const away = await serverBeside({ url: "http://127.0.0.1:9" } as Provider);
    const o = await open(browser, away.url);
    await expect.poll(() => reason(o.page).textContent()).toContain("not reached its identity provider yet");
    await o.page.getByRole("button", { name: "Try again" }).click();
    await expect.poll(() => reason(o.page).textContent()).toContain("not reached its identity provider yet");
    expect(await o.page.getByRole("button", { name: "Single sign-on" }).count()).toBe(0);
    await close(o);
    await away.remove();
  });

  long("a user of the server comes in by password, beside", async () => {
    const o = await start({ allow: /status of 401/ });
    await o.page.getByLabel("User").fill("admin");
    await o.page.getByLabel("Password").fill("wrong");
    await o.page.getByRole("button", { name: "Log in" }).click();
    await expect.poll(() => reason(o.page).textContent()).toContain("does not know this user");
    await o.page.getByLabel("Password").fill("for-the-tests");
    await o.page.getByRole("button", { name: "Log in" }).click();
    await expect.poll(() => userName(o.page).textContent()).toBe("admin");
    await o.page.reload();
    await expect.poll(() => userName(o.page).textContent()).toBe("admin");
    await close(o);
  });
});

describe("answers of the provider", () => {
  test("refused there: its words as text; the address is clean", async () => {
    const o = await start();
    await o.page.getByRole("button", { name: "Single sign-on" }).click();
    await o.page.locator("#abort").click();
    await expect.poll(() => reason(o.page).textContent()).toMatch(/identity provider says: /);
    expect(o.page.url()).toBe(`${server.url}/index.html`);
    await close(o);
  });

  test("a state or code that nobody asked for, or that was used: refused, nothing sent to the provider", async () => {
    const o = await start();
    const { page } = o;
    const before = await provider.count("token");
    await page.goto(`${server.url}/index.html?code=stolen&state=foreign&keep=1#/server`);
    await expect.poll(() => reason(page).textContent()).toContain("not the answer to a sign-on");
    expect(page.url()).toBe(`${server.url}/index.html?keep=1#/server`);
    await page.goto(`${server.url}/index.html?state=foreign&error=x&error_description=<img src=x onerror=alert(1)>`);
    await expect.poll(() => reason(page).textContent()).toContain("not the answer to a sign-on");
    expect(await page.locator("dialog img").count()).toBe(0);
    await expect.poll(() => provider.count("token")).toBe(before);
    /* the answer of a real sign-on, a second time */
    let answer = "";
    page.on("request", (r) => {
      if (r.isNavigationRequest() && r.url().includes("code=")) answer = r.url();
    });
    await page.goto(`${server.url}/index.html`);
    await signOn(page, "alice");
    await expect.poll(() => userName(page).textContent()).toBe("Alice Analyst");
    const used = await provider.count("token");
    await page.goto(answer);
    await expect.poll(() => reason(page).textContent()).toContain("not the answer to a sign-on");
    await expect.poll(() => provider.count("token")).toBe(used);
    await close(o);
  });

  test("a provider that is away: said, and the next try works", async () => {
    const o = await start({ allow: /ERR_|status of 503|CORS/ });
    await o.page.getByRole("button", { name: "Single sign-on" }).click();
    await provider.hook("fault", { path: "/token", status: -1 });
    await o.page.locator("#as-alice").click();
    await expect.poll(() => reason(o.page).textContent()).toContain("identity provider does not answer");
    await provider.hook("fault", {});
    await o.page.getByRole("button", { name: "Single sign-on" }).click();
    await expect.poll(() => userName(o.page).textContent()).toBe("Alice Analyst");
    await close(o);
  });
});

describe("tabs, reloads, ends", () => {
  test("a second tab has the sign-on of the first, a reload too; a log-out ends it in all", async () => {
    const o = await into("alice");
    await expect.poll(() => userName(o.page).textContent()).toBe("Alice Analyst");
    const authorizations = await provider.count("auth");
    const second = await open(browser, server.url, { context: o.context, hosts: [provider.url] });
    await expect.poll(() => userName(second.page).textContent()).toBe("Alice Analyst");
    await second.page.reload();
    await expect.poll(() => userName(second.page).textContent()).toBe("Alice Analyst");
    await expect.poll(() => provider.count("auth")).toBe(authorizations);
    await second.page.close();
    /* alone, the provider is asked without a question to the user; the text and the place stay */
    await o.page.locator(".cm-content").click();
    await o.page.keyboard.insertText("select 42");
    await kept(o.page, "select 42");
    await o.page.goto(`${server.url}/index.html?keep=1#/server`);
    await expect
      .poll(() => userName(o.page).textContent())
      .toBe("Alice Analyst"); /* it has come back from the provider */
    await o.page.reload();
    await expect.poll(() => userName(o.page).textContent()).toBe("Alice Analyst");
    expect(o.page.url()).toBe(`${server.url}/index.html?keep=1#/server`);
    await expect.poll(() => provider.count("auth")).toBeGreaterThan(authorizations);
    await o.page.goto(`${server.url}/index.html#/`);
    await expect.poll(() => o.page.locator(".cm-content").textContent()).toContain("select 42");
    const third = await open(browser, server.url, { context: o.context, hosts: [provider.url] });
    await expect.poll(() => userName(third.page).textContent()).toBe("Alice Analyst");
    await o.page
      .locator(".menu-button", { has: userName(o.page) })
      .locator("button")
      .click();
    await o.page.getByRole("menuitem", { name: "Log out" }).click();
    await expect.poll(() => reason(o.page).textContent()).toContain("You are logged out");
    await expect.poll(() => reason(third.page).textContent()).toContain("in another tab");
    expect(await cookies(o)).toEqual([]);
    await third.page.reload();
    await third.page.getByRole("dialog", { name: "Log in" }).waitFor();
    expect(await userName(third.page).count()).toBe(0);
    /* who signs on next is asked who that is */
    await signOn(o.page, "erin");
    await expect.poll(() => userName(o.page).textContent()).toBe("Erin Ending");
    await o.page.locator(".cm-content").waitFor();
    expect(await o.page.locator(".cm-content").textContent()).not.toContain("42");
    expect(third.faults).toEqual([]);
    await close(o);
  });

  test("a download carries a cookie that is made for it and ends with the sign-on", async () => {
    const o = await into("alice");
    await expect.poll(() => userName(o.page).textContent()).toBe("Alice Analyst");
    expect(await cookies(o)).toEqual([]);
    await run(o.page, "select symbol, price from trades");
    await o.page.getByRole("button", { name: "Download all rows" }).click();
    const [download] = await Promise.all([
      o.page.waitForEvent("download"),
      o.page.getByRole("menuitem", { name: "Download CSV" }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/\.csv$/);
    expect(await download.failure()).toBe(null);
    const [cookie] = await cookies(o);
    expect([cookie?.httpOnly, cookie?.sameSite]).toEqual([true, "Strict"]);
    await o.page
      .locator(".menu-button", { has: userName(o.page) })
      .locator("button")
      .click();
    await o.page.getByRole("menuitem", { name: "Log out" }).click();
    await expect.poll(() => cookies(o)).toEqual([]);
    const r = await fetch(`${server.url}/exec?query=select+1`, {
      headers: { Cookie: `${cookie?.name}=${cookie?.value}` },
    });
    expect(r.status).toBe(401);
    await close(o);
  });

  test("erin, disabled: loses access when what the server knows is old, not before", async () => {
    const o = await into("erin", { allow: /status of 40[01]/ });
    const { page } = o;
    await expect.poll(() => userName(page).textContent()).toBe("Erin Ending");
    await run(page, "select 1");
    const asked = Date.now();
    await provider.hook("user/erin", { disabled: true });
    await run(page, "select 2 still");
    if (Date.now() - asked < 1000) expect(await cell(page, 1, 2).textContent()).toBe("2");
    await page.waitForTimeout(1800);
    await page.keyboard.press("F9");
    await page.getByRole("dialog", { name: "Log in" }).waitFor();
    await expect.poll(() => reason(page).textContent()).toMatch(/sign-on/);
    await expect.poll(() => page.locator(".cm-content").textContent()).toContain("select 2 still");
    await provider.hook("user/erin", { disabled: false });
    await close(o);
  });
});

describe("short tokens", () => {
  let brief: Provider | null = null;
  let beside: Server | null = null;
  afterAll(async () => {
    await beside?.remove();
    await brief?.stop();
  });

  test("renewed unseen, by one tab for all; a provider that is away in between logs nobody out", async () => {
    brief = await new Provider().start("--access-ttl", "2");
    beside = await serverBeside(brief, { ALMANAC_ACL_OIDC_CACHE_TTL: "100" });
    const o = await open(browser, beside.url, { hosts: [brief.url] });
    o.allow(
      /status of (503|401)|ERR_|CORS/,
    ); /* 401: a token of two seconds may end on its way; it is renewed, and the request sent again */
    await signOn(o.page, "alice");
    await expect.poll(() => userName(o.page).textContent()).toBe("Alice Analyst");
    const second = await open(browser, beside.url, { context: o.context, hosts: [brief.url], allow: /status of 401/ });
    await expect.poll(() => userName(second.page).textContent()).toBe("Alice Analyst");
    const tokens = await brief.count("token");
    for (let i = 0; i < 2; i++) {
      await o.page.waitForTimeout(1700);
      await Promise.all([
        run(o.page, `select ${i} a from long_sequence(3)`),
        run(second.page, `select ${i} b from long_sequence(3)`),
      ]);
      await expect.poll(() => cell(o.page, 3, 2).textContent()).toBe(String(i));
      await expect.poll(() => cell(second.page, 3, 2).textContent()).toBe(String(i));
    }
    expect((await brief.count("token")) - tokens).toBeLessThanOrEqual(4);
    expect((await brief.count("token")) - tokens).toBeGreaterThanOrEqual(2);
    expect(second.faults).toEqual([]);
    await brief.hook("fault", { path: "/token", status: 503 });
    await o.page.waitForTimeout(2100);
    await run(o.page, "select 7 c");
    await expect.poll(() => o.page.locator(".run-error").textContent()).toContain("identity provider does not answer");
    await brief.hook("fault", {});
    await run(o.page, "select 7 c");
    await expect.poll(() => cell(o.page, 1, 2).textContent()).toBe("7");
    await close(o);
  });
});
