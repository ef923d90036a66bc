/*
 * The editor of the tab in front: CodeMirror in a shadow root, because there it takes its style sheets as objects and
 * the page needs no inline styles (Content-Security-Policy). Each tab keeps its own history of changes and its
 * selection.
 */
import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, foldGutter, foldKeymap, indentOnInput } from "@codemirror/language";
import { lintKeymap } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState } from "@codemirror/state";
import {
  crosshairCursor,
  drawSelection,
  dropCursor,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
  placeholder,
  rectangularSelection,
} from "@codemirror/view";
import { useLayoutEffect, useRef } from "preact/hooks";
import { catalog } from "../api/catalog";
import { runs, type Runs, selectRun } from "../results/run";
import { userMap } from "../state/owner";
import { prefs } from "../state/prefs";
import { checking } from "./check";
import { editorCommands } from "./commands";
import { complete } from "./completion";
import { dialectOf } from "./dialect";
import { clearError, runMarkers, setRuns, showError } from "./marks";
import { activeTab, setText, type Tab, tabs } from "./tabs";
import { editorTheme } from "./theme";
import { currentView, setCurrentView } from "./view";

const language = new Compartment();
const wrapping = new Compartment();
const wrap = () => (prefs.get().wrap ? EditorView.lineWrapping : []);
const states = userMap<string, EditorState>(); /* with what can be undone */

function newState(tab: Tab): EditorState {
  return EditorState.create({
    doc: tab.text,
    extensions: [
      runMarkers((id) => selectRun(tabs.get().active, id)),
      lineNumbers(),
      foldGutter(),
      history(),
      drawSelection(),
      dropCursor(),
      EditorState.allowMultipleSelections.of(true),
      indentOnInput(),
      bracketMatching(),
      closeBrackets(),
      autocompletion({ activateOnTypingDelay: 60, icons: false, filterStrict: true, override: [complete] }),
      rectangularSelection(),
      crosshairCursor(),
      highlightActiveLine(),
      highlightActiveLineGutter(),
      highlightSelectionMatches(),
      search({ top: true }),
      checking,
      placeholder("SELECT … : type SQL here"),
      wrapping.of(wrap()),
      language.of(dialectOf(catalog.get())),
      EditorView.contentAttributes.of({ "aria-label": "SQL", tabindex: "0", "aria-keyshortcuts": "F9" }),
      EditorView.updateListener.of((u) => {
        if (u.docChanged) setText(tabs.get().active, u.state.doc.toString());
      }),
      keymap.of([
        ...editorCommands,
        ...closeBracketsKeymap,
        ...searchKeymap,
        ...historyKeymap,
        ...foldKeymap,
        ...completionKeymap,
        ...lintKeymap,
        { key: "Tab", run: acceptCompletion },
        indentWithTab,
        ...defaultKeymap,
      ]),
      editorTheme,
    ],
  });
}

/* What the runs of a tab say goes into its gutter; the last error is underlined. */
function showRuns(view: EditorView, now: Runs, tabId: string): void {
  const list = now.byTab[tabId] ?? [];
  view.dispatch({ effects: setRuns.of(list) });
  const failed = list.find((r) => r.state === "failed");
  const text = failed === undefined ? "" : view.state.sliceDoc(failed.from, failed.to);
  /* what is no fault of the text is not underlined: nobody answered, or wants a login first */
  const ofText = failed?.error?.status !== 0 && failed?.error?.status !== 401 && failed?.error?.status !== 503;
  if (failed?.error !== null && failed?.error !== undefined && ofText && text === failed.sql)
    showError(view, failed.from, failed.sql, failed.error.position, failed.error.message);
  else clearError(view);
}

export function Editor() {
  const host = useRef<HTMLDivElement>(null);
  /* before the page is painted, not after */
  useLayoutEffect(() => {
    const element = host.current;
    if (element === null) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const stateOf = (tab: Tab) => {
      const kept = states.get(tab.id);
      return kept !== undefined && kept.doc.toString() === tab.text ? kept : newState(tab);
    };
    const first = activeTab(tabs.get());
    let shown = first?.id ?? "";
    const view = new EditorView({ parent: root, root, ...(first === undefined ? {} : { state: stateOf(first) }) });
    setCurrentView(view);
    const speak = () =>
      view.dispatch({ effects: [language.reconfigure(dialectOf(catalog.get())), wrapping.reconfigure(wrap())] });
    if (catalog.get().loaded) speak();
    let wrapped = prefs.get().wrap;
    if (first !== undefined) showRuns(view, runs.get(), shown);
    performance.mark("usable"); /* e2e/figures.mjs */
    const show = () => {
      const tab = activeTab(tabs.get());
      if (tab === undefined || tab.id === shown) return;
      if (shown !== "") states.set(shown, view.state);
      shown = tab.id;
      view.setState(stateOf(tab));
      speak();
      showRuns(view, runs.get(), tab.id);
      for (const id of states.keys()) if (!tabs.get().list.some((t) => t.id === id)) states.delete(id);
    };
    show();
    let words = catalog.get().functions;
    let last = runs.get().byTab[shown];
    const stops = [
      prefs.subscribe((now) => {
        if (now.wrap === wrapped) return;
        wrapped = now.wrap;
        view.dispatch({ effects: wrapping.reconfigure(wrap()) });
      }),
      tabs.subscribe(show),
      catalog.subscribe((now) => {
        if (now.functions === words) return;
        words = now.functions;
        view.dispatch({ effects: language.reconfigure(dialectOf(now)) });
      }),
      runs.subscribe((now) => {
        const list = now.byTab[shown];
        const key = (l: typeof list) => l?.map((r) => `${r.id}${r.state}`).join() ?? "";
        if (key(list) !== key(last)) showRuns(view, now, shown);
        last = list;
      }),
    ];
    return () => {
      stops.forEach((stop) => stop());
      if (tabs.get().list.some((t) => t.id === shown)) states.set(shown, view.state);
      setCurrentView(null);
      view.destroy();
    };
  }, []);
  return <div ref={host} class="editor" data-pane="editor" tabIndex={-1} onFocus={() => currentView()?.focus()} />;
}
