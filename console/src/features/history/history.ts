/* What was run, by any tab of this browser: in IndexedDB, of each user the newest 2,000. */
import { dbDelete, dbOwn, dbPut } from "../../state/db";
import { createUserStore, ofUser, owner, whileHere } from "../../state/owner";
import { type Run, runEnded } from "../../results/run";

export interface HistoryEntry {
  id: number;
  at: number; /* Date.now() */
  sql: string;
  state: "done" | "failed" | "cancelled";
  durationMs: number;
  rows: number | null;
  error: string | null;
}

const ENTRIES_MAX = 2000;
const TEXT_MAX = 100_000; /* longer statements are cut: history is for finding them again */

export const history = createUserStore<{ entries: HistoryEntry[]; loaded: boolean }>({ entries: [], loaded: false });

export async function loadHistory(key: string, adopt: boolean): Promise<void> {
  const found = await whileHere(dbOwn<HistoryEntry>("history", key, adopt));
  const old = found.sort((a, b) => b.id - a.id);
  history.set((now) => ({
    entries: [...now.entries, ...old.filter((o) => !now.entries.some((n) => n.id === o.id))].slice(0, ENTRIES_MAX),
    loaded: true,
  }));
  for (const gone of old.slice(ENTRIES_MAX)) void dbDelete("history", gone.id);
}

ofUser({ enter: (key, adopt) => void loadHistory(key, adopt) });

let lastId = 0; /* a count */

export function addHistory(run: Run): void {
  if (run.state === "running") return;
  lastId = Math.max(Date.now() * 16, lastId + 1); /* in order, and apart from other windows' */
  const entry: HistoryEntry = {
    id: lastId,
    at: run.startedAt,
    sql: run.sql.slice(0, TEXT_MAX),
    state: run.state,
    durationMs: run.durationMs,
    rows: run.result?.count ?? null,
    error: run.error?.message ?? null,
  };
  const dropped = history.get().entries.slice(ENTRIES_MAX - 1);
  history.set((now) => ({ entries: [entry, ...now.entries.slice(0, ENTRIES_MAX - 1)] }));
  void dbPut("history", { ...entry, user: owner.get().key });
  for (const gone of dropped) void dbDelete("history", gone.id);
}

runEnded.on(addHistory);

export function clearHistory(): void {
  const { entries } = history.get();
  history.set({ entries: [] });
  for (const gone of entries) void dbDelete("history", gone.id); /* what others ran stays theirs */
}

/* Every word of the search somewhere in the text or the error, whatever the case. */
export function searchHistory(entries: HistoryEntry[], search: string): HistoryEntry[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return words.length === 0
    ? entries
    : entries.filter((e) =>
        words.every((w) => e.sql.toLowerCase().includes(w) || e.error?.toLowerCase().includes(w) === true),
      );
}
