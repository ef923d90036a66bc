/* Short messages that go away by themselves; a screen reader says them. */
import { createUserStore } from "../state/owner";

export interface Notice {
  id: number;
  kind: "info" | "error";
  text: string;
}

export const notices = createUserStore<{ list: Notice[] }>({ list: [] });
let last = 0;

export function notify(text: string, kind: Notice["kind"] = "info"): void {
  const id = ++last;
  notices.set((now) => ({ list: [...now.list.slice(-3), { id, kind, text }] }));
  setTimeout(() => dismiss(id), kind === "error" ? 10_000 : 4000);
}

export function dismiss(id: number): void {
  notices.set((now) => ({ list: now.list.filter((n) => n.id !== id) }));
}
