/*
 * Writes a condition on a column, an interval of time, into a statement, in front of what its WHERE says; one that
 * was written before goes. Pure.
 */
import { type Token, tokenize } from "./lexer";

/* Where the WHERE of a select must stand before. */
const BEHIND = new Set([
  "latest",
  "sample",
  "group",
  "having",
  "order",
  "limit",
  "union",
  "except",
  "intersect",
  "window",
  "fill",
  "align",
]);

interface Word {
  word: string;
  token: Token;
}

/* Words and signs outside of all brackets. */
function outer(sql: string): Word[] {
  const out: Word[] = [];
  let depth = 0;
  for (const token of tokenize(sql)) {
    if (token.kind === "comment") continue;
    const word = sql.slice(token.from, token.to);
    if (token.kind === "sign" && /^[)\]]$/.test(word)) depth--;
    if (depth === 0) out.push({ word: token.kind === "word" ? word.toLowerCase() : word, token });
    if (token.kind === "sign" && /^[([]$/.test(word)) depth++;
  }
  return out;
}

const bare = (name: string): string => name.replace(/^"|"$/g, "").toLowerCase();

/*
 * The condition on the column at words[at] that was written by us: col BETWEEN 'a' AND 'b', col IN 'a'. Where it
 * ends.
 */
function ownCondition(sql: string, words: Word[], at: number, column: string): number | null {
  const word = (i: number) => words[at + i];
  const c = word(0);
  if (c === undefined || bare(sql.slice(c.token.from, c.token.to)) !== bare(column)) return null;
  const text = (i: number) => word(i)?.token.kind === "string";
  const length =
    word(1)?.word === "between" && text(2) && word(3)?.word === "and" && text(4)
      ? 5
      : word(1)?.word === "in" && text(2)
        ? 3
        : 0;
  const next = word(length);
  return length > 0 && (next === undefined || next.word === "and" || BEHIND.has(next.word) || next.word === ";")
    ? at + length
    : null;
}

/*
 * column, condition: as they are written in SQL; condition "": none. null: there is no FROM to which it could belong,
 * or more than one select.
 */
export function withCondition(sql: string, column: string, condition: string): string | null {
  const words = outer(sql);
  const from = words.findIndex((w) => w.word === "from");
  if (from < 0 || words.some((w) => w.word === "union" || w.word === "except" || w.word === "intersect")) return null;
  const where = words.findIndex((w, i) => i > from && w.word === "where");
  const stop = words.findIndex((w, i) => i > from + 1 && (BEHIND.has(w.word) || w.word === ";"));
  if (where < 0) {
    if (condition === "") return sql;
    const end =
      stop < 0 ? (words[words.length - 1]?.token.to ?? sql.length) : (words[stop - 1]?.token.to ?? sql.length);
    return `${sql.slice(0, end)} WHERE ${condition}${sql.slice(end)}`;
  }
  const first = words[where + 1];
  const lastWord = words[(stop < 0 ? words.length : stop) - 1];
  if (first === undefined || lastWord === undefined) return null;
  const own = ownCondition(sql, words, where + 1, column);
  if (own !== null) {
    const to = words[own - 1]?.token.to ?? sql.length;
    if (condition !== "") return sql.slice(0, first.token.from) + condition + sql.slice(to);
    const next = words[own];
    if (next?.word === "and")
      return sql.slice(0, first.token.from) + sql.slice(words[own + 1]?.token.from ?? sql.length);
    return sql.slice(0, words[where - 1]?.token.to ?? 0) + sql.slice(to);
  }
  if (condition === "") return sql;
  const rest = sql.slice(first.token.from, lastWord.token.to);
  const or = words.slice(where + 1, stop < 0 ? undefined : stop).some((w) => w.word === "or");
  return `${sql.slice(0, first.token.from)}${condition} AND ${or ? `(${rest})` : rest}${sql.slice(lastWord.token.to)}`;
}

/* column, lo, hi: as they are written in SQL. */
export const withInterval = (sql: string, column: string, lo: string, hi: string): string | null =>
  withCondition(sql, column, `${column} BETWEEN ${lo} AND ${hi}`);
