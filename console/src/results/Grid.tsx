/*
 * The rows of a result as a table. Only what is seen is drawn, and pages are fetched as they come into view: the
 * scroller holds an empty canvas of the right size, and a view of its own size in which rows stand where it says.
 */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { notify } from "../ui/notice";
import { quoteName } from "../sql/lexer";
import { Menu, type MenuAt, type MenuItem } from "../ui/Menu";
import { resultActions } from "./actions";
import { COPY_FORMATS, copyText, type CopyFormat, tableOf, toClipboard } from "./copy";
import { cellShown, isNumber, plural, shownCount } from "./format";
import { GridBar } from "./GridBar";
import {
  canvasHeight,
  type ColumnPlace,
  HEAD_PX,
  placeColumns,
  ROW_PX,
  seenColumns,
  toOffset,
  toScrollTop,
} from "./layout";
import type { ResultSet } from "./resultset";
import type { Run } from "./run";
import { type Place, useLayout, useRows, useSelection, useUtc } from "./useGrid";
import { ValuePanel } from "./ValuePanel";

const NUMBERS_PX = 72;
const COPY_ROWS_MAX = 200_000;

export function Grid({ run }: { run: Run }) {
  return run.result === null ? null : <Table key={run.id} result={run.result} sql={run.sql} />;
}

function Table({ result, sql }: { result: ResultSet; sql: string }) {
  const utc = useUtc();
  const layout = useLayout(result, utc);
  const rows = useRows(result);
  const selection = useSelection(rows.count, layout.order.length);
  const [view, setView] = useState({ top: 0, left: 0, width: 0, height: 0 });
  const [menu, setMenu] = useState<(MenuAt & { items: MenuItem[] }) | null>(null);
  const [panel, setPanel] = useState(false);
  const [dragged, setDragged] = useState<{ at: number; x: number } | null>(null);
  const scroller = useRef<HTMLDivElement>(null);
  const marking = useRef(false);

  const places = placeColumns(layout.order, layout.widths, layout.frozen);
  const left = NUMBERS_PX + places.frozenWidth;
  const rowsHeight = Math.max(0, view.height - HEAD_PX);
  const offset = toOffset(view.top, rows.count, rowsHeight);
  const first = Math.floor(offset / ROW_PX);
  const last = Math.min(rows.count, Math.ceil((offset + rowsHeight) / ROW_PX));
  const seen = seenColumns(places.rest, view.left, view.left + Math.max(0, view.width - left));
  const indexes = Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i);
  /* where each column stands from the left: aria and the selection count so */
  const positions = new Map(layout.order.map((index, at) => [index, at]));
  const at = (index: number) => positions.get(index) ?? 0;

  const shownRows = indexes.map((i) => rows.row(i)).filter((r) => r !== undefined);
  useEffect(
    () =>
      layout.widen(
        [...places.frozen, ...seen].map((c) => c.index),
        shownRows,
      ),
    [first, last, shownRows.length],
  );

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
  useEffect(() => {
    const up = () => (marking.current = false);
    window.addEventListener("pointerup", up);
    return () => window.removeEventListener("pointerup", up);
  }, []);

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
  const go = (place: Place, extend = false) => {
    selection.go(place, extend);
    show({
      row: Math.max(0, Math.min(place.row, rows.count - 1)),
      column: Math.max(0, Math.min(place.column, layout.order.length - 1)),
    });
  };

  const copy = async (format: CopyFormat, what: "selection" | "all", head: boolean) => {
    const range =
      what === "all" ? { top: 0, bottom: rows.count - 1, left: 0, right: layout.order.length - 1 } : selection.range;
    if (range.bottom - range.top >= COPY_ROWS_MAX)
      return notify(`More than ${plural(COPY_ROWS_MAX, "row")}: download them instead.`, "error");
    try {
      const chosen = layout.order.slice(range.left, range.right + 1);
      const found = await rows.rows(range.top, range.bottom + 1);
      const columns = chosen.map((i) => result.columns[i]).filter((c) => c !== undefined);
      const cells = found.map((r) => chosen.map((i) => r[i] ?? null));
      await toClipboard(copyText(format, columns, cells, head, tableOf(sql)));
      notify(`Copied ${plural(found.length, "row")}, ${plural(columns.length, "column")} as ${format}.`);
    } catch (e) {
      notify(`Nothing was copied: ${e instanceof Error ? e.message : String(e)}`, "error");
    }
  };

  const columnItems = (position: number): MenuItem[] => {
    const index = layout.order[position] ?? 0;
    const name = result.columns[index]?.name ?? "";
    return [
      {
        title: rows.sort?.column === index ? (rows.sort.down ? "Do not sort" : "Sort downwards") : "Sort upwards",
        hint: "what is loaded",
        run: () => rows.toggleSort(index),
      },
      {
        title: layout.frozen === position + 1 ? "Freeze none" : "Freeze up to here",
        run: () => layout.freeze(layout.frozen === position + 1 ? 0 : position + 1),
      },
      { title: "Move left", disabled: position === 0, run: () => layout.move(position, position - 1) },
      {
        title: "Move right",
        disabled: position === layout.order.length - 1,
        run: () => layout.move(position, position + 1),
      },
      { title: "Fit the width", run: () => layout.autoSize(index) },
      { title: "Hide", disabled: layout.order.length < 2, run: () => void layout.hide(position) },
      { title: "Columns as they came", run: layout.reset },
      { title: "Insert the name into the editor", run: () => resultActions().insertText(quoteName(name)) },
      {
        title: "Select the column",
        run: () => selection.select({ row: 0, column: position }, { row: rows.count - 1, column: position }),
      },
    ];
  };
  const cellItems = (): MenuItem[] => [
    { title: "Show the whole value", hint: "Enter", run: () => setPanel(true) },
    ...COPY_FORMATS.map((f) => ({
      title: `Copy as ${f}`,
      ...(f === "TSV" ? { hint: "Ctrl+C" } : {}),
      run: () => void copy(f, "selection", f !== "TSV"),
    })),
    { title: "Copy with names, as TSV", run: () => void copy("TSV", "selection", true) },
    {
      title: "Select the row",
      run: () =>
        selection.select(
          { row: selection.active.row, column: 0 },
          { row: selection.active.row, column: layout.order.length - 1 },
        ),
    },
    ...columnItems(selection.active.column).map((i) => ({ ...i, title: `Column: ${i.title.toLowerCase()}` })),
  ];
  const closeMenu = () => {
    setMenu(null);
    scroller.current?.focus();
  };

  const onKey = (e: KeyboardEvent) => {
    const { row, column } = selection.active;
    const page = Math.max(1, Math.floor(rowsHeight / ROW_PX) - 1);
    const mod = e.ctrlKey || e.metaKey;
    const end = { row: rows.count - 1, column: layout.order.length - 1 };
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
    const place = to[e.key];
    if (place !== undefined && !e.altKey) go(place, e.shiftKey);
    else if (mod && e.key.toLowerCase() === "a") selection.select({ row: 0, column: 0 }, end);
    else if (mod && e.key.toLowerCase() === "c") void copy("TSV", "selection", e.shiftKey);
    else if (e.key === "Enter") setPanel(true);
    else if (e.key === "Escape" && panel) setPanel(false);
    else if (e.key === "ContextMenu" || (e.key === "F10" && e.shiftKey)) {
      const box =
        scroller.current?.querySelector(".grid-cell.active")?.getBoundingClientRect() ??
        scroller.current?.getBoundingClientRect();
      if (box !== undefined) setMenu({ x: box.left, y: box.bottom, items: cellItems() });
    } else return;
    e.preventDefault();
    e.stopPropagation();
  };

  const pointAt = (e: { target: EventTarget | null }): Place | null => {
    const cell = (e.target as HTMLElement).closest<HTMLElement>("[data-column]");
    return cell === null ? null : { row: Number(cell.dataset.row), column: Number(cell.dataset.column) };
  };

  const drawHead = (c: ColumnPlace, x: number) => {
    const column = result.columns[c.index];
    const position = at(c.index);
    if (column === undefined) return null;
    const className =
      "grid-column" +
      (dragged?.at === position ? " dragged" : "") +
      (c.index === result.timestamp ? " designated" : "");
    const sorted = rows.sort?.column === c.index ? (rows.sort.down ? "descending" : "ascending") : "none";
    return (
      <div
        key={c.index}
        class={className}
        role="columnheader"
        aria-colindex={position + 2}
        aria-sort={sorted}
        title={`${column.name}: ${column.type}${c.index === result.timestamp ? ", designated timestamp" : ""}`}
        style={{ left: `${x}px`, width: `${c.width}px` }}
        onClick={() => dragged === null && rows.toggleSort(c.index)}
        onContextMenu={(e) => {
          e.preventDefault();
          setMenu({ x: e.clientX, y: e.clientY, items: columnItems(position) });
        }}
        onPointerDown={(e) => {
          if (e.button !== 0) return;
          const start = e.clientX;
          const head = e.currentTarget.parentElement;
          let moved = false;
          const move = (m: PointerEvent) => {
            moved ||= Math.abs(m.clientX - start) > 6;
            if (moved) setDragged({ at: position, x: m.clientX });
          };
          const up = (m: PointerEvent) => {
            window.removeEventListener("pointermove", move);
            window.removeEventListener("pointerup", up);
            if (!moved) return;
            const target = [...(head?.children ?? [])].find(
              (el) => m.clientX >= el.getBoundingClientRect().left && m.clientX < el.getBoundingClientRect().right,
            );
            const to = Number(target?.getAttribute("aria-colindex") ?? position + 2) - 2;
            layout.move(position, to);
            setTimeout(() => setDragged(null)); /* after the click that follows */
          };
          window.addEventListener("pointermove", move);
          window.addEventListener("pointerup", up);
        }}
      >
        <span class="grid-name">
          {column.name}
          {sorted !== "none" && <span aria-hidden="true">{sorted === "ascending" ? " ▲" : " ▼"}</span>}
        </span>
        <span class="grid-type">
          {column.type === "ARRAY" ? `${column.elemType ?? ""}${"[]".repeat(column.dim ?? 1)}` : column.type}
        </span>
        <span
          class="grid-resize"
          onClick={(e) => e.stopPropagation()}
          onDblClick={() => layout.autoSize(c.index)}
          onPointerDown={(e) => {
            e.stopPropagation();
            const from = e.clientX;
            const handle = e.currentTarget;
            handle.setPointerCapture(e.pointerId);
            handle.onpointermove = (m) => layout.resize(c.index, c.width + m.clientX - from);
            handle.onpointerup = () => (handle.onpointermove = handle.onpointerup = null);
          }}
        />
      </div>
    );
  };
  const drawCell = (c: ColumnPlace, x: number, i: number, row: ReturnType<typeof rows.row>) => {
    const column = result.columns[c.index];
    if (column === undefined) return null;
    const value = row?.[c.index];
    const position = at(c.index);
    const { range, active } = selection;
    const chosen = i >= range.top && i <= range.bottom && position >= range.left && position <= range.right;
    const isActive = active.row === i && active.column === position;
    const kind =
      value === undefined
        ? "waiting"
        : value === null
          ? "null"
          : value === ""
            ? "blank"
            : isNumber(column)
              ? "number"
              : "";
    return (
      <div
        key={c.index}
        id={`cell-${i}-${position}`}
        class={`grid-cell ${kind}${chosen ? " chosen" : ""}${isActive ? " active" : ""}`}
        role="gridcell"
        aria-colindex={position + 2}
        aria-selected={chosen}
        data-row={i}
        data-column={position}
        style={{ left: `${x}px`, width: `${c.width}px` }}
      >
        {value === undefined ? "…" : value === "" ? "''" : cellShown(value, column, utc)}
      </div>
    );
  };

  const activeColumn = result.columns[layout.order[selection.active.column] ?? 0];
  return (
    <div class="grid-with-bar">
      <GridBar
        result={result}
        sql={sql}
        rows={rows}
        selection={selection}
        onGo={(row) => go({ row, column: selection.active.column })}
        onCopy={(f) => void copy(f, "all", true)}
        onPanel={() => setPanel(!panel)}
        panel={panel}
      />
      <div class="grid-area">
        <div class="grid">
          <div
            class="grid-scroller"
            role="grid"
            aria-label="Result"
            aria-rowcount={rows.count + 1}
            aria-colcount={layout.order.length + 1}
            aria-multiselectable="true"
            aria-activedescendant={
              rows.count > 0 && selection.active.row >= first && selection.active.row < last
                ? `cell-${selection.active.row}-${selection.active.column}`
                : undefined
            }
            tabIndex={0}
            ref={scroller}
            onScroll={look}
            onKeyDown={onKey}
          >
            <div
              class="grid-view"
              role="rowgroup"
              style={{ width: `${view.width}px`, height: `${view.height}px` }}
              onPointerDown={(e) => {
                const place = e.button === 0 ? pointAt(e) : null;
                if (place === null) return;
                marking.current = e.pointerType === "mouse";
                selection.go(place, e.shiftKey);
              }}
              onPointerOver={(e) => {
                const place = marking.current ? pointAt(e) : null;
                if (place !== null) selection.go(place, true);
              }}
              onDblClick={(e) => pointAt(e) !== null && setPanel(true)}
              onContextMenu={(e) => {
                const place = pointAt(e);
                if (place === null) return;
                e.preventDefault();
                const { range } = selection;
                const inside =
                  place.row >= range.top &&
                  place.row <= range.bottom &&
                  place.column >= range.left &&
                  place.column <= range.right;
                if (!inside) selection.go(place);
                setMenu({ x: e.clientX, y: e.clientY, items: cellItems() });
              }}
            >
              <div class="grid-head" role="row" aria-rowindex={1}>
                {seen.map((c) => drawHead(c, left + c.x - view.left))}
                {places.frozen.map((c) => drawHead(c, NUMBERS_PX + c.x))}
                <div class="grid-corner" role="columnheader" aria-colindex={1} aria-label="Row" />
              </div>
              {indexes.map((i) => {
                const row = rows.row(i);
                return (
                  <div
                    class={i % 2 === 1 ? "grid-row odd" : "grid-row"}
                    role="row"
                    aria-rowindex={i + 2}
                    key={i}
                    style={{ top: `${HEAD_PX + i * ROW_PX - offset}px` }}
                  >
                    {seen.map((c) => drawCell(c, left + c.x - view.left, i, row))}
                    {places.frozen.length > 0 && (
                      <div class="grid-frozen" role="presentation" style={{ width: `${left}px` }}>
                        {places.frozen.map((c) => drawCell(c, NUMBERS_PX + c.x, i, row))}
                      </div>
                    )}
                    <div
                      class="grid-number"
                      role="rowheader"
                      aria-colindex={1}
                      data-row={i}
                      onClick={() =>
                        selection.select({ row: i, column: 0 }, { row: i, column: layout.order.length - 1 })
                      }
                    >
                      {shownCount(rows.number(i) + 1)}
                    </div>
                  </div>
                );
              })}
            </div>
            <div
              class="grid-canvas"
              role="presentation"
              style={{ height: `${canvasHeight(rows.count) + HEAD_PX}px`, width: `${left + places.restWidth}px` }}
            />
          </div>
          {rows.count === 0 && (
            <p class="grid-empty">{rows.filter.trim() === "" ? "No rows." : "No loaded row fits the filter."}</p>
          )}
        </div>
        {panel && activeColumn !== undefined && rows.count > 0 && (
          <ValuePanel
            value={rows.row(selection.active.row)?.[layout.order[selection.active.column] ?? 0]}
            column={activeColumn}
            row={rows.number(selection.active.row)}
            onClose={() => setPanel(false)}
          />
        )}
      </div>
      {menu !== null && <Menu items={menu.items} at={menu} label="Grid" onClose={closeMenu} />}
    </div>
  );
}
