/* Order and choice of what is loaded: local sort and filter. Pure. */
import type { Cell, Column, Row } from "../api/types";
import { cellText, isNumber } from "./format";

export interface Sort {
  column: number; /* in the result */
  down: boolean;
}

/* Numbers by value, LONG with all digits; everything else by its text; null behind all. */
export function compareCells(a: Cell, b: Cell, column: Column): number {
  if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
  if (isNumber(column)) {
    const x = Number(a);
    const y = Number(b);
    if (x !== y) return x < y ? -1 : 1;
    if (typeof a === "string" && typeof b === "string" && /^-?\d+$/.test(a) && /^-?\d+$/.test(b)) {
      const p = BigInt(a);
      const q = BigInt(b);
      return p < q ? -1 : p > q ? 1 : 0;
    }
    return 0;
  }
  const x = cellText(a);
  const y = cellText(b);
  return x < y ? -1 : x > y ? 1 : 0;
}

/* Numbers of the rows that are shown, in their order. Every word of the filter is somewhere in the row. */
export function arrange(
  loaded: Array<{ from: number; rows: Row[] }>,
  columns: Column[],
  sort: Sort | null,
  filter: string,
): number[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const found: Array<{ index: number; row: Row }> = [];
  for (const { from, rows } of loaded)
    rows.forEach((row, i) => {
      const text =
        words.length === 0
          ? ""
          : row
              .map((c) => (c === null ? "" : cellText(c)))
              .join("\u0000")
              .toLowerCase();
      if (words.every((w) => text.includes(w))) found.push({ index: from + i, row });
    });
  const column = sort === null ? undefined : columns[sort.column];
  if (sort !== null && column !== undefined) {
    const sign = sort.down ? -1 : 1;
    found.sort((a, b) => {
      const x = a.row[sort.column] ?? null;
      const y = b.row[sort.column] ?? null;
      /* null stands last whichever way */
      if (x === null || y === null) return compareCells(x, y, column) || a.index - b.index;
      return sign * compareCells(x, y, column) || a.index - b.index;
    });
  }
  return found.map((f) => f.index);
}
