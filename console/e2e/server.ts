/* A server under test: its own data directory, ports that the system picks, stopped at the end. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const BINARY = process.env.ALMANAC_BINARY ?? resolve(import.meta.dirname, "../../build/release/almanac");

export class Server {
  private process: ChildProcess | null = null;
  readonly root = mkdtempSync(join(tmpdir(), "almanac-console-"));
  http = "";
  pg = "";
  login = ""; /* Authorization of sql() */

  constructor(readonly env: Record<string, string> = {}) {}

  /* On the ports of the last time, so that a page finds it again. */
  async start(): Promise<this> {
    const address = join(this.root, "conf/address");
    rmSync(address, { force: true });
    const any = "127.0.0.1:0";
    this.process = spawn(BINARY, ["-d", this.root], {
      env: {
        ...process.env,
        ALMANAC_HTTP_BIND_TO: this.http || any,
        ALMANAC_PG_NET_BIND_TO: any,
        ALMANAC_HTTP_MIN_NET_BIND_TO: any,
        ALMANAC_LINE_TCP_NET_BIND_TO: any,
        ...this.env,
      },
      stdio: "ignore",
    });
    for (let i = 0; i < 2000; i++) {
      if (this.process.exitCode !== null) throw new Error(`the server ended with ${this.process.exitCode}`);
      const text = existsSync(address) ? readFileSync(address, "utf8") : "";
      if (text.endsWith("\n")) {
        const found = Object.fromEntries(
          text
            .trim()
            .split("\n")
            .map((line) => line.split("=") as [string, string]),
        );
        this.http = found.http ?? "";
        this.pg = found.pg ?? "";
        return this;
      }
      await new Promise((r) => setTimeout(r, 10));
    }
    throw new Error("the server did not start");
  }

  get url(): string {
    return `http://${this.http}`;
  }

  async sql(query: string): Promise<{ dataset: unknown[][]; count: number }> {
    const r = await fetch(`${this.url}/exec`, {
      method: "POST",
      body: new URLSearchParams({ query }),
      signal: AbortSignal.timeout(20_000),
      headers: this.login === "" ? {} : { Authorization: this.login },
    });
    const answer = (await r.json()) as { dataset: unknown[][]; count: number; error?: string };
    if (answer.error !== undefined) throw new Error(`${answer.error}: ${query}`);
    return answer;
  }

  async stop(): Promise<void> {
    const running = this.process;
    this.process = null;
    if (running === null || running.exitCode !== null) return;
    const ended = new Promise((r) => running.once("exit", r));
    running.kill("SIGTERM");
    await ended;
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.root, { recursive: true, force: true });
  }
}
