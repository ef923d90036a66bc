/* Commands of the editor, for its keys, the toolbar and the list of keys. */
import { closeCompletion } from "@codemirror/autocomplete";
import { toggleComment } from "@codemirror/commands";
import { openSearchPanel } from "@codemirror/search";
import type { KeyBinding } from "@codemirror/view";
import type { Shortcut } from "../ui/keys";
import { cancel, type Job, runJobs, runs } from "../results/run";
import { statementAt, statements } from "../sql/lexer";
import { format } from "../sql/format";
import { bind } from "../sql/params";
import { ask } from "./Ask";
import { range } from "./rangeOpen";
import { afterRun } from "./runInTab";
import { activeTab, newTab, restoreTab, stepTab, tabs } from "./tabs";
import { currentView } from "./view";

async function start(jobs: Job[], all = false): Promise<void> {
  const view = currentView();
  if (view !== null) closeCompletion(view);
  if (
    await ask(
      jobs.map((j) => j.sql),
      all,
    )
  )
    await runJobs(tabs.get().active, jobs, afterRun);
}

interface Part {
  text: string;
  from: number;
  to: number;
}

/* With the values of its parameters; `shift`: where the text that it was cut from stands; `before`: EXPLAIN. */
function jobOf(s: Part, shift = 0, before = ""): Job {
  const params = activeTab(tabs.get())?.params ?? {};
  const bound = bind(s.text);
  const values = bound.values.map((name) => (params[name] === undefined || params[name] === "" ? null : params[name]));
  return {
    sql: s.text,
    from: s.from + shift,
    to: s.to + shift,
    params: values,
    text: before + bound.text,
    back: (position) => bound.back(Math.max(0, position - before.length)),
  };
}

/* What is selected, else the statement at the cursor. */
export function runHere(): boolean {
  const view = currentView();
  if (view === null) return false;
  const { from, to } = view.state.selection.main;
  const text = view.state.doc.toString();
  if (from !== to) void start(statements(text.slice(from, to)).map((s) => jobOf(s, from)));
  else {
    const s = statementAt(text, from);
    if (s !== null) void start([jobOf(s)]);
  }
  return true;
}

/* The plan of the statement at the cursor, with times: it runs. What already is an EXPLAIN runs as it is. */
export function explainHere(): boolean {
  const view = currentView();
  const s = view === null ? null : statementAt(view.state.doc.toString(), view.state.selection.main.head);
  if (s === null) return false;
  const reads = /^(select|with|declare)\b/i.test(s.text);
  void start([jobOf(s, 0, /^explain\b/i.test(s.text) ? "" : reads ? "EXPLAIN ANALYZE " : "EXPLAIN ")]);
  return true;
}

/* The selection, else all. */
export function formatText(): boolean {
  const view = currentView();
  if (view === null) return false;
  const { from, to } = view.state.selection.main;
  const range = from === to ? { from: 0, to: view.state.doc.length } : { from, to };
  const before = view.state.sliceDoc(range.from, range.to);
  const after = format(before);
  if (after !== before) view.dispatch({ changes: { ...range, insert: after }, scrollIntoView: true });
  view.focus();
  return true;
}

export function runAll(): boolean {
  const view = currentView();
  if (view === null) return false;
  void start(
    statements(view.state.doc.toString()).map((s) => jobOf(s)),
    true,
  );
  return true;
}

export function cancelRun(): boolean {
  const id = tabs.get().active;
  if (runs.get().busy[id] !== true) return false;
  void cancel(id);
  return true;
}

export const editorCommands: KeyBinding[] = [
  { key: "F9", run: runHere, preventDefault: true },
  { key: "Mod-Enter", run: runHere, preventDefault: true },
  { key: "Mod-Shift-Enter", run: runAll, preventDefault: true },
  { key: "Mod-e", run: explainHere, preventDefault: true },
  { key: "Shift-Alt-f", run: formatText, preventDefault: true },
  { key: "Alt-r", run: () => (range.set({ open: true }), true), preventDefault: true },
];

/* Elsewhere on the page the same keys do the same. */
export const editorShortcuts: Shortcut[] = [
  {
    id: "run",
    keys: ["F9", "Mod+Enter"],
    group: "Run",
    title: "Run the selection, or the statement at the cursor",
    run: runHere,
  },
  { id: "run-all", keys: ["Mod+Shift+Enter"], group: "Run", title: "Run all statements of the tab", run: runAll },
  { id: "cancel", keys: ["Alt+c"], group: "Run", title: "Cancel what runs", run: cancelRun },
  {
    id: "explain",
    keys: ["Mod+e"],
    group: "Run",
    title: "The plan of the statement at the cursor, with times",
    run: explainHere,
  },
  { id: "format", keys: ["Alt+Shift+f"], group: "Edit", title: "Format the selection, or all", run: formatText },
  {
    id: "range",
    keys: ["Alt+r"],
    group: "Edit",
    title: "Time range of the statement at the cursor",
    run: () => range.set({ open: true }),
  },
  { id: "complete", keys: [], shown: ["Ctrl+Space"], group: "Edit", title: "Complete the word" },
  {
    id: "comment",
    keys: [],
    shown: ["Mod+/"],
    group: "Edit",
    title: "Comment lines out, or in again",
    run: () => void (currentView() !== null && toggleComment(currentView()!)),
  },
  {
    id: "find",
    keys: [],
    shown: ["Mod+f"],
    group: "Edit",
    title: "Find and replace",
    run: () => void (currentView() !== null && openSearchPanel(currentView()!)),
  },
  { id: "tab-new", keys: ["Alt+t"], group: "Tabs", title: "New tab", run: () => newTab() },
  {
    id: "tab-restore",
    keys: ["Alt+Shift+t"],
    group: "Tabs",
    title: "Open the tab closed last again",
    run: () => restoreTab(),
  },
  { id: "tab-next", keys: ["Alt+."], group: "Tabs", title: "Next tab", run: () => stepTab(1) },
  { id: "tab-previous", keys: ["Alt+,"], group: "Tabs", title: "Previous tab", run: () => stepTab(-1) },
];
