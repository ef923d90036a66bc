/* What can be done with the text of the tab. */
import { toggleComment } from "@codemirror/commands";
import { openSearchPanel } from "@codemirror/search";
import type { EditorView } from "@codemirror/view";
import { useShortcuts } from "../ui/keys";
import { runs } from "../results/run";
import { useStore } from "../state/store";
import { Button } from "../ui/Button";
import { MenuButton } from "../ui/Menu";
import { cancelRun, editorShortcuts, explainHere, formatText, runAll, runHere } from "./commands";
import { notify } from "../ui/notice";
import { toClipboard } from "../results/copy";
import { prefs } from "../state/prefs";
import { range } from "./rangeOpen";
import { activeTab, tabs } from "./tabs";
import { currentView } from "./view";

const inEditor = (run: (view: EditorView) => unknown) => () => {
  const view = currentView();
  if (view === null) return;
  run(view);
  view.focus();
};

/* Seconds that a statement may take; 0: as the server has it. */
const LIMITS: Array<[string, number]> = [
  ["of the server", 0],
  ["10 seconds", 10],
  ["1 minute", 60],
  ["10 minutes", 600],
];

/* The text stands behind #: no server sees it. Whoever opens the link gets a tab, and runs it or not. */
async function copyLink(): Promise<void> {
  const tab = activeTab(tabs.get());
  if (tab === undefined) return;
  const link = `${location.href.split("#")[0]}#/?${new URLSearchParams({ title: tab.title, sql: tab.text })}`;
  await toClipboard(link).then(
    () => notify("The link was copied."),
    (e: Error) => notify(e.message, "error"),
  );
}

export function Toolbar() {
  const timeout = useStore(prefs, (p) => p.timeoutSeconds);
  const wrap = useStore(prefs, (p) => p.wrap);
  const active = useStore(tabs, (t) => t.active);
  const busy = useStore(runs, (r) => r.busy[active] === true);
  useShortcuts(editorShortcuts);
  return (
    <div class="toolbar" role="toolbar" aria-label="Editor">
      {busy ? (
        <Button icon="stop" class="button danger" label="Cancel (Alt+C)" onClick={() => cancelRun()}>
          Cancel
        </Button>
      ) : (
        <Button
          icon="play"
          class="button primary"
          label="Run the selection, or the statement at the cursor (F9)"
          onClick={() => runHere()}
        >
          Run
        </Button>
      )}
      <Button icon="playAll" label="Run all statements (Ctrl+Shift+Enter)" disabled={busy} onClick={() => runAll()}>
        All
      </Button>
      <Button
        icon="tree"
        label="Plan of the statement at the cursor, with times (Ctrl+E)"
        disabled={busy}
        onClick={() => explainHere()}
      >
        Explain
      </Button>
      <Button icon="clock" label="Time range of the statement (Alt+R)" onClick={() => range.set({ open: true })} />
      <Button icon="format" label="Format (Alt+Shift+F)" onClick={() => formatText()} />
      <MenuButton
        icon="more"
        label="Edit"
        items={() => [
          { title: "Comment in or out", hint: "Ctrl+/", run: inEditor(toggleComment) },
          { title: "Find and replace", hint: "Ctrl+F", run: inEditor(openSearchPanel) },
          { title: "Wrap long lines", ...(wrap ? { hint: "on" } : {}), run: () => prefs.set({ wrap: !wrap }) },
          { title: "Copy a link to this text", run: () => void copyLink() },
          ...LIMITS.map(([title, seconds]) => ({
            title: `Time limit: ${title}`,
            ...(timeout === seconds ? { hint: "now" } : {}),
            run: () => prefs.set({ timeoutSeconds: seconds }),
          })),
        ]}
      />
    </div>
  );
}
