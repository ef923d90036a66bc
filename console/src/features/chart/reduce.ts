/*
 * Points to what is drawn: sorted by x, one list of values for each line over one list of x, and not more than two
 * points per pixel and line: the least and the greatest. Pure; runs in the worker.
 */
export interface Points {
  x: Float64Array; /* seconds, the number, or the number of the category; NaN: null */
  ys: Float64Array[]; /* NaN: null */
  codes: Int32Array | null; /* which line a row belongs to: index into names, -1: to none of those shown */
  names: string[];
}

export interface Drawn {
  x: number[];
  lines: Array<{
    series: number;
    y: number;
    values: Array<number | null>;
  }>; /* index into names (0 without), index into ys */
  reduced: boolean;
  rows: number; /* that it stands for */
}

export type Keep = "both" | "extreme"; /* least and greatest, or the one that is further from 0 (bars) */

const cell = (v: number): number | null => (Number.isNaN(v) ? null : v);

/* Rows with an x in the range, in order of x; rows of one x stay in order. */
export function rowsIn(x: Float64Array, range: { lo: number; hi: number } | null): Uint32Array {
  const out = new Uint32Array(x.length);
  let n = 0;
  let sorted = true;
  let last = -Infinity;
  for (let i = 0; i < x.length; i++) {
    const v = x[i] as number;
    if (Number.isNaN(v) || (range !== null && (v < range.lo || v > range.hi))) continue;
    if (v < last) sorted = false;
    last = v;
    out[n++] = i;
  }
  const list = out.subarray(0, n);
  return sorted ? list : list.sort((a, b) => (x[a] as number) - (x[b] as number) || a - b);
}

function plain(p: Points, rows: Uint32Array): Drawn {
  const x: number[] = [];
  const count = p.codes === null ? 1 : p.names.length;
  const lines: Drawn["lines"] = [];
  for (let s = 0; s < count; s++) for (let y = 0; y < p.ys.length; y++) lines.push({ series: s, y, values: [] });
  for (const i of rows) {
    const code = p.codes === null ? 0 : (p.codes[i] as number);
    if (code < 0) continue;
    const at = p.x[i] as number;
    /* rows of one x share it, unless the line has a value there already */
    const first = code * p.ys.length;
    if (
      x.length === 0 ||
      x[x.length - 1] !== at ||
      p.ys.some((_, y) => (lines[first + y]?.values[x.length - 1] ?? null) !== null)
    ) {
      x.push(at);
      for (const l of lines) l.values.push(null);
    }
    p.ys.forEach((values, y) => {
      const line = lines[first + y];
      if (line !== undefined) line.values[x.length - 1] = cell(values[i] as number);
    });
  }
  return { x, lines, reduced: false, rows: rows.length };
}

export function reduce(p: Points, range: { lo: number; hi: number } | null, pixels: number, keep: Keep): Drawn {
  const rows = rowsIn(p.x, range);
  if (rows.length <= pixels * 4) return plain(p, rows);
  const lo = p.x[rows[0] as number] as number;
  const hi = p.x[rows[rows.length - 1] as number] as number;
  const width = (hi - lo) / pixels || 1;
  const count = p.codes === null ? 1 : p.names.length;
  const per = keep === "both" ? 2 : 1;
  const lines: Drawn["lines"] = [];
  for (let s = 0; s < count; s++)
    for (let y = 0; y < p.ys.length; y++)
      lines.push({ series: s, y, values: new Array<number | null>(pixels * per).fill(null) });
  for (const i of rows) {
    const code = p.codes === null ? 0 : (p.codes[i] as number);
    if (code < 0) continue;
    const bucket = Math.min(pixels - 1, Math.floor(((p.x[i] as number) - lo) / width));
    for (let y = 0; y < p.ys.length; y++) {
      const v = p.ys[y]?.[i] as number;
      const values = lines[code * p.ys.length + y]?.values;
      if (Number.isNaN(v) || values === undefined) continue;
      if (keep === "extreme") {
        const old = values[bucket];
        if (old === null || old === undefined || Math.abs(v) > Math.abs(old)) values[bucket] = v;
        continue;
      }
      const least = values[bucket * 2];
      const greatest = values[bucket * 2 + 1];
      if (least === null || least === undefined || v < least) values[bucket * 2] = v;
      if (greatest === null || greatest === undefined || v > greatest) values[bucket * 2 + 1] = v;
    }
  }
  const x = Array.from(
    { length: pixels * per },
    (_, i) => lo + (keep === "both" ? Math.floor(i / 2) + 0.25 + (i % 2) / 2 : i + 0.5) * width,
  );
  return { x, lines, reduced: true, rows: rows.length };
}

export interface Candles {
  x: number[]; /* the middle of each */
  open: number[];
  high: number[];
  low: number[];
  close: number[];
  width: number; /* in x; 0: the distance of neighbours */
  rows: number;
}

/* ys: open, high, low, close, or the price alone. Rows of other lines than `series` are left out. */
export function candles(p: Points, range: { lo: number; hi: number } | null, max: number, series: number): Candles {
  const rows = [...rowsIn(p.x, range)].filter(
    (i) => (p.codes === null || p.codes[i] === series) && p.ys.every((y) => !Number.isNaN(y[i] as number)),
  );
  const [o, h = o, l = o, c = o] = p.ys;
  const out: Candles = { x: [], open: [], high: [], low: [], close: [], width: 0, rows: rows.length };
  if (o === undefined || h === undefined || l === undefined || c === undefined || rows.length === 0) return out;
  const lo = p.x[rows[0] as number] as number;
  const hi = p.x[rows[rows.length - 1] as number] as number;
  const whole = p.ys.length === 4 && rows.length <= max;
  const width = whole ? 0 : (hi - lo) / max || 1;
  out.width = width;
  let now = -1;
  for (const i of rows) {
    const x = p.x[i] as number;
    const bucket = whole ? out.x.length : Math.min(max - 1, Math.floor((x - lo) / width));
    const at = out.x.length - 1;
    if (bucket !== now || whole) {
      out.x.push(whole ? x : lo + (bucket + 0.5) * width);
      out.open.push(o[i] as number);
      out.high.push(h[i] as number);
      out.low.push(l[i] as number);
      out.close.push(c[i] as number);
      now = bucket;
    } else {
      out.high[at] = Math.max(out.high[at] as number, h[i] as number);
      out.low[at] = Math.min(out.low[at] as number, l[i] as number);
      out.close[at] = c[i] as number;
    }
  }
  return out;
}
