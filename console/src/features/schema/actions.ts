/* What can be done with a table of the explorer. */
import { changeTables, writtenName } from "../../api/catalog";
import { notify } from "../../ui/notice";
import { runInTab } from "../../editor/runInTab";
import { insertText } from "../../editor/view";
import { plural } from "../../results/format";
import { createUserStore } from "../../state/owner";
import { confirm } from "../../ui/Confirm";
import type { MenuItem } from "../../ui/Menu";
import { openImport } from "../import/open";
import type { TableNode, TreeRow } from "./tree";

export type Panel = "details" | "ddl" | "rename";
export const shownTable = createUserStore<{ table: TableNode | null; panel: Panel }>({ table: null, panel: "details" });

const KEYWORD = { table: "TABLE", view: "VIEW", "materialized view": "MATERIALIZED VIEW" } as const;

function truncate(table: TableNode): void {
  confirm({
    title: "Truncate a table",
    text: `All ${plural(table.rows ?? 0, "row")} of ${table.name} are deleted. The table stays.`,
    verb: "Truncate",
    name: table.name,
    run: async () => {
      await changeTables(`TRUNCATE TABLE ${writtenName(table.name)}`);
      notify(`${table.name} is empty.`);
    },
  });
}

function drop(table: TableNode): void {
  const rows = table.rows === null ? "" : ` with ${plural(table.rows, "row")}`;
  confirm({
    title: `Drop a ${table.kind}`,
    text: `The ${table.kind} ${table.name}${rows} is dropped. It cannot be brought back.`,
    verb: "Drop",
    name: table.name,
    run: async () => {
      await changeTables(`DROP ${KEYWORD[table.kind]} ${writtenName(table.name)}`);
      notify(`${table.name} is dropped.`);
    },
  });
}

export function tableMenu(table: TableNode): MenuItem[] {
  const name = writtenName(table.name);
  const show = (panel: Panel) => () => shownTable.set({ table, panel });
  const sample = table.timestamp === null ? `SELECT * FROM ${name} LIMIT 100;` : `SELECT * FROM ${name} LIMIT -100;`;
  const items: MenuItem[] = [
    { title: "Insert the name", run: () => insertText(name) },
    {
      title: table.timestamp === null ? "Sample: 100 rows" : "Sample: the newest 100 rows",
      run: () => runInTab(sample, table.name),
    },
    { title: "Details", run: show("details") },
    { title: "Statement that makes it", run: show("ddl") },
  ];
  if (table.kind === "table")
    items.push(
      { title: "Import a file into it", run: () => openImport(table.name) },
      { title: "Rename", run: show("rename") },
      { title: "Truncate …", danger: true, run: () => truncate(table) },
    );
  items.push({ title: "Drop …", danger: true, run: () => drop(table) });
  return items;
}

export function rowMenu(row: TreeRow): MenuItem[] {
  if (row.kind === "table" || row.kind === "folder") return tableMenu(row.table);
  if (row.kind === "column") {
    const column = writtenName(row.column.name);
    const table = writtenName(row.table.name);
    return [
      { title: "Insert the name", run: () => insertText(column) },
      {
        title: "Most frequent values",
        run: () =>
          runInTab(
            `SELECT ${column}, count() AS n FROM ${table} GROUP BY ${column} ORDER BY n DESC LIMIT 100;`,
            row.column.name,
          ),
      },
      { title: "Copy the name", run: () => void navigator.clipboard.writeText(row.column.name) },
    ];
  }
  return [];
}
