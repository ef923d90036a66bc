/*
 * Queries that all users of the server share: members "query.NAME" of its preferences; what a text replaced stays as
 * "version.TIME.NAME", the newest of each name. Who may change them is what the permission SETTINGS says. The version
 * that was read goes along with each change; when somebody else changed something meanwhile (409), the change is made
 * to what is there now.
 */
import { ApiError, putPreferences, settings } from "../../api/client";
import { createUserStore } from "../../state/owner";

export interface Version {
  time: string; /* when it was replaced, ISO */
  sql: string;
}
export interface SavedQuery {
  name: string;
  sql: string;
  versions: Version[]; /* before this one, the newest first */
}

const PREFIX = "query.";
const OLD = "version.";
const VERSIONS_MAX = 5;
const KEY = /^version\.(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\.([\s\S]+)$/;
const oldKey = (name: string, time: string) => `${OLD}${time}.${name}`;

export const saved = createUserStore<{ list: SavedQuery[]; version: number; loaded: boolean; problem: string | null }>({
  list: [],
  version: 0,
  loaded: false,
  problem: null,
});

export function savedOf(preferences: Record<string, unknown>): SavedQuery[] {
  const versions = new Map<string, Version[]>();
  for (const [key, sql] of Object.entries(preferences)) {
    const parts = KEY.exec(key);
    if (parts?.[1] !== undefined && parts[2] !== undefined && typeof sql === "string")
      versions.set(parts[2], [...(versions.get(parts[2]) ?? []), { time: parts[1], sql }]);
  }
  const of = (name: string) => (versions.get(name) ?? []).sort((a, b) => (a.time < b.time ? 1 : -1));
  return Object.entries(preferences)
    .flatMap(([key, value]) =>
      key.startsWith(PREFIX) && typeof value === "string"
        ? [{ name: key.slice(PREFIX.length), sql: value, versions: of(key.slice(PREFIX.length)) }]
        : [],
    )
    .sort((a, b) => a.name.localeCompare(b.name));
}

export async function loadSaved(): Promise<void> {
  try {
    const found = await settings();
    saved.set({ list: savedOf(found.preferences), version: found["preferences.version"], loaded: true, problem: null });
  } catch (e) {
    saved.set({ loaded: true, problem: e instanceof Error ? e.message : String(e) });
  }
}

/* What a new text, or (null) none, changes. Pure. */
export function changesOf(
  list: SavedQuery[],
  name: string,
  sql: string | null,
  time: string,
): Record<string, string | null> {
  const old = list.find((q) => q.name === name);
  const changes: Record<string, string | null> = { [PREFIX + name]: sql };
  if (old === undefined) return changes;
  const gone = sql === null ? old.versions : old.versions.slice(VERSIONS_MAX - 1);
  if (sql !== null && sql !== old.sql) {
    changes[oldKey(name, time)] = old.sql;
    for (const v of gone) changes[oldKey(name, v.time)] = null;
  } else if (sql === null) for (const v of gone) changes[oldKey(name, v.time)] = null;
  return changes;
}

const TRIES = 3;

/* null: it goes. */
export async function putSaved(name: string, sql: string | null): Promise<void> {
  for (let i = 1; ; i++) {
    try {
      await putPreferences(saved.get().version, changesOf(saved.get().list, name, sql, new Date().toISOString()));
      break;
    } catch (e) {
      if (!(e instanceof ApiError) || e.status !== 409 || i === TRIES) throw e;
      await loadSaved();
    }
  }
  await loadSaved();
}
