/*
 * Cuts text into tokens as src/sql/lex.c does: what is written between two tokens is white space or a comment, and
 * comments are tokens here. Text that is not finished (an open quote, an open comment) is a token to the end.
 * Offsets are UTF-16 units.
 */
export type TokenKind = "word" | "quoted" | "string" | "number" | "comment" | "param" | "sign";

export interface Token {
  kind: TokenKind;
  from: number;
  to: number;
  open?: boolean; /* not finished */
}

const SIGNS = ["<<=", ">>=", "<>", "!=", "<=", ">=", "::", "||", "!~", ":=", "<<", ">>"];
const isDigit = (c: string | undefined) => c !== undefined && c >= "0" && c <= "9";
/* Whatever is not ASCII is a letter. */
const isWordStart = (c: string | undefined) => c !== undefined && /[A-Za-z_\u0080-\uffff]/.test(c);
const isWord = (c: string | undefined) => c !== undefined && /[A-Za-z0-9_$\u0080-\uffff]/.test(c);

interface End {
  to: number;
  open?: boolean;
}

/* Behind the closing sign, which stands twice where it is meant; a backslash takes the next sign along in E'...'. */
function quotedEnd(text: string, at: number, escapes = false): End {
  const quote = text[at++];
  while (at < text.length) {
    if (escapes && text[at] === "\\") at += 2;
    else if (text[at] !== quote) at++;
    else if (text[at + 1] === quote) at += 2;
    else return { to: at + 1 };
  }
  return { to: text.length, open: true };
}

/* Comments of this kind nest. */
function blockEnd(text: string, at: number): End {
  for (let depth = 0; at < text.length;) {
    if (text.startsWith("/*", at)) depth++;
    else if (text.startsWith("*/", at)) depth--;
    else {
      at++;
      continue;
    }
    at += 2;
    if (depth === 0) return { to: at };
  }
  return { to: text.length, open: true };
}

/* $$...$$, $tag$...$tag$ */
function dollarEnd(text: string, at: number): End | null {
  const mark = /^\$([A-Za-z_\u0080-\uffff][A-Za-z0-9_\u0080-\uffff]*)?\$/.exec(text.slice(at, at + 64))?.[0];
  if (mark === undefined) return null;
  const end = text.indexOf(mark, at + mark.length);
  return end < 0 ? { to: text.length, open: true } : { to: end + mark.length };
}

function wordEnd(text: string, at: number): number {
  while (isWord(text[at])) at++;
  return at;
}

/* Digits and the letters on them; a sign belongs to the exponent. */
function numberEnd(text: string, from: number): number {
  const hex = /^0x/i.test(text.slice(from, from + 2));
  let at = from;
  while (at < text.length) {
    const c = text[at] ?? "";
    const exponent = !hex && (c === "+" || c === "-") && /[eE]/.test(text[at - 1] ?? "") && isDigit(text[at + 1]);
    const point = c === "." && text[at + 1] !== ".";
    if (!isWord(c) && !point && !exponent) break;
    at++;
  }
  return at;
}

function next(text: string, from: number): Token {
  const c = text[from] ?? "";
  const after = text[from + 1];
  if (c === "-" && after === "-") {
    const end = text.indexOf("\n", from);
    return { kind: "comment", from, to: end < 0 ? text.length : end };
  }
  if (c === "/" && after === "*") return { kind: "comment", from, ...blockEnd(text, from) };
  if (c === "'") return { kind: "string", from, ...quotedEnd(text, from) };
  if ((c === "E" || c === "e") && after === "'") return { kind: "string", from, ...quotedEnd(text, from + 1, true) };
  if (c === '"' || c === "`") return { kind: "quoted", from, ...quotedEnd(text, from) };
  const dollar = c === "$" ? dollarEnd(text, from) : null;
  if (dollar !== null) return { kind: "string", from, ...dollar };
  if (c === "#")
    return { kind: "string", from, to: Math.max(from + 1, wordEnd(text, after === "#" ? from + 2 : from + 1)) };
  if (isDigit(c) || (c === "." && isDigit(after))) return { kind: "number", from, to: numberEnd(text, from) };
  if ((c === "@" || c === "$") && isWord(after)) return { kind: "param", from, to: wordEnd(text, from + 1) };
  if (isWordStart(c)) return { kind: "word", from, to: wordEnd(text, from) };
  return { kind: "sign", from, to: from + (SIGNS.find((s) => text.startsWith(s, from))?.length ?? 1) };
}

export function tokenize(text: string): Token[] {
  const out: Token[] = [];
  for (let at = 0; at < text.length;) {
    if (/[ \t-\r]/.test(text[at] ?? "")) {
      at++;
      continue;
    }
    const token = next(text, at);
    out.push(token);
    at = token.to;
  }
  return out;
}

export interface Statement {
  from: number; /* of its first token that is no comment */
  to: number; /* behind its last one; the semicolon is not in it */
  end: number; /* behind the semicolon, or where the text ends: a cursor up to here is in it */
  text: string;
}

/* The statements of a text, in order; what is empty between two semicolons is none. */
export function statements(text: string): Statement[] {
  const out: Statement[] = [];
  let from = -1;
  let to = -1;
  const close = (end: number) => {
    if (from >= 0) out.push({ from, to, end, text: text.slice(from, to) });
    from = -1;
  };
  for (const token of tokenize(text)) {
    if (token.kind === "comment") continue;
    if (token.kind === "sign" && text[token.from] === ";") {
      close(token.to);
      continue;
    }
    if (from < 0) from = token.from;
    to = token.to;
  }
  close(text.length);
  return out;
}

/* The one a cursor stands in; between two, the one on whose last line it stands, else the next, else the last. */
export function statementAt(text: string, at: number): Statement | null {
  const list = statements(text);
  let best: Statement | null = null;
  for (const s of list) {
    if (at <= s.end && at >= s.from) return s;
    if (s.from > at) {
      const sameLine = best !== null && !text.slice(best.end, at).includes("\n");
      return sameLine ? best : s;
    }
    best = s;
  }
  return best;
}

/* The name that a word or quoted token means. */
export function nameOf(text: string, token: Token): string {
  const raw = text.slice(token.from, token.to);
  if (token.kind !== "quoted") return raw;
  const sign = raw[0] ?? '"';
  return raw.slice(1, token.open === true ? undefined : -1).replaceAll(sign + sign, sign);
}

/* As it must be written: quoted where it is no plain word. */
export function quoteName(name: string, reserved?: (word: string) => boolean): string {
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && reserved?.(name.toLowerCase()) !== true) return name;
  return `"${name.replaceAll('"', '""')}"`;
}

export const quoteText = (value: string): string => `'${value.replaceAll("'", "''")}'`;
