/* What the tree of the explorer knows: which of its rows are in sight, which one is meant, and what keys do. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { writtenName } from "../../api/catalog";
import { insertText } from "../../editor/view";
import type { MenuAt } from "../../ui/Menu";
import { toggle } from "./model";
import { parentOf, ROW_PX, type TreeRow, windowOf } from "./tree";

const TYPING_MS = 800; /* letters that follow sooner are one word */

export const tableOf = (row: TreeRow): string | null =>
  row.kind === "table" || row.kind === "folder" ? row.table.name : null;

/* Enter, or a click: a name goes into the editor, what can be opened is. */
export function insert(row: TreeRow): void {
  if (row.kind === "table") insertText(writtenName(row.table.name));
  else if (row.kind === "column") insertText(writtenName(row.column.name));
  else if (row.open !== undefined) toggle(row.id, tableOf(row));
}

/* The box that scrolls, and what of the rows is to be seen in it. */
function useBox() {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 400 });
  const look = () => {
    const el = box.current;
    if (el !== null) setView({ top: el.scrollTop, height: el.clientHeight });
  };
  useLayoutEffect(() => {
    const el = box.current;
    if (el === null) return;
    const watch = new ResizeObserver(look);
    watch.observe(el);
    look();
    return () => watch.disconnect();
  }, []);
  return { box, view, look };
}

/* Letters that are typed, as one word while they follow each other. */
function useTyped() {
  const typed = useRef({ text: "", at: 0 });
  return (letter: string): string => {
    const now = Date.now();
    typed.current = { text: now - typed.current.at > TYPING_MS ? letter : typed.current.text + letter, at: now };
    return typed.current.text.toLowerCase();
  };
}

const nameOf = (r: TreeRow): string =>
  (r.kind === "table" ? r.table.name : r.kind === "column" ? r.column.name : "").toLowerCase();

export function useTree(rows: TreeRow[], onMenu: (row: TreeRow, at: MenuAt) => void) {
  const { box, view, look } = useBox();
  const [active, setActive] = useState<string | null>(null);
  const typed = useTyped();
  const at = Math.max(
    0,
    rows.findIndex((r) => r.id === active),
  );
  const goTo = (index: number) => {
    const row = rows[index];
    const el = box.current;
    if (row === undefined || el === null) return;
    setActive(row.id);
    if (index * ROW_PX < el.scrollTop) el.scrollTop = index * ROW_PX;
    else if ((index + 1) * ROW_PX > el.scrollTop + el.clientHeight)
      el.scrollTop = (index + 1) * ROW_PX - el.clientHeight;
  };
  const menuAt = (index: number) => {
    const el = box.current?.getBoundingClientRect();
    const row = rows[index];
    if (el !== undefined && row !== undefined)
      onMenu(row, { x: el.left + 40, y: el.top + (index + 1) * ROW_PX - (box.current?.scrollTop ?? 0) });
  };
  const find = (letter: string) => {
    const wanted = typed(letter);
    const from = wanted.length === 1 ? at + 1 : at;
    const found = [...rows.keys()]
      .map((i) => (i + from) % rows.length)
      .find((i) => nameOf(rows[i] as TreeRow).startsWith(wanted));
    if (found !== undefined) goTo(found);
  };
  return { rows, box, view, look, at, setActive, goTo, menuAt, find, ...windowOf(view.top, view.height, rows.length) };
}
export type TreeModel = ReturnType<typeof useTree>;

/* Where a key leads that goes from row to row; undefined: it is no such key. */
function rowOf({ rows, view, at }: TreeModel, key: string): number | undefined {
  const page = Math.max(1, Math.floor(view.height / ROW_PX) - 1);
  const to: Record<string, number> = {
    ArrowDown: Math.min(at + 1, rows.length - 1),
    ArrowUp: Math.max(at - 1, 0),
    PageDown: Math.min(at + page, rows.length - 1),
    PageUp: Math.max(at - page, 0),
    Home: 0,
    End: rows.length - 1,
  };
  return to[key];
}

export function onTreeKey(tree: TreeModel, e: KeyboardEvent): void {
  const { rows, at, goTo } = tree;
  const row = rows[at];
  if (row === undefined || e.ctrlKey || e.metaKey || e.altKey) return;
  const to = rowOf(tree, e.key);
  if (to !== undefined) goTo(to);
  else if (e.key === "ArrowRight") {
    if (row.open === false) toggle(row.id, tableOf(row));
    else if (row.open === true) goTo(Math.min(at + 1, rows.length - 1));
  } else if (e.key === "ArrowLeft") {
    if (row.open === true) toggle(row.id, tableOf(row));
    else if (parentOf(rows, at) >= 0) goTo(parentOf(rows, at));
  } else if (e.key === "Enter") insert(row);
  else if (e.key === " ") {
    if (row.open !== undefined) toggle(row.id, tableOf(row));
  } else if (e.key === "ContextMenu" || (e.key === "F10" && e.shiftKey)) tree.menuAt(at);
  else if (e.key.length === 1 && e.key !== "?") tree.find(e.key);
  else return;
  e.preventDefault();
  e.stopPropagation();
}
