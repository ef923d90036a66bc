import { describe, expect, test } from "vitest";
import {
  type ColumnNode,
  groupId,
  type Loaded,
  parentOf,
  partitionsId,
  type TableNode,
  tableId,
  treeRows,
  type TreeState,
  windowOf,
} from "./tree";

const table = (name: string, kind: TableNode["kind"] = "table"): TableNode => ({
  name,
  kind,
  timestamp: null,
  partitionBy: "DAY",
  rows: 1,
  bytes: 1,
  partitions: kind === "view" ? null : 2,
  problem: null,
});
const column = (name: string): ColumnNode => ({
  name,
  type: "INT",
  designated: false,
  key: false,
  indexed: false,
  symbols: null,
});
const state = (more: Partial<TreeState>): TreeState => ({
  tables: [table("a"), table("b"), table("v", "view")],
  columns: new Map(),
  partitions: new Map(),
  open: new Set(),
  filter: "",
  columnHits: new Map(),
  ...more,
});
const ids = (s: TreeState) => treeRows(s).map((r) => r.id);

describe("tree", () => {
  test("groups stand open; one that is closed hides its tables", () => {
    expect(ids(state({}))).toEqual([groupId("table"), tableId("a"), tableId("b"), groupId("view"), tableId("v")]);
    expect(ids(state({ open: new Set([groupId("table")]) }))).toEqual([
      groupId("table"),
      groupId("view"),
      tableId("v"),
    ]);
  });
  test("an open table: loading, broken, loaded with partitions, a view without", () => {
    const columns = (c: Loaded<ColumnNode>) =>
      state({
        open: new Set([tableId("a"), partitionsId("a"), tableId("v")]),
        columns: new Map([
          ["a", c],
          ["v", [column("y")]],
        ]),
      });
    expect(treeRows(columns("loading"))[2]).toMatchObject({ kind: "note", bad: false });
    expect(treeRows(columns({ problem: "no" }))[2]).toMatchObject({ kind: "note", text: "no", bad: true });
    expect(treeRows(columns([column("x")])).map((r) => `${r.level} ${r.kind} ${r.position}/${r.brothers}`)).toEqual([
      "1 group 1/2",
      "2 table 1/2",
      "3 column 1/2",
      "3 folder 2/2",
      "4 note 1/1",
      "2 table 2/2",
      "1 group 2/2",
      "2 table 1/1",
      "3 column 1/1",
    ]);
  });
  test("a filter finds names of tables, and columns that the server named", () => {
    expect(ids(state({ filter: " A " }))).toEqual([groupId("table"), tableId("a")]);
    expect(ids(state({ filter: "zz", columnHits: new Map([["v", ["zzz"]]]) }))).toEqual([
      groupId("table"),
      groupId("view"),
      tableId("v"),
    ]);
  });
  test("from a row to the one above it", () => {
    const rows = treeRows(
      state({ open: new Set([tableId("b")]), columns: new Map([["b", [column("x"), column("y")]]]) }),
    );
    expect(rows[parentOf(rows, 4)]?.id).toBe(tableId("b"));
    expect(parentOf(rows, 0)).toBe(-1);
  });
  test("only a window is drawn, also where the list has become shorter than the place", () => {
    expect(windowOf(26_000, 260, 10_000)).toEqual({ first: 992, last: 1018 });
    expect(windowOf(240_000, 260, 3)).toEqual({ first: 0, last: 3 });
    expect(windowOf(240_000, 260, 100)).toEqual({ first: 82, last: 100 });
  });
});
