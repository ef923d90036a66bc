/*
 * Lays out a text of statements: a line for each clause, subqueries indented. Only white space changes, and the case of
 * the words that begin or join clauses; names, values and comments stay as they are written. Formatting twice changes
 * nothing more.
 */
import { type Token, tokenize } from "./lexer";

const CLAUSES = new Set([
  "select",
  "from",
  "where",
  "having",
  "limit",
  "union",
  "except",
  "intersect",
  "values",
  "set",
  "with",
  "window",
  "fill",
  "align",
]);
/* These begin a clause with the word behind them. */
const PAIRS: Record<string, string> = {
  group: "by",
  order: "by",
  sample: "by",
  latest: "on",
  partition: "by",
  insert: "into",
};
const JOINS = new Set(["left", "right", "full", "outer", "inner", "cross", "asof", "lt", "splice", "horizon"]);
const OTHERS = new Set([
  "as",
  "on",
  "and",
  "or",
  "not",
  "in",
  "is",
  "null",
  "between",
  "case",
  "when",
  "then",
  "else",
  "end",
  "by",
  "into",
  "distinct",
  "asc",
  "desc",
  "over",
  "all",
  "join",
  "explain",
  "analyze",
  "update",
  "delete",
  "create",
  "table",
  "like",
  "ilike",
  "exists",
  "calendar",
]);
const LINE_MAX = 96;

interface Word {
  token: Token;
  raw: string;
  low: string; /* of a word; "" for what is none */
}

interface Level {
  query: boolean; /* a bracket with a query in it, or the statement */
  indent: number;
  list: "none" | "flat" | "long"; /* of SELECT: a line for each, if it is long */
}

const isWord = (w: Word | undefined, ...texts: string[]) => w !== undefined && texts.includes(w.low);

function joinStart(words: Word[], i: number): boolean {
  const low = words[i]?.low ?? "";
  let k = i;
  while (JOINS.has(words[k]?.low ?? "")) k++;
  if (words[k]?.low === "window" && words[k + 1]?.low === "join") k++;
  if (words[k]?.low !== "join" || words[k + 1]?.raw === "(") return words[k]?.low === "join" && low !== "";
  const before = words[i - 1]?.low ?? "";
  return !JOINS.has(before) && before !== "window";
}

function startsClause(words: Word[], i: number): boolean {
  const w = words[i];
  if (w === undefined || w.low === "" || words[i - 1]?.raw === ".") return false;
  if (w.low === "join" || JOINS.has(w.low) || (w.low === "window" && words[i + 1]?.low === "join"))
    return (
      joinStart(words, i) &&
      !(w.low === "join" && (JOINS.has(words[i - 1]?.low ?? "") || words[i - 1]?.low === "window"))
    );
  if (w.low === "from" && isWord(words[i - 1], "distinct")) return false; /* IS DISTINCT FROM */
  if (w.low === "fill") return words[i + 1]?.raw === "(";
  if (w.low === "align") return words[i + 1]?.low === "to";
  if (w.low === "set") return isWord(words[i - 2], "update") || isWord(words[i - 3], "update");
  if (w.low === "with") return i === 0 || words[i - 1]?.raw === "(";
  if (w.low === "window") return words[i + 2]?.low === "as";
  if (CLAUSES.has(w.low)) return true;
  return PAIRS[w.low] !== undefined && words[i + 1]?.low === PAIRS[w.low];
}

/* Characters from SELECT to what follows its list, on one line. */
function listLength(words: Word[], i: number): number {
  let depth = 0;
  let n = 0;
  for (let k = i; k < words.length; k++) {
    const raw = words[k]?.raw ?? "";
    if (raw === "(") depth++;
    if (raw === ")" && --depth < 0) break;
    if (depth === 0 && k > i && startsClause(words, k)) break;
    n += raw.length + 1;
  }
  return n;
}

function cased(w: Word): string {
  return w.low !== "" && (CLAUSES.has(w.low) || OTHERS.has(w.low)) ? w.raw.toUpperCase() : w.raw;
}

function formatStatement(text: string, tokens: Token[]): string {
  const words: Word[] = tokens.map((token) => {
    const raw = text.slice(token.from, token.to);
    return { token, raw, low: token.kind === "word" ? raw.toLowerCase() : "" };
  });
  const levels: Level[] = [{ query: true, indent: 0, list: "none" }];
  let out = "";
  let between = 0;
  const line = (indent: number) => {
    if (out.trim() !== "") out = out.replace(/[ \t]+$/, "") + "\n" + "  ".repeat(indent);
  };
  words.forEach((w, i) => {
    const level = levels[levels.length - 1] as Level;
    const previous = words[i - 1];
    const gap = previous === undefined ? "" : text.slice(previous.token.to, w.token.from);
    const clause = level.query && startsClause(words, i);
    if (w.low === "between") between++;
    const joins = level.query && (w.low === "and" || w.low === "or") && levels.length > 0;
    const closing = w.raw === ")" && levels.length > 1;
    if (closing) {
      const closed = levels.pop() as Level;
      if (closed.query) line((levels[levels.length - 1] as Level).indent);
      else if (/\s/.test(gap) && previous?.token.kind === "comment") line(closed.indent);
    } else if (previous?.token.kind === "comment" && previous.raw.startsWith("--"))
      line(level.indent + (clause ? 0 : 1));
    else if (w.token.kind === "comment" && gap.includes("\n")) line(level.indent + (i > 0 && level.query ? 1 : 0));
    else if (clause && i > 0 && !(isWord(w, "select") && isWord(previous, "explain", "analyze"))) line(level.indent);
    else if (joins && !(w.low === "and" && between > 0)) line(level.indent + 1);
    else if (previous?.raw === "," && level.query && level.list === "long") line(level.indent + 1);
    else if (previous?.raw === "(" && levels.length > 1 && level.query) line(level.indent);
    else if (previous?.raw === "," || (/\s/.test(gap) && previous?.raw !== "(" && w.raw !== ")" && w.raw !== ","))
      out += out === "" ? "" : " ";
    if (w.low === "and" && between > 0) between--;
    const second = i > 0 && PAIRS[previous?.low ?? ""] === w.low;
    const pair = PAIRS[w.low] !== undefined && words[i + 1]?.low === PAIRS[w.low];
    const join = clause && (JOINS.has(w.low) || w.low === "join");
    const modifier =
      JOINS.has(w.low) && level.query && (JOINS.has(words[i + 1]?.low ?? "") || words[i + 1]?.low === "join");
    out +=
      clause || second || pair || join || modifier || OTHERS.has(w.low)
        ? previous?.raw === "."
          ? w.raw
          : w.low === ""
            ? w.raw
            : w.raw.toUpperCase()
        : previous?.raw === "."
          ? w.raw
          : CLAUSES.has(w.low) && !clause
            ? w.raw
            : cased(w);
    if (clause) level.list = w.low === "select" ? (listLength(words, i) > LINE_MAX ? "long" : "flat") : "none";
    if (w.raw === "(") {
      const first = words.slice(i + 1).find((x) => x.token.kind !== "comment");
      const query = isWord(first, "select", "with");
      levels.push({ query, indent: query ? level.indent + 1 : level.indent, list: "none" });
    }
  });
  return out.replace(/[ \t]+$/gm, "");
}

export function format(text: string): string {
  const parts: Array<{ tokens: Token[]; end: boolean }> = [{ tokens: [], end: false }];
  for (const token of tokenize(text)) {
    if (token.kind === "sign" && text[token.from] === ";") {
      (parts[parts.length - 1] as { end: boolean }).end = true;
      parts.push({ tokens: [], end: false });
    } else (parts[parts.length - 1] as { tokens: Token[] }).tokens.push(token);
  }
  return parts
    .filter((p) => p.tokens.length > 0 || p.end)
    .map((p) => {
      const last = p.tokens[p.tokens.length - 1];
      const lineComment = last?.kind === "comment" && text.startsWith("--", last.from);
      return formatStatement(text, p.tokens) + (p.end ? (lineComment ? "\n;" : ";") : "");
    })
    .join("\n\n");
}
