/* The head of the table of a result: columns are sorted by a click, moved by their names and resized by their edges. */
import type { Column } from "../api/types";
import { type ColumnPlace, NUMBERS_PX } from "./layout";
import { columnItems } from "./tableActions";
import type { Table } from "./useTable";

const MOVE_PX = 6; /* a pointer that moves less has clicked */

/* Follows the pointer; where it goes up is where the column goes. */
function startMove(table: Table, position: number, e: PointerEvent): void {
  if (e.button !== 0) return;
  const start = e.clientX;
  const head = (e.currentTarget as HTMLElement).parentElement;
  let moved = false;
  const move = (m: PointerEvent) => {
    moved ||= Math.abs(m.clientX - start) > MOVE_PX;
    if (moved) table.setDragged({ at: position, x: m.clientX });
  };
  const up = (m: PointerEvent) => {
    window.removeEventListener("pointermove", move);
    window.removeEventListener("pointerup", up);
    if (!moved) return;
    const target = [...(head?.children ?? [])].find(
      (el) => m.clientX >= el.getBoundingClientRect().left && m.clientX < el.getBoundingClientRect().right,
    );
    const to = Number(target?.getAttribute("aria-colindex") ?? position + 2) - 2;
    table.layout.move(position, to);
    setTimeout(() => table.setDragged(null)); /* after the click that follows */
  };
  window.addEventListener("pointermove", move);
  window.addEventListener("pointerup", up);
}

function startResize(table: Table, c: ColumnPlace, e: PointerEvent): void {
  e.stopPropagation();
  const from = e.clientX;
  const handle = e.currentTarget as HTMLElement;
  handle.setPointerCapture(e.pointerId);
  handle.onpointermove = (m) => table.layout.resize(c.index, c.width + m.clientX - from);
  handle.onpointerup = () => (handle.onpointermove = handle.onpointerup = null);
}

const typeShown = (column: Column): string =>
  column.type === "ARRAY" ? `${column.elemType ?? ""}${"[]".repeat(column.dim ?? 1)}` : column.type;

function drawColumn(table: Table, c: ColumnPlace, x: number) {
  const { result, rows, layout, dragged } = table;
  const column = result.columns[c.index];
  const position = table.at(c.index);
  if (column === undefined) return null;
  const designated = c.index === result.timestamp;
  const sorted = rows.sort?.column === c.index ? (rows.sort.down ? "descending" : "ascending") : "none";
  return (
    <div
      key={c.index}
      class={`grid-column${dragged?.at === position ? " dragged" : ""}${designated ? " designated" : ""}`}
      role="columnheader"
      aria-colindex={position + 2}
      aria-sort={sorted}
      title={`${column.name}: ${column.type}${designated ? ", designated timestamp" : ""}`}
      style={{ left: `${x}px`, width: `${c.width}px` }}
      onClick={() => dragged === null && rows.toggleSort(c.index)}
      onContextMenu={(e) => {
        e.preventDefault();
        table.openMenu(e.clientX, e.clientY, columnItems(table, position));
      }}
      onPointerDown={(e) => startMove(table, position, e)}
    >
      <span class="grid-name">
        {column.name}
        {sorted !== "none" && <span aria-hidden="true">{sorted === "ascending" ? " ▲" : " ▼"}</span>}
      </span>
      <span class="grid-type">{typeShown(column)}</span>
      <span
        class="grid-resize"
        onClick={(e) => e.stopPropagation()}
        onDblClick={() => layout.autoSize(c.index)}
        onPointerDown={(e) => startResize(table, c, e)}
      />
    </div>
  );
}

export function TableHead({ table }: { table: Table }) {
  const { visible, places, view } = table;
  return (
    <div class="grid-head" role="row" aria-rowindex={1}>
      {visible.columns.map((c) => drawColumn(table, c, visible.left + c.x - view.left))}
      {places.frozen.map((c) => drawColumn(table, c, NUMBERS_PX + c.x))}
      <div class="grid-corner" role="columnheader" aria-colindex={1} aria-label="Row" />
    </div>
  );
}
