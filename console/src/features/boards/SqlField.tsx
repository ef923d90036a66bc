/* A small editor for one statement, with the words and the completion of the large one. */
import { acceptCompletion, autocompletion, closeBrackets, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { EditorState } from "@codemirror/state";
import { drawSelection, EditorView, keymap } from "@codemirror/view";
import { useLayoutEffect, useRef } from "preact/hooks";
import { catalog } from "../../api/catalog";
import { complete } from "../../editor/completion";
import { dialectOf } from "../../editor/dialect";
import { editorTheme } from "../../editor/theme";

export function SqlField({
  label,
  value,
  onChange,
  onRun,
}: {
  label: string;
  value: string;
  onChange: (text: string) => void;
  onRun: () => void;
}) {
  const host = useRef<HTMLDivElement>(null);
  const last = useRef({ onChange, onRun });
  last.current = { onChange, onRun };
  useLayoutEffect(() => {
    const element = host.current;
    if (element === null) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const runs = [
      { key: "F9", run: () => (last.current.onRun(), true) },
      { key: "Mod-Enter", run: () => (last.current.onRun(), true) },
    ];
    const view = new EditorView({
      parent: root,
      root,
      state: EditorState.create({
        doc: value,
        extensions: [
          history(),
          drawSelection(),
          closeBrackets(),
          EditorView.lineWrapping,
          autocompletion({ activateOnTypingDelay: 60, icons: false, filterStrict: true, override: [complete] }),
          dialectOf(catalog.get()),
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          EditorView.updateListener.of((u) => u.docChanged && last.current.onChange(u.state.doc.toString())),
          keymap.of([
            ...runs,
            ...historyKeymap,
            ...completionKeymap,
            { key: "Tab", run: acceptCompletion },
            ...defaultKeymap,
          ]) /* Tab takes a completion, else it leaves the field */,
          editorTheme,
        ],
      }),
    });
    return () => view.destroy();
  }, []);
  return <div class="sql-field" ref={host} />;
}
