/* Light, dark, or as the system has it: html[data-theme] is what style sheets look at. */
import { prefs } from "../state/prefs";

const query = typeof matchMedia === "undefined" ? null : matchMedia("(prefers-color-scheme: dark)");

function apply(): void {
  const choice = prefs.get().theme;
  const dark = choice === "dark" || (choice === "system" && query?.matches === true);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
}

export function followTheme(): () => void {
  apply();
  query?.addEventListener("change", apply);
  const stop = prefs.subscribe(apply);
  return () => {
    query?.removeEventListener("change", apply);
    stop();
  };
}

export function nextTheme(): void {
  const order = ["system", "light", "dark"] as const;
  const at = order.indexOf(prefs.get().theme);
  prefs.set({ theme: order[(at + 1) % order.length] ?? "system" });
}
