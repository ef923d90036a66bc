/*
 * A value that components watch. Whoever sets it gives a new object; components draw again when the part they
 * select is another one (Object.is).
 */
import { useEffect, useState } from "preact/hooks";

export interface Store<T> {
  get(): T;
  set(next: Partial<T> | ((now: T) => Partial<T>)): void;
  subscribe(run: (now: T) => void): () => void;
}

export function createStore<T extends object>(initial: T): Store<T> {
  let value = initial;
  const watchers = new Set<(now: T) => void>();
  return {
    get: () => value,
    set(next) {
      value = { ...value, ...(typeof next === "function" ? next(value) : next) };
      for (const run of [...watchers]) run(value);
    },
    subscribe(run) {
      watchers.add(run);
      return () => watchers.delete(run);
    },
  };
}

export function useStore<T extends object, U>(store: Store<T>, select: (now: T) => U): U {
  const [part, setPart] = useState(() => select(store.get()));
  useEffect(() => {
    const look = () => setPart(() => select(store.get()));
    look(); /* it may have changed between drawing and here */
    return store.subscribe(look);
  }, [store]);
  return part;
}
