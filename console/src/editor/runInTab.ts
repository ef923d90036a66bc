/* A statement in a tab of its own. */
import { changesCatalog, loadTables } from "../api/catalog";
import { type Run, runJobs } from "../results/run";
import { newTab } from "./tabs";

/* The names that the editor offers are asked for again after a statement that changes them. */
export function afterRun(run: Run): void {
  if (run.state === "done" && changesCatalog(run.sql)) void loadTables().catch(() => undefined);
}

/* Opens the tab and runs the statement in it. */
export function runInTab(sql: string, title: string): void {
  const tab = newTab(sql, title);
  void runJobs(tab.id, [{ sql, from: 0, to: sql.length, params: [] }], afterRun);
}
