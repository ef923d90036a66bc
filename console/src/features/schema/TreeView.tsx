/*
 * The tree of the explorer, of which only the rows in sight are drawn, so that 10,000 tables or 2,000 columns cost no
 * more than ten. The tree itself has the focus; aria-activedescendant says which row is meant.
 */
import { plural, shownBytes, shownCount } from "../../results/format";
import { Icon } from "../../ui/Icon";
import type { MenuAt } from "../../ui/Menu";
import { toggle } from "./model";
import { ROW_PX, type TreeRow } from "./tree";
import { insert, onTreeKey, tableOf, type TreeModel, useTree } from "./useTree";

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

interface TreeProps {
  rows: TreeRow[];
  onMenu: (row: TreeRow, at: MenuAt) => void;
}

function drawRow({ at, setActive }: TreeModel, row: TreeRow, index: number, onMenu: TreeProps["onMenu"]) {
  return (
    <div
      key={row.id}
      id={domId(index)}
      role="treeitem"
      aria-level={row.level}
      aria-setsize={row.brothers}
      aria-posinset={row.position}
      {...(row.open === undefined ? {} : { "aria-expanded": row.open })}
      aria-selected={index === at}
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
  );
}

export function TreeView({ rows, onMenu }: TreeProps) {
  const tree = useTree(rows, onMenu);
  const { at, first, last } = tree;
  return (
    <div
      class="tree"
      ref={tree.box}
      role="tree"
      aria-label="Tables"
      tabIndex={0}
      {...(at >= first && at < last ? { "aria-activedescendant": domId(at) } : {})}
      onScroll={tree.look}
      onKeyDown={(e) => onTreeKey(tree, e)}
    >
      <div role="presentation" style={{ height: `${first * ROW_PX}px` }} />
      {rows.slice(first, last).map((row, i) => drawRow(tree, row, first + i, onMenu))}
      <div role="presentation" style={{ height: `${Math.max(0, rows.length - last) * ROW_PX}px` }} />
    </div>
  );
}
