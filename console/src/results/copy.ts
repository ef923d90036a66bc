/* Rows as text, to be pasted elsewhere. Pure. Texts are those of the server; nothing is rounded. */
import type { Cell, Column, Row } from "../api/types";
import { quoteName, quoteText } from "../sql/lexer";
import { cellText, isNumber } from "./format";

export const COPY_FORMATS = ["TSV", "CSV", "JSON", "Markdown", "INSERT"] as const;
export type CopyFormat = (typeof COPY_FORMATS)[number];

/* A spreadsheet takes tabs and line ends for cells and rows: a text with them is quoted, as such programs do. */
function tsvCell(value: Cell): string {
  if (value === null) return "";
  const text = cellText(value);
  return /[\t\r\n"]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/* RFC 4180; null is an empty field, the empty text a quoted one. */
function csvCell(value: Cell): string {
  if (value === null) return "";
  const text = cellText(value);
  return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/* LONG comes as text, and is a number in JSON with all its digits: so by hand. */
function jsonCell(value: Cell, column: Column): string {
  if (typeof value === "string" && isNumber(column) && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(value)) return value;
  return JSON.stringify(value);
}

function markdownCell(value: Cell): string {
  return value === null
    ? ""
    : cellText(value).replaceAll("\\", "\\\\").replaceAll("|", "\\|").replace(/\r?\n/g, "<br>");
}

function arrayText(value: Cell): string {
  return Array.isArray(value) ? `ARRAY[${value.map(arrayText).join(", ")}]` : String(value);
}

function sqlCell(value: Cell, column: Column): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return arrayText(value);
  if (typeof value === "boolean" || typeof value === "number" || isNumber(column)) return cellText(value);
  return quoteText(cellText(value));
}

function insertText(columns: Column[], rows: Row[], table: string): string {
  const names = columns.map((c) => quoteName(c.name)).join(", ");
  const values = rows.map((r) => `  (${columns.map((c, i) => sqlCell(r[i] ?? null, c)).join(", ")})`);
  return `INSERT INTO ${quoteName(table)} (${names}) VALUES\n${values.join(",\n")};\n`;
}

/* JSON: objects; of columns with the same name the later have a number, so that none is lost. */
function jsonText(columns: Column[], rows: Row[]): string {
  const seen = new Map<string, number>();
  const names = columns.map((c) => {
    const n = (seen.get(c.name) ?? 0) + 1;
    seen.set(c.name, n);
    return JSON.stringify(n === 1 ? c.name : `${c.name}_${n}`);
  });
  const object = (r: Row) => columns.map((c, i) => `${names[i]}: ${jsonCell(r[i] ?? null, c)}`).join(", ");
  return `[\n${rows.map((r) => `  {${object(r)}}`).join(",\n")}\n]\n`;
}

/* `head`: with the names of the columns, where the form can do without. */
export function copyText(
  format: CopyFormat,
  columns: Column[],
  rows: Row[],
  head: boolean,
  table = "table_name",
): string {
  switch (format) {
    case "TSV":
      return [
        ...(head ? [columns.map((c) => tsvCell(c.name)).join("\t")] : []),
        ...rows.map((r) => columns.map((_, i) => tsvCell(r[i] ?? null)).join("\t")),
      ].join("\n");
    case "CSV":
      return (
        [
          ...(head ? [columns.map((c) => csvCell(c.name)).join(",")] : []),
          ...rows.map((r) => columns.map((_, i) => csvCell(r[i] ?? null)).join(",")),
        ].join("\r\n") + "\r\n"
      );
    case "JSON":
      return jsonText(columns, rows);
    case "Markdown":
      return [
        `| ${columns.map((c) => markdownCell(c.name)).join(" | ")} |`,
        `|${columns.map((c) => (isNumber(c) ? "--:" : "---")).join("|")}|`,
        ...rows.map((r) => `| ${columns.map((_, i) => markdownCell(r[i] ?? null)).join(" | ")} |`),
      ].join("\n");
    case "INSERT":
      return insertText(columns, rows, table);
  }
}

/* The table a statement is from, if it is one alone: for INSERT. */
export function tableOf(sql: string): string {
  return /\bfrom\s+("(?:[^"]|"")+"|[\p{L}_][\p{L}\p{N}_$]*)/iu.exec(sql)?.[1]?.replace(/^"|"$/g, "") ?? "table_name";
}

export async function toClipboard(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text);
  /* a page that came by plain HTTP from another machine has no clipboard but this one */
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) throw new Error("the browser lets nothing be copied");
}
