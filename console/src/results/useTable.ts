/*
 * What the table of a result knows: its columns, rows and selection, what of them is in sight, and what is open beside
 * them. The views (Grid.tsx, TableHead.tsx, TableRows.tsx) draw it, tableActions.ts and tableKeys.ts change it.
 */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { MenuAt, MenuItem } from "../ui/Menu";
import { placeColumns, ROW_PX, toOffset, toScrollTop, type View, visibleIn } from "./layout";
import type { ResultSet } from "./resultset";
import { type Place, useLayout, useRows, useSelection, useUtc } from "./useGrid";

/* The scroller, and what it shows of its content. */
function useView() {
  const [view, setView] = useState<View>({ top: 0, left: 0, width: 0, height: 0 });
  const scroller = useRef<HTMLDivElement>(null);
  const look = () => {
    const el = scroller.current;
    if (el !== null)
      setView({ top: el.scrollTop, left: el.scrollLeft, width: el.clientWidth, height: el.clientHeight });
  };
  useLayoutEffect(() => {
    const el = scroller.current;
    if (el === null) return;
    const watch = new ResizeObserver(look);
    watch.observe(el);
    look();
    return () => watch.disconnect();
  }, []);
  return { view, scroller, look };
}

export function useTable(result: ResultSet, sql: string) {
  const utc = useUtc();
  const layout = useLayout(result, utc);
  const rows = useRows(result);
  const selection = useSelection(rows.count, layout.order.length);
  const { view, scroller, look } = useView();
  const [menu, setMenu] = useState<(MenuAt & { items: MenuItem[] }) | null>(null);
  const [panel, setPanel] = useState(false);
  const [dragged, setDragged] = useState<{ at: number; x: number } | null>(null);

  const places = placeColumns(layout.order, layout.widths, layout.frozen);
  const visible = visibleIn(view, places, rows.count);
  /* where each column stands from the left: aria and the selection count so */
  const positions = new Map(layout.order.map((index, at) => [index, at]));
  const at = (index: number) => positions.get(index) ?? 0;

  const { left, rowsHeight } = visible;
  const shownRows = visible.rows.map((i) => rows.row(i)).filter((r) => r !== undefined);
  const widen = () =>
    layout.widen(
      [...places.frozen, ...visible.columns].map((c) => c.index),
      shownRows,
    );
  useEffect(widen, [visible.first, visible.last, shownRows.length]);

  const show = (place: Place) => {
    const el = scroller.current;
    if (el === null) return;
    const y = place.row * ROW_PX;
    const now = toOffset(el.scrollTop, rows.count, rowsHeight);
    if (y < now) el.scrollTop = Math.floor(toScrollTop(y, rows.count, rowsHeight));
    else if (y + ROW_PX > now + rowsHeight)
      el.scrollTop = Math.ceil(toScrollTop(y + ROW_PX - rowsHeight, rows.count, rowsHeight));
    const column = places.rest.find((c) => at(c.index) === place.column);
    if (column === undefined) return;
    const width = view.width - left;
    if (column.x < el.scrollLeft) el.scrollLeft = column.x;
    else if (column.x + column.width > el.scrollLeft + width) el.scrollLeft = column.x + column.width - width;
  };
  /* Moves the active cell, with Shift the end of the selection, and scrolls to it. */
  const go = (place: Place, extend = false) => {
    selection.go(place, extend);
    show({
      row: Math.max(0, Math.min(place.row, rows.count - 1)),
      column: Math.max(0, Math.min(place.column, layout.order.length - 1)),
    });
  };
  const openMenu = (x: number, y: number, items: MenuItem[]) => setMenu({ x, y, items });
  const closeMenu = () => {
    setMenu(null);
    scroller.current?.focus();
  };
  const open = { menu, openMenu, closeMenu, panel, setPanel, dragged, setDragged };
  return { result, sql, utc, layout, rows, selection, view, scroller, look, places, visible, at, go, ...open };
}
export type Table = ReturnType<typeof useTable>;
