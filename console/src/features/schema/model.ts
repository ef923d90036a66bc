/* What the schema explorer knows: tables at once, columns and partitions of those that are opened. By SQL. */
import { writtenName } from "../../api/catalog";
import { rows } from "../../api/client";
import { quoteText } from "../../sql/lexer";
import { createUserStore } from "../../state/owner";
import {
  type ColumnNode,
  type Kind,
  type Loaded,
  type PartitionNode,
  type TableNode,
  tableId,
  type TreeState,
} from "./tree";

export interface Schema extends TreeState {
  loading: boolean;
  loaded: boolean; /* at least once */
  problem: string | null;
}

export const schema = createUserStore<Schema>({
  tables: [],
  columns: new Map(),
  partitions: new Map(),
  open: new Set(),
  filter: "",
  columnHits: new Map(),
  loading: false,
  loaded: false,
  problem: null,
});

const KINDS: Record<string, Kind> = { V: "view", M: "materialized view" };
const reason = (e: unknown): string => (e instanceof Error ? e.message : String(e));
const number = (v: unknown): number | null => (v === null || v === undefined ? null : Number(v));

interface TableWire {
  table_name: string;
  table_type: string;
  designatedTimestamp: string | null;
  partitionBy: string;
  table_row_count: string | null;
  table_suspended: boolean;
}

async function loadTableNodes(): Promise<TableNode[]> {
  const [tables, storage, broken] = await Promise.all([
    rows<TableWire>(
      "SELECT table_name, table_type, designatedTimestamp, partitionBy, table_row_count, " +
        "table_suspended FROM tables() ORDER BY table_name",
    ),
    rows<{ tableName: string; partitionCount: string; rowCount: string; diskSize: string }>(
      "SELECT tableName, partitionCount, rowCount, diskSize FROM table_storage()",
    ),
    rows<{ view_name: string; invalidation_reason: string | null }>(
      "SELECT view_name, invalidation_reason FROM views() WHERE view_status <> 'valid' UNION ALL " +
        "SELECT view_name, invalidation_reason FROM materialized_views() WHERE view_status <> 'valid'",
    ),
  ]);
  const sizes = new Map(storage.map((s) => [s.tableName, s]));
  const problems = new Map(
    broken.map((b) => [b.view_name, `invalid: ${b.invalidation_reason ?? "for an unknown reason"}`]),
  );
  return tables.map((t) => {
    const size = sizes.get(t.table_name);
    const kind = KINDS[t.table_type] ?? "table";
    const view = kind === "view";
    return {
      name: t.table_name,
      kind,
      timestamp: t.designatedTimestamp,
      partitionBy: t.partitionBy,
      rows: view ? null : (number(size?.rowCount) ?? number(t.table_row_count)),
      bytes: view ? null : number(size?.diskSize),
      partitions: view ? null : number(size?.partitionCount),
      problem: problems.get(t.table_name) ?? (t.table_suspended ? "suspended: it takes no writes" : null),
    };
  });
}

export async function loadColumns(table: string): Promise<ColumnNode[]> {
  interface Wire {
    column: string;
    type: string;
    indexed: boolean;
    symbolTableSize: number;
    designated: boolean;
    upsertKey: boolean;
  }
  const found = await rows<Wire>(
    `SELECT "column", type, indexed, symbolTableSize, designated, upsertKey FROM table_columns(${quoteText(table)})`,
  );
  return found.map((c) => ({
    name: c.column,
    type: c.type,
    designated: c.designated,
    key: c.upsertKey,
    indexed: c.indexed,
    symbols: c.type === "SYMBOL" ? Number(c.symbolTableSize) : null,
  }));
}

export async function loadPartitions(table: string): Promise<PartitionNode[]> {
  interface Wire {
    name: string;
    minTimestamp: string | null;
    maxTimestamp: string | null;
    numRows: string;
    diskSize: string;
    active: boolean;
    attached: boolean;
    isParquet: boolean;
  }
  const found = await rows<Wire>(
    "SELECT name, minTimestamp, maxTimestamp, numRows, diskSize, active, attached, isParquet FROM " +
      `table_partitions(${quoteText(table)})`,
  );
  return found.map((p) => ({
    name: p.name,
    rows: Number(p.numRows),
    bytes: Number(p.diskSize),
    min: p.minTimestamp,
    max: p.maxTimestamp,
    format: p.isParquet ? "Parquet" : "native",
    state: !p.attached ? "detached" : p.active ? "active" : "attached",
  }));
}

function keep<T>(which: "columns" | "partitions", table: string, value: Loaded<T>): void {
  schema.set((now) => ({ [which]: new Map(now[which] as Map<string, Loaded<T>>).set(table, value) }));
}

async function fetchPart<T>(
  which: "columns" | "partitions",
  table: string,
  load: (table: string) => Promise<T[]>,
): Promise<void> {
  if (!Array.isArray(schema.get()[which].get(table))) keep(which, table, "loading");
  keep<T>(which, table, await load(table).catch((e: unknown) => ({ problem: reason(e) })));
}

/* What the open rows show is asked for again, too; what is closed is forgotten. */
export async function refreshSchema(): Promise<void> {
  schema.set({ loading: true });
  try {
    const tables = await loadTableNodes();
    const { open, columns, partitions } = schema.get();
    const names = new Set(tables.map((t) => t.name));
    const still = <T>(map: ReadonlyMap<string, T>, prefix: string) =>
      new Map([...map].filter(([name]) => names.has(name) && open.has(prefix + name)));
    schema.set({
      tables,
      columns: still(columns, "table:"),
      partitions: still(partitions, "partitions:"),
      problem: null,
      loading: false,
      loaded: true,
    });
    await Promise.all([
      ...[...schema.get().columns.keys()].map((t) => fetchPart("columns", t, loadColumns)),
      ...[...schema.get().partitions.keys()].map((t) => fetchPart("partitions", t, loadPartitions)),
    ]);
  } catch (e) {
    schema.set({ loading: false, problem: reason(e) });
  }
}

/* Opens or closes a row; what it shows is fetched. */
export function toggle(id: string, table: string | null): void {
  const open = new Set(schema.get().open);
  const opens = !open.delete(id);
  if (opens) open.add(id);
  schema.set({ open });
  if (!opens || table === null) return;
  if (id === tableId(table)) void fetchPart("columns", table, loadColumns);
  else void fetchPart("partitions", table, loadPartitions);
}

const HITS_MAX = 5000;
let asked = 0; /* the newest question counts */
/* Tables by their names at once, by their columns when the server has answered. */
export async function search(filter: string): Promise<void> {
  const mine = ++asked;
  const wanted = filter.trim().toLowerCase();
  schema.set(wanted === "" ? { filter, columnHits: new Map() } : { filter });
  if (wanted === "") return;
  await new Promise((r) => setTimeout(r, 150));
  if (mine !== asked) return;
  const found = await rows<{ table_name: string; column_name: string }>(
    "SELECT table_name, column_name FROM information_schema.questdb_columns() WHERE " +
      `strpos(lower(column_name), ${quoteText(wanted)}) > 0 LIMIT ${HITS_MAX}`,
  ).catch(() => []);
  if (mine !== asked) return;
  const hits = new Map<string, string[]>();
  for (const f of found) hits.set(f.table_name, [...(hits.get(f.table_name) ?? []), f.column_name]);
  schema.set({ columnHits: hits });
}

/* The statement that makes it. */
export async function ddlOf(table: TableNode): Promise<string> {
  const what = { table: "TABLE", view: "VIEW", "materialized view": "MATERIALIZED VIEW" }[table.kind];
  const found = await rows<{ ddl: string }>(`SHOW CREATE ${what} ${writtenName(table.name)}`);
  return found[0]?.ddl ?? "";
}
