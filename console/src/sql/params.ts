/*
 * Parameters of a statement: $1 as the server has them, and @name where the statement does not declare it. They become
 * values that are sent beside the text, never text of it. Pure.
 */
import { statements, tokenize } from "./lexer";

export interface Bound {
  text: string; /* with $n in place of @name */
  values: string[]; /* names of the parameters, of $1, $2 ... */
  back: (position: number) => number; /* from positions of `text` to those of the statement */
}

/* Names in the order in which they come first: "$1", "@from". */
export function parametersOf(statement: string): string[] {
  const tokens = tokenize(statement).filter((t) => t.kind !== "comment");
  const raw = (i: number) => {
    const t = tokens[i];
    return t === undefined ? "" : statement.slice(t.from, t.to);
  };
  const declared = new Set(
    tokens.flatMap((t, i) => (t.kind === "param" && raw(i + 1) === ":=" ? [raw(i).toLowerCase()] : [])),
  );
  const out: string[] = [];
  tokens.forEach((t, i) => {
    const name = raw(i);
    if (t.kind === "param" && !declared.has(name.toLowerCase()) && !out.includes(name)) out.push(name);
  });
  return out;
}

export function bind(statement: string): Bound {
  const names = parametersOf(statement);
  const numbers = names.filter((n) => n.startsWith("$")).map((n) => Number(n.slice(1)));
  const values = Array.from({ length: Math.max(0, ...numbers.filter(Number.isFinite)) }, (_, i) => `$${i + 1}`);
  const places = new Map<string, string>();
  for (const name of names)
    if (name.startsWith("@")) {
      values.push(name);
      places.set(name, `$${values.length}`);
    }
  const cuts: Array<{ from: number; shift: number }> = []; /* in the new text: from here on, so much further */
  let text = "";
  let at = 0;
  for (const t of tokenize(statement)) {
    const to = places.get(statement.slice(t.from, t.to));
    if (t.kind !== "param" || to === undefined) continue;
    text += statement.slice(at, t.from) + to;
    at = t.to;
    cuts.push({ from: text.length, shift: at - text.length });
  }
  text += statement.slice(at);
  const back = (position: number) => position + (cuts.filter((c) => c.from <= position).pop()?.shift ?? 0);
  return { text, values, back };
}

/* All statements of a text with their parameters as $n, each counted for itself, and the way back. */
export function bindAll(text: string): { text: string; back: (position: number) => number } {
  const parts: Array<{ from: number; at: number; bound: Bound | null }> =
    []; /* in the new text, in the old one; null: what stands between */
  let out = "";
  let at = 0;
  for (const s of statements(text)) {
    parts.push({ from: out.length, at, bound: null });
    out += text.slice(at, s.from);
    const bound = bind(s.text);
    parts.push({ from: out.length, at: s.from, bound });
    out += bound.text;
    at = s.to;
  }
  parts.push({ from: out.length, at, bound: null });
  out += text.slice(at);
  const back = (position: number) => {
    const part = parts.filter((p) => p.from <= position).pop() ?? { from: 0, at: 0, bound: null };
    const inside = position - part.from;
    return part.at + (part.bound === null ? inside : part.bound.back(inside));
  };
  return { text: out, back };
}
