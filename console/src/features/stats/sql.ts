/* Queries for the statistics of a column of a query. Pure. */
import type { Column } from "../../api/types";
import { unitsPerSecond } from "../../results/format";
import { isNumber, isTime } from "../../results/format";
import { quoteName } from "../../sql/lexer";

export const BUCKETS = 40;
export const TOP = 20;

const inner = (sql: string): string => `(\n${sql.replace(/;\s*$/, "")}\n)`;
const quoted = (c: Column): string => quoteName(c.name, () => true);

export type Shape = "number" | "time" | "other";
/* DECIMAL and LONG256 are numbers that no bucket is computed of. */
export const shapeOf = (c: Column): Shape =>
  isTime(c) ? "time" : isNumber(c) && !/^(DECIMAL|LONG128|LONG256)/i.test(c.type) ? "number" : "other";

export function summarySql(sql: string, c: Column): string {
  const name = quoted(c);
  const shape = shapeOf(c);
  const [lo, hi] =
    shape === "other" ? [`min(${name}::varchar)`, `max(${name}::varchar)`] : [`min(${name})`, `max(${name})`];
  const more =
    shape === "number"
      ? `, avg(${name}::double) mean, stddev(${name}::double) deviation, sum(${name}::double) total`
      : "";
  return (
    `SELECT count() n, count(${name}) present, ` +
    `count_distinct(${shape === "other" ? `${name}::varchar` : name}) d, ${lo} lo, ${hi} hi${more} ` +
    `FROM ${inner(sql)}`
  );
}

export function histogramSql(sql: string, c: Column, lo: string, width: string): string {
  const name = quoted(c);
  const bucket =
    unitsPerSecond(c.type) > 0
      ? `(${name}::long - ${lo}) / ${width}`
      : `((${name}::double - (${lo})) / ${width})::long`;
  return `SELECT ${bucket} b, count() n FROM ${inner(sql)} WHERE ${name} IS NOT NULL GROUP BY b ORDER BY b`;
}

export const extentSql = (sql: string, c: Column): string =>
  shapeOf(c) === "time"
    ? `SELECT min(${quoted(c)}::long) lo, max(${quoted(c)}::long) hi FROM ${inner(sql)}`
    : `SELECT min(${quoted(c)}::double) lo, max(${quoted(c)}::double) hi FROM ${inner(sql)}`;

export const topSql = (sql: string, c: Column): string =>
  `SELECT ${quoted(c)}::varchar v, count() n FROM ${inner(sql)} GROUP BY v ORDER BY n DESC, v LIMIT ${TOP}`;
