import "fake-indexeddb/auto";
import { beforeEach, describe, expect, test, vi } from "vitest";

const kept = new Map<string, string>();
const storage = {
  getItem: (k: string) => kept.get(k) ?? null,
  setItem: (k: string, v: string) => kept.set(k, v),
  removeItem: (k: string) => kept.delete(k),
};
vi.stubGlobal("sessionStorage", storage);
vi.stubGlobal("localStorage", storage);
vi.stubGlobal("document", { baseURI: "http://127.0.0.1/", visibilityState: "visible" });
vi.stubGlobal("location", { pathname: "/", hash: "", search: "" });
vi.stubGlobal("window", {
  history: {
    replaceState: (_: unknown, __: string, to: string) =>
      void ((globalThis as unknown as { location: { hash: string } }).location.hash = to.slice(to.indexOf("#"))),
  },
});

const { createUserStore, hereSignal, ofUser, owner, quit, setOwner, userMap, whileHere } = await import("./owner");
const { dbAll, dbPut } = await import("./db");
const { closeTab, newTab, selectTab, setText, tabClosed, tabs } = await import("../editor/tabs");
const { addHistory, clearHistory, history } = await import("../features/history/history");
const { prefs } = await import("./prefs");
const { startWithout } = await import("../login/signon");
const { rows } = await import("../api/client");
const { runJobs, runs } = await import("../results/run");
const { route } = await import("./route");
const { auth } = await import("../login/auth");
startWithout();

const texts = () => tabs.get().list.map((t) => t.text);
const ran = (sql: string) =>
  addHistory({
    id: 1,
    tabId: "t",
    sql,
    from: 0,
    to: 1,
    state: "done",
    startedAt: 1,
    durationMs: 1,
    bytes: 0,
    rowsSoFar: 0,
    exchange: null,
    error: null,
    result: null,
  });
const statements = () => history.get().entries.map((e) => e.sql);
const soon = () => new Promise((r) => setTimeout(r, 20));

beforeEach(() => setOwner(null));

describe("who goes leaves nothing", () => {
  test("stores are as at first, maps are empty, hooks run while it is known of whom", async () => {
    const store = createUserStore({ rows: ["at first"] });
    const map = userMap<string, number>();
    const seen: string[] = [];
    ofUser({
      leave: () => seen.push(`leave ${owner.get().key}`),
      enter: (key) => void seen.push(`enter ${key}`),
      quit: async () => seen.push("quit"),
    });
    await setOwner("user:ann");
    store.set({ rows: ["secret"] });
    map.set("secret", 1);
    await quit();
    await setOwner("user:ann");
    expect([store.get().rows, map.size]).toEqual([["secret"], 1]);
    await setOwner("user:bob");
    expect([store.get().rows, map.size]).toEqual([["at first"], 0]);
    expect(seen).toEqual(["enter user:ann", "quit", "leave user:ann", "enter user:bob"]);
  });

  test("one that cannot forget does not keep the others from it", async () => {
    await setOwner("user:ann");
    const said = vi.spyOn(console, "error").mockImplementation(() => undefined);
    let fails = true;
    ofUser({
      leave: () => {
        if (fails) throw new Error("cannot");
      },
    });
    const store = createUserStore({ text: "" });
    store.set({ text: "secret" });
    await setOwner(null);
    fails = false;
    expect(store.get().text).toBe("");
    expect(said).toHaveBeenCalledOnce();
    said.mockRestore();
  });

  test("names in the address go", async () => {
    await setOwner("user:ann");
    location.hash = "#/boards?name=Secret";
    route.set({ path: "/boards", params: new URLSearchParams("name=Secret") });
    await setOwner(null);
    expect([location.hash, route.get().path, route.get().params.toString()]).toEqual(["#/", "/", ""]);
  });
});

describe("late answers", () => {
  const answer = (status: number, body: string) => new Response(body, { status });

  test("are never given, nor do they log out who came", async () => {
    await setOwner("user:ann");
    let give: (r: Response) => void = () => undefined;
    vi.stubGlobal("fetch", () => new Promise<Response>((r) => (give = r)));
    let told = "";
    void rows("select secret").then(
      () => (told = "answer"),
      () => (told = "error"),
    );
    await soon();
    const signal = hereSignal();
    await setOwner("user:bob");
    expect(signal.aborted).toBe(true);
    give(answer(401, ""));
    await soon();
    expect([told, auth.get().needed]).toEqual(["", false]);
    await expect(whileHere(Promise.resolve(7))).resolves.toBe(7);
  });

  test("a run ends, its next statement is not sent, and its rows come to nobody", async () => {
    await setOwner("user:ann");
    const sent: string[] = [];
    let give: (r: Response) => void = () => undefined;
    let signal: AbortSignal | null | undefined;
    vi.stubGlobal("fetch", (_: string, init: RequestInit) => {
      sent.push(String((init.body as URLSearchParams).get("query")));
      signal = init.signal;
      return new Promise<Response>((r) => (give = r));
    });
    const job = (sql: string) => ({ sql, from: 0, to: 1, params: [] });
    void runJobs("tab", [job("select 1"), job("select 2")]);
    await soon();
    await setOwner(null);
    expect(signal?.aborted).toBe(true);
    await setOwner("user:bob");
    give(answer(200, '{"columns":[{"name":"secret","type":"INT"}],"dataset":[[1]]}'));
    await soon();
    expect([sent, runs.get().byTab, statements()]).toEqual([["select 1"], {}, []]);
  });
});

test("a closed tab is told of once, by its id", async () => {
  await setOwner("user:carl");
  const told: string[] = [];
  const end = tabClosed.on((id) => void told.push(id));
  const { id } = newTab("select 1");
  closeTab(id);
  closeTab(id);
  end();
  closeTab(newTab("select 2").id);
  expect(told).toEqual([id]);
});

describe("what the browser keeps is each user's own", () => {
  test("tabs, closed ones, the one in front, history and choices come back to their owner alone", async () => {
    await setOwner("user:ann");
    expect(texts()).toEqual([""]);
    newTab("select ann_closed");
    closeTab(tabs.get().active);
    const front = newTab("select ann", "Ann's");
    newTab("select other");
    selectTab(front.id);
    setText(front.id, "select ann_typed"); /* and not yet saved */
    ran("select ann_ran");
    prefs.set({ askAll: false, theme: "dark" });
    await setOwner("user:ben");
    expect([texts(), tabs.get().closed, statements()]).toEqual([[""], [], []]);
    expect([prefs.get().askAll, prefs.get().theme]).toEqual([true, "dark"]);
    ran("select ben_ran");
    await soon();
    clearHistory();
    await setOwner("user:ann");
    await soon();
    expect(texts()).toEqual(expect.arrayContaining(["select ann_typed", "select other"]));
    expect(tabs.get().list.find((t) => t.id === tabs.get().active)?.title).toBe("Ann's");
    expect([tabs.get().closed.map((t) => t.text), statements(), prefs.get().askAll]).toEqual([
      ["select ann_closed"],
      ["select ann_ran"],
      false,
    ]);
    for (const other of ["sso:ann", ""]) {
      await setOwner(other);
      await soon();
      expect([texts(), statements(), prefs.get().askAll]).toEqual([[""], [], true]);
    }
  });

  test("what an older version kept goes to who was here all along; after a log-in it goes to nobody", async () => {
    const old = (id: string) => dbPut("tabs", { id, title: id, text: `select ${id}`, order: 0, params: {} });
    await old("known");
    await dbPut("history", { id: 5, at: 1, sql: "select old_ran", state: "done", durationMs: 1, rows: 1, error: null });
    await setOwner("", true);
    await soon();
    expect(texts()).toContain("select known");
    expect(statements()).toContain("select old_ran");
    await setOwner(null);
    await old("unknown");
    for (const [key, adopt] of [
      ["user:cid", false],
      ["user:cid", true],
      ["user:dora", true],
      ["", true],
    ] as const) {
      await setOwner(key, adopt);
      await soon();
      expect(texts()).not.toContain("select unknown");
      if (key !== "") expect([texts(), statements()]).toEqual([[""], []]);
      await setOwner(null);
    }
    expect((await dbAll<{ id: string; user: string }>("tabs")).find((t) => t.id === "unknown")?.user).toBe("?");
  });
});

/* State of a module that is the page's own, and why no user leaves anything in it. */
const OF_THE_PAGE: Record<string, string> = {
  "api/connection.ts connection": "whether the server is there",
  "api/connection.ts timer": "asks whether it is",
  "api/credentials.ts entered": "functions, entered once",
  "results/actions.ts entered": "functions, entered once",
  "app/Help.tsx help": "whether the list of keys is open",
  "ui/keys.ts table": "commands of what is on the page",
  "ui/notice.ts last": "a count",
  "state/route.ts route": "set back when the user goes",
  "features/chart/source.ts policy": "for the worker's address",
  "features/chart/worker.ts points": "of a worker, which ends with its chart",
  "editor/tabs.ts pending": "saved and emptied when the user goes",
  "editor/tabs.ts resets": "a count",
  "editor/view.ts now": "what is on the page",
  "features/history/history.ts lastId": "a count",
  "features/import/upload.ts uploads": "ended and emptied when the user goes",
  "login/auth.ts auth": "who is here",
  "login/others.ts channel": "to other pages",
  "login/signon.ts config": "of the server's provider",
  "login/signon.ts cookieOf": "emptied with the sign-on",
  "login/signon.ts force": "whether the provider asks",
  "login/signon.ts fresh": "whether the server has taken the sign-on",
  "login/signon.ts keeper": "tokens, ended with the sign-on",
  "login/signon.ts nameBefore": "compared, not shown",
  "login/signon.ts place": "gone as soon as it is known who comes",
  "login/signon.ts settle": "of the start",
  "login/tokens.ts counted": "whether this page is counted",
  "results/run.ts lastId": "a count",
  "features/schema/model.ts asked": "a count",
  "state/db.ts opening": "the database",
  "state/db.ts storage": "whether it can be used",
  "state/owner.ts here": "ends with the user",
  "state/owner.ts owner": "who is here",
  "state/prefs.ts prefs": "read anew for who comes",
  "api/client.ts running": "emptied when the user goes",
};

/* `let x`, and constants that are a store, a map or a set without content. */
const STATE =
  /^(?:export )?(?:let (\w+)|const (\w+)(?:: [^=\n]+)? = (?:createStore\b|new (?:Weak)?(?:Map|Set)\b[^(\n]*\(\)))/gm;

test("all state of modules says whose it is", () => {
  const files = import.meta.glob<string>(["../**/*.ts", "../**/*.tsx", "!../**/*.test.ts"], {
    query: "?raw",
    import: "default",
    eager: true,
  });
  const found = Object.entries(files).flatMap(([file, code]) => {
    const states = [...code.matchAll(STATE)];
    return states
      .filter((m) => !m[0].includes(": Readonly"))
      .map((m) => `${file.startsWith("./") ? `state${file.slice(1)}` : file.slice(3)} ${m[1] ?? m[2]}`);
  });
  expect(found.sort()).toEqual(Object.keys(OF_THE_PAGE).sort());
});
