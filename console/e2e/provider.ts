/* The identity provider of test/idp, on a port that the system picks. test/lib/provider.py fetches its packages. */
import { type ChildProcess, spawn } from "node:child_process";
import { createServer } from "node:net";
import { resolve } from "node:path";
import type { Page } from "playwright-core";
import { Server } from "./server";

const HOME = resolve(import.meta.dirname, "../../test/idp");

const freePort = (): Promise<number> =>
  new Promise((found) => {
    const s = createServer().listen(0, "127.0.0.1", () => {
      const { port } = s.address() as { port: number };
      s.close(() => found(port));
    });
  });

export class Provider {
  private process: ChildProcess | null = null;
  url = "";

  async start(...args: string[]): Promise<this> {
    const port = await freePort();
    const started = spawn(process.execPath, ["idp.mjs", "--port", String(port), ...args], {
      cwd: HOME,
      stdio: ["ignore", "pipe", "ignore"],
    });
    this.process = started;
    this.url = `http://127.0.0.1:${port}`;
    await new Promise<void>((ready, failed) => {
      started.stdout?.on("data", (d) => String(d).includes("idp ready") && ready());
      started.on("exit", () => failed(new Error("the provider did not start")));
    });
    return this;
  }

  async stop(): Promise<void> {
    const running = this.process;
    this.process = null;
    if (running === null || running.exitCode !== null) return;
    const ended = new Promise((r) => running.once("exit", r));
    running.kill();
    await ended;
  }

  async hook(name: string, body?: object): Promise<{ counters: Record<string, number> }> {
    const r = await fetch(
      `${this.url}/test/${name}`,
      body === undefined ? {} : { method: "POST", body: JSON.stringify(body) },
    );
    return (await r.json()) as { counters: Record<string, number> };
  }
  async count(what: string): Promise<number> {
    return (await this.hook("state")).counters[what] ?? 0;
  }
}

const ADMIN = ["admin", "for-the-tests"] as const;

/*
 * A server whose users are the provider's, with a table and groups: analysts may read, nohttp may not come in by
 * HTTP.
 */
export async function serverBeside(provider: Provider, more: Record<string, string> = {}): Promise<Server> {
  const server = await new Server({
    ALMANAC_ACL_OIDC_ENABLED: "true",
    ALMANAC_ACL_OIDC_CLIENT_ID: "almanac",
    ALMANAC_ACL_OIDC_CONFIGURATION_URL: `${provider.url}/.well-known/openid-configuration`,
    ALMANAC_ACL_ADMIN_PASSWORD: ADMIN[1],
    ALMANAC_ACL_PASSWORD_HASH_ITERATION_COUNT: "4096",
    ...more,
  }).start();
  server.login = `Basic ${btoa(ADMIN.join(":"))}`;
  for (const sql of [
    "create table trades (ts timestamp, symbol symbol, price double) timestamp(ts) partition by day",
    "insert into trades select timestamp_sequence('2026-01-01', 1000000), 'BTC', x * 0.5 from long_sequence(3000)",
    "create group analysts with external alias analysts",
    "grant http to analysts",
    "grant select on trades to analysts",
    "create group nohttp with external alias nohttp",
    "grant pgwire to nohttp",
  ])
    await server.sql(sql);
  return server;
}

/* On the provider's page: as one of its users; then back at ours. */
export async function signOn(
  page: Page,
  user: string,
  button = /Single sign-on|Continue as|Choose another/,
): Promise<void> {
  await page.getByRole("button", { name: button }).first().click();
  await page.locator(`#as-${user}`).click();
}
