/*
 * Where the points come from. A small result is read whole, in a worker. Of a large one the server sends two points per
 * pixel, by a query around the statement, again for each range that is zoomed to; where the statement cannot stand in
 * another, the worker reads it all.
 */
import type { Cell } from "../../api/types";
import { rows as ask } from "../../api/client";
import { url } from "../../api/connection";
import type { ResultSet } from "../../results/resultset";
import { authorization } from "../../login/signon";
import address from "./worker.ts?worker&url";
import type { FromWorker, ToWorker } from "./messages";
import type { Candles, Drawn } from "./reduce";
import { unitsPerSecond } from "../../results/format";
import { canWrap } from "../../sql/wrap";
import { bucketSql, candleSql, type Range, rangeSql, seriesSql } from "./sql";
import { type ChartSpec, ohlcOf, xKind } from "./spec";

export const WHOLE_MAX = 50_000; /* rows that are read whole where the server could reduce them */
export const WORKER_MAX = 5_000_000; /* rows that the worker reads at most */
export const SERIES_MAX = 10;

export interface Picture {
  drawn: Drawn | null;
  candles: Candles | null;
  names: Array<string | null>; /* of the lines */
  more: number; /* lines that are not shown */
  categories: string[]; /* what x counts */
  where: "whole" | "server" | "worker"; /* who reduced */
  cut: boolean; /* the result has more rows than are read */
}

export interface Source {
  draw(range: Range | null, pixels: number): Promise<Picture>;
  close(): void;
}

type Progress = (rows: number) => void;

/*
 * The one URL that this page makes a script of: our own worker (the Content-Security-Policy knows the policy by
 * name).
 */
interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL: (url: string) => string },
  ): { createScriptURL: (url: string) => string };
}
let policy: ReturnType<TrustedTypes["createPolicy"]> | null = null;

function newWorker(): Worker {
  const trusted = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;
  if (trusted === undefined) return new Worker(address, { type: "module" });
  policy ??= trusted.createPolicy("almanac-worker", { createScriptURL: (u) => u });
  return new Worker(policy.createScriptURL(address), { type: "module" });
}

function workerSource(result: ResultSet, spec: ChartSpec, onProgress: Progress): Source {
  const worker = newWorker();
  const columns = result.columns;
  const ohlc = spec.type === "candle" ? ohlcOf(columns) : null;
  const waiting = new Map<number, { resolve: (m: FromWorker) => void; reject: (e: Error) => void }>();
  let last = 0;
  worker.onmessage = (e: MessageEvent<FromWorker>) => {
    const m = e.data;
    if (m.kind === "progress") return onProgress(m.rows);
    const who = waiting.get(m.id);
    waiting.delete(m.id);
    if (m.kind === "failed") who?.reject(new Error(m.message));
    else who?.resolve(m);
  };
  worker.onerror = (e) => {
    for (const w of waiting.values()) w.reject(new Error(e.message || "the worker could not be started"));
    waiting.clear();
  };
  const send = (make: (id: number) => ToWorker): Promise<FromWorker> =>
    new Promise((resolve, reject) => {
      const id = ++last;
      waiting.set(id, { resolve, reject });
      worker.postMessage(make(id));
    });
  const load = (headers: Record<string, string>) =>
    send((id) => ({
      kind: "load",
      id,
      headers,
      url: result.snapshot === null ? url("exec") : url(`snapshot/${encodeURIComponent(result.snapshot)}`),
      held: result.snapshot !== null,
      sql: result.sql,
      params: result.params,
      columns,
      rows: Math.min(result.count, WORKER_MAX),
      x: spec.x,
      xKind: xKind(columns[spec.x]),
      ys:
        ohlc === null
          ? spec.type === "candle"
            ? spec.ys.slice(0, 1)
            : spec.ys
          : [ohlc.open, ohlc.high, ohlc.low, ohlc.close],
      series: spec.series,
      seriesMax: SERIES_MAX,
    }));
  const loading = authorization().then(({ headers }) => load(headers));
  return {
    async draw(range, pixels) {
      const loaded = await loading;
      if (loaded.kind !== "loaded") throw new Error("the worker did not answer");
      const series = Math.max(0, spec.candle === null ? 0 : loaded.names.indexOf(spec.candle));
      const m = await send((id) => ({
        kind: "draw",
        id,
        range,
        pixels,
        keep: spec.type === "bar" ? "extreme" : "both",
        candles: spec.type === "candle" ? { series } : null,
      }));
      if (m.kind !== "drawn") throw new Error("the worker did not answer");
      return {
        drawn: m.drawn,
        candles: m.candles,
        names: loaded.names,
        more: loaded.more,
        categories: loaded.categories,
        where: result.count > WHOLE_MAX ? "worker" : "whole",
        cut: result.cut || result.count > WORKER_MAX,
      };
    },
    close: () => worker.terminate(),
  };
}

interface Extent {
  lo: string;
  hi: string;
  n: string;
}

function serverSource(result: ResultSet, spec: ChartSpec): Source {
  const { sql, columns, params } = result;
  const abort = new AbortController();
  const options = { params: params === "" ? [] : (JSON.parse(params) as Cell[]), signal: abort.signal };
  const per = unitsPerSecond(columns[spec.x]?.type ?? "");
  let names: Promise<Array<string | null>> | null = null;
  const namesOf = async (): Promise<Array<string | null>> =>
    (await ask<{ s: string | null }>(seriesSql(sql, columns, spec, SERIES_MAX + 1), options)).map((r) => r.s);
  return {
    async draw(range, pixels) {
      if (spec.series >= 0) names ??= namesOf();
      const all = names === null ? null : await names;
      const shown = all?.slice(0, SERIES_MAX) ?? null;
      const extent = (await ask<Extent>(rangeSql(sql, columns, spec, range), options))[0];
      const rows = Number(extent?.n ?? 0);
      const picture: Picture = {
        drawn: { x: [], lines: [], reduced: true, rows },
        candles: null,
        names: shown ?? [],
        more: (all?.length ?? 0) - (shown?.length ?? 0),
        categories: [],
        where: "server",
        cut: false,
      };
      if (extent === undefined || rows === 0) return picture;
      const width =
        per > 0
          ? String((BigInt(extent.hi) - BigInt(extent.lo)) / BigInt(pixels) + 1n)
          : String((Number(extent.hi) - Number(extent.lo)) / pixels || 1);
      const at = (bucket: number): number => (Number(extent.lo) + bucket * Number(width)) / (per || 1);
      if (spec.type === "candle") {
        const only = shown === null ? null : [spec.candle ?? shown[0] ?? null];
        const list = await ask<Record<"b" | "o" | "h" | "l" | "c", number>>(
          candleSql(sql, columns, spec, ohlcOf(columns), extent.lo, width, range, only),
          options,
        );
        const all4 = list.filter((r) => r.o !== null && r.h !== null && r.l !== null && r.c !== null);
        return {
          ...picture,
          drawn: null,
          candles: {
            x: all4.map((r) => at(Number(r.b) + 0.5)),
            open: all4.map((r) => r.o),
            high: all4.map((r) => r.h),
            low: all4.map((r) => r.l),
            close: all4.map((r) => r.c),
            width: Number(width) / (per || 1),
            rows,
          },
        };
      }
      const list = await ask<Record<string, string | number | null>>(
        bucketSql(sql, columns, spec, extent.lo, width, range, shown),
        options,
      );
      return { ...picture, drawn: toDrawn(list, spec, shown, at, pixels, rows) };
    },
    close: () => abort.abort(),
  };
}

function toDrawn(
  list: Array<Record<string, string | number | null>>,
  spec: ChartSpec,
  names: Array<string | null> | null,
  at: (bucket: number) => number,
  pixels: number,
  rows: number,
): Drawn {
  const bars = spec.type === "bar";
  const per = bars ? 1 : 2;
  const slots = pixels * per;
  const lines: Drawn["lines"] = (names ?? [null]).flatMap((_, series) =>
    spec.ys.map((_, y) => ({ series, y, values: new Array<number | null>(slots).fill(null) })),
  );
  const code = new Map((names ?? [null]).map((n, i) => [n, i]));
  for (const r of list) {
    const bucket = Math.min(pixels - 1, Number(r.b));
    const series = names === null ? 0 : code.get((r.s ?? null) as string | null);
    if (series === undefined) continue;
    spec.ys.forEach((_, y) => {
      const values = lines[series * spec.ys.length + y]?.values;
      const [lo, hi] = [r[`lo${y}`] as number | null, r[`hi${y}`] as number | null];
      if (values === undefined || lo === null || hi === null || lo === undefined || hi === undefined) return;
      if (bars) values[bucket] = Math.abs(lo) > Math.abs(hi) ? lo : hi;
      else {
        values[bucket * 2] = lo;
        values[bucket * 2 + 1] = hi;
      }
    });
  }
  return {
    x: Array.from({ length: slots }, (_, i) => at(bars ? i + 0.5 : Math.floor(i / 2) + 0.25 + (i % 2) / 2)),
    lines,
    reduced: true,
    rows,
  };
}

/* The server's points where there are many and it can; else the worker's. */
export function openSource(result: ResultSet, spec: ChartSpec, onProgress: Progress): Source {
  const kind = xKind(result.columns[spec.x]);
  const ordered = spec.type !== "candle" || result.timestamp === spec.x;
  if (
    (result.count <= WHOLE_MAX && !result.cut) ||
    kind === "category" ||
    !ordered ||
    !canWrap(result.sql, result.columns)
  )
    return workerSource(result, spec, onProgress);
  const server = serverSource(result, spec);
  let fallback: Source | null = null;
  return {
    async draw(range, pixels) {
      if (fallback !== null) return fallback.draw(range, pixels);
      try {
        return await server.draw(range, pixels);
      } catch (e) {
        if (e instanceof Error && "cancelled" in e && e.cancelled === true) throw e;
        fallback = workerSource(result, spec, onProgress);
        return fallback.draw(range, pixels);
      }
    },
    close() {
      server.close();
      fallback?.close();
    },
  };
}
