/* Queries around a query, so that the server sends two points per pixel instead of all of them. Pure. */
import type { Column } from "../../api/types";
import { unitsPerSecond } from "../../results/format";
import { quoteName, quoteText } from "../../sql/lexer";
import type { ChartSpec, Ohlc } from "./spec";

const name = (columns: Column[], i: number): string => quoteName(columns[i]?.name ?? "", () => true);
const inner = (sql: string): string => `(\n${sql.replace(/;\s*$/, "")}\n)`;
const asNumber = (columns: Column[], x: number): string =>
  unitsPerSecond(columns[x]?.type ?? "") > 0 ? `${name(columns, x)}::long` : name(columns, x);

export interface Range {
  lo: number; /* seconds since 1970, or the number itself */
  hi: number;
}

/* As the server reads it: a time with its digits, or the number. */
export function xText(type: string, value: number): string {
  const per = unitsPerSecond(type);
  if (per === 0) return String(value);
  const micros = Math.round(value * 1e6);
  const whole = Math.floor(micros / 1e6);
  const fraction = String(micros - whole * 1e6).padStart(6, "0");
  return quoteText(
    new Date(whole * 1000).toISOString().slice(0, 19) + (per === 1e3 ? `.${fraction.slice(0, 3)}Z` : `.${fraction}Z`),
  );
}

function where(columns: Column[], spec: ChartSpec, range: Range | null, only: Array<string | null> | null): string {
  const x = name(columns, spec.x);
  const type = columns[spec.x]?.type ?? "";
  const parts = [
    range === null ? `${x} IS NOT NULL` : `${x} BETWEEN ${xText(type, range.lo)} AND ${xText(type, range.hi)}`,
  ];
  if (only !== null) {
    const series = name(columns, spec.series);
    const texts = only.filter((v): v is string => v !== null);
    const listed = texts.length > 0 ? `${series}::varchar IN (${texts.map(quoteText).join(", ")})` : "";
    const empty = only.includes(null) ? `${series} IS NULL` : "";
    parts.push(`(${[listed, empty].filter(Boolean).join(" OR ")})`);
  }
  return `WHERE ${parts.join(" AND ")}`;
}

/* First and last x, as numbers of the server, and how many rows. */
export const rangeSql = (sql: string, columns: Column[], spec: ChartSpec, range: Range | null): string =>
  `SELECT min(${asNumber(columns, spec.x)}) lo, max(${asNumber(columns, spec.x)}) hi, count() n FROM ` +
  `${inner(sql)} ${where(columns, spec, range, null)}`;

/* The most frequent values of the series column. */
export const seriesSql = (sql: string, columns: Column[], spec: ChartSpec, max: number): string =>
  `SELECT ${name(columns, spec.series)}::varchar s, count() n FROM ${inner(sql)} GROUP BY s ORDER BY ` +
  `n DESC, s LIMIT ${max}`;

/* lo, width: as the server counts. Rows: bucket, series (if any), least and greatest of each y. */
export function bucketSql(
  sql: string,
  columns: Column[],
  spec: ChartSpec,
  lo: string,
  width: string,
  range: Range | null,
  only: Array<string | null> | null,
): string {
  const x = asNumber(columns, spec.x);
  const bucket =
    unitsPerSecond(columns[spec.x]?.type ?? "") > 0
      ? `(${x} - ${lo}) / ${width}`
      : `((${x} - (${lo})) / ${width})::long`;
  const series = spec.series >= 0 ? `, ${name(columns, spec.series)}::varchar s` : "";
  const ys = spec.ys.map((y, i) => `min(${name(columns, y)}::double) lo${i}, max(${name(columns, y)}::double) hi${i}`);
  return (
    `SELECT ${bucket} b${series}, ${ys.join(", ")} FROM ${inner(sql)} ` +
    `${where(columns, spec, range, only)} GROUP BY b${series === "" ? "" : ", s"} ORDER BY b`
  );
}

/* Rows: bucket, open, high, low, close. The rows of the query must come in order of x. */
export function candleSql(
  sql: string,
  columns: Column[],
  spec: ChartSpec,
  ohlc: Ohlc | null,
  lo: string,
  width: string,
  range: Range | null,
  only: Array<string | null> | null,
): string {
  const of = (i: number | undefined) => `${name(columns, i ?? spec.ys[0] ?? 0)}::double`;
  return (
    `SELECT (${asNumber(columns, spec.x)} - ${lo}) / ${width} b, first(${of(ohlc?.open)}) o, ` +
    `max(${of(ohlc?.high)}) h, min(${of(ohlc?.low)}) l, last(${of(ohlc?.close)}) c FROM ${inner(sql)} ` +
    `${where(columns, spec, range, only)} GROUP BY b ORDER BY b`
  );
}
