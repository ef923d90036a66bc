/*
 * Reads all rows of a result, keeps the columns of the chart as numbers, and draws ranges of them: in a worker, so that
 * the page stays quick. One result at a time.
 */
import type { Cell } from "../../api/types";
import type { FromWorker, LoadMessage, ToWorker } from "./messages";
import { seconds } from "./seconds";
import { candles, type Points, reduce } from "./reduce";

const PAGE_ROWS = 100_000;

let points: Points | null = null;
const post = (m: FromWorker) => self.postMessage(m);

interface Wire {
  columns?: Array<{ name: string }>;
  dataset?: Cell[][];
  error?: string;
}

const number = (v: Cell | undefined): number => (v === null || v === undefined || v === "" ? NaN : Number(v));

async function page(m: LoadMessage, from: number): Promise<Cell[][]> {
  const params = new URLSearchParams({ limit: `${from + 1},${from + PAGE_ROWS}` });
  const init: RequestInit = {
    credentials: "same-origin",
    headers: { "X-Requested-With": "XMLHttpRequest", ...m.headers },
  };
  let address = m.url;
  if (m.held) address += `?${params.toString()}&nm=true`;
  else {
    params.set("query", m.sql);
    params.set("quoteLargeNum", "true");
    if (m.params !== "") params.set("params", m.params);
    Object.assign(init, { method: "POST", body: params });
  }
  const r = await fetch(address, init);
  const wire = JSON.parse(await r.text()) as Wire;
  if (wire.error !== undefined || !r.ok) throw new Error(wire.error ?? `status ${r.status}`);
  return wire.dataset ?? [];
}

class Names {
  private readonly known = new Map<string | null, number>();
  readonly counts: number[] = [];
  readonly list: Array<string | null> = [];
  code(v: string | null): number {
    let c = this.known.get(v);
    if (c === undefined) {
      c = this.list.length;
      this.known.set(v, c);
      this.list.push(v);
      this.counts.push(0);
    }
    this.counts[c] = (this.counts[c] as number) + 1;
    return c;
  }
}

const text = (v: Cell | undefined): string | null => (v === null || v === undefined ? null : String(v));

/* The most frequent lines, by number; the others are not drawn. */
function shown(
  names: Names,
  codes: Int32Array,
  max: number,
): { names: Array<string | null>; codes: Int32Array; more: number } {
  const order = names.list.map((_, i) => i).sort((a, b) => (names.counts[b] as number) - (names.counts[a] as number));
  const place = new Int32Array(names.list.length).fill(-1);
  order.slice(0, max).forEach((code, i) => (place[code] = i));
  return {
    names: order.slice(0, max).map((c) => names.list[c] ?? null),
    codes: codes.map((c) => place[c] as number),
    more: Math.max(0, order.length - max),
  };
}

async function load(m: LoadMessage): Promise<void> {
  const x = new Float64Array(m.rows).fill(NaN);
  const ys = m.ys.map(() => new Float64Array(m.rows).fill(NaN));
  const codes = new Int32Array(m.rows);
  const names = new Names();
  const categories = new Names();
  let n = 0;
  while (n < m.rows) {
    const rows = await page(m, n);
    if (rows.length === 0) break;
    for (const row of rows) {
      if (n === m.rows) break;
      const v = row[m.x];
      x[n] =
        m.xKind === "time"
          ? typeof v === "string"
            ? seconds(v)
            : NaN
          : m.xKind === "number"
            ? number(v)
            : categories.code(text(v));
      m.ys.forEach((y, i) => ((ys[i] as Float64Array)[n] = number(row[y])));
      codes[n] = m.series < 0 ? 0 : names.code(text(row[m.series]));
      n++;
    }
    post({ kind: "progress", id: m.id, rows: n });
  }
  const lines = m.series < 0 ? null : shown(names, codes.subarray(0, n), m.seriesMax);
  points = {
    x: x.subarray(0, n),
    ys: ys.map((v) => v.subarray(0, n)),
    codes: lines?.codes ?? null,
    names: lines?.names.map((v) => v ?? "null") ?? [],
  };
  post({
    kind: "loaded",
    id: m.id,
    names: lines?.names ?? [],
    more: lines?.more ?? 0,
    categories: categories.list.map((v) => v ?? "null"),
    rows: n,
  });
}

async function answer(m: ToWorker): Promise<void> {
  try {
    if (m.kind === "load") await load(m);
    else if (points === null) throw new Error("nothing is loaded");
    else if (m.candles !== null)
      post({ kind: "drawn", id: m.id, drawn: null, candles: candles(points, m.range, m.pixels, m.candles.series) });
    else post({ kind: "drawn", id: m.id, drawn: reduce(points, m.range, m.pixels, m.keep), candles: null });
  } catch (e) {
    post({ kind: "failed", id: m.id, message: e instanceof Error ? e.message : String(e) });
  }
}

self.onmessage = (e: MessageEvent<ToWorker>) => void answer(e.data);
