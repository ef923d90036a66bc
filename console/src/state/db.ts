/*
 * What the user keeps in this browser: IndexedDB. Where it cannot be had (private windows), is full or was cleared,
 * the console goes on with what it has in memory, and `storage` says why nothing is saved.
 */
import { createStore } from "./store";

const NAME = "almanac-console";
const VERSION = 1;
/* keyPath of each object store; history numbers itself. */
const STORES = { tabs: "id", closed: "id", history: "id", values: "key" } as const;
export type StoreName = keyof typeof STORES;

/* resets: how often the database went away under us; what is in memory must be saved again. */
export const storage = createStore<{ problem: string | null; resets: number }>({ problem: null, resets: 0 });

let opening: Promise<IDBDatabase> | null = null;

function open(): Promise<IDBDatabase> {
  opening ??= new Promise<IDBDatabase>((resolve, reject) => {
    const request = indexedDB.open(NAME, VERSION);
    request.onupgradeneeded = () => {
      for (const [name, keyPath] of Object.entries(STORES))
        if (!request.result.objectStoreNames.contains(name))
          request.result.createObjectStore(name, { keyPath, autoIncrement: name === "history" });
    };
    request.onsuccess = () => {
      const db = request.result;
      /* Cleared by the user, or another window has a newer console: the next call opens it anew. */
      db.onclose = db.onversionchange = () => {
        db.close();
        opening = null;
        storage.set((now) => ({ resets: now.resets + 1 }));
      };
      resolve(db);
    };
    request.onerror = () => reject(request.error ?? new Error("IndexedDB cannot be opened"));
    request.onblocked = () => reject(new Error("another window holds an older version"));
  }).catch((e: unknown) => {
    opening = null;
    throw e;
  });
  return opening;
}

/* The browser opens it while the rest of the page's code is read. */
open().catch(() => undefined); /* whoever wants something of it is told */

function describe(e: unknown): string {
  const name = e instanceof DOMException ? e.name : "";
  if (name === "QuotaExceededError") return "The browser's storage is full: tabs and history are not saved.";
  return "The browser's storage cannot be used: tabs and history are not saved.";
}

async function run<T>(
  store: StoreName,
  mode: IDBTransactionMode,
  work: (s: IDBObjectStore) => IDBRequest<T> | null,
): Promise<T | undefined> {
  const db = await open();
  return new Promise<T | undefined>((resolve, reject) => {
    const tx = db.transaction(store, mode);
    const request = work(tx.objectStore(store));
    tx.oncomplete = () => resolve(request?.result);
    tx.onerror = tx.onabort = () => reject(tx.error ?? new Error("the transaction was dropped"));
  });
}

/* A database that was closed under us is opened once more. */
async function attempt<T>(
  store: StoreName,
  mode: IDBTransactionMode,
  work: (s: IDBObjectStore) => IDBRequest<T> | null,
): Promise<T | undefined> {
  try {
    let result: T | undefined;
    try {
      result = await run(store, mode, work);
    } catch (e) {
      if (!(e instanceof DOMException) || e.name !== "InvalidStateError") throw e;
      opening = null;
      result = await run(store, mode, work);
    }
    if (mode === "readwrite" && storage.get().problem !== null) storage.set({ problem: null });
    return result;
  } catch (e) {
    storage.set({ problem: describe(e) });
    return undefined;
  }
}

/* undefined: not there, or not to be read. */
export const dbGet = <T>(store: StoreName, key: IDBValidKey) =>
  attempt<T>(store, "readonly", (s) => s.get(key) as IDBRequest<T>);
export const dbAll = async <T>(store: StoreName): Promise<T[]> =>
  (await attempt<T[]>(store, "readonly", (s) => s.getAll() as IDBRequest<T[]>)) ?? [];
export const dbPut = (store: StoreName, value: object) => attempt(store, "readwrite", (s) => s.put(value));
export const dbDelete = (store: StoreName, key: IDBValidKey | IDBKeyRange) =>
  attempt(store, "readwrite", (s) => s.delete(key));

/*
 * Owner of records that an older version wrote without a user. It is not a valid user name, so these records are
 * never shown to a user.
 */
const UNKNOWN = "?";

/*
 * Reads the records of a user. Records of older versions have no owner: they are assigned to this user if its session
 * was active before the page loaded (`adopt`), and to UNKNOWN otherwise.
 */
export async function dbOwn<T extends object>(store: StoreName, key: string, adopt: boolean): Promise<T[]> {
  const own: T[] = [];
  for (const { user, ...record } of await dbAll<{ user?: string }>(store)) {
    const whose = user ?? (adopt ? key : UNKNOWN);
    if (user === undefined) void dbPut(store, { ...record, user: whose });
    if (whose === key) own.push(record as T);
  }
  return own;
}
