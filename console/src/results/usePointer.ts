/* The pointer over the cells of a table: it selects, opens the whole value, and the menu. */
import { useEffect, useRef } from "preact/hooks";
import { cellItems } from "./tableActions";
import { isIn } from "./TableRows";
import type { Place } from "./useGrid";
import type { Table } from "./useTable";

function placeAt(e: { target: EventTarget | null }): Place | null {
  const cell = (e.target as HTMLElement).closest<HTMLElement>("[data-column]");
  return cell === null ? null : { row: Number(cell.dataset.row), column: Number(cell.dataset.column) };
}

export function usePointer(table: Table) {
  const { selection } = table;
  const marking = useRef(false);
  useEffect(() => {
    const up = () => (marking.current = false);
    window.addEventListener("pointerup", up);
    return () => window.removeEventListener("pointerup", up);
  }, []);
  return {
    onPointerDown: (e: PointerEvent) => {
      const place = e.button === 0 ? placeAt(e) : null;
      if (place === null) return;
      marking.current = e.pointerType === "mouse";
      selection.go(place, e.shiftKey);
    },
    onPointerOver: (e: PointerEvent) => {
      const place = marking.current ? placeAt(e) : null;
      if (place !== null) selection.go(place, true);
    },
    onDblClick: (e: MouseEvent) => placeAt(e) !== null && table.setPanel(true),
    onContextMenu: (e: MouseEvent) => {
      const place = placeAt(e);
      if (place === null) return;
      e.preventDefault();
      if (!isIn(selection.range, place)) selection.go(place);
      table.openMenu(e.clientX, e.clientY, cellItems(table));
    },
  };
}
