/*
 * Statements that run or ran, by tab. A run of several statements stops at the first that fails. What is shown is
 * the selected run of the tab in front.
 */
import { ApiError, cancelQuery, exec, progress } from "../api/client";
import type { Cell, Exchange } from "../api/types";
import { prefs } from "../state/prefs";
import { createUserStore, ofUser, userMap } from "../state/owner";
import { randomHex } from "../state/random";
import { createSignal } from "../state/signal";
import { ResultSet } from "./resultset";

export interface Run {
  id: number;
  tabId: string;
  sql: string; /* as the user wrote it */
  from: number; /* where it stands in the text of the tab */
  to: number;
  state: "running" | "done" | "failed" | "cancelled";
  startedAt: number; /* Date.now() */
  durationMs: number; /* when it has ended */
  bytes: number; /* received so far */
  rowsSoFar: number; /* that the server has */
  exchange: Exchange | null;
  error: ApiError | null;
  result: ResultSet | null; /* of a statement with rows */
}

export interface Runs {
  byTab: Record<string, Run[]>;
  selected: Record<string, number>; /* id of a run */
  busy: Record<string, boolean>; /* statements of the tab are still to come */
}

export const runs = createUserStore<Runs>({ byTab: {}, selected: {}, busy: {} });

/* A statement has ended: done, failed or cancelled. */
export const runEnded = createSignal<Run>();

export interface Job {
  sql: string;
  from: number;
  to: number;
  params: Cell[];
  /* The text that is sent, where it is not `sql`, and back from its positions to those in `sql`. */
  text?: string;
  back?: (position: number) => number;
}

/* Short statements are over before the first question. */
const PROGRESS_MS = 700;

let lastId = 0; /* a count */
ofUser({ leave: () => controllers.forEach((c) => ((c.stop = true), c.abort.abort())) }); /* before the map is emptied */
const controllers = userMap<string, { abort: AbortController; tag: string; stop: boolean }>();

function update(tabId: string, id: number, change: Partial<Run>): void {
  runs.set((now) => ({
    byTab: { ...now.byTab, [tabId]: (now.byTab[tabId] ?? []).map((r) => (r.id === id ? { ...r, ...change } : r)) },
  }));
}

export function selectRun(tabId: string, id: number): void {
  runs.set((now) => ({ selected: { ...now.selected, [tabId]: id } }));
}

export function selectedRun(now: Runs, tabId: string): Run | null {
  const list = now.byTab[tabId] ?? [];
  return list.find((r) => r.id === now.selected[tabId]) ?? list[list.length - 1] ?? null;
}

function dropResults(tabId: string): void {
  for (const run of runs.get().byTab[tabId] ?? []) run.result?.drop();
}

ofUser({
  quit: async () => {
    for (const c of controllers.values()) c.stop = true; /* client.ts ends the one that runs */
    for (const tabId of Object.keys(runs.get().byTab)) dropResults(tabId);
  },
});

export function forgetRuns(tabId: string): void {
  void cancel(tabId);
  dropResults(tabId);
  runs.set((now) => {
    const byTab = { ...now.byTab };
    delete byTab[tabId];
    return { byTab };
  });
}

/* The rows are held by the server, so that pages belong together. */
async function runOne(
  tabId: string,
  run: Run,
  job: Job,
  control: { abort: AbortController; tag: string },
): Promise<boolean> {
  const { pageRows, timeoutSeconds } = prefs.get();
  const text = job.text ?? job.sql;
  const { signal } = control.abort;
  const asking = setInterval(() => {
    if (!signal.aborted)
      void progress(control.tag)
        .then((p) => p !== null && p.rows > 0 && update(tabId, run.id, { rowsSoFar: p.rows }))
        .catch(() => undefined);
  }, PROGRESS_MS);
  signal.addEventListener("abort", () => clearInterval(asking));
  const params = job.params.length === 0 ? "" : JSON.stringify(job.params);
  let early: ResultSet | null = null;
  try {
    const exchange = await exec(text, {
      limit: [1, pageRows],
      hold: true,
      params: job.params,
      timeoutSeconds,
      signal: control.abort.signal,
      tag: control.tag,
      onBytes: (bytes) => update(tabId, run.id, { bytes }),
      onPage: (page) => {
        early = new ResultSet(text, page, pageRows, params, true);
        update(tabId, run.id, { result: early });
      },
    });
    const { answer } = exchange;
    const result = answer.kind === "rows" ? (early ?? new ResultSet(text, answer, pageRows, params)) : null;
    if (answer.kind === "rows" && early !== null) (early as ResultSet).settle(answer);
    update(tabId, run.id, { state: "done", exchange, result, durationMs: exchange.totalMs });
    return true;
  } catch (e) {
    (early as ResultSet | null)?.settle(null);
    const given = e instanceof ApiError ? e : new ApiError(0, String(e));
    const cancelled = given.cancelled || control.abort.signal.aborted;
    const position = given.position < 0 || job.back === undefined ? given.position : job.back(given.position);
    update(tabId, run.id, {
      state: cancelled ? "cancelled" : "failed",
      error: new ApiError(given.status, given.message, position),
      durationMs: Date.now() - run.startedAt,
    });
    return false;
  } finally {
    clearInterval(asking);
  }
}

function start(tabId: string, job: Job): Run {
  const run: Run = {
    id: ++lastId,
    tabId,
    sql: job.sql,
    from: job.from,
    to: job.to,
    state: "running",
    startedAt: Date.now(),
    durationMs: 0,
    bytes: 0,
    rowsSoFar: 0,
    exchange: null,
    error: null,
    result: null,
  };
  runs.set((now) => ({
    byTab: { ...now.byTab, [tabId]: [...(now.byTab[tabId] ?? []), run] },
    selected: { ...now.selected, [tabId]: run.id },
  }));
  return run;
}

/* Replaces what the tab showed. Nothing, while the tab is busy. */
export async function runJobs(tabId: string, jobs: Job[], onEnd?: (run: Run) => void): Promise<void> {
  if (controllers.has(tabId) || jobs.length === 0) return;
  const control = { abort: new AbortController(), tag: `console-${randomHex(12)}`, stop: false };
  controllers.set(tabId, control);
  dropResults(tabId);
  runs.set((now) => ({ byTab: { ...now.byTab, [tabId]: [] }, busy: { ...now.busy, [tabId]: true } }));
  try {
    for (const job of jobs) {
      const run = start(tabId, job);
      const good = await runOne(tabId, run, job, control);
      const ended = runs.get().byTab[tabId]?.find((r) => r.id === run.id);
      if (ended !== undefined) {
        runEnded.emit(ended);
        onEnd?.(ended);
      }
      if (!good || control.stop) break;
    }
  } finally {
    controllers.delete(tabId);
    runs.set((now) => ({ busy: { ...now.busy, [tabId]: false } }));
  }
}

/* Ends it on the server, by the name we gave it; then the exchange. */
export async function cancel(tabId: string): Promise<void> {
  const control = controllers.get(tabId);
  if (control === undefined) return;
  control.stop = true;
  const stopped = cancelQuery(control.tag).catch(() => false);
  await Promise.race([stopped, new Promise((r) => setTimeout(r, 2000))]);
  control.abort.abort();
}
