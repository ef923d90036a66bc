/* The schema explorer: the tree of tables (TreeView.tsx), its filter, and files that are dropped on it. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { catalog } from "../../api/catalog";
import { useStore } from "../../state/store";
import { Button } from "../../ui/Button";
import { Menu, type MenuAt } from "../../ui/Menu";
import { openCreate, openImport } from "../import/open";
import { rowMenu, tableMenu } from "./actions";
import { refreshSchema, schema, search } from "./model";
import "./schema.css";
import { TreeView } from "./TreeView";
import { treeRows, type TreeRow } from "./tree";

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
        <TreeView
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
