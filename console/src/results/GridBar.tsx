/* Above the grid: filter, row to go to, copy, download, and what is to be known about what is seen. */
import { exportUrl, readyForDownload } from "../api/client";
import { notify } from "../ui/notice";
import { prefs } from "../state/prefs";
import { whileHere } from "../state/owner";
import { useStore } from "../state/store";
import { Button } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { MenuButton } from "../ui/Menu";
import { COPY_FORMATS, type CopyFormat, tableOf } from "./copy";
import { isTime, plural, shownCount } from "./format";
import { resultActions } from "./actions";
import { allRowsSql } from "./wrap";
import type { ResultSet } from "./resultset";
import type { Rows, useSelection } from "./useGrid";

const DOWNLOADS = { csv: "CSV", parquet: "Parquet", ndjson: "JSON lines", arrow: "Arrow" } as const;

/* The server writes the file while it runs the statement again. Its error, if it has one, is asked for first: a
 * download that fails tells nothing. */
export async function download(sql: string, fmt: string, params: string): Promise<void> {
  const url = exportUrl(sql, fmt, tableOf(sql), params);
  try {
    await readyForDownload();
    const init: RequestInit = { credentials: "same-origin", headers: { "X-Requested-With": "XMLHttpRequest" } };
    const probe = await whileHere(fetch(url, { ...init, method: "HEAD" }));
    if (!probe.ok) {
      const answer = (await whileHere(fetch(url, init).then((r) => r.json()))) as { error?: string };
      throw new Error(answer.error ?? `status ${probe.status}`);
    }
  } catch (e) {
    notify(`No file: ${e instanceof Error ? e.message : String(e)}`, "error");
    return;
  }
  const link = document.createElement("a");
  link.href = url;
  link.download = "";
  link.click();
}

interface Props {
  result: ResultSet;
  sql: string;
  rows: Rows;
  selection: ReturnType<typeof useSelection>;
  onGo: (row: number) => void;
  onCopy: (format: CopyFormat) => void;
  onPanel: () => void;
  panel: boolean;
}

export function GridBar({ result, sql, rows, selection, onGo, onCopy, onPanel, panel }: Props) {
  const utc = useStore(prefs, (p) => p.utc);
  const loaded = result.loaded().reduce((n, p) => n + p.rows.length, 0);
  const all =
    rows.arranged && loaded < result.count && result.params === ""
      ? allRowsSql(result.sql, result.columns, rows.sort, rows.filter)
      : null;
  const { range } = selection;
  const chosen = (range.bottom - range.top + 1) * (range.right - range.left + 1);
  return (
    <div class="grid-bar">
      <label class="grid-filter">
        <Icon name="filter" />
        <span class="visually-hidden">Filter the rows that are loaded</span>
        <input
          type="search"
          placeholder="Filter"
          value={rows.filter}
          onInput={(e) => rows.setFilter(e.currentTarget.value)}
        />
      </label>
      <label class="grid-go">
        Row{" "}
        <input
          type="number"
          min={1}
          max={Math.max(1, rows.count)}
          key={selection.active.row}
          defaultValue={String(selection.active.row + 1)}
          onKeyDown={(e) => {
            e.stopPropagation();
            if (e.key === "Enter") onGo(Number(e.currentTarget.value) - 1);
          }}
        />{" "}
        of {shownCount(rows.count)}
        {result.pending && !rows.arranged && " so far"}
      </label>
      <Button icon="panel" label="Whole value (Enter)" aria-pressed={panel} onClick={onPanel} />
      <MenuButton
        icon="copy"
        label="Copy all rows"
        items={() => COPY_FORMATS.map((f) => ({ title: `Copy all as ${f}`, run: () => onCopy(f) }))}
      />
      <MenuButton
        icon="download"
        label="Download all rows"
        items={() =>
          Object.entries(DOWNLOADS).map(([fmt, title]) => ({
            title: `Download ${title}`,
            run: () => void download(result.sql, fmt, result.params),
          }))
        }
      />
      <Button icon="board" label="Put on a board" onClick={() => resultActions().putOnBoard(sql)} />
      {result.columns.some(isTime) && (
        <Button
          label="Times as the server has them (UTC), or of this computer's zone"
          aria-pressed={!utc}
          onClick={() => prefs.set({ utc: !utc })}
        >
          {utc ? "UTC" : "Local"}
        </Button>
      )}
      <p class="grid-note" role="status">
        {result.problem !== null && <strong class="error-text">{result.problem} </strong>}
        {rows.arranged &&
          loaded < result.count &&
          `Of the ${plural(loaded, "row")} that are loaded, of ${shownCount(result.count)}. `}
        {all !== null && (
          <button
            type="button"
            class="link-button"
            title="The server does it: a query around the query, in a tab of its own"
            onClick={() => resultActions().runInTab(all, "All rows")}
          >
            Of all rows
          </button>
        )}
        {rows.arranged && loaded >= result.count && `Sorted and filtered here. `}
        {result.cut &&
          `The server holds no more than these ${plural(result.count, "row")} of the result: ` +
            "download it, or add a LIMIT. "}
        {result.pending && "The rows behind these are still coming. "}
        {chosen > 1 && `${shownCount(chosen)} cells selected.`}
      </p>
    </div>
  );
}
