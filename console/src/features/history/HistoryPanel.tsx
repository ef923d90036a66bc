/* What was run, the newest first; a click puts it into a new tab, Insert at the cursor. */
import { useState } from "preact/hooks";
import { insertText } from "../../editor/view";
import { newTab } from "../../editor/tabs";
import { plural, shownMs } from "../../results/format";
import { useStore } from "../../state/store";
import { Button } from "../../ui/Button";
import { clearHistory, history, type HistoryEntry, searchHistory } from "./history";

const SHOWN_MAX = 200;
const SIGNS = { done: "✓", failed: "✗", cancelled: "■" } as const;

function Entry({ entry }: { entry: HistoryEntry }) {
  return (
    <li class={`history-entry ${entry.state}`}>
      <button type="button" class="history-text" title="Open in a new tab" onClick={() => newTab(entry.sql)}>
        <code>{entry.sql.length > 300 ? entry.sql.slice(0, 300) + "…" : entry.sql}</code>
        <span class="history-facts">
          <span aria-label={entry.state}>{SIGNS[entry.state]}</span> {new Date(entry.at).toLocaleString()} ·{" "}
          {shownMs(entry.durationMs)}
          {entry.rows !== null && ` · ${plural(entry.rows, "row")}`}
        </span>
        {entry.error !== null && <span class="history-error">{entry.error}</span>}
      </button>
      <Button icon="plus" label="Insert at the cursor" onClick={() => insertText(entry.sql)} />
    </li>
  );
}

export function HistoryPanel() {
  const entries = useStore(history, (h) => h.entries);
  const [search, setSearch] = useState("");
  const found = searchHistory(entries, search);
  return (
    <div class="history">
      <div class="side-tools">
        <input
          type="search"
          placeholder="Search"
          aria-label="Search the history"
          value={search}
          onInput={(e) => setSearch(e.currentTarget.value)}
        />
        <Button label="Forget all of the history" onClick={clearHistory} disabled={entries.length === 0}>
          Clear
        </Button>
      </div>
      {found.length === 0 && <p class="side-note">{entries.length === 0 ? "Nothing was run yet." : "Nothing fits."}</p>}
      <ul class="history-list">
        {found.slice(0, SHOWN_MAX).map((e) => (
          <Entry key={e.id} entry={e} />
        ))}
      </ul>
      {found.length > SHOWN_MAX && (
        <p class="side-note">{plural(found.length - SHOWN_MAX, "more entry", "more entries")}: search for them.</p>
      )}
    </div>
  );
}
