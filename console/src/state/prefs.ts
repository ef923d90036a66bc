/* Choices of this user in this browser. Small and wanted before the first frame, so in localStorage. */
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
const DEFAULTS: Prefs = { theme: "system", side: null, sideWidth: 280, resultHeight: 50, utc: true, timeoutSeconds: 0, pageRows: 1000, wrap: false, askAll: true };

function load(): Prefs {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(KEY) ?? "{}");
    return { ...DEFAULTS, ...(typeof found === "object" && found !== null ? found : {}) };
  } catch {
    return { ...DEFAULTS };
  }
}

export const prefs = createStore<Prefs>(load());
prefs.subscribe((now) => {
  try {
    localStorage.setItem(KEY, JSON.stringify(now));
  } catch {
    /* full or forbidden: the choice holds until the page closes */
  }
});
