/* The statement of the create-table dialog. Pure. */
import { quoteName } from "../../sql/lexer";

export interface NewColumn {
  name: string;
  type: string;
  key: boolean; /* of DEDUP */
}
export interface NewTable {
  name: string;
  columns: NewColumn[];
  timestamp: string; /* "": none */
  partitionBy: string;
  ttl: string; /* "12 HOURS", "": none */
  dedup: boolean;
  ifNotExists: boolean;
  owner: string; /* "": whoever makes it */
}

export function createSql(t: NewTable, reserved?: (word: string) => boolean): string {
  const name = (n: string) => quoteName(n, reserved);
  const columns = t.columns.filter((c) => c.name.trim() !== "");
  let sql =
    `CREATE TABLE ${t.ifNotExists ? "IF NOT EXISTS " : ""}${name(t.name)} (\n` +
    `${columns.map((c) => `    ${name(c.name)} ${c.type}`).join(",\n")}\n)`;
  const owned = t.owner === "" ? "" : `\nOWNED BY ${name(t.owner)}`;
  if (t.timestamp === "") return sql + owned + ";";
  sql += ` TIMESTAMP(${name(t.timestamp)}) PARTITION BY ${t.partitionBy}`;
  if (t.ttl.trim() !== "" && t.partitionBy !== "NONE") sql += ` TTL ${t.ttl.trim()}`;
  const keys = columns.filter((c) => c.key || c.name === t.timestamp).map((c) => name(c.name));
  if (t.dedup) sql += `\nDEDUP UPSERT KEYS(${keys.join(", ")})`;
  return sql + owned + ";";
}
