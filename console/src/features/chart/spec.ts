/* What a chart shows: guessed from the columns of a result, changed by hand. Pure. */
import type { Column } from "../../api/types";
import { isNumber, isTime } from "../../results/format";

export type ChartType = "line" | "area" | "bar" | "scatter" | "candle";
export const TYPES: ChartType[] = ["line", "area", "bar", "scatter", "candle"];

export type AxisOf = "left" | "right" | "own";

export interface ChartSpec {
  type: ChartType;
  x: number; /* column of the result */
  ys: number[];
  series: number; /* a column by whose values lines are told apart; -1: none */
  axes: Record<number, AxisOf>; /* of a y column; not there: left */
  candle: string | null; /* the series that candles are of; null: the most frequent */
}

export type XKind = "time" | "number" | "category";

export const xKind = (c: Column | undefined): XKind =>
  c === undefined ? "category" : isTime(c) ? "time" : isNumber(c) ? "number" : "category";
const isSeries = (c: Column): boolean => /^(SYMBOL|VARCHAR|STRING|CHAR|BOOLEAN)$/i.test(c.type);

export interface Ohlc {
  open: number;
  high: number;
  low: number;
  close: number;
}

/* Columns of these names, or that end so (btc_open); null: there are not all four. */
export function ohlcOf(columns: Column[]): Ohlc | null {
  const find = (word: string) =>
    columns.findIndex((c) => isNumber(c) && new RegExp(`(^|[_ .])(${word}|${word[0]})$`, "i").test(c.name));
  const found = { open: find("open"), high: find("high"), low: find("low"), close: find("close") };
  return Object.values(found).every((i) => i >= 0) ? found : null;
}

/* LONG columns of ids and of times are numbers too, but seldom what one wants to see first: the first three others. */
const YS_MAX = 3;

export function guess(columns: Column[], timestamp: number): ChartSpec | null {
  const numbers = columns.flatMap((c, i) => (isNumber(c) ? [i] : []));
  let x = timestamp >= 0 ? timestamp : columns.findIndex(isTime);
  if (x < 0) x = numbers.length > 1 ? (numbers[0] ?? -1) : columns.findIndex((c) => !isNumber(c));
  const category = columns.findIndex((c, i) => i !== x && isSeries(c));
  const byName = xKind(columns[x]) !== "time" && category >= 0 && !isNumber(columns[category] as Column);
  if (byName && xKind(columns[x]) !== "category") x = category; /* names and numbers: bars */
  const ys = numbers.filter((i) => i !== x);
  if (x < 0 || ys.length === 0) return null;
  const kind = xKind(columns[x]);
  const ohlc = ohlcOf(columns);
  const series = kind === "time" && category >= 0 ? category : -1;
  if (ohlc !== null && kind === "time") return { type: "candle", x, ys: [ohlc.close], series, axes: {}, candle: null };
  return {
    type: kind === "category" ? "bar" : "line",
    x,
    ys: series >= 0 ? ys.slice(0, 1) : ys.slice(0, YS_MAX),
    series,
    axes: {},
    candle: null,
  };
}
