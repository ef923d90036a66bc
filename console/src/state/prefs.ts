/* Choices of this user in this browser. Small and wanted before the first frame, so in localStorage. */
import { ofUser, owner, ownName } from "./owner";
import { createStore } from "./store";

export interface Prefs {
  theme: "light" | "dark" | "system";
  side: string | null; /* the side panel that is open */
  sideWidth: number; /* pixels */
  resultHeight: number; /* percent of the work area */
  utc: boolean; /* times as the server writes them; else of this browser's zone */
  timeoutSeconds: number; /* of a statement; 0: the server's */
  pageRows: number; /* rows of a page of the grid */
  wrap: boolean; /* long lines of the editor go on in the next */
  askAll: boolean; /* before all statements of a tab run */
}

const KEY = "almanac.prefs";
const DEFAULTS: Prefs = {
  theme: "system",
  side: null,
  sideWidth: 280,
  resultHeight: 50,
  utc: true,
  timeoutSeconds: 0,
  pageRows: 1000,
  wrap: false,
  askAll: true,
};

function kept(key: string | null): Partial<Prefs> {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(ownName(KEY, key)) ?? "{}");
    return typeof found === "object" && found !== null ? found : {};
  } catch {
    return {};
  }
}
const load = (key: string | null): Prefs => ({ ...DEFAULTS, ...kept(key) });

/* Until the user is known, the preferences of a server that requires no login apply. */
export const prefs = createStore<Prefs>(load(null));
prefs.subscribe((now) => {
  try {
    const { key } = owner.get();
    if (key !== null) localStorage.setItem(ownName(KEY), JSON.stringify(now));
    if (key !== "")
      localStorage.setItem(KEY, JSON.stringify({ ...load(null), theme: now.theme })); /* for the first frame */
  } catch {
    /* full or forbidden: the choice holds until the page closes */
  }
});

/* Whoever comes first sees the page as light or dark as it was. */
ofUser({
  enter: (key) => prefs.set(key === "" ? load(key) : { ...DEFAULTS, theme: prefs.get().theme, ...kept(key) }),
});
