/*
 * The tree of the schema explorer as the list of rows that are seen: groups, tables, their columns and partitions.
 * Pure: what is open and what is loaded comes in, rows come out.
 */
export type Kind = "table" | "view" | "materialized view";

export interface TableNode {
  name: string;
  kind: Kind;
  timestamp: string | null;
  partitionBy: string;
  rows: number | null; /* null: not counted (views) */
  bytes: number | null;
  partitions: number | null;
  problem: string | null; /* suspended, invalid: in words */
}

export interface ColumnNode {
  name: string;
  type: string;
  designated: boolean;
  key: boolean; /* of DEDUP */
  indexed: boolean;
  symbols: number | null; /* distinct values of a SYMBOL */
}

export interface PartitionNode {
  name: string;
  rows: number;
  bytes: number;
  min: string | null;
  max: string | null;
  format: "native" | "Parquet";
  state: "attached" | "detached" | "active";
}

/* undefined: not asked for yet; a text: why it cannot be had. */
export type Loaded<T> = T[] | "loading" | { problem: string } | undefined;

export interface TreeState {
  tables: TableNode[];
  columns: ReadonlyMap<string, Loaded<ColumnNode>>;
  partitions: ReadonlyMap<string, Loaded<PartitionNode>>;
  open: ReadonlySet<string>; /* ids of rows */
  filter: string;
  columnHits: ReadonlyMap<string, string[]>; /* of the filter: table to columns */
}

interface Base {
  id: string;
  level: number;
  open?: boolean; /* undefined: a leaf */
  position: number; /* among its brothers, from 1 */
  brothers: number;
}
export type TreeRow = Base &
  (
    | { kind: "group"; title: string; count: number }
    | { kind: "table"; table: TableNode; hits: string[] }
    | { kind: "column"; table: TableNode; column: ColumnNode }
    | { kind: "folder"; table: TableNode; title: string; count: number | null }
    | { kind: "partition"; table: TableNode; partition: PartitionNode }
    | { kind: "note"; text: string; bad: boolean }
  );

export const GROUPS: Array<{ kind: Kind; title: string }> = [
  { kind: "table", title: "Tables" },
  { kind: "view", title: "Views" },
  { kind: "materialized view", title: "Materialized views" },
];

export const groupId = (kind: Kind): string => `group:${kind}`;
export const tableId = (name: string): string => `table:${name}`;
export const partitionsId = (name: string): string => `partitions:${name}`;

function pushNotes<T>(out: TreeRow[], id: string, level: number, found: Loaded<T>): T[] {
  if (Array.isArray(found)) return found;
  const bad = typeof found === "object";
  out.push({
    id: `${id}:note`,
    kind: "note",
    level,
    position: 1,
    brothers: 1,
    text: bad ? found.problem : "Loading …",
    bad,
  });
  return [];
}

function pushTable(out: TreeRow[], state: TreeState, table: TableNode, position: number, brothers: number): void {
  const id = tableId(table.name);
  const open = state.open.has(id);
  out.push({
    id,
    kind: "table",
    level: 2,
    open,
    position,
    brothers,
    table,
    hits: state.columnHits.get(table.name) ?? [],
  });
  if (!open) return;
  const columns = pushNotes(out, id, 3, state.columns.get(table.name));
  const parted = table.partitions !== null && table.kind !== "view";
  const all = columns.length + (parted ? 1 : 0);
  columns.forEach((column, i) =>
    out.push({
      id: `column:${table.name}:${column.name}`,
      kind: "column",
      level: 3,
      position: i + 1,
      brothers: all,
      table,
      column,
    }),
  );
  if (!parted || columns.length === 0) return;
  const folder = partitionsId(table.name);
  const folderOpen = state.open.has(folder);
  out.push({
    id: folder,
    kind: "folder",
    level: 3,
    open: folderOpen,
    position: all,
    brothers: all,
    table,
    title: "Partitions",
    count: table.partitions,
  });
  if (!folderOpen) return;
  const list = pushNotes(out, folder, 4, state.partitions.get(table.name));
  list.forEach((partition, i) =>
    out.push({
      id: `partition:${table.name}:${partition.name}`,
      kind: "partition",
      level: 4,
      position: i + 1,
      brothers: list.length,
      table,
      partition,
    }),
  );
}

/* A table is there when its name has the text of the filter, or one of its columns has. */
export function treeRows(state: TreeState): TreeRow[] {
  const out: TreeRow[] = [];
  const wanted = state.filter.trim().toLowerCase();
  const fits = (t: TableNode) => wanted === "" || t.name.toLowerCase().includes(wanted) || state.columnHits.has(t.name);
  const groups = GROUPS.map((g) => ({ ...g, list: state.tables.filter((t) => t.kind === g.kind && fits(t)) })).filter(
    (g) => g.kind === "table" || g.list.length > 0,
  );
  groups.forEach((g, at) => {
    const id = groupId(g.kind);
    const open = wanted !== "" || !state.open.has(id); /* groups stand open unless they were closed */
    out.push({
      id,
      kind: "group",
      level: 1,
      open,
      position: at + 1,
      brothers: groups.length,
      title: g.title,
      count: g.list.length,
    });
    if (open) g.list.forEach((t, i) => pushTable(out, state, t, i + 1, g.list.length));
  });
  return out;
}

/* The row above of which `at` is a part; -1: none. */
export function parentOf(rows: TreeRow[], at: number): number {
  const level = rows[at]?.level ?? 1;
  for (let i = at - 1; i >= 0; i--) if ((rows[i]?.level ?? 0) < level) return i;
  return -1;
}

export const ROW_PX = 26;
const BEYOND = 8; /* rows drawn beyond what is seen */

/* The rows to draw. The list may have become shorter than where it was scrolled to: then its end is seen. */
export function windowOf(top: number, height: number, count: number): { first: number; last: number } {
  const at = Math.max(0, Math.min(top, count * ROW_PX - height));
  return {
    first: Math.max(0, Math.floor(at / ROW_PX) - BEYOND),
    last: Math.min(count, Math.ceil((at + height) / ROW_PX) + BEYOND),
  };
}
