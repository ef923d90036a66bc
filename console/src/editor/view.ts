/* The editor that is on the page, for whoever inserts text or runs what stands in it. */
import type { EditorView } from "@codemirror/view";

let now: EditorView | null = null;

export const currentView = (): EditorView | null => now;
export function setCurrentView(view: EditorView | null): void {
  now = view;
}

/* Do two pieces of text run into one word? */
const glued = (left: string, right: string): boolean => /[\w"'`)]$/.test(left) && /^[\w"'`]/.test(right);

/* In place of the selection, as a word of its own; the cursor goes behind it. */
export function insertText(word: string): void {
  if (now === null) return;
  const { from } = now.state.selection.main;
  const text = glued(now.state.sliceDoc(Math.max(0, from - 1), from), word) ? ` ${word}` : word;
  now.dispatch(now.state.replaceSelection(text), { scrollIntoView: true });
  now.focus();
}
