/* The tabs of the editor: texts with titles, in order. Kept in IndexedDB as they are typed, of each user apart. */
import { dbDelete, dbOwn, dbPut, storage } from "../state/db";
import { createUserStore, ofUser, owner, ownName, whileHere } from "../state/owner";
import { randomHex } from "../state/random";
import { createSignal } from "../state/signal";
import { leaving } from "../login/signon";

export interface Tab {
  id: string;
  title: string;
  text: string;
  order: number;
  params: Record<string, string>; /* values of @name and $1 in its statements */
}

export interface Tabs {
  list: Tab[]; /* in order */
  active: string;
  closed: Tab[]; /* the newest first */
  loaded: boolean;
}

const CLOSED_MAX = 30;
const SAVE_MS = 300;
const ACTIVE_KEY = "almanac.tab";

/* Before they are forgotten, what was typed a moment ago is saved: so this stands before the store. */
ofUser({ leave: () => void saveAll() });
export const tabs = createUserStore<Tabs>({ list: [], active: "", closed: [], loaded: false });

/* The id of a tab that has been closed: what others keep for it can go. */
export const tabClosed = createSignal<string>();

export const activeTab = (now: Tabs): Tab | undefined => now.list.find((t) => t.id === now.active);

const newId = () => randomHex(8);

function freeTitle(list: Tab[]): string {
  for (let n = 1; ; n++) if (!list.some((t) => t.title === `Query ${n}`)) return `Query ${n}`;
}

/* ------------------------------------------------------------------ saving */

const pending = new Map<string, ReturnType<typeof setTimeout>>(); /* the user's: saved when they go, see below */

async function saveNow(id: string): Promise<void> {
  clearTimeout(pending.get(id));
  pending.delete(id);
  const tab = tabs.get().list.find((t) => t.id === id);
  if (tab !== undefined) await dbPut("tabs", { ...tab, user: owner.get().key });
}

function saveSoon(id: string): void {
  clearTimeout(pending.get(id));
  pending.set(
    id,
    setTimeout(() => void saveNow(id), SAVE_MS),
  );
}

export async function saveAll(): Promise<void> {
  await Promise.all([...pending.keys()].map(saveNow));
}

/* Cleared by the user while the page is open: all of it once more. */
let resets = 0; /* a count */
storage.subscribe((now) => {
  if (now.resets === resets) return;
  resets = now.resets;
  for (const tab of tabs.get().list) saveSoon(tab.id);
});

function remember(id: string): void {
  try {
    for (const kept of [sessionStorage, localStorage]) kept.setItem(ownName(ACTIVE_KEY), id);
  } catch {
    /* the first tab will be in front next time */
  }
}

function recall(): string | null {
  try {
    return sessionStorage.getItem(ownName(ACTIVE_KEY)) ?? localStorage.getItem(ownName(ACTIVE_KEY));
  } catch {
    return null;
  }
}

export async function loadTabs(key: string, adopt: boolean): Promise<void> {
  const [list, closed] = await whileHere(
    Promise.all([dbOwn<Tab>("tabs", key, adopt), dbOwn<Tab & { closedAt: number }>("closed", key, adopt)]),
  );
  list.sort((a, b) => a.order - b.order);
  closed.sort((a, b) => b.closedAt - a.closedAt);
  if (list.length === 0) list.push({ id: newId(), title: "Query 1", text: "", order: 0, params: {} });
  const wanted = recall();
  tabs.set({ list, closed, loaded: true, active: (list.find((t) => t.id === wanted) ?? list[0])?.id ?? "" });
}

ofUser({ enter: loadTabs, quit: saveAll });
leaving.on(saveAll);

/* ----------------------------------------------------------------- changes */

function change(id: string, part: Partial<Tab>): void {
  tabs.set((now) => ({ list: now.list.map((t) => (t.id === id ? { ...t, ...part } : t)) }));
  saveSoon(id);
}

export const setText = (id: string, text: string) => change(id, { text });
export const setParam = (id: string, name: string, value: string) =>
  change(id, { params: { ...tabs.get().list.find((t) => t.id === id)?.params, [name]: value } });
export function renameTab(id: string, title: string): void {
  if (title.trim() !== "") change(id, { title: title.trim().slice(0, 100) });
}

export function selectTab(id: string): void {
  tabs.set({ active: id });
  remember(id);
}

export function newTab(text = "", title?: string): Tab {
  const { list } = tabs.get();
  const tab: Tab = {
    id: newId(),
    title: title ?? freeTitle(list),
    text,
    order: Math.max(0, ...list.map((t) => t.order)) + 1,
    params: {},
  };
  tabs.set({ list: [...list, tab] });
  selectTab(tab.id);
  void saveNow(tab.id);
  return tab;
}

export function closeTab(id: string): void {
  const { list, active, closed } = tabs.get();
  const at = list.findIndex((t) => t.id === id);
  const tab = list[at];
  if (tab === undefined) return;
  clearTimeout(pending.get(id));
  pending.delete(id);
  tabClosed.emit(id);
  const left = list.filter((t) => t.id !== id);
  void dbDelete("tabs", id);
  const kept = tab.text.trim() === "" ? closed : [tab, ...closed];
  tabs.set({ list: left, closed: kept.slice(0, CLOSED_MAX) });
  if (tab.text.trim() !== "") void dbPut("closed", { ...tab, closedAt: Date.now(), user: owner.get().key });
  for (const gone of kept.slice(CLOSED_MAX)) void dbDelete("closed", gone.id);
  if (left.length === 0) newTab();
  else if (active === id) selectTab((left[at] ?? left[at - 1])?.id ?? "");
}

export function restoreTab(id?: string): void {
  const { closed, list } = tabs.get();
  const tab = id === undefined ? closed[0] : closed.find((t) => t.id === id);
  if (tab === undefined) return;
  const { closedAt: _, ...kept } = tab as Tab & { closedAt?: number };
  void dbDelete("closed", tab.id);
  tabs.set({
    closed: closed.filter((t) => t !== tab),
    list: [...list, { ...kept, order: Math.max(0, ...list.map((t) => t.order)) + 1 }],
  });
  selectTab(tab.id);
  void saveNow(tab.id);
}

/* To the place that `to` has now. */
export function moveTab(id: string, to: number): void {
  const list = [...tabs.get().list];
  const from = list.findIndex((t) => t.id === id);
  const [tab] = list.splice(from, 1);
  if (tab === undefined) return;
  list.splice(Math.max(0, Math.min(to, list.length)), 0, tab);
  tabs.set({ list: list.map((t, order) => ({ ...t, order })) });
  for (const t of list) saveSoon(t.id);
}

/* The tab that is `by` places further, round about. */
export function stepTab(by: number): void {
  const { list, active } = tabs.get();
  const at = list.findIndex((t) => t.id === active);
  const next = list[(at + by + list.length) % list.length];
  if (next !== undefined) selectTab(next.id);
}

/* ------------------------------------------------------------------- files */

export const tabsAsJson = (): string =>
  JSON.stringify(
    { almanacTabs: 1, tabs: tabs.get().list.map(({ title, text, params }) => ({ title, text, params })) },
    null,
    2,
  );

/* Adds the tabs of such a file. Throws where it is none. */
export function addTabs(json: string): number {
  const found = JSON.parse(json) as {
    almanacTabs?: number;
    tabs?: Array<{ title?: unknown; text?: unknown; params?: unknown }>;
  };
  if (found?.almanacTabs !== 1 || !Array.isArray(found.tabs)) throw new Error("The file holds no tabs of the console.");
  for (const t of found.tabs) {
    if (typeof t.text !== "string") continue;
    const tab = newTab(t.text, typeof t.title === "string" ? t.title.slice(0, 100) : undefined);
    if (typeof t.params === "object" && t.params !== null)
      for (const [k, v] of Object.entries(t.params)) if (typeof v === "string") setParam(tab.id, k, v);
  }
  return found.tabs.length;
}
