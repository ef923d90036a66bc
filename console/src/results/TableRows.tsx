/*
 * The rows of the table of a result that are in sight. Cells are plain elements and no components: there are many, and
 * all of them are drawn again at each step of the scroll bar.
 */
import type { Cell, Column, Row } from "../api/types";
import { cellShown, isNumber, shownCount } from "./format";
import { type ColumnPlace, HEAD_PX, NUMBERS_PX, ROW_PX } from "./layout";
import type { Place, Range } from "./useGrid";
import type { Table } from "./useTable";

export const isIn = (range: Range, { row, column }: Place): boolean =>
  row >= range.top && row <= range.bottom && column >= range.left && column <= range.right;

function kindOf(value: Cell | undefined, column: Column): string {
  if (value === undefined) return "waiting";
  if (value === null) return "null";
  if (value === "") return "blank";
  return isNumber(column) ? "number" : "";
}

function drawCell(table: Table, c: ColumnPlace, x: number, i: number, row: Row | undefined) {
  const column = table.result.columns[c.index];
  if (column === undefined) return null;
  const value = row?.[c.index];
  const position = table.at(c.index);
  const { range, active } = table.selection;
  const chosen = isIn(range, { row: i, column: position });
  const isActive = active.row === i && active.column === position;
  return (
    <div
      key={c.index}
      id={`cell-${i}-${position}`}
      class={`grid-cell ${kindOf(value, column)}${chosen ? " chosen" : ""}${isActive ? " active" : ""}`}
      role="gridcell"
      aria-colindex={position + 2}
      aria-selected={chosen}
      data-row={i}
      data-column={position}
      style={{ left: `${x}px`, width: `${c.width}px` }}
    >
      {value === undefined ? "…" : value === "" ? "''" : cellShown(value, column, table.utc)}
    </div>
  );
}

export function drawRow(table: Table, i: number) {
  const { rows, visible, places, selection, layout, view } = table;
  const row = rows.row(i);
  return (
    <div
      class={i % 2 === 1 ? "grid-row odd" : "grid-row"}
      role="row"
      aria-rowindex={i + 2}
      key={i}
      style={{ top: `${HEAD_PX + i * ROW_PX - visible.offset}px` }}
    >
      {visible.columns.map((c) => drawCell(table, c, visible.left + c.x - view.left, i, row))}
      {places.frozen.length > 0 && (
        <div class="grid-frozen" role="presentation" style={{ width: `${visible.left}px` }}>
          {places.frozen.map((c) => drawCell(table, c, NUMBERS_PX + c.x, i, row))}
        </div>
      )}
      <div
        class="grid-number"
        role="rowheader"
        aria-colindex={1}
        data-row={i}
        onClick={() => selection.select({ row: i, column: 0 }, { row: i, column: layout.order.length - 1 })}
      >
        {shownCount(rows.number(i) + 1)}
      </div>
    </div>
  );
}
