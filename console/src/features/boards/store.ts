/*
 * Boards that all users of the server share: members "board.NAME" of its preferences. Who may change them is what the
 * permission SETTINGS says. What somebody else changed meanwhile is not lost: the change is refused, and says so.
 */
import { ApiError, putPreferences, settings } from "../../api/client";
import { createUserStore } from "../../state/owner";

export interface Kept {
  name: string;
  json: string;
}

const PREFIX = "board.";
const TRIES = 3;

export const boards = createUserStore<{
  list: Kept[];
  version: number;
  loaded: boolean;
  readonly: boolean;
  problem: string | null;
}>({ list: [], version: 0, loaded: false, readonly: false, problem: null });

export function keptOf(preferences: Record<string, unknown>): Kept[] {
  return Object.entries(preferences)
    .flatMap(([key, value]) =>
      key.startsWith(PREFIX) && typeof value === "string" ? [{ name: key.slice(PREFIX.length), json: value }] : [],
    )
    .sort((a, b) => a.name.localeCompare(b.name));
}

export async function loadBoards(): Promise<void> {
  try {
    const found = await settings();
    boards.set({
      list: keptOf(found.preferences),
      version: found["preferences.version"],
      loaded: true,
      readonly: found.config["http.settings.readonly"] === true,
      problem: null,
    });
  } catch (e) {
    boards.set({ loaded: true, problem: e instanceof Error ? e.message : String(e) });
  }
}

export const keptNow = (name: string): string | null => boards.get().list.find((b) => b.name === name)?.json ?? null;

/*
 * before: what was there when the change began; null: nothing. json null: it goes. from: under which name it was.
 * "changed": somebody else was quicker, and nothing is done.
 */
export async function putBoard(
  name: string,
  json: string | null,
  before: string | null,
  from = name,
): Promise<"kept" | "changed"> {
  for (let i = 1; ; i++) {
    await loadBoards();
    const { problem, version } = boards.get();
    if (problem !== null) throw new Error(problem);
    if (keptNow(from) !== before || (from !== name && keptNow(name) !== null)) return "changed";
    try {
      await putPreferences(version, { [PREFIX + name]: json, ...(from === name ? {} : { [PREFIX + from]: null }) });
      await loadBoards();
      return "kept";
    } catch (e) {
      if (!(e instanceof ApiError) || e.status !== 409 || i === TRIES) throw e;
    }
  }
}
