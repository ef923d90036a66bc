/* Completion in the editor: what sql/complete.ts says may stand there, filled with the names of the server. */
import { type Completion, type CompletionContext, type CompletionResult, snippetCompletion } from "@codemirror/autocomplete";
import { catalog, type Catalog, columnsOf, type ColumnInfo, type FunctionInfo, symbolValues } from "../api/catalog";
import { type Context, contextAt, FOLLOWING, type Source } from "../sql/complete";
import { quoteName, statementAt } from "../sql/lexer";

const SIGNATURES_MAX = 6;
const TABLES_MAX = 2000;

/* Ready-made statements: ${} are the places to fill in. */
const SNIPPETS: Array<[label: string, text: string, info: string]> = [
  ["select … from", "SELECT ${*} FROM ${table} WHERE ${condition} LIMIT ${100}", "A query"],
  ["sample by", "SELECT ${timestamp}, avg(${value}) FROM ${table} WHERE ${timestamp} IN '${today}' SAMPLE BY ${1h}", "Averages by time"],
  ["latest on", "SELECT * FROM ${table} LATEST ON ${timestamp} PARTITION BY ${symbol}", "The newest row of each symbol"],
  ["asof join", "SELECT * FROM ${table} a ASOF JOIN ${other} b ON (${symbol})", "Each row with the last of another table before it"],
  ["candles", "SELECT ${timestamp}, first(${price}) open, max(${price}) high, min(${price}) low, last(${price}) close FROM ${table} SAMPLE BY ${1h}", "Open, high, low, close"],
  ["create table", "CREATE TABLE ${name} (\n  timestamp TIMESTAMP,\n  ${symbol} SYMBOL,\n  ${value} DOUBLE\n) TIMESTAMP(timestamp) PARTITION BY ${DAY}", "A table by time"],
  ["insert into", "INSERT INTO ${table} (${columns}) VALUES (${values})", "Rows"],
  ["with", "WITH ${name} AS (\n  ${SELECT 1}\n)\nSELECT * FROM ${name}", "A query with a name"],
];

function infoOf(lines: string[], text: string): () => HTMLElement {
  return () => {
    const box = document.createElement("div");
    for (const line of lines) {
      const signature = document.createElement("div");
      signature.className = "cm-info-signature";
      signature.textContent = line;
      box.append(signature);
    }
    box.append(text);
    return box;
  };
}

function functionOption(f: FunctionInfo): Completion {
  const more = f.signatures.length - SIGNATURES_MAX;
  const lines = f.signatures.slice(0, SIGNATURES_MAX);
  if (more > 0) lines.push(`and ${more} more`);
  const takesNothing = f.signatures.every((s) => /\(\)/.test(s));
  return {
    label: f.name,
    type: "function",
    detail: (f.signatures[0] ?? "").slice(f.name.length),
    info: infoOf(lines, f.doc),
    boost: -10,
    apply: (view, _c, from, to) => {
      const has = view.state.sliceDoc(to, to + 1) === "(";
      const text = has ? f.name : f.name + "()";
      view.dispatch({ changes: { from, to, insert: text }, selection: { anchor: from + text.length - (has || takesNothing ? 0 : 1) } });
    },
  };
}

const keywordCase = (word: string, typed: string) => (typed !== "" && typed === typed.toLowerCase() ? word.toLowerCase() : word.toUpperCase());

function keywordOptions(context: Context, known: Catalog): Completion[] {
  const likely = FOLLOWING[context.clause];
  const out: Completion[] = likely.map((k, i) => ({ label: keywordCase(k, context.word), type: "keyword", boost: 5 - i * 0.1 }));
  if (context.word.length >= 2) for (const k of known.keywords) if (!likely.includes(k)) out.push({ label: keywordCase(k, context.word), type: "keyword", boost: -50 });
  return out;
}

const nameOption = (name: string, quoted: boolean, option: Partial<Completion>): Completion => ({ label: name, apply: quoted ? `"${name.replaceAll('"', '""')}"` : quoteName(name), ...option });

function tableOptions(context: Context, known: Catalog): Completion[] {
  return [
    ...context.ctes.map((name) => nameOption(name, context.quoted, { type: "table", detail: "in this statement", boost: 20 })),
    ...known.tables.slice(0, TABLES_MAX).map((t) => nameOption(t.name, context.quoted, { type: "table", detail: t.kind, boost: 10 })),
  ];
}

async function columnsIn(source: Source): Promise<ColumnInfo[]> {
  if (source.columns !== null) return source.columns.map((name) => ({ name, type: "", designated: false }));
  return columnsOf(source.name);
}

async function columnOptions(context: Context, sources: Source[], qualify: boolean): Promise<Completion[]> {
  const lists = await Promise.all(sources.map(async (s) => ({ source: s, columns: await columnsIn(s) })));
  const counts = new Map<string, number>();
  for (const { columns } of lists) for (const c of columns) counts.set(c.name, (counts.get(c.name) ?? 0) + 1);
  return lists.flatMap(({ source, columns }) =>
    columns.map((c) => {
      const prefix = qualify && (counts.get(c.name) ?? 0) > 1 ? `${quoteName(source.alias)}.` : "";
      const written = context.quoted ? `"${c.name.replaceAll('"', '""')}"` : quoteName(c.name);
      return { label: prefix + c.name, apply: prefix + written, type: "column", detail: `${c.type} ${source.alias}`.trim(), boost: c.designated ? 32 : 30 };
    }),
  );
}

/* ON a.x = b.x for each column both sides have, and the short form (x). */
async function joinOptions(join: NonNullable<Context["join"]>): Promise<Completion[]> {
  const right = await columnsIn(join.right);
  const lefts = await Promise.all(join.left.map(async (s) => ({ source: s, columns: await columnsIn(s) })));
  const out: Completion[] = [];
  for (const c of right) {
    if (c.designated) continue;
    for (const { source, columns } of lefts)
      if (columns.some((l) => l.name === c.name && !l.designated)) {
        const name = quoteName(c.name);
        out.push({ label: `${quoteName(source.alias)}.${name} = ${quoteName(join.right.alias)}.${name}`, type: "column", detail: "both have it", boost: 40 });
        out.push({ label: `(${name})`, type: "column", detail: "both have it", boost: 39 });
      }
  }
  return out;
}

async function valueOptions(context: Context, column: string): Promise<Completion[]> {
  for (const source of context.sources) {
    if (source.columns !== null) continue;
    const found = (await columnsOf(source.name)).find((c) => c.name.toLowerCase() === column.toLowerCase());
    if (found?.type === "SYMBOL") return (await symbolValues(source.name, found.name)).map((v) => ({ label: v, apply: v.replaceAll("'", "''"), type: "text", detail: column }));
  }
  return [];
}

const NAMES_OF_TABLES: ReadonlySet<string> = new Set(["from"]);
const NAMES_OF_COLUMNS: ReadonlySet<string> = new Set(["select", "where", "group", "order", "latest", "partition", "join-on", "set", "insert-columns", "other"]);

async function optionsFor(context: Context, known: Catalog): Promise<Completion[]> {
  if (context.value !== null) return valueOptions(context, context.value.column);
  if (context.qualifier !== null) {
    const wanted = context.qualifier.toLowerCase();
    const sources = context.sources.filter((s) => s.alias.toLowerCase() === wanted);
    return columnOptions(context, sources.length > 0 ? sources : [{ name: context.qualifier, alias: context.qualifier, columns: null }], false);
  }
  const out: Completion[] = [];
  if (context.join !== null) out.push(...(await joinOptions(context.join)));
  if (NAMES_OF_TABLES.has(context.clause) || /^(from|join|into|update|table)$/.test(context.before)) out.push(...tableOptions(context, known));
  if (NAMES_OF_COLUMNS.has(context.clause)) {
    out.push(...(await columnOptions(context, context.sources, true)));
    for (const s of context.sources) if (context.sources.length > 1 && s.alias !== "") out.push(nameOption(s.alias, context.quoted, { type: "table", detail: s.name, boost: 15 }));
  }
  if (context.quoted) return out;
  const inFrom = context.clause === "from";
  if (context.clause !== "start") out.push(...known.functions.filter((f) => (f.kind === "CURSOR") === inFrom).map(functionOption));
  else out.push(...SNIPPETS.map(([label, text, info]) => snippetCompletion(text, { label, type: "snippet", detail: "…", info, boost: 1 })));
  out.push(...keywordOptions(context, known));
  return out;
}

export async function complete(c: CompletionContext): Promise<CompletionResult | null> {
  const text = c.state.doc.toString();
  /* of the statement up to its end: what stands behind the cursor names tables, too */
  const found = statementAt(text, c.pos);
  const inside = found !== null && c.pos >= found.from && c.pos <= found.end && text[c.pos - 1] !== ";";
  const statement = inside ? { from: found.from, text: text.slice(found.from, Math.max(found.to, c.pos)) } : { from: c.pos, text: "" };
  const context = contextAt(statement.text, c.pos - statement.from);
  if (context === null) return null;
  const spoken = context.word !== "" || context.qualifier !== null || context.value !== null || context.join !== null || /^(from|join|into|by|on)$/.test(context.before);
  if (!c.explicit && !spoken) return null;
  const options = await optionsFor(context, catalog.get());
  if (c.aborted || options.length === 0) return null;
  const seen = new Set<string>();
  const unique = options.filter((o) => !seen.has(`${o.type ?? ""} ${o.label}`) && seen.add(`${o.type ?? ""} ${o.label}`));
  const wordFrom = context.quoted ? statement.from + context.from : statement.from + context.from;
  return { from: wordFrom, options: context.quoted ? unique.map((o) => ({ ...o, label: `"${o.label}"` })) : unique, validFor: context.value !== null ? /^[^']*$/ : /^"?[\w$\u0080-\uffff]*$/ };
}
