/*
 * What a grid is about: places of the columns, selection, sort and filter. Column layouts are kept by the columns
 * they are of.
 */
import { useEffect, useMemo, useReducer, useState } from "preact/hooks";
import type { Row } from "../api/types";
import { dbGet, dbPut } from "../state/db";
import { ownName, userMap } from "../state/owner";
import { prefs } from "../state/prefs";
import { useStore } from "../state/store";
import { arrange, type Sort } from "./arrange";
import { cellShown, isNumber } from "./format";
import { autoWidth, MIN_WIDTH } from "./layout";
import type { ResultSet } from "./resultset";

const SAMPLE_ROWS = 50;

export interface Place {
  row: number; /* of what is shown, from 0 */
  column: number; /* from the left, from 0 */
}
export interface Range {
  top: number;
  bottom: number; /* included, as right */
  left: number;
  right: number;
}

interface Layout {
  order: number[];
  widths: number[];
  frozen: number;
}

const layouts = userMap<string, Layout>();
const keyOf = (result: ResultSet) =>
  ownName("layout") +
  " " +
  result.columns
    .map((c) => `${c.name}:${c.type}`)
    .join("|")
    .slice(0, 4000);

function autoWidths(result: ResultSet, utc: boolean): number[] {
  return result.columns.map((c, i) => {
    const texts: string[] = [];
    for (let r = 0; r < Math.min(SAMPLE_ROWS, result.count); r++)
      texts.push(cellShown(result.row(r, false)?.[i] ?? null, c, utc));
    if (/^(INT|LONG)$/.test(c.type)) texts.push("00000000"); /* rows further down have more digits */
    return autoWidth(c.name, c.type, texts);
  });
}

function fitting(layout: Layout | undefined, result: ResultSet): layout is Layout {
  return (
    layout !== undefined &&
    layout.widths.length === result.columns.length &&
    layout.order.every((i) => i >= 0 && i < result.columns.length)
  );
}

export function useLayout(result: ResultSet, utc: boolean) {
  const key = keyOf(result);
  const fresh = useMemo<Layout>(
    () => ({ order: result.columns.map((_, i) => i), widths: autoWidths(result, utc), frozen: 0 }),
    [result, utc],
  );
  const kept = layouts.get(key);
  const [layout, setLayout] = useState<Layout>(fitting(kept, result) ? kept : fresh);
  useEffect(() => {
    if (layouts.has(key)) return;
    void dbGet<Layout & { key: string }>("values", key).then(
      (found) => fitting(found, result) && !layouts.has(key) && setLayout(found),
    );
  }, [key]);
  const change = (part: Partial<Layout>) => {
    const next = { ...layout, ...part };
    layouts.set(key, next);
    void dbPut("values", { key, ...next });
    setLayout(next);
  };
  /*
   * Digits of numbers are not cut: rows that come into sight make their columns wider, where nobody has chosen
   * widths.
   */
  const widen = (columns: number[], rows: Row[]) => {
    if (layouts.has(key)) return;
    const widths = [...layout.widths];
    for (const i of columns) {
      const c = result.columns[i];
      if (c === undefined || !isNumber(c)) continue;
      widths[i] = Math.max(
        widths[i] ?? 0,
        autoWidth(
          c.name,
          c.type,
          rows.map((r) => cellShown(r[i] ?? null, c, utc)),
        ),
      );
    }
    if (widths.some((w, i) => w !== layout.widths[i])) setLayout({ ...layout, widths });
  };
  return {
    ...layout,
    widen,
    resize: (index: number, width: number) =>
      change({ widths: layout.widths.map((w, i) => (i === index ? Math.max(MIN_WIDTH, Math.round(width)) : w)) }),
    autoSize: (index: number) =>
      change({ widths: layout.widths.map((w, i) => (i === index ? (autoWidths(result, utc)[i] ?? w) : w)) }),
    freeze: (count: number) => change({ frozen: Math.max(0, Math.min(count, layout.order.length)) }),
    move: (from: number, to: number) => {
      const order = [...layout.order];
      const [column] = order.splice(from, 1);
      if (column === undefined) return;
      order.splice(Math.max(0, Math.min(to, order.length)), 0, column);
      change({ order });
    },
    hide: (at: number) =>
      layout.order.length > 1 &&
      change({
        order: layout.order.filter((_, i) => i !== at),
        frozen: at < layout.frozen ? layout.frozen - 1 : layout.frozen,
      }),
    reset: () => change(fresh),
  };
}

/* Rows as they are shown: all of the result, or what is loaded of it, chosen and in order. */
export function useRows(result: ResultSet) {
  const [sort, setSort] = useState<Sort | null>(null);
  const [filter, setFilter] = useState("");
  const [version, redraw] = useReducer((n: number) => n + 1, 0);
  useEffect(() => result.subscribe(() => redraw(0)), [result]);
  const arranged = useMemo(
    () => (sort === null && filter.trim() === "" ? null : arrange(result.loaded(), result.columns, sort, filter)),
    [result, sort, filter, version],
  );
  const count = arranged?.length ?? result.count;
  return {
    sort,
    filter,
    setFilter,
    arranged: arranged !== null,
    count,
    toggleSort: (column: number) =>
      setSort(sort?.column !== column ? { column, down: false } : sort.down ? null : { column, down: true }),
    number: (i: number): number => (arranged === null ? i : (arranged[i] ?? -1)) /* in the result */,
    row: (i: number): Row | undefined => (arranged === null ? result.row(i) : result.row(arranged[i] ?? -1, false)),
    rows: async (from: number, to: number): Promise<Row[]> => {
      if (arranged === null) return result.rows(from, to);
      return arranged.slice(from, to).map((i) => result.row(i, false) ?? []);
    },
  };
}
export type Rows = ReturnType<typeof useRows>;
export type GridLayout = ReturnType<typeof useLayout>;

export function useSelection(rows: number, columns: number) {
  const [active, setActive] = useState<Place>({ row: 0, column: 0 });
  const [anchor, setAnchor] = useState<Place>({ row: 0, column: 0 });
  const clamp = (p: Place): Place => ({
    row: Math.max(0, Math.min(p.row, rows - 1)),
    column: Math.max(0, Math.min(p.column, columns - 1)),
  });
  const a = clamp(active);
  const b = clamp(anchor);
  return {
    active: a,
    range: {
      top: Math.min(a.row, b.row),
      bottom: Math.max(a.row, b.row),
      left: Math.min(a.column, b.column),
      right: Math.max(a.column, b.column),
    },
    go: (to: Place, extend = false) => {
      setActive(clamp(to));
      if (!extend) setAnchor(clamp(to));
    },
    select: (from: Place, to: Place) => {
      setAnchor(clamp(from));
      setActive(clamp(to));
    },
  };
}

export const useUtc = () => useStore(prefs, (p) => p.utc);
