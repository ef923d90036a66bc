/* Commands by words of their names. Pure. */
export interface Named {
  title: string;
  group: string;
}

/* Every word of the search somewhere in the name or the group; those whose name begins with the search come first. */
export function found<T extends Named>(all: readonly T[], search: string): T[] {
  const text = search.trim().toLowerCase();
  const words = text.split(/\s+/).filter(Boolean);
  const fits = all.filter((s) => words.every((w) => `${s.title} ${s.group}`.toLowerCase().includes(w)));
  const begins = (s: T) => (text !== "" && s.title.toLowerCase().startsWith(text) ? 0 : 1);
  return fits.sort((a, b) => begins(a) - begins(b));
}
