/*
 * The rows of a result as a table. Only what is seen is drawn, and pages are fetched as they come into view: the
 * scroller holds an empty canvas of the right size, and a view of its own size in which rows stand where it says.
 */
import { Menu } from "../ui/Menu";
import { GridBar } from "./GridBar";
import { canvasHeight, HEAD_PX } from "./layout";
import type { ResultSet } from "./resultset";
import type { Run } from "./run";
import { copyRows } from "./tableActions";
import { TableHead } from "./TableHead";
import { onTableKey } from "./tableKeys";
import { drawRow } from "./TableRows";
import { usePointer } from "./usePointer";
import { type Table, useTable } from "./useTable";
import { ValuePanel } from "./ValuePanel";

export function Grid({ run }: { run: Run }) {
  return run.result === null ? null : <ResultTable key={run.id} result={run.result} sql={run.sql} />;
}

function Scroller({ table }: { table: Table }) {
  const { rows, layout, selection, visible, view, places } = table;
  const { active } = selection;
  const pointer = usePointer(table);
  const isDrawn = rows.count > 0 && active.row >= visible.first && active.row < visible.last;
  return (
    <div
      class="grid-scroller"
      role="grid"
      aria-label="Result"
      aria-rowcount={rows.count + 1}
      aria-colcount={layout.order.length + 1}
      aria-multiselectable="true"
      aria-activedescendant={isDrawn ? `cell-${active.row}-${active.column}` : undefined}
      tabIndex={0}
      ref={table.scroller}
      onScroll={table.look}
      onKeyDown={(e) => onTableKey(table, e)}
    >
      <div
        class="grid-view"
        role="rowgroup"
        style={{ width: `${view.width}px`, height: `${view.height}px` }}
        {...pointer}
      >
        <TableHead table={table} />
        {visible.rows.map((i) => drawRow(table, i))}
      </div>
      <div
        class="grid-canvas"
        role="presentation"
        style={{
          height: `${canvasHeight(rows.count) + HEAD_PX}px`,
          width: `${visible.left + places.restWidth}px`,
        }}
      />
    </div>
  );
}

/* The whole value of the active cell, while it is asked for. */
function ActiveValue({ table }: { table: Table }) {
  const { result, rows, layout, selection } = table;
  const index = layout.order[selection.active.column] ?? 0;
  const column = result.columns[index];
  if (!table.panel || column === undefined || rows.count === 0) return null;
  return (
    <ValuePanel
      value={rows.row(selection.active.row)?.[index]}
      column={column}
      row={rows.number(selection.active.row)}
      onClose={() => table.setPanel(false)}
    />
  );
}

function ResultTable({ result, sql }: { result: ResultSet; sql: string }) {
  const table = useTable(result, sql);
  const { rows, selection, panel, menu } = table;
  return (
    <div class="grid-with-bar">
      <GridBar
        result={result}
        sql={sql}
        rows={rows}
        selection={selection}
        onGo={(row) => table.go({ row, column: selection.active.column })}
        onCopy={(f) => void copyRows(table, f, "all", true)}
        onPanel={() => table.setPanel(!panel)}
        panel={panel}
      />
      <div class="grid-area">
        <div class="grid">
          <Scroller table={table} />
          {rows.count === 0 && (
            <p class="grid-empty">{rows.filter.trim() === "" ? "No rows." : "No loaded row fits the filter."}</p>
          )}
        </div>
        <ActiveValue table={table} />
      </div>
      {menu !== null && <Menu items={menu.items} at={menu} label="Grid" onClose={table.closeMenu} />}
    </div>
  );
}
