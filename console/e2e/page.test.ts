/* The page as such: it loads, runs a statement, survives a reload, and keeps its promises about weight and access. */
import type { Browser } from "playwright-core";
import { describe, expect, test } from "vitest";
import { around, axe, cell, close, kept, launch, long, open, run } from "./browser";
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

describe("page", () => {
  test("a first statement, and the tab after a reload", async () => {
    const o = await open(browser, server.url);
    await run(o.page, "select x, x * 0.5 half from long_sequence(100000)");
    await expect.poll(() => cell(o.page, 1, 3).textContent()).toBe("0.5");
    await expect.poll(() => o.page.locator(".run-summary").textContent()).toContain("100,000 rows");
    await kept(o.page, "long_sequence(100000)");
    await o.page.reload();
    await o.page.locator(".cm-content").waitFor();
    await expect.poll(() => o.page.locator(".cm-content").textContent()).toContain("long_sequence(100000)");
    await close(o);
  });

  test("an error is underlined where the server says, and explained beside it", async () => {
    const o = await open(browser, server.url);
    o.allow(/status of 400/);
    await run(o.page, "select 1;\n\nselect 'é😀', wrong\nfrom long_sequence(1)", true);
    await expect.poll(() => o.page.locator(".cm-lintRange-error").textContent()).toBe("wrong");
    await expect.poll(() => o.page.locator(".cm-error-beside").textContent()).toMatch(/Invalid column: wrong/);
    await expect
      .poll(() => o.page.locator(".cm-run-gutter [data-run]").allTextContents())
      .toEqual([expect.stringMatching(/^✓ .*ms$/), expect.stringMatching(/^✗ .*ms$/)]);
    await close(o);
  });

  test("a server without tables says what to do; buttons lead back; no mark on no text; lines wrap", async () => {
    const o = await open(browser, server.url, { path: "/#/server" });
    const { page } = o;
    const tables = page.getByRole("button", { name: "Tables", exact: true });
    await page.getByRole("heading", { name: "Server" }).waitFor();
    expect(await tables.getAttribute("aria-pressed")).toBe("false");
    await tables.click();
    await page.getByText("No tables yet.").waitFor();
    await page.locator(".tree-empty").getByRole("button", { name: "Create a table" }).click();
    await page.getByRole("dialog", { name: /Create a table/ }).waitFor();
    await page.keyboard.press("Escape");
    await run(page, `select ${"1 + ".repeat(200)} 1 a`);
    await expect.poll(() => page.locator(".cm-run-gutter [data-run]").count()).toBe(1);
    const wide = () => page.locator(".cm-scroller").evaluate((e) => e.scrollWidth > e.clientWidth);
    expect(await wide()).toBe(true);
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByRole("menuitem", { name: "Wrap long lines" }).click();
    await expect.poll(wide).toBe(false);
    await page.locator(".cm-content").click();
    await page.keyboard.press("Control+a");
    await page.keyboard.press("Delete");
    await expect.poll(() => page.locator(".cm-run-gutter [data-run]").count()).toBe(0);
    await close(o);
  });

  test("weight, headers and caching", async () => {
    const r = await fetch(`${server.url}/index.html`);
    const policy = r.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).not.toContain("unsafe");
    expect(r.headers.get("cache-control")).toBe("no-cache");
    expect(r.headers.get("x-content-type-options")).toBe("nosniff");
    const html = await r.text();
    let bytes = html.length;
    const files = [...html.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map((m) => m[1] ?? "");
    expect(files.length).toBeGreaterThan(1);
    for (const file of files) {
      const a = await fetch(`${server.url}/${file}`, { headers: { "Accept-Encoding": "gzip" } });
      expect(a.headers.get("cache-control")).toContain("immutable");
      bytes += Number(a.headers.get("content-length"));
    }
    expect(bytes).toBeLessThan(300_000);
  });

  for (const theme of ["light", "dark"] as const)
    for (const width of [1280, 380])
      ((theme === "light") === (width === 1280) ? test : long)(
        `nothing serious for axe: ${theme}, ${width} px`,
        async () => {
          const o = await open(browser, server.url, { theme, width });
          o.allow(/status of 400/);
          await run(o.page, "select x, null n, 'a' t from long_sequence(1000); select nothing", true);
          await o.page.locator(".run-tab").first().click();
          expect(await axe(o.page)).toEqual([]);
          await close(o);
        },
      );
});
