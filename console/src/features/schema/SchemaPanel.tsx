/*
 * The schema explorer: a tree of which only the rows in sight are drawn, so that 10,000 tables or 2,000 columns cost
 * no more than ten. The tree itself has the focus; aria-activedescendant says which row is meant.
 */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { catalog, writtenName } from "../../api/catalog";
import { insertText } from "../../editor/view";
import { openCreate, openImport } from "../import/open";
import { plural, shownBytes, shownCount } from "../../results/format";
import { useStore } from "../../state/store";
import { Button } from "../../ui/Button";
import { Icon } from "../../ui/Icon";
import { Menu, type MenuAt } from "../../ui/Menu";
import { rowMenu, tableMenu } from "./actions";
import { refreshSchema, schema, search, toggle } from "./model";
import "./schema.css";
import { parentOf, ROW_PX, treeRows, type TreeRow, windowOf } from "./tree";

const domId = (index: number) => `schema-row-${index}`;

function facts(row: TreeRow): string {
  if (row.kind === "group") return shownCount(row.count);
  if (row.kind === "folder") return row.count === null ? "" : shownCount(row.count);
  if (row.kind === "partition")
    return shownCount(row.partition.rows) + (row.partition.bytes > 0 ? ` · ${shownBytes(row.partition.bytes)}` : "");
  if (row.kind !== "table") return "";
  const { rows, bytes } = row.table;
  return [
    rows === null ? null : shownCount(rows),
    bytes === null || (bytes === 0 && rows !== 0) ? null : shownBytes(bytes) /* 0: in memory yet */,
  ]
    .filter((t) => t !== null)
    .join(" · ");
}

function title(row: TreeRow): string {
  if (row.kind === "table") {
    const t = row.table;
    const parts = [t.name, t.kind, t.timestamp === null ? "no designated timestamp" : `timestamp ${t.timestamp}`];
    if (t.kind !== "view") parts.push(`partitioned by ${t.partitionBy}`, plural(t.rows ?? 0, "row"));
    if (t.problem !== null) parts.push(t.problem);
    return parts.join("\n");
  }
  if (row.kind === "column") {
    const c = row.column;
    const parts = [`${c.name} ${c.type}`];
    if (c.designated) parts.push("designated timestamp");
    if (c.symbols !== null) parts.push(plural(c.symbols, "symbol"));
    if (c.key) parts.push("key of DEDUP");
    if (c.indexed) parts.push("indexed");
    return parts.join("\n");
  }
  if (row.kind === "partition")
    return (
      `${row.partition.name}: ${row.partition.format}, ${row.partition.state}\n` +
      `${row.partition.min ?? ""} to ${row.partition.max ?? ""}`
    );
  return "";
}

function Label({ row }: { row: TreeRow }) {
  switch (row.kind) {
    case "group":
      return <strong>{row.title}</strong>;
    case "table":
      return (
        <>
          <Icon name={row.table.kind === "table" ? "table" : row.table.kind === "view" ? "eye" : "layers"} />
          <span class="tree-name">{row.table.name}</span>
          {row.table.problem !== null && (
            <span class="tree-bad">
              <Icon name="warning" />
              <span class="visually-hidden">{row.table.problem}</span>
            </span>
          )}
          {row.hits.length > 0 && (
            <span class="tree-hits">{row.hits.slice(0, 3).join(", ") + (row.hits.length > 3 ? " …" : "")}</span>
          )}
        </>
      );
    case "column":
      return (
        <>
          {row.column.designated ? (
            <Icon name="history" />
          ) : (
            <Icon name={row.column.symbols !== null ? "tag" : "column"} />
          )}
          <span class={row.column.designated ? "tree-name designated" : "tree-name"}>{row.column.name}</span>
          <span class="tree-type">
            {row.column.type}
            {row.column.designated && <span class="visually-hidden">, designated timestamp</span>}
            {row.column.symbols !== null && ` · ${shownCount(row.column.symbols)}`}
            {row.column.key && " · key"}
          </span>
        </>
      );
    case "folder":
      return <span class="tree-name dim">{row.title}</span>;
    case "partition":
      return (
        <>
          <span class="tree-name">{row.partition.name}</span>
          {row.partition.format === "Parquet" && <span class="tree-type">Parquet</span>}
          {row.partition.state === "detached" && <span class="tree-type">detached</span>}
        </>
      );
    case "note":
      return <span class={row.bad ? "tree-bad" : "dim"}>{row.text}</span>;
  }
}

const tableOf = (row: TreeRow): string | null =>
  row.kind === "table" || row.kind === "folder" ? row.table.name : null;

function insert(row: TreeRow): void {
  if (row.kind === "table") insertText(writtenName(row.table.name));
  else if (row.kind === "column") insertText(writtenName(row.column.name));
  else if (row.open !== undefined) toggle(row.id, tableOf(row));
}

interface TreeProps {
  rows: TreeRow[];
  onMenu: (row: TreeRow, at: MenuAt) => void;
}

function Tree({ rows, onMenu }: TreeProps) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 400 });
  const [active, setActive] = useState<string | null>(null);
  const typed = useRef({ text: "", at: 0 });
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
    const now = Date.now();
    typed.current = { text: now - typed.current.at > 800 ? letter : typed.current.text + letter, at: now };
    const wanted = typed.current.text.toLowerCase();
    const name = (r: TreeRow) =>
      (r.kind === "table" ? r.table.name : r.kind === "column" ? r.column.name : "").toLowerCase();
    const from = wanted.length === 1 ? at + 1 : at;
    const found = [...rows.keys()]
      .map((i) => (i + from) % rows.length)
      .find((i) => name(rows[i] as TreeRow).startsWith(wanted));
    if (found !== undefined) goTo(found);
  };
  const onKey = (e: KeyboardEvent) => {
    const row = rows[at];
    if (row === undefined || e.ctrlKey || e.metaKey || e.altKey) return;
    const page = Math.max(1, Math.floor(view.height / ROW_PX) - 1);
    if (e.key === "ArrowDown") goTo(Math.min(at + 1, rows.length - 1));
    else if (e.key === "ArrowUp") goTo(Math.max(at - 1, 0));
    else if (e.key === "PageDown") goTo(Math.min(at + page, rows.length - 1));
    else if (e.key === "PageUp") goTo(Math.max(at - page, 0));
    else if (e.key === "Home") goTo(0);
    else if (e.key === "End") goTo(rows.length - 1);
    else if (e.key === "ArrowRight") {
      if (row.open === false) toggle(row.id, tableOf(row));
      else if (row.open === true) goTo(Math.min(at + 1, rows.length - 1));
    } else if (e.key === "ArrowLeft") {
      if (row.open === true) toggle(row.id, tableOf(row));
      else if (parentOf(rows, at) >= 0) goTo(parentOf(rows, at));
    } else if (e.key === "Enter") insert(row);
    else if (e.key === " ") {
      if (row.open !== undefined) toggle(row.id, tableOf(row));
    } else if (e.key === "ContextMenu" || (e.key === "F10" && e.shiftKey)) menuAt(at);
    else if (e.key.length === 1 && e.key !== "?") find(e.key);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  const { first, last } = windowOf(view.top, view.height, rows.length);
  const seen = rows.slice(first, last);
  return (
    <div
      class="tree"
      ref={box}
      role="tree"
      aria-label="Tables"
      tabIndex={0}
      {...(at >= first && at < last ? { "aria-activedescendant": domId(at) } : {})}
      onScroll={look}
      onKeyDown={onKey}
    >
      <div role="presentation" style={{ height: `${first * ROW_PX}px` }} />
      {seen.map((row, i) => (
        <div
          key={row.id}
          id={domId(first + i)}
          role="treeitem"
          aria-level={row.level}
          aria-setsize={row.brothers}
          aria-posinset={row.position}
          {...(row.open === undefined ? {} : { "aria-expanded": row.open })}
          aria-selected={first + i === at}
          class={`tree-row ${row.kind}`}
          style={{ paddingLeft: `${(row.level - 1) * 14 + 4}px` }}
          title={title(row)}
          onClick={(e) => {
            setActive(row.id);
            if (e.target instanceof Element && e.target.closest("[data-do=more]") !== null)
              onMenu(row, { x: e.clientX, y: e.clientY });
            else if (e.target instanceof Element && e.target.closest("[data-do=turn]") !== null)
              toggle(row.id, tableOf(row));
            else insert(row);
          }}
          onContextMenu={(e) => {
            e.preventDefault();
            setActive(row.id);
            onMenu(row, { x: e.clientX, y: e.clientY });
          }}
        >
          <span class="tree-turn" data-do="turn" aria-hidden="true">
            {row.open !== undefined && <Icon name={row.open ? "down" : "right"} />}
          </span>
          <Label row={row} />
          <span class="tree-facts">{facts(row)}</span>
          {(row.kind === "table" || row.kind === "column") && (
            <span class="tree-more" data-do="more" aria-hidden="true">
              <Icon name="more" />
            </span>
          )}
        </div>
      ))}
      <div role="presentation" style={{ height: `${Math.max(0, rows.length - last) * ROW_PX}px` }} />
    </div>
  );
}

export function SchemaPanel() {
  const now = useStore(schema, (s) => s);
  const [menu, setMenu] = useState<{ row: TreeRow; at: MenuAt } | null>(null);
  const [over, setOver] = useState(false);
  const rows = useMemo(() => treeRows(now), [now]);
  useEffect(() => {
    void refreshSchema();
    let tables = catalog.get().tables;
    /* after statements that change tables, and when the server is back, the names are loaded again */
    return catalog.subscribe((c) => {
      if (c.tables !== tables) void refreshSchema();
      tables = c.tables;
    });
  }, []);
  const none = now.loaded && now.tables.length === 0 && now.problem === null;
  const items = menu === null ? [] : menu.row.kind === "partition" ? tableMenu(menu.row.table) : rowMenu(menu.row);
  return (
    <div
      class={over ? "schema dropping" : "schema"}
      onDragOver={(e) => {
        if (!e.dataTransfer?.types.includes("Files")) return;
        e.preventDefault();
        setOver(true);
      }}
      onDragLeave={(e) => e.currentTarget === e.target && setOver(false)}
      onDrop={(e) => {
        setOver(false);
        const file = e.dataTransfer?.files[0];
        if (file === undefined) return;
        e.preventDefault();
        openImport("", file);
      }}
    >
      <div class="side-tools">
        <input
          type="search"
          placeholder="Table or column"
          aria-label="Filter tables and columns"
          value={now.filter}
          onInput={(e) => void search(e.currentTarget.value)}
        />
        <Button icon="plus" label="Create a table" onClick={openCreate} />
        <Button icon="upload" label="Import a file" onClick={() => openImport()} />
        <Button icon="refresh" label="Refresh" disabled={now.loading} onClick={() => void refreshSchema()} />
      </div>
      {now.problem !== null && (
        <p class="side-note form-error" role="alert">
          {now.problem}
        </p>
      )}
      {none ? (
        <div class="side-note tree-empty">
          <p>No tables yet.</p>
          <div>
            <Button class="button" icon="plus" onClick={openCreate}>
              Create a table
            </Button>
            <Button class="button" icon="upload" onClick={() => openImport()}>
              Import a file
            </Button>
          </div>
          <p>A CSV or Parquet file can be dropped here, too.</p>
        </div>
      ) : (
        <Tree
          rows={rows}
          onMenu={(row, at) => rowMenu(row).length + (row.kind === "partition" ? 1 : 0) > 0 && setMenu({ row, at })}
        />
      )}
      {menu !== null && items.length > 0 && (
        <Menu items={items} at={menu.at} label="What to do with it" onClose={() => setMenu(null)} />
      )}
    </div>
  );
}
