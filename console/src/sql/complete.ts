/*
 * What may stand at a place of a text that is not finished: which clause it is in, which tables and names are in scope
 * there. Pure: names of columns are asked for by the caller. Works on tokens, so that broken text does not matter.
 */
import { nameOf, type Token, tokenize } from "./lexer";

export interface Source {
  name: string; /* of the table, view or CTE */
  alias: string; /* as it is called in the statement; the name itself, where it has none */
  columns: string[] | null; /* of a subquery or CTE as far as they can be seen; null: ask the catalogue */
}

export type Clause =
  | "start"
  | "select"
  | "from"
  | "join-on"
  | "where"
  | "group"
  | "order"
  | "sample"
  | "latest"
  | "partition"
  | "limit"
  | "insert-columns"
  | "set"
  | "statement"
  | "type"
  | "other";

export interface Context {
  from: number; /* where the word to be completed begins */
  word: string; /* what of it is there, without quotes */
  quoted: boolean;
  clause: Clause;
  qualifier: string | null; /* what stands before a dot */
  sources: Source[];
  ctes: string[];
  value: { column: string; operator: string; from: number } | null; /* inside a text that is compared with a column */
  argument: string | null; /* inside a text that is the first argument of this function */
  join: { left: Source[]; right: Source } | null; /* directly behind ON */
  before: string; /* the word before, lower case */
  trail: string; /* all before it, see trailOf() */
  lower: boolean; /* the statement begins in lower case: keywords go on so */
}

const CLAUSES: Record<string, Clause> = {
  select: "select",
  distinct: "select",
  from: "from",
  join: "from",
  into: "from",
  update: "from",
  table: "from",
  truncate: "from",
  describe: "from",
  on: "join-on",
  where: "where",
  having: "where",
  and: "where",
  or: "where",
  group: "group",
  order: "order",
  sample: "sample",
  fill: "sample",
  align: "sample",
  latest: "latest",
  partition: "partition",
  limit: "limit",
  set: "set",
  values: "other",
  with: "other",
  as: "other",
};
/* Words that end the part of FROM in which tables are named. */
const ENDS_FROM = new Set([
  "where",
  "sample",
  "latest",
  "group",
  "order",
  "limit",
  "having",
  "on",
  "union",
  "except",
  "intersect",
  "set",
  "values",
  "select",
  "timestamp",
  "partition",
  "window",
  "tolerance",
  "fill",
  "align",
  "when",
  "add",
  "drop",
  "rename",
  "alter",
  "attach",
  "detach",
  "convert",
  "squash",
  "dedup",
  "resume",
]);
const JOINS = new Set([
  "join",
  "inner",
  "left",
  "right",
  "full",
  "outer",
  "cross",
  "asof",
  "lt",
  "splice",
  "window",
  "horizon",
]);

interface Word {
  token: Token;
  text: string; /* lower case; of a sign, itself */
  depth: number;
}

function wordsOf(text: string, tokens: Token[]): Word[] {
  let depth = 0;
  return tokens.map((token) => {
    const raw = text.slice(token.from, token.to);
    if (raw === ")") depth = Math.max(0, depth - 1);
    const word = { token, text: token.kind === "word" ? raw.toLowerCase() : raw, depth };
    if (raw === "(") depth++;
    return word;
  });
}

type Named = Word & { token: Token & { kind: "word" | "quoted" } };
const isName = (w: Word | undefined): w is Named =>
  w !== undefined && (w.token.kind === "word" || w.token.kind === "quoted");

/* Names in the select list of a subquery: aliases, plain columns; null if a star is among them. */
function outputs(text: string, words: Word[]): string[] | null {
  const depth = words[0]?.depth ?? 0;
  const out: string[] = [];
  let last: Word | null = null;
  for (const w of words.slice(1)) {
    if (w.depth === depth && (w.text === "," || w.text === "from")) {
      if (last !== null && isName(last)) out.push(nameOf(text, last.token));
      else if (last?.text === "*") return null;
      last = null;
      if (w.text === "from") return out;
    } else if (w.depth === depth) last = w;
  }
  if (last !== null && isName(last)) out.push(nameOf(text, last.token));
  return out;
}

/* The words of a bracket, without the bracket; `open` is the index of "(". */
function inside(words: Word[], open: number): Word[] {
  const depth = words[open]?.depth ?? 0;
  let end = open + 1;
  while (end < words.length && (words[end]?.depth ?? 0) > depth) end++;
  return words.slice(open + 1, end);
}

function readCtes(text: string, words: Word[]): Source[] {
  const out: Source[] = [];
  for (let i = 0; i + 2 < words.length; i++) {
    const name = words[i];
    if (isName(name) && words[i + 1]?.text === "as" && words[i + 2]?.text === "(" && words[i + 3]?.text === "select") {
      const before = words[i - 1]?.text;
      if (before === "with" || before === "," || before === "recursive") {
        const called = nameOf(text, name.token);
        out.push({ name: called, alias: called, columns: outputs(text, inside(words, i + 2)) });
      }
    }
  }
  return out;
}

/* Tables named behind FROM, JOIN, UPDATE, INTO at this depth, between `from` and `to` (indexes of words). */
function readSources(text: string, words: Word[], from: number, to: number, depth: number, ctes: Source[]): Source[] {
  const out: Source[] = [];
  let expecting = false;
  for (let i = from; i < to; i++) {
    const w = words[i];
    if (w === undefined || w.depth !== depth) continue;
    if (
      w.token.kind === "word" &&
      (w.text === "from" || w.text === "join" || w.text === "update" || w.text === "into" || w.text === "table")
    ) {
      expecting = true;
      continue;
    }
    if (w.text === "," && out.length > 0 && !expecting) expecting = inFrom(words, i, from, depth);
    else if (expecting && (isName(w) || w.text === "(")) {
      const bracket = w.text === "(" ? inside(words, i) : null;
      const name = bracket === null ? nameOf(text, w.token) : "";
      let after = bracket === null ? i + 1 : i + 2 + bracket.length;
      if (bracket === null && words[after]?.text === "(")
        after += 2 + inside(words, after).length; /* a table function */
      if (words[after]?.text === "as") after++;
      const next = words[after];
      const alias =
        isName(next) &&
        next.depth === depth &&
        !(next.token.kind === "word" && (ENDS_FROM.has(next.text) || JOINS.has(next.text)))
          ? nameOf(text, next.token)
          : name;
      const cte = ctes.find((c) => c.name.toLowerCase() === name.toLowerCase());
      if (alias !== "")
        out.push({ name, alias, columns: bracket === null ? (cte?.columns ?? null) : outputs(text, bracket) });
      expecting = false;
    }
  }
  return out;
}

/* Does a comma at i separate tables? */
function inFrom(words: Word[], i: number, from: number, depth: number): boolean {
  for (let k = i - 1; k >= from; k--) {
    const w = words[k];
    if (w === undefined || w.depth !== depth || w.token.kind !== "word") continue;
    if (w.text === "from") return true;
    if (ENDS_FROM.has(w.text)) return false;
  }
  return false;
}

/* Where the query that the cursor stands in begins and ends. */
function scope(words: Word[], at: number, depth: number): { from: number; to: number } {
  let from = at;
  while (
    from > 0 &&
    (words[from - 1]?.depth ?? 0) >= depth &&
    !(words[from - 1]?.depth === depth && ["union", "except", "intersect"].includes(words[from - 1]?.text ?? ""))
  )
    from--;
  let to = at;
  while (
    to < words.length &&
    (words[to]?.depth ?? 0) >= depth &&
    !(words[to]?.depth === depth && ["union", "except", "intersect"].includes(words[to]?.text ?? ""))
  )
    to++;
  return { from, to };
}

function clauseAt(words: Word[], at: number, from: number, depth: number): { clause: Clause; index: number } {
  for (let i = at - 1; i >= from; i--) {
    const w = words[i];
    if (w === undefined || w.depth !== depth || w.token.kind !== "word") continue;
    if (w.text === "by") continue;
    if (w.text === "as" && words[i + 1]?.text !== "(") return { clause: "other", index: i };
    if (w.text === "on" && words[i - 1]?.text === "latest") return { clause: "latest", index: i };
    const clause = CLAUSES[w.text];
    if (clause !== undefined && !(clause === "from" && w.text === "table" && words[i - 1]?.text === "create"))
      return { clause, index: i };
  }
  if (depth === 0) return { clause: "start", index: from };
  /* no query of its own: arguments, a list; it is what its bracket is */
  const outer = clauseAt(words, from, scope(words, from, depth - 1).from, depth - 1);
  if (outer.clause === "from")
    return { clause: words[outer.index]?.text === "into" ? "insert-columns" : "start", index: from };
  return outer.clause === "other" && words[from - 2]?.text === "as" ? { clause: "start", index: from } : outer;
}

/* The words before the cursor as a text for patterns (sql/follow.ts): lower case, what brackets closed is "()". */
function trailOf(words: Word[], index: number): string {
  const out: string[] = [];
  for (const w of words.slice(0, index)) {
    if (w.text === ")") {
      const open = out.lastIndexOf("(");
      if (open >= 0) out.splice(open, out.length, "()");
    } else out.push(w.token.kind === "quoted" ? '"q"' : w.token.kind === "string" ? "'t'" : w.text);
  }
  return out.join(" ").replaceAll(" . ", ".");
}

/* `text` is one statement; `at` a place in it. */
export function contextAt(text: string, at: number): Context | null {
  const all = tokenize(text);
  const here = all.find((t) => t.from < at && at <= t.to && (t.kind !== "sign" || t.open === true));
  if (here?.kind === "comment" && at > here.from + 1) return null;
  const tokens = all.filter((t) => t.kind !== "comment");
  const words = wordsOf(text, tokens);
  const inWord =
    here !== undefined && (here.kind === "word" || (here.kind === "quoted" && (at < here.to || here.open === true)));
  const inText = here !== undefined && here.kind === "string" && (at < here.to || here.open === true);
  if (here !== undefined && (here.kind === "number" || here.kind === "param" || (here.kind === "string" && !inText)))
    return null;
  const index = inWord || inText ? tokens.indexOf(here) : tokens.filter((t) => t.to <= at).length;
  const previous = words[index - 1];
  const depth = inWord || inText ? (words[index]?.depth ?? 0) : depthAt(words, index);
  const { from, to } = scope(words, index, depth);
  const ctes = readCtes(text, words);
  const outer: Source[] = [];
  for (let d = depth; d >= 0; d--) {
    const part = d === depth ? { from, to } : scope(words, from, d);
    outer.push(
      ...readSources(text, words, part.from, part.to, d, ctes).filter((s) => !outer.some((o) => o.alias === s.alias)),
    );
  }
  const { clause, index: clauseIndex } = clauseAt(words, index, from, depth);
  const dot = previous?.text === "." && isName(words[index - 2]) ? (words[index - 2] as Word) : null;
  const quoted = inWord && here?.kind === "quoted";
  const base = {
    quoted,
    sources: outer,
    ctes: ctes.map((c) => c.name),
    clause,
    qualifier: dot === null ? null : nameOf(text, dot.token),
    before: previous?.text ?? "",
    argument: null,
    trail: trailOf(words, index),
    lower: beginsLower(text, words),
  };
  if (inText && here !== undefined) {
    const compared = comparedColumn(text, words, index);
    const called = previous?.text === "(" && isName(words[index - 2]) ? (words[index - 2]?.text ?? null) : null;
    const inside = { ...base, from: here.from + 1, word: text.slice(here.from + 1, at), join: null };
    if (compared !== null) return { ...inside, value: { ...compared, from: here.from + 1 } };
    return called === null ? null : { ...inside, value: null, argument: called };
  }
  const last = outer[outer.length - 1];
  const join =
    clause === "join-on" &&
    clauseIndex === index - 1 &&
    previous?.text === "on" &&
    outer.length > 1 &&
    last !== undefined
      ? joinOf(text, words, index, outer)
      : null;
  const wordFrom = inWord && here !== undefined ? here.from : at;
  return { ...base, from: wordFrom, word: text.slice(wordFrom + (quoted ? 1 : 0), at), value: null, join };
}

function beginsLower(text: string, words: Word[]): boolean {
  const first = words.find((w) => w.token.kind === "word")?.token;
  return first !== undefined && /^[a-z]/.test(text.slice(first.from, first.to));
}

function depthAt(words: Word[], index: number): number {
  const previous = words[index - 1];
  if (previous === undefined) return 0;
  return previous.text === "(" ? previous.depth + 1 : previous.depth;
}

const COMPARES = new Set(["=", "!=", "<>", "in", "<", ">", "<=", ">=", "between"]);

/* column = '...', column IN ('...', '...'), column BETWEEN '...' AND '...'; also with a table before the column */
function comparedColumn(text: string, words: Word[], index: number): { column: string; operator: string } | null {
  let i = index - 1;
  if (words[i]?.text === "and" && words[i - 2]?.text === "between") i -= 2;
  while (i >= 0 && (words[i]?.text === "," || words[i]?.text === "(" || words[i]?.token.kind === "string")) i--;
  const operator = words[i]?.text ?? "";
  if (!COMPARES.has(operator)) return null;
  if (words[i - 1]?.text === "not") i--;
  const name = words[i - 1];
  return isName(name) ? { column: nameOf(text, name.token), operator } : null;
}

/* The table that was joined last before the cursor, and those before it. */
function joinOf(
  text: string,
  words: Word[],
  index: number,
  sources: Source[],
): { left: Source[]; right: Source } | null {
  for (let i = index - 1; i > 0; i--)
    if (words[i]?.text === "join") {
      const name = words[i + 1];
      const called = isName(name) ? nameOf(text, name.token) : "";
      const alias =
        isName(words[i + 2]) && words[i + 2]?.text !== "on" ? nameOf(text, (words[i + 2] as Word).token) : called;
      const right = sources.find((s) => s.alias === alias);
      return right === undefined ? null : { left: sources.filter((s) => s !== right), right };
    }
  return null;
}
