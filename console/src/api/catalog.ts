/*
 * What the server knows by name: keywords, functions, types, tables, and the columns of the tables that somebody
 * asked for. All of it by SQL, so that it cannot differ from what the server takes. Names of tables are asked for
 * again after statements that change them, and when the server was away.
 */
import { createUserStore, userMap } from "../state/owner";
import { quoteName } from "../sql/lexer";
import { ApiError, exec, rows } from "./client";

export interface FunctionInfo {
  name: string;
  signatures: string[];
  kind: string; /* STANDARD, GROUP_BY, WINDOW, CURSOR ... */
  doc: string; /* one line, "" where there is none */
}
export interface TableInfo {
  name: string;
  kind: "table" | "view" | "materialized view";
  timestamp: string | null;
  partitionBy: string;
}
export interface ColumnInfo {
  name: string;
  type: string;
  designated: boolean;
}

export interface Catalog {
  keywords: string[];
  functions: FunctionInfo[];
  types: string[];
  tables: TableInfo[];
  loaded: boolean;
}

export const catalog = createUserStore<Catalog>({ keywords: [], functions: [], types: [], tables: [], loaded: false });

const columns = userMap<string, Promise<ColumnInfo[]>>();

/* Asked once for each table; an empty list where there is no such table. */
export function columnsOf(table: string): Promise<ColumnInfo[]> {
  const key = table.toLowerCase();
  let found = columns.get(key);
  if (found === undefined) {
    found = rows<{ column: string; type: string; designated: boolean }>(`SHOW COLUMNS FROM ${quoteName(table)}`).then(
      (list) => list.map((c) => ({ name: c.column, type: c.type, designated: c.designated })),
      () => {
        columns.delete(key);
        return [];
      },
    );
    columns.set(key, found);
  }
  return found;
}

const VALUES_MAX = 200;
/* Values of a symbol column, to be offered behind `column = '`. */
export async function symbolValues(table: string, column: string): Promise<string[]> {
  const name = quoteName(column);
  const found = await rows<Record<string, string | null>>(
    `SELECT DISTINCT ${name} FROM ${quoteName(table)} LIMIT ${VALUES_MAX}`,
    { timeoutSeconds: 2 },
  ).catch(() => []);
  return found.map((r) => Object.values(r)[0]).filter((v): v is string => typeof v === "string");
}

export interface Extent {
  lo: string | null; /* ISO; null: the table has no rows */
  hi: string | null;
}
/* First and last time of a column; null: it takes long, or is not to be read. */
export async function extentOf(table: string, column: string): Promise<Extent | null> {
  const name = quoteName(column);
  const found = await rows<Extent>(`SELECT min(${name}) lo, max(${name}) hi FROM ${quoteName(table)}`, {
    timeoutSeconds: 2,
  }).catch(() => []);
  return found[0] ?? null;
}

const ANY_MAX = 50;
/* Columns of all tables whose name begins so: for a statement that names no table yet. */
export async function anyColumns(start: string): Promise<Array<{ name: string; where: string }>> {
  const sql =
    "SELECT column_name name, first(table_name) home, count() n FROM information_schema.columns " +
    "WHERE table_schema = 'public' AND starts_with(lower(column_name), $1) GROUP BY column_name " +
    "ORDER BY n DESC, name";
  const found = await rows<{ name: string; home: string; n: number }>(`${sql} LIMIT ${ANY_MAX}`, {
    params: [start.toLowerCase()],
    timeoutSeconds: 1,
  }).catch(() => []);
  return found.map((c) => ({ name: c.name, where: Number(c.n) === 1 ? c.home : `in ${c.n} tables` }));
}

/* Files that read_parquet() finds in the import folder of the server. */
export async function importFiles(): Promise<string[]> {
  const found = await rows<{ path: string }>("SELECT path FROM import_files() LIMIT 1000", { timeoutSeconds: 2 }).catch(
    () => [],
  );
  return found.map((f) => f.path).filter((p) => /\.parquet$/i.test(p));
}

interface FunctionRow {
  name: string;
  signature: string;
  type: string;
  doc: string | null;
}

async function loadFunctions(): Promise<FunctionInfo[]> {
  const byName = new Map<string, FunctionInfo>();
  for (const f of await rows<FunctionRow>("SELECT name, signature, type, doc FROM function_docs()")) {
    if (!/^[a-z_]/i.test(f.name)) continue; /* operators */
    const known = byName.get(f.name);
    if (known === undefined)
      byName.set(f.name, { name: f.name, signatures: [f.signature], kind: f.type, doc: f.doc ?? "" });
    else if (!known.signatures.includes(f.signature)) known.signatures.push(f.signature);
  }
  return [...byName.values()];
}

/* What signatures say for several types at once. */
const KINDS_OF_TYPES = new Set(["NULL", "ANY", "SAME", "TIME", "TEXT", "ARRAY", "INTERVAL"]);

/* Names of types: what signatures speak of. */
function typesOf(functions: FunctionInfo[]): string[] {
  const found = new Set<string>();
  for (const f of functions)
    for (const s of f.signatures)
      for (const word of s.slice(f.name.length).match(/\b[A-Z][A-Z0-9_]+\b|\bIPv4\b/g) ?? []) found.add(word);
  return [...found].filter((t) => !KINDS_OF_TYPES.has(t));
}

export async function loadTables(): Promise<void> {
  const kinds = { V: "view", M: "materialized view" } as const;
  const list = await rows<{
    table_name: string;
    designatedTimestamp: string | null;
    partitionBy: string;
    table_type: string;
  }>("SELECT table_name, designatedTimestamp, partitionBy, table_type FROM tables()");
  columns.clear();
  catalog.set({
    tables: list.map((t) => ({
      name: t.table_name,
      kind: kinds[t.table_type as "V" | "M"] ?? "table",
      timestamp: t.designatedTimestamp,
      partitionBy: t.partitionBy,
    })),
  });
}

export async function loadCatalog(): Promise<void> {
  const [keywords, functions] = await Promise.all([
    rows<{ keyword: string }>("SELECT keyword FROM keywords()"),
    loadFunctions(),
    loadTables(),
  ]);
  catalog.set({
    keywords: keywords.map((k) => k.keyword.toLowerCase()),
    functions,
    types: typesOf(functions),
    loaded: true,
  });
}

/* Did a statement change what tables there are, or their columns? */
export const changesCatalog = (sql: string): boolean =>
  /^\s*(create|drop|alter|rename|truncate|copy|restore)\b/i.test(sql);

export const reserved = (word: string): boolean => catalog.get().keywords.includes(word);

/* A name as it must be written in a statement: in quotes where it is a keyword. */
export const writtenName = (name: string): string => quoteName(name, reserved);

/* A statement of the page itself that changes tables; then the lists are asked for again. */
export async function changeTables(sql: string): Promise<void> {
  try {
    await exec(sql);
  } catch (e) {
    throw e instanceof ApiError ? new Error(e.message) : e;
  }
  await loadTables();
}
