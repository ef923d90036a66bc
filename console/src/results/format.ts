/* Values as they are shown and copied. Pure. */
import type { Cell, Column } from "../api/types";

export function shownMs(ms: number): string {
  if (ms < 1) return `${ms.toFixed(2)} ms`;
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

export function shownBytes(n: number): string {
  if (n < 1024) return `${n} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let value = n / 1024;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit] ?? ""}`;
}

export const shownCount = (n: number): string => n.toLocaleString("en-US");
export const plural = (n: number, one: string, many = one + "s"): string => `${shownCount(n)} ${n === 1 ? one : many}`;

const NUMBERS = /^(BYTE|SHORT|INT|LONG|LONG128|LONG256|FLOAT|DOUBLE|DECIMAL|NUMERIC)/i;
export const isNumber = (c: Column): boolean => NUMBERS.test(c.type);
export const isTime = (c: Column): boolean => /^(TIMESTAMP|DATE)/i.test(c.type);

/* As the server wrote it; a number by its own digits. */
export function cellText(value: Cell): string {
  if (value === null) return "null";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return JSON.stringify(value);
  return String(value);
}

/* A time of the server (UTC) in the zone of this browser, with all its digits: 2026-01-05 01:00:00.183620+01:00 */
export function localTime(text: string): string {
  const parts = /^(-?\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?Z$/.exec(text);
  const whole = parts?.[1] === undefined ? NaN : Date.parse(parts[1] + "Z");
  if (parts === null || Number.isNaN(whole)) return text;
  const minutes = -new Date(whole).getTimezoneOffset();
  const shifted = new Date(whole + minutes * 60_000).toISOString().slice(0, 19).replace("T", " ");
  const two = (n: number) => String(n).padStart(2, "0");
  const zone = `${minutes < 0 ? "-" : "+"}${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
  return shifted + (parts[2] === undefined ? "" : `.${parts[2]}`) + zone;
}

const SHOWN_MAX = 400;
/* In a cell of the grid: one line, and not more of it than can be seen. */
export function cellShown(value: Cell, column: Column, utc: boolean): string {
  let text = cellText(value);
  if (!utc && isTime(column) && typeof value === "string") text = localTime(value);
  if (text.length > SHOWN_MAX) text = text.slice(0, SHOWN_MAX) + "…";
  return text.replace(/[\r\n\t]+/g, " ↵ ");
}

/* How many units of a column of times are a second, as the server counts them; 0: it has no times. */
export const unitsPerSecond = (type: string): number =>
  /^TIMESTAMP_NS/i.test(type) ? 1e9 : /^TIMESTAMP/i.test(type) ? 1e6 : /^DATE/i.test(type) ? 1e3 : 0;
