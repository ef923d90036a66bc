/*
 * The server's REST interface, as the console uses it. Errors are ApiError: with the server's message and the
 * position in the statement (UTF-16 units, as the server counts, too; -1: none); status 0: the server could not be
 * reached.
 */
import { reportFound, reportLost, url } from "./connection";
import { hereSignal, ofUser, whileHere } from "../state/owner";
import { credentials, NobodyError } from "./credentials";
import type { Answer, Cell, Column, Exchange, Row, RowsAnswer, ServerSettings, ServerWarning, Timings } from "./types";

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly position = -1,
  ) {
    super(message);
  }
  get cancelled(): boolean {
    return this.status === -1;
  }
  get unreachable(): boolean {
    return this.status === 0;
  }
}

/* So that a page that is logged out gets our form, and not the browser's own dialog. */
const MARK = { "X-Requested-With": "XMLHttpRequest" };

/* What anybody may ask, as long as it changes nothing. */
const FREE = ["settings", "warnings"];
const NOBODY = { headers: {}, used: null };

function noHeader(e: unknown): never {
  if (e instanceof NobodyError) throw new ApiError(401, e.message);
  throw new ApiError(503, credentials().reportAway(e) ?? String(e));
}

/* A log-in or log-out: it makes the user that others belong to. */
const isSession = (params: Record<string, string> | undefined): boolean => params?.session !== undefined;
const within = (here: AbortSignal | null, signal: AbortSignal | null | undefined): RequestInit => {
  const all = [here, signal].filter((s) => s !== null && s !== undefined);
  return all.length === 0 ? {} : { signal: AbortSignal.any(all) };
};

/* The answer to one request; a token that is over by now is renewed, and the request sent once more. */
async function answered(
  path: string,
  params: Record<string, string> | undefined,
  init: RequestInit,
  again: boolean,
): Promise<Response> {
  let response: Response;
  const here = isSession(params) ? null : hereSignal();
  const open =
    (FREE.includes(path) && init.method === undefined) ||
    (init.headers !== undefined && "Authorization" in init.headers);
  const { headers, used } = open ? NOBODY : await credentials().authorization().catch(noHeader);
  try {
    response = await fetch(url(path, params), {
      credentials: "same-origin",
      ...init,
      ...within(here, init.signal),
      headers: { ...MARK, ...headers, ...init.headers },
    });
  } catch {
    if (init.signal?.aborted === true || here?.aborted === true) throw new ApiError(-1, "cancelled");
    reportLost();
    throw new ApiError(0, "The server does not answer.");
  }
  reportFound();
  if (here?.aborted === true)
    throw new ApiError(-1, "cancelled"); /* what it says of who was here is not said of who is */
  if (response.status === 401) {
    if (await credentials().refused(used)) if (again) return answered(path, params, init, false);
    throw new ApiError(401, "Log in first.");
  }
  if (response.status === 403) credentials().lookAtDenial(await response.clone().text());
  return response;
}
const request = (path: string, params: Record<string, string> | undefined, init: RequestInit): Promise<Response> => {
  const answer = answered(path, params, init, true);
  return isSession(params) ? answer : whileHere(answer);
};

export interface ExecOptions {
  limit?: [from: number, to: number]; /* rows, counted from 1, both included */
  count?: boolean;
  signal?: AbortSignal;
  timeoutSeconds?: number;
  params?: Cell[]; /* of $1, $2 ... */
  tag?: string; /* a name of our own, by which it can be ended before it has a number */
  readonly?: boolean; /* what would change something is refused */
  hold?: boolean; /* the server keeps the rows, and the answer names them */
  onBytes?: (bytes: number) => void; /* received so far */
  onPage?: (
    page: RowsAnswer,
  ) => void; /* of what is held: the rows of `limit`, when they are there before the rest is */
}

interface Wire {
  query?: string;
  columns?: Column[];
  timestamp?: number;
  dataset?: Row[];
  count?: number;
  timings?: Timings;
  snapshot?: string;
  complete?: boolean;
  error?: string;
  position?: number | string;
  dml?: string;
  ddl?: string;
  updated?: number;
}

const ROWS = '"dataset":[';

/*
 * The first rows of an answer that is still coming: each ends with a line feed, which stands nowhere else. null: it
 * has no rows. Pure.
 */
export function pageOf(sql: string, text: string, rows: number): RowsAnswer | null {
  const begin = text.indexOf(ROWS); /* quotes in texts before it are escaped */
  if (begin < 0) return null;
  let end = begin;
  for (let i = 0; i < rows && end >= 0; i++) end = text.indexOf("\n", end + 1);
  if (end < 0) return null;
  const answer = toAnswer(sql, JSON.parse(`${text.slice(0, end)}]}`) as Wire);
  return answer.kind === "rows" ? answer : null;
}

async function readText(sql: string, response: Response, options: ExecOptions): Promise<string> {
  const parts: string[] = [];
  const decoder = new TextDecoder();
  const here = hereSignal();
  let bytes = 0;
  let pageRows =
    options.onPage === undefined || options.limit === undefined ? 0 : options.limit[1] - options.limit[0] + 1;
  let lines = 0;
  try {
    const reader = response.body?.getReader();
    if (reader === undefined) return "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done || here.aborted) break;
      bytes += value.byteLength;
      parts.push(decoder.decode(value, { stream: true }));
      options.onBytes?.(bytes);
      if (pageRows === 0) continue;
      for (const byte of value) if (byte === 10) lines++;
      const page = lines < pageRows ? null : pageOf(sql, parts.join(""), pageRows);
      if (lines >= pageRows) pageRows = 0;
      if (page !== null) options.onPage?.(page);
    }
  } catch {
    if (options.signal?.aborted === true || here.aborted) throw new ApiError(-1, "cancelled");
    reportLost();
    throw new ApiError(0, "The connection broke before the answer was complete.");
  }
  parts.push(decoder.decode());
  return parts.join("");
}

function readWire(text: string, status: number): Wire {
  try {
    return JSON.parse(text) as Wire;
  } catch {
    throw new ApiError(status, status === 200 ? "The answer is no JSON." : text.slice(0, 500) || `status ${status}`);
  }
}

function toAnswer(sql: string, wire: Wire): Answer {
  if (wire.columns === undefined) return { kind: "done", query: sql, updated: wire.updated ?? null };
  return {
    kind: "rows",
    query: sql,
    columns: wire.columns,
    timestamp: wire.timestamp ?? -1,
    dataset: wire.dataset ?? [],
    count: wire.count ?? wire.dataset?.length ?? 0,
    timings: wire.timings ?? null,
    snapshot: wire.snapshot ?? null,
    complete: wire.complete ?? true,
  };
}

function execParams(sql: string, options: ExecOptions): Record<string, string> {
  const params: Record<string, string> = { query: sql, quoteLargeNum: "true", timings: "true" };
  if (options.limit !== undefined) params.limit = options.limit.join(",");
  if (options.count === true) params.count = "true";
  if (options.params !== undefined && options.params.length > 0) params.params = JSON.stringify(options.params);
  if (options.tag !== undefined) params.tag = options.tag;
  if (options.hold === true) params.snapshot = "new";
  if (options.timeoutSeconds !== undefined && options.timeoutSeconds > 0)
    params.timeout = String(options.timeoutSeconds);
  return params;
}

/* Names of statements that run, by which they can be ended: all of them before a log-out. */
const running = new Set<string>();
ofUser({
  quit: () => Promise.all([...running].map((tag) => cancelQuery(tag).catch(() => false))),
  leave: () => running.clear(),
});

/* One statement. The text goes in the body: its length has no limit but the server's. */
export async function exec(sql: string, options: ExecOptions = {}): Promise<Exchange> {
  const { tag } = options;
  if (tag === undefined) return whileHere(exchange(sql, options));
  running.add(tag);
  try {
    return await whileHere(exchange(sql, options));
  } finally {
    running.delete(tag);
  }
}

async function exchange(sql: string, options: ExecOptions): Promise<Exchange> {
  const started = performance.now();
  const init: RequestInit = { method: "POST", body: new URLSearchParams(execParams(sql, options)) };
  if (options.signal !== undefined) init.signal = options.signal;
  const response = await request("exec", options.readonly === true ? { readonly: "true" } : undefined, init);
  const text = await readText(sql, response, options);
  const wire = readWire(text, response.status);
  if (wire.error !== undefined || !response.ok) {
    const position = Number(wire.position ?? -1);
    throw new ApiError(response.status, wire.error ?? `status ${response.status}`, position);
  }
  const totalMs = performance.now() - started;
  const answer = toAnswer(sql, wire);
  const serverMs =
    answer.kind === "rows" && answer.timings !== null
      ? (answer.timings.compiler + answer.timings.execute + (answer.timings.hold ?? 0)) / 1e6
      : 0;
  return {
    answer,
    totalMs,
    networkMs: Math.max(0, totalMs - serverMs),
    bytes: text.length,
    queryId: response.headers.get("X-Query-Id"),
  };
}

export interface Mistake {
  from: number;
  to: number;
  message: string;
}

/* What is wrong with the statements of a text; none of them runs. */
export async function validate(text: string, signal: AbortSignal): Promise<Mistake[]> {
  const found = await json<{ errors: Array<{ position: number; length: number; error: string }> }>(
    "api/v1/sql/validate",
    undefined,
    { method: "POST", body: new URLSearchParams({ query: text, report: "true" }), signal },
  );
  return found.errors.map((e) => ({ from: e.position, to: e.position + e.length, message: e.error }));
}

/* Rows of a statement of the console itself, as objects by column name. */
export async function rows<T>(sql: string, options: ExecOptions = {}): Promise<T[]> {
  const { answer } = await exec(sql, options);
  if (answer.kind !== "rows") return [];
  return answer.dataset.map((row) => Object.fromEntries(answer.columns.map((c, i) => [c.name, row[i]])) as T);
}

/* True: it was there and ends. */
export async function cancelQuery(id: string): Promise<boolean> {
  const r = await request(`query/${encodeURIComponent(id)}`, undefined, { method: "DELETE" });
  return r.ok;
}

const json = <T>(path: string, params?: Record<string, string>, init: RequestInit = {}): Promise<T> =>
  whileHere(jsonOf<T>(path, params, init));
async function jsonOf<T>(path: string, params: Record<string, string> | undefined, init: RequestInit): Promise<T> {
  const r = await request(path, params, init);
  const text = await r.text();
  if (!r.ok) throw new ApiError(r.status, readWire(text, r.status).error ?? `status ${r.status}`);
  return readWire(text, r.status) as T;
}

/* Rows [from, to], counted from 1, of a result that the server holds. */
export async function snapshotRows(name: string, from: number, to: number): Promise<Row[]> {
  return (
    await json<{ dataset: Row[] }>(`snapshot/${encodeURIComponent(name)}`, { limit: `${from},${to}`, nm: "true" })
  ).dataset;
}
export const dropSnapshot = (name: string) =>
  request(`snapshot/${encodeURIComponent(name)}`, undefined, { method: "DELETE" });

/* How far the run with that tag is; null: it does not run (yet, or any more). */
export async function progress(tag: string): Promise<{ rows: number } | null> {
  const r = await request(`query/${encodeURIComponent(tag)}`, undefined, {});
  return r.status === 200 ? whileHere(r.json() as Promise<{ rows: number }>) : null;
}

export async function fetchText(path: string): Promise<string> {
  const r = await request(path, undefined, {});
  if (!r.ok) throw new ApiError(r.status, `status ${r.status} of ${path}`);
  return whileHere(r.text());
}

/* Before it is known who is there: facts, and the preferences that anybody may read. */
export const publicSettings = () => json<ServerSettings>("settings");
/* With all preferences, which need a login where there is one. */
export async function settings(): Promise<ServerSettings> {
  const found = await json<ServerSettings>("settings", undefined, {
    headers: (await credentials().authorization().catch(noHeader)).headers,
  });
  if (found["preferences.public"] === true) throw new ApiError(401, "Log in first.");
  return found;
}
export const warnings = () => json<ServerWarning[]>("warnings");
/* Merges into what all pages share (the server's preferences); `version` is the one that was read. */
export const putPreferences = (version: number, changes: Record<string, unknown>) =>
  json<{ status: string }>(
    "settings",
    { version: String(version) },
    { method: "POST", body: JSON.stringify(changes), headers: { "Content-Type": "application/json" } },
  );

/* Log in and out: the cookie is the session. */
export async function login(user: string, password: string): Promise<void> {
  const bytes = new TextEncoder().encode(`${user}:${password}`);
  const coded = btoa(String.fromCharCode(...bytes));
  await request("exec", { query: "select 1", session: "true" }, { headers: { Authorization: `Basic ${coded}` } });
}
export async function logout(): Promise<void> {
  await request("exec", { query: "select 1", session: "false" }, {});
}

/* Before the browser fetches something itself. */
export const readyForDownload = () =>
  credentials().cookieForDownload(async () => void (await request("exec", { query: "select 2", session: "true" }, {})));

/* params: JSON of the values of $1 ..., "" for none. */
export const exportUrl = (sql: string, fmt: string, filename: string, params: string) =>
  url("exp", { query: sql, fmt, filename, ...(params === "" ? {} : { params }) });
