/* What became of the statements of the tab in front: one run at a time, in one of the views. */
import { useEffect, useReducer, useState } from "preact/hooks";
import { Button } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { useStore } from "../state/store";
import { plural, shownBytes, shownMs } from "./format";
import { type Run, runs, selectedRun, selectRun } from "./run";
import { resultViews } from "./views";

const ICONS = { running: "▸", done: "✓", failed: "✗", cancelled: "■" } as const;

function Elapsed({ run }: { run: Run }) {
  const [, tick] = useReducer((n: number) => n + 1, 0);
  useEffect(() => {
    const timer = setInterval(() => tick(0), 100);
    return () => clearInterval(timer);
  }, []);
  return (
    <span class="elapsed">
      {shownMs(Date.now() - run.startedAt)}
      {run.rowsSoFar > 0 && `, ${plural(run.rowsSoFar, "row")} so far`}
      {run.bytes > 0 && `, ${shownBytes(run.bytes)} so far`}
    </span>
  );
}

function Times({ run }: { run: Run }) {
  const answer = run.exchange?.answer;
  const timings = answer?.kind === "rows" ? answer.timings : null;
  if (run.exchange === null || timings === null) return <span>{shownMs(run.durationMs)}</span>;
  return (
    <span class="times">
      {shownMs(run.durationMs)} <span class="dim">=</span> compile {shownMs(timings.compiler / 1e6)}{" "}
      <span class="dim">+</span> execute {shownMs(timings.execute / 1e6)} <span class="dim">+</span> pack{" "}
      {shownMs((timings.hold ?? 0) / 1e6)} <span class="dim">+</span> network {shownMs(run.exchange.networkMs)}
    </span>
  );
}

export function runSummary(run: Run): string {
  if (run.state === "running") return "Running";
  if (run.state === "cancelled") return "Cancelled";
  if (run.error !== null) return run.error.message;
  if (run.result !== null)
    return run.result.cut ? `The first ${plural(run.result.count, "row")}` : plural(run.result.count, "row");
  const answer = run.exchange?.answer;
  return answer?.kind === "done" && answer.updated !== null ? `${plural(answer.updated, "row")} changed` : "Done";
}

function RunList({ tabId, list, selected }: { tabId: string; list: Run[]; selected: Run }) {
  return (
    <div class="run-list" role="tablist" aria-label="Statements that ran">
      {list.map((r, i) => (
        <button
          key={r.id}
          type="button"
          role="tab"
          aria-selected={r.id === selected.id}
          class={`run-tab ${r.state}`}
          title={r.sql.slice(0, 300)}
          onClick={() => selectRun(tabId, r.id)}
        >
          <span aria-hidden="true">{ICONS[r.state]}</span> {i + 1}
          <span class="visually-hidden">{r.state}</span>
        </button>
      ))}
    </div>
  );
}

const EDITOR_KEYS = (
  <>
    <kbd>F9</kbd> or <kbd>Ctrl+Enter</kbd> runs the statement at the cursor
  </>
);

/* tabId: of the tab in front; undefined: there is none. */
export function Results({ tabId }: { tabId: string | undefined }) {
  const now = useStore(runs, (r) => r);
  const [viewId, setView] = useState<string | null>(null);
  if (tabId === undefined) return null;
  const list = now.byTab[tabId] ?? [];
  const run = selectedRun(now, tabId);
  if (run === null)
    return (
      <section class="results empty" aria-label="Results" tabIndex={-1} data-pane="results">
        <p>
          Results appear here. {EDITOR_KEYS}, <kbd>?</kbd> lists the keys.
        </p>
      </section>
    );
  const fitting = resultViews.filter((v) => v.fits(run));
  const view = fitting.find((v) => v.id === viewId) ?? fitting[0];
  return (
    <section
      class="results"
      aria-label="Results"
      tabIndex={-1}
      data-pane="results"
      data-run={run.id}
      data-busy={now.busy[tabId] === true}
    >
      <div class="result-bar">
        {list.length > 1 && <RunList tabId={tabId} list={list} selected={run} />}
        {run.result !== null && (
          <div class="segments" role="group" aria-label="View">
            {resultViews.map((v) => (
              <Button
                key={v.id}
                icon={v.icon}
                label={v.title}
                aria-pressed={v === view}
                disabled={!v.fits(run)}
                onClick={() => setView(v.id)}
              />
            ))}
          </div>
        )}
        <p class={`run-summary ${run.state}`} role="status">
          {run.state === "running" ? (
            <>
              <Icon name="refresh" /> Running <Elapsed run={run} />
            </>
          ) : (
            <>
              <strong>
                {run.error === null ? runSummary(run) : run.state === "cancelled" ? "Cancelled" : "Failed"}
              </strong>{" "}
              <Times run={run} />
            </>
          )}
        </p>
      </div>
      {run.error !== null && run.state === "failed" && (
        <div class="run-error" role="alert">
          <Icon name="warning" />
          <pre>{run.error.message}</pre>
        </div>
      )}
      {run.result !== null && view !== undefined && <view.component key={run.id} run={run} />}
    </section>
  );
}
