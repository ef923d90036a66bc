/*
 * Debian's Chromium, and a page of the console in it. Every test ends with what a page must never do: write an error to
 * the browser's console, break its Content-Security-Policy, or ask another host than the server.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

const EXECUTABLE = process.env.CHROMIUM ?? "/usr/bin/chromium";

/* Tests for the nightly run alone. */
export const long = process.env.ALM_TEST_ALL ? test : test.skip;

/*
 * What the tests of a file stand on. For a second try of a test it is made anew: the first one may have left
 * anything.
 */
export function around(setUp: () => Promise<void>, tearDown: () => Promise<void>): void {
  beforeAll(setUp);
  afterAll(tearDown);
  beforeEach(async ({ task }) => {
    if ((task.result?.retryCount ?? 0) === 0) return;
    await tearDown();
    await setUp();
  });
}

export const launch = (): Promise<Browser> =>
  chromium.launch({
    executablePath: EXECUTABLE,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });

export interface Opened {
  page: Page;
  context: BrowserContext;
  faults: string[]; /* what it must not have done */
  allow: (pattern: RegExp) => void; /* a fault that the test makes on purpose */
}

export interface OpenOptions {
  width?: number;
  height?: number;
  theme?: "light" | "dark";
  path?: string;
  context?: BrowserContext;
  allow?: RegExp; /* from the first request on */
  hosts?: string[]; /* origins that may be asked beside the server's */
}

export async function open(browser: Browser, url: string, options: OpenOptions = {}): Promise<Opened> {
  const context =
    options.context ??
    (await browser.newContext({
      viewport: { width: options.width ?? 1280, height: options.height ?? 800 },
      colorScheme: options.theme ?? "light",
      permissions: ["clipboard-read", "clipboard-write"],
    }));
  const page = await context.newPage();
  page.setDefaultTimeout(20_000); /* before the time of the test is over: the report names the line */
  const faults: string[] = [];
  const allowed: RegExp[] = options.allow === undefined ? [] : [options.allow];
  const add = (text: string) => {
    if (!allowed.some((a) => a.test(text))) faults.push(text);
  };
  const others = (address: string) =>
    address !== "" &&
    options.hosts?.includes(new URL(address).origin) === true; /* what they say on pages of their own */
  page.on("console", (m) => m.type() === "error" && !others(m.location().url) && add(`console: ${m.text()}`));
  page.on("pageerror", (e) => add(`error: ${e.message}`));
  page.on("request", (r) => {
    const at = new URL(r.url());
    if (
      at.protocol.startsWith("http") &&
      at.origin !== new URL(url).origin &&
      options.hosts?.includes(at.origin) !== true
    )
      add(`request to ${at.origin}`);
  });
  await page.goto(url + (options.path ?? "/"));
  await page.locator("main").waitFor();
  return { page, context, faults, allow: (p) => allowed.push(p) };
}

export async function close(opened: Opened): Promise<void> {
  await opened.context.close();
  expect(opened.faults).toEqual([]);
}

/* Replaces the text of the tab in front. */
export async function write(page: Page, text: string): Promise<void> {
  const content = page.locator(".cm-content");
  await content.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText(text);
}

/* Runs what the editor would run (all: several statements, after its question), and waits until it has ended. */
export async function run(page: Page, text?: string, all = false): Promise<void> {
  if (text !== undefined) await write(page, text);
  await ran(page, async () => {
    await page.keyboard.press(all ? "Control+Shift+Enter" : "F9");
    if (all) await page.locator("dialog").getByRole("button", { name: "Run" }).click();
  });
}

/*
 * Does what starts a run, and waits until all of that run has ended: what the page shows of an earlier one does not
 * count.
 */
export async function ran(page: Page, start: () => Promise<unknown>): Promise<void> {
  const newest = () =>
    page.evaluate(() => Number(document.querySelector<HTMLElement>("[data-run][data-busy=false]")?.dataset.run ?? 0));
  const before = await page.evaluate(() =>
    Number(document.querySelector<HTMLElement>(".results[data-run]")?.dataset.run ?? 0),
  );
  await start();
  await expect.poll(newest).toBeGreaterThan(before);
}

/* What this browser keeps of one kind: [] before there is any. The page writes a moment after the change. */
export const stored = <T = { title: string; text: string; order: number }>(
  page: Page,
  store: "tabs" | "closed" | "history",
): Promise<T[]> =>
  page.evaluate(async (name) => {
    if (!(await indexedDB.databases()).some((d) => d.name === "almanac-console")) return [];
    return new Promise<never[]>((found, failed) => {
      const request = indexedDB.open("almanac-console");
      request.onerror = () => failed(request.error ?? new Error("not to be opened"));
      request.onsuccess = () => {
        const db = request.result;
        const all = db.objectStoreNames.contains(name) ? db.transaction(name).objectStore(name).getAll() : null;
        if (all === null) found([]);
        else all.onsuccess = () => found(all.result as never[]);
        db.close(); /* when the transaction has ended */
      };
    });
  }, store);

/* Waits until the text of a tab is kept. */
export const kept = (page: Page, text: string) =>
  expect
    .poll(async () => (await stored(page, "tabs")).map((t) => t.text))
    .toContainEqual(expect.stringContaining(text));

/* The text of a cell of the grid; row counted from 1, as the page shows it. */
export const cell = (page: Page, row: number, column: number) =>
  page.locator(`.grid-row[aria-rowindex="${row + 1}"] [aria-colindex="${column}"]`);

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/* Findings of axe that are serious or critical, as texts. */
export async function axe(page: Page): Promise<string[]> {
  await page.evaluate(axeSource);
  return page.evaluate(async () => {
    type Finding = {
      impact: string;
      id: string;
      help: string;
      nodes: Array<{ target: string[]; failureSummary: string }>;
    };
    const run = (window as unknown as { axe: { run(on: Document, o: object): Promise<{ violations: Finding[] }> } }).axe
      .run;
    const { violations } = await run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    });
    return violations
      .filter((v) => v.impact === "serious" || v.impact === "critical")
      .map(
        (v) =>
          `${v.id}: ${v.help}: ${v.nodes
            .map((n) => `${n.target.join(" ")} (${n.failureSummary})`)
            .slice(0, 3)
            .join("; ")}`,
      );
  });
}
