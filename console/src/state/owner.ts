/*
 * The current user of the page, and the registry of per-user state. Each module that holds user data (rows, table
 * names, texts, search fields) registers it here, as a store or map that is cleared or by callbacks. A log-out in any
 * tab and the log-in of another user both call setOwner(), which runs the registered clean-up. Component state is
 * discarded because App.tsx remounts when `turn` changes; requests of the previous user never settle (whileHere).
 * owner.test.ts fails for module state that is not registered.
 */
import { createStore, type Store } from "./store";

/*
 * "user:NAME" of the server, "sso:NAME" of the identity provider, "" where the server requires no login; null: not
 * known, or logged out.
 */
export type OwnerKey = string | null;
export const owner = createStore<{ key: OwnerKey; turn: number }>({ key: null, turn: 0 });

interface Part {
  quit?: () => Promise<unknown>; /* runs before a log-out, while the session is still valid */
  leave?: () => void; /* clears the state; `owner` still has the previous user */
  /* Loads the stored state of the new user. adopt: records without an owner, of older versions, belong to this user. */
  enter?: (key: string, adopt: boolean) => void | Promise<void>;
}
const parts: Part[] = [];
export const ofUser = (part: Part): void => void parts.push(part);

/* A store that returns to its initial value when the user changes. */
export function createUserStore<T extends object>(initial: T): Store<T> {
  const store = createStore(initial);
  ofUser({ leave: () => store.set(initial) });
  return store;
}

export function userMap<K, V>(): Map<K, V> {
  const map = new Map<K, V>();
  ofUser({ leave: () => map.clear() });
  return map;
}

let here = new AbortController();
/* Aborted when the user changes, so that requests in flight end. */
export const hereSignal = (): AbortSignal => here.signal;

/*
 * Settles as `work` does while the user is the same; after a change of user it never settles, so that code awaiting
 * it does not continue.
 */
export function whileHere<T>(work: Promise<T>): Promise<T> {
  const { turn } = owner.get();
  return new Promise((done, fail) => {
    work.then(
      (v) => owner.get().turn === turn && done(v),
      (e: unknown) => owner.get().turn === turn && fail(e instanceof Error ? e : new Error(String(e))),
    );
  });
}

/* Storage key of the current user. Servers without log-in keep the plain name, which older versions used. */
export const ownName = (name: string, key: OwnerKey = owner.get().key): string =>
  key === null || key === "" ? name : `${name} ${key}`;

const QUIT_MS = 2000;
/* Cancels running statements before a log-out; waits for the server no longer than QUIT_MS. */
export async function quit(): Promise<void> {
  const all = Promise.allSettled(parts.map((p) => Promise.resolve(p.quit?.())));
  await Promise.race([all, new Promise((r) => setTimeout(r, QUIT_MS))]);
}

function leave(): void {
  for (const p of parts) {
    try {
      p.leave?.();
    } catch (e) {
      console.error(e); /* the others are to be forgotten all the same */
    }
  }
}

export async function setOwner(key: OwnerKey, adopt = false): Promise<void> {
  const now = owner.get();
  if (key === now.key) return;
  if (now.key !== null) leave();
  owner.set({ key, turn: now.key === null ? now.turn : now.turn + 1 });
  if (now.key !== null) {
    here.abort();
    here = new AbortController();
  }
  if (key !== null) await whileHere(Promise.all(parts.map((p) => Promise.resolve(p.enter?.(key, adopt)))));
}
