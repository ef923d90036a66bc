/*
 * An event that a module publishes without knowing who follows it: layers above follow what layers below publish.
 * Followers run in the order in which they came; what they return goes to the publisher.
 */
export interface Signal<T, R = void> {
  on(run: (value: T) => R): () => void; /* the answer ends it */
  emit(value: T): R[];
}

export function createSignal<T, R = void>(): Signal<T, R> {
  const followers: Array<(value: T) => R> = [];
  return {
    on(run) {
      followers.push(run);
      return () => {
        const at = followers.indexOf(run);
        if (at >= 0) followers.splice(at, 1);
      };
    },
    emit: (value) => [...followers].map((run) => run(value)),
  };
}
