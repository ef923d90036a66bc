/*
 * Keyboard shortcuts: one table of what there is; '?' lists it. Keys are written as Mod+Shift+Enter, where Mod is
 * Ctrl, or Command on a Mac. A shortcut without Ctrl or Alt, and that is no function key, does nothing while text is
 * typed.
 */
import { useEffect } from "preact/hooks";

export interface Shortcut {
  id: string;
  keys: string[]; /* the first is shown first; empty: it is listed by `shown` and handled elsewhere */
  shown?: string[];
  group: "Run" | "Edit" | "Tabs" | "Results" | "Page";
  title: string;
  run?: () => void;
}

const table = new Map<string, Shortcut>();

export const isMac = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.platform);

export function shortcuts(): Shortcut[] {
  return [...table.values()];
}

export function addShortcut(s: Shortcut): () => void {
  table.set(s.id, s);
  return () => {
    if (table.get(s.id) === s) table.delete(s.id);
  };
}

/* While the component is there. */
export function useShortcuts(list: Shortcut[]): void {
  useEffect(() => {
    const remove = list.map(addShortcut);
    return () => remove.forEach((r) => r());
  });
}

export function matches(e: KeyboardEvent, keys: string): boolean {
  const parts = keys.split("+");
  const key = parts[parts.length - 1] ?? "";
  const mod = isMac ? e.metaKey : e.ctrlKey;
  const other = isMac ? e.ctrlKey : e.metaKey;
  if (mod !== parts.includes("Mod") || other || e.altKey !== parts.includes("Alt")) return false;
  /* the Shift of a sign such as ? belongs to the sign */
  if (key.length > 1 || /[a-z0-9]/i.test(key)) if (e.shiftKey !== parts.includes("Shift")) return false;
  return e.key.toLowerCase() === key.toLowerCase();
}

export function shownKeys(keys: string): string {
  return keys
    .replace("Mod", isMac ? "⌘" : "Ctrl")
    .replace("Alt", isMac ? "⌥" : "Alt")
    .split("+")
    .join(isMac ? " " : "+");
}

/* The element that takes text, also inside of a shadow root. */
function isTyping(e: KeyboardEvent): boolean {
  const target = e.composedPath()[0];
  if (!(target instanceof HTMLElement)) return false;
  return (
    target.isContentEditable ||
    target instanceof HTMLInputElement ||
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement
  );
}

export function listen(): () => void {
  const onKey = (e: KeyboardEvent) => {
    if (e.defaultPrevented) return;
    for (const s of table.values())
      for (const keys of s.keys) {
        const bare = !/Mod|Alt|^F\d|^Shift\+F\d/.test(keys);
        if (s.run === undefined || (bare && isTyping(e)) || !matches(e, keys)) continue;
        if (document.querySelector("dialog[open]") !== null) return;
        e.preventDefault();
        s.run();
        return;
      }
  };
  window.addEventListener("keydown", onKey);
  return () => window.removeEventListener("keydown", onKey);
}
