/*
 * Figures of docs/console.md: node figures.mjs URL. Sizes on the wire, time until the page can be used, frames while
 * rows scroll.
 */
import { chromium } from "playwright-core";

const url = process.argv[2];
const LOADS = 11;
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});

async function load() {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
  const session = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  let bytes = 0;
  const files = [];
  session.on("Network.responseReceived", (e) => files.push(new URL(e.response.url).pathname));
  session.on("Network.loadingFinished", (e) => (bytes += e.encodedDataLength));
  await page.goto(url, { waitUntil: "commit" });
  await page.locator(".cm-content").waitFor();
  /* the page says when the editor is there; asking from here would measure this program, too */
  const ready = await page.evaluate(() =>
    Math.max(
      performance.getEntriesByName("usable")[0].startTime,
      performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0,
    ),
  );
  const busy =
    (await session.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value * 1000;
  await page.waitForLoadState("networkidle");
  return { page, bytes, files: files.length, ready, busy };
}

const loads = [];
for (let i = 0; i < LOADS; i++) {
  const l = await load();
  loads.push(l);
  if (i < LOADS - 1) await l.page.context().close();
}
const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
console.log(
  `first load: ${loads[0].bytes} bytes on the wire, ${loads[0].files} requests, usable after ` +
    `${Math.round(median(loads.map((l) => l.ready)))} ms, ` +
    `${Math.round(median(loads.map((l) => l.busy)))} ms of the main thread's processor time (medians ` +
    `of ${LOADS})`,
);

const { page } = loads[LOADS - 1];
await page.locator(".cm-content").click();
await page.keyboard.insertText(
  "select x, rnd_double() a, rnd_str(5, 20, 2) b, timestamp_sequence('2026-01-01', 1000000) ts from " +
    "long_sequence(1000000)",
);
const start = Date.now();
await page.keyboard.press("F9");
await page.locator('.grid-row[aria-rowindex="2"] [data-column="0"]', { hasText: "1" }).waitFor();
const first = Date.now() - start;
await page.locator(".run-summary:not(.running)").waitFor();
console.log(
  `1,000,000 rows, 4 columns: first page after ${first} ms, all held after ${Date.now() - start} ms: ` +
    `${(await page.locator(".run-summary").textContent()) ?? ""}`,
);
const session = await page.context().newCDPSession(page);
await session.send("Performance.enable", { timeDomain: "threadTicks" });
const busy = async () =>
  (await session.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value * 1000;
const before = await busy();
const frames = await page.evaluate(
  () =>
    new Promise((resolve) => {
      const el = document.querySelector(".grid-scroller");
      const times = [];
      const begin = performance.now();
      const step = (t) => {
        times.push(t);
        el.scrollTop += 400;
        if (t - begin < 5000) requestAnimationFrame(step);
        else resolve(times.slice(1).map((v, i) => v - times[i]));
      };
      requestAnimationFrame(step);
    }),
);
console.log(
  `scrolling: median ${(1000 / median(frames)).toFixed(0)} frames a second, slowest twentieth ` +
    `${(1000 / [...frames].sort((a, b) => b - a)[Math.floor(frames.length / 20)]).toFixed(0)}`,
);
console.log(
  `main thread: ${((await busy()) - before) / frames.length} ms of processor time a frame, ${frames.length} frames`,
);
await page.evaluate(() => (document.querySelector(".grid-scroller").scrollTop = 9e9));
const jump = Date.now();
await page.locator('.grid-row[aria-rowindex="1000001"] [data-column="0"]', { hasText: "1000000" }).waitFor();
console.log(`the last page after ${Date.now() - jump} ms`);
await browser.close();
