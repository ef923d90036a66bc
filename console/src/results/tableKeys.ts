/* The keys of the table of a result. */
import { ROW_PX } from "./layout";
import { cellItems, copyRows } from "./tableActions";
import type { Place } from "./useGrid";
import type { Table } from "./useTable";

/* Where a key leads from a cell; mod: with Ctrl, to the end in that direction. undefined: it is no such key. Pure. */
export function placeOf(key: string, from: Place, end: Place, page: number, mod: boolean): Place | undefined {
  const { row, column } = from;
  const to: Record<string, Place> = {
    ArrowUp: { row: mod ? 0 : row - 1, column },
    ArrowDown: { row: mod ? end.row : row + 1, column },
    ArrowLeft: { row, column: mod ? 0 : column - 1 },
    ArrowRight: { row, column: mod ? end.column : column + 1 },
    PageUp: { row: row - page, column },
    PageDown: { row: row + page, column },
    Home: { row: mod ? 0 : row, column: 0 },
    End: { row: mod ? end.row : row, column: end.column },
  };
  return to[key];
}

function openMenuOfCell(table: Table): void {
  const { scroller } = table;
  const box =
    scroller.current?.querySelector(".grid-cell.active")?.getBoundingClientRect() ??
    scroller.current?.getBoundingClientRect();
  if (box !== undefined) table.openMenu(box.left, box.bottom, cellItems(table));
}

export function onTableKey(table: Table, e: KeyboardEvent): void {
  const { rows, layout, selection, visible } = table;
  const page = Math.max(1, Math.floor(visible.rowsHeight / ROW_PX) - 1);
  const mod = e.ctrlKey || e.metaKey;
  const end = { row: rows.count - 1, column: layout.order.length - 1 };
  const place = placeOf(e.key, selection.active, end, page, mod);
  if (place !== undefined && !e.altKey) table.go(place, e.shiftKey);
  else if (mod && e.key.toLowerCase() === "a") selection.select({ row: 0, column: 0 }, end);
  else if (mod && e.key.toLowerCase() === "c") void copyRows(table, "TSV", "selection", e.shiftKey);
  else if (e.key === "Enter") table.setPanel(true);
  else if (e.key === "Escape" && table.panel) table.setPanel(false);
  else if (e.key === "ContextMenu" || (e.key === "F10" && e.shiftKey)) openMenuOfCell(table);
  else return;
  e.preventDefault();
  e.stopPropagation();
}
