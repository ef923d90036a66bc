/*
 * Is the server there, and may we? Every exchange reports here. While the server is away, /ping is asked once a
 * second until it answers; then whoever waits is told.
 */
import { createStore } from "../state/store";

export const connection = createStore<{ online: boolean; since: number }>({ online: true, since: 0 });

let timer: ReturnType<typeof setTimeout> | null = null;

async function look(): Promise<void> {
  timer = null;
  try {
    const r = await fetch(url("ping"), { cache: "no-store", signal: AbortSignal.timeout(2000) });
    if (r.ok) {
      connection.set({ online: true, since: Date.now() });
      return;
    }
  } catch {
    /* still away */
  }
  timer = setTimeout(() => void look(), 1000);
}

const BEAT_MS = 5000;
/* A page that asks nothing learns of it, too; one that nobody sees need not. */
export function beat(): () => void {
  const heart = setInterval(() => {
    if (document.visibilityState === "visible" && connection.get().online)
      fetch(url("ping"), { cache: "no-store" }).then(reportFound, reportLost);
  }, BEAT_MS);
  return () => clearInterval(heart);
}

export function reportLost(): void {
  if (connection.get().online) connection.set({ online: false, since: Date.now() });
  timer ??= setTimeout(() => void look(), 500);
}

export function reportFound(): void {
  if (!connection.get().online) connection.set({ online: true, since: Date.now() });
}

/* Runs each time the server is back. */
export function onBack(run: () => void): () => void {
  let was = connection.get().online;
  return connection.subscribe((now) => {
    if (now.online && !was) run();
    was = now.online;
  });
}

/* Addresses are relative to the page: a proxy may have put it below a path of its own. */
export function url(path: string, params?: Record<string, string>): string {
  const query = params === undefined ? "" : "?" + new URLSearchParams(params).toString();
  return new URL(path + query, document.baseURI).toString();
}
