/* The time range of a statement: which column it is about, and the condition. Pure, but for the names of tables. */
import { catalog } from "../api/catalog";
import { contextAt } from "../sql/complete";
import { statements } from "../sql/lexer";

export const QUICK: Array<[title: string, interval: string]> = [
  ["Last 5 minutes", "$now - 5m..$now"],
  ["Last 15 minutes", "$now - 15m..$now"],
  ["Last hour", "$now - 1h..$now"],
  ["Last 6 hours", "$now - 6h..$now"],
  ["Last 24 hours", "$now - 24h..$now"],
  ["Last 7 days", "$now - 7d..$now"],
  ["Last 30 days", "$now - 30d..$now"],
  ["Today", "$today"],
  ["Yesterday", "$yesterday"],
];

/* A value of <input type=datetime-local>, which is of no zone, as UTC. */
export const asTime = (local: string): string => `'${local.length === 16 ? `${local}:00` : local}Z'`;

export interface TimeColumn {
  name: string;
  table: string;
}

/* The designated timestamps of the tables that stand in its FROM. */
export function timeColumns(sql: string): TimeColumn[] {
  const only = statements(sql)[0];
  const text = `${only?.text ?? ""}\n`; /* behind its last token */
  const context = contextAt(text, text.length);
  const found: TimeColumn[] = [];
  for (const source of context?.sources ?? []) {
    if (source.columns !== null) continue; /* of a subquery: its own WHERE is meant */
    const table = catalog.get().tables.find((t) => t.name.toLowerCase() === source.name.toLowerCase());
    if (table === undefined || table.timestamp === null || found.some((c) => c.name === table.timestamp)) continue;
    found.push({ name: table.timestamp, table: table.name });
  }
  return found;
}
