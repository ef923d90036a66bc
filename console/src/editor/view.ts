/* The editor that is on the page, for whoever inserts text or runs what stands in it. */
import type { EditorView } from "@codemirror/view";

let now: EditorView | null = null;

export const currentView = (): EditorView | null => now;
export function setCurrentView(view: EditorView | null): void {
  now = view;
}

/* In place of the selection; the cursor goes behind it. */
export function insertText(text: string): void {
  if (now === null) return;
  now.dispatch(now.state.replaceSelection(text), { scrollIntoView: true });
  now.focus();
}
