/* What the menus and keys of the table of a result do. */
import { quoteName } from "../sql/lexer";
import type { MenuItem } from "../ui/Menu";
import { notify } from "../ui/notice";
import { resultActions } from "./actions";
import { COPY_FORMATS, copyText, type CopyFormat, tableOf, toClipboard } from "./copy";
import { plural } from "./format";
import type { Table } from "./useTable";

const COPY_ROWS_MAX = 200_000;

/* The selection, or all rows, to the clipboard; head: with the names of the columns. */
export async function copyRows(
  { result, sql, layout, rows, selection }: Table,
  format: CopyFormat,
  what: "selection" | "all",
  head: boolean,
): Promise<void> {
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
}

/* What can be done with the column at a place. */
export function columnItems({ result, layout, rows, selection }: Table, position: number): MenuItem[] {
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
}

/* What can be done with the selected cells. */
export const cellItems = (table: Table): MenuItem[] => [
  { title: "Show the whole value", hint: "Enter", run: () => table.setPanel(true) },
  ...COPY_FORMATS.map((f) => ({
    title: `Copy as ${f}`,
    ...(f === "TSV" ? { hint: "Ctrl+C" } : {}),
    run: () => void copyRows(table, f, "selection", f !== "TSV"),
  })),
  { title: "Copy with names, as TSV", run: () => void copyRows(table, "TSV", "selection", true) },
  {
    title: "Select the row",
    run: () =>
      table.selection.select(
        { row: table.selection.active.row, column: 0 },
        { row: table.selection.active.row, column: table.layout.order.length - 1 },
      ),
  },
  ...columnItems(table, table.selection.active.column).map((i) => ({
    ...i,
    title: `Column: ${i.title.toLowerCase()}`,
  })),
];
