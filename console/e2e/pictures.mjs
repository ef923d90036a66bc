/*
 * The pictures of docs/images: `node e2e/pictures.mjs URL [FOLDER]`, against a new server with the demo table and its
 * board (./dev run).
 */
import { resolve } from "node:path";
import { chromium } from "playwright-core";

const [url, folder = resolve(import.meta.dirname, "../../docs/images")] = process.argv.slice(2);
if (url === undefined) throw new Error("node e2e/pictures.mjs URL [FOLDER]");

const HOURS =
  "SELECT timestamp, first(price) open, max(price) high, min(price) low, last(price) close, " +
  "sum(amount) volume\nFROM trades\nWHERE symbol = 'BTC-USD' AND timestamp IN '2026-01-06'\nSAMPLE " +
  "BY 1h";
const CSV = [
  "time,station,temperature,humidity,note",
  ...Array.from(
    { length: 12 },
    (_, i) =>
      `2026-03-0${1 + (i % 3)}T0${i % 10}:00:00Z,S${i % 4},` +
      `${i === 5 ? "warm" : (12.5 + i / 4).toFixed(2)},${40 + i},${i === 2 ? '"clear, dry"' : ""}`,
  ),
].join("\n");

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});

async function picture(name, options, act) {
  const context = await browser.newContext({
    viewport: { width: options.width ?? 1280, height: options.height ?? 720 },
    colorScheme: options.theme ?? "light",
  });
  const page = await context.newPage();
  await page.goto(`${url}/${options.path ?? ""}`);
  await page.locator("main").waitFor();
  await page.waitForTimeout(500);
  await act(page);
  await page.waitForTimeout(options.wait ?? 800);
  await page.screenshot({ path: `${folder}/console-${name}.png` });
  await context.close();
}
const write = async (page, text) => {
  await page.locator(".cm-content").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
};
const run = async (page, text) => {
  await write(page, text);
  await page.keyboard.press("F9");
  await page.locator(".results[data-busy=false] .run-summary.done, .run-summary.failed").first().waitFor();
};
const view = (page, name) => page.getByRole("button", { name, exact: true }).click();
const opened = async (page) => {
  await view(page, "Tables");
  await page.locator(".tree-row.table", { hasText: "trades" }).locator("[data-do=turn]").click();
};

await picture("completion", {}, async (page) => {
  await opened(page);
  await write(page, "SELECT timestamp, symbol, \nFROM trades");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("End");
  await page.keyboard.type("regr_s", { delay: 30 });
});
await picture("error", { height: 520 }, (page) =>
  run(page, "SELECT timestamp, symbol, prise\nFROM trades\nWHERE symbol = 'BTC-USD'"),
);
await picture("grid", { wait: 1500 }, async (page) => {
  await run(
    page,
    "SELECT x, x * 0.5 half, rnd_symbol('a', 'b', 'c') s, timestamp_sequence('2026-01-01', 1000000) " +
      "t FROM long_sequence(1000000)",
  );
  await page.locator(".grid-scroller").focus();
  await page.keyboard.press("Control+End");
});
await picture("chart", { wait: 1500 }, async (page) => (await run(page, HOURS), view(page, "Chart")));
await picture("import", {}, async (page) => {
  await view(page, "Tables");
  await page.getByRole("button", { name: "Import a file" }).first().click();
  await page
    .locator("dialog input[type=file]")
    .setInputFiles({ name: "weather.csv", mimeType: "text/csv", buffer: Buffer.from(CSV) });
  const type = page.getByLabel("Type of temperature");
  await type.fill("DOUBLE");
  await type.press("Enter");
});
await picture("dark", { theme: "dark" }, async (page) => (await opened(page), run(page, HOURS)));
await picture("phone", { width: 380, height: 720 }, (page) => run(page, HOURS));
await picture("board", { path: "#/boards?name=Trades", height: 870, wait: 2500 }, async (page) =>
  page.locator(".board-cell canvas").nth(2).waitFor(),
);
await browser.close();
