/* Completion in the editor: what sql/complete.ts says may stand there, filled with the names of the server. */
import {
  type Completion,
  type CompletionContext,
  type CompletionResult,
  snippetCompletion,
} from "@codemirror/autocomplete";
import {
  anyColumns,
  catalog,
  type Catalog,
  columnsOf,
  type ColumnInfo,
  extentOf,
  type FunctionInfo,
  importFiles,
  symbolValues,
} from "../api/catalog";
import { type Context, contextAt, type Source } from "../sql/complete";
import { ARGUMENTS, BEHIND_VALUE, expectedAt, type Expected, operandNext, timeTexts, VALUE_WORDS } from "../sql/follow";
import { quoteName, statementAt } from "../sql/lexer";

const SIGNATURES_MAX = 6;
const TABLES_MAX = 2000;

/* Ready-made statements: ${} are the places to fill in. */
const SNIPPETS: Array<[label: string, text: string, info: string]> = [
  ["select … from", "SELECT ${*} FROM ${table} WHERE ${condition} LIMIT ${100}", "A query"],
  [
    "sample by",
    "SELECT ${timestamp}, avg(${value}) FROM ${table} WHERE ${timestamp} IN '${today}' SAMPLE BY ${1h}",
    "Averages by time",
  ],
  [
    "latest on",
    "SELECT * FROM ${table} LATEST ON ${timestamp} PARTITION BY ${symbol}",
    "The newest row of each symbol",
  ],
  [
    "asof join",
    "SELECT * FROM ${table} a ASOF JOIN ${other} b ON (${symbol})",
    "Each row with the last of another table before it",
  ],
  [
    "candles",
    "SELECT ${timestamp}, first(${price}) open, max(${price}) high, min(${price}) low, " +
      "last(${price}) close FROM ${table} SAMPLE BY ${1h}",
    "Open, high, low, close",
  ],
  [
    "create table",
    "CREATE TABLE ${name} (\n  timestamp TIMESTAMP,\n  ${symbol} SYMBOL,\n  ${value} DOUBLE\n) " +
      "TIMESTAMP(timestamp) PARTITION BY ${DAY}",
    "A table by time",
  ],
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
      view.dispatch({
        changes: { from, to, insert: text },
        selection: { anchor: from + text.length - (has || takesNothing ? 0 : 1) },
      });
    },
  };
}

const keywordCase = (word: string, context: Context) =>
  (context.word === "" ? context.lower : /^[^A-Z]*$/.test(context.word)) ? word.toLowerCase() : word.toUpperCase();

function keywordOptions(context: Context, likely: string[], known: Catalog | null): Completion[] {
  const out: Completion[] = likely.map((k, i) => ({
    label: keywordCase(k, context),
    type: "keyword",
    boost: 5 - i * 0.1,
  }));
  if (known !== null && context.word.length >= 2)
    for (const k of known.keywords)
      if (!likely.includes(k)) out.push({ label: keywordCase(k, context), type: "keyword", boost: -50 });
  return out;
}

/* In the order of the list. */
const textOptions = (texts: Array<[string, string]>): Completion[] =>
  texts.map(([label, detail], i) => ({ label, detail, type: "text", boost: 50 - i }));

const nameOption = (name: string, quoted: boolean, option: Partial<Completion>): Completion => ({
  label: name,
  apply: quoted ? `"${name.replaceAll('"', '""')}"` : quoteName(name),
  ...option,
});

function tableOptions(context: Context, known: Catalog): Completion[] {
  return [
    ...context.ctes.map((name) =>
      nameOption(name, context.quoted, { type: "table", detail: "in this statement", boost: 20 }),
    ),
    ...known.tables
      .slice(0, TABLES_MAX)
      .map((t) => nameOption(t.name, context.quoted, { type: "table", detail: t.kind, boost: 10 })),
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
      return {
        label: prefix + c.name,
        apply: prefix + written,
        type: "column",
        detail: `${c.type} ${source.alias}`.trim(),
        boost: c.designated ? 32 : 30,
      };
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
        out.push({
          label: `${quoteName(source.alias)}.${name} = ${quoteName(join.right.alias)}.${name}`,
          type: "column",
          detail: "both have it",
          boost: 40,
        });
        out.push({ label: `(${name})`, type: "column", detail: "both have it", boost: 39 });
      }
  }
  return out;
}

/* Inside a text: values of a symbol, times and spans of time, units, files. */
async function valueOptions(context: Context): Promise<Completion[]> {
  if (context.argument !== null) {
    if (/^(read_parquet|parquet_scan)$/.test(context.argument))
      return textOptions((await importFiles()).map((f) => [f, "in the import folder"]));
    return textOptions(ARGUMENTS[context.argument] ?? []);
  }
  const { column, operator } = context.value ?? { column: "", operator: "" };
  for (const source of context.sources) {
    if (source.columns !== null) continue;
    const found = (await columnsOf(source.name)).find((c) => c.name.toLowerCase() === column.toLowerCase());
    if (found?.type === "SYMBOL")
      return (await symbolValues(source.name, found.name)).map((v) => ({
        label: v,
        apply: v.replaceAll("'", "''"),
        type: "text",
        detail: column,
      }));
    if (found !== undefined && /^(TIMESTAMP|DATE)/.test(found.type))
      return textOptions(timeTexts(operator, new Date(), (await extentOf(source.name, found.name))?.hi ?? null));
  }
  return [];
}

const TYPES_FIRST = ["TIMESTAMP", "SYMBOL", "DOUBLE", "LONG", "VARCHAR", "INT", "BOOLEAN"];

/* What a row of sql/follow.ts says. */
async function expectedOptions(expected: Expected, context: Context, known: Catalog): Promise<Completion[]> {
  const out = [...keywordOptions(context, expected.words ?? [], null), ...textOptions(expected.literals ?? [])];
  if (expected.names === "tables") out.push(...tableOptions(context, known));
  if (expected.names === "materialized")
    out.push(
      ...tableOptions(context, { ...known, tables: known.tables.filter((t) => t.kind === "materialized view") }),
    );
  if (expected.names === "types")
    out.push(
      ...[...new Set([...TYPES_FIRST, ...known.types])].map((t, i) => ({
        label: t === "IPv4" ? t : keywordCase(t, context),
        type: "type",
        boost: 40 - i / 4,
      })),
    );
  if (expected.names === "columns" || expected.names === "symbols") {
    const columns = await columnOptions(context, context.sources, true);
    out.push(
      ...(expected.names === "columns"
        ? columns
        : columns.map((c) => (c.detail?.startsWith("SYMBOL") === true ? { ...c, boost: 40 } : c))),
    );
  }
  return out;
}

const ANY_COLUMN_MIN = 2; /* letters, before columns of all tables are looked for */

async function optionsFor(context: Context, known: Catalog, expected: Expected | null): Promise<Completion[]> {
  if (context.value !== null || context.argument !== null) return valueOptions(context);
  if (context.qualifier !== null) {
    const wanted = context.qualifier.toLowerCase();
    const sources = context.sources.filter((s) => s.alias.toLowerCase() === wanted);
    if (sources.length > 0) return columnOptions(context, sources, false);
    return known.tables.some((t) => t.name.toLowerCase() === wanted)
      ? columnOptions(context, [{ name: context.qualifier, alias: context.qualifier, columns: null }], false)
      : [];
  }
  if (expected !== null) return expectedOptions(expected, context, known);
  const { clause } = context;
  if (!operandNext(context.trail))
    return context.quoted ? [] : keywordOptions(context, BEHIND_VALUE[clause] ?? [], known);
  const out: Completion[] = [];
  if (context.join !== null) out.push(...(await joinOptions(context.join)));
  if (clause === "from") out.push(...tableOptions(context, known));
  else if (clause !== "start") {
    out.push(...(await columnOptions(context, context.sources, true)));
    for (const s of context.sources)
      if (context.sources.length > 1 && s.alias !== "")
        out.push(nameOption(s.alias, context.quoted, { type: "table", detail: s.name, boost: 15 }));
    if (context.sources.length === 0 && context.word.length >= ANY_COLUMN_MIN)
      out.push(
        ...(await anyColumns(context.word)).map((c) =>
          nameOption(c.name, context.quoted, { type: "column", detail: c.where, boost: 25 }),
        ),
      );
  }
  if (context.quoted) return out;
  const inFrom = clause === "from";
  if (clause !== "start")
    out.push(...known.functions.filter((f) => (f.kind === "CURSOR") === inFrom).map(functionOption));
  else
    out.push(
      ...SNIPPETS.map(([label, text, info]) =>
        snippetCompletion(text, { label, type: "snippet", detail: "…", info, boost: 1 }),
      ),
    );
  out.push(...keywordOptions(context, VALUE_WORDS[clause] ?? [], inFrom ? null : known));
  return out;
}

export async function complete(c: CompletionContext): Promise<CompletionResult | null> {
  const text = c.state.doc.toString();
  /* of the statement up to its end: what stands behind the cursor names tables, too */
  const found = statementAt(text, c.pos);
  const inside = found !== null && c.pos >= found.from && c.pos <= found.end && text[c.pos - 1] !== ";";
  const statement = inside
    ? { from: found.from, text: text.slice(found.from, Math.max(found.to, c.pos)) }
    : { from: c.pos, text: "" };
  const context = contextAt(statement.text, c.pos - statement.from);
  if (context === null) return null;
  const plain = context.value === null && context.argument === null && context.qualifier === null;
  const expected = plain ? expectedAt(context.trail) : null;
  const spoken =
    context.word !== "" ||
    !plain ||
    context.join !== null ||
    (expected === null ? /^(from|join|into|update|by|on)$/.test(context.before) : expected.open === true);
  if (!c.explicit && !spoken) return null;
  const options = await optionsFor(context, catalog.get(), expected);
  if (c.aborted || options.length === 0) return null;
  const seen = new Set<string>();
  const unique = options.filter(
    (o) => !seen.has(`${o.type ?? ""} ${o.label}`) && seen.add(`${o.type ?? ""} ${o.label}`),
  );
  return {
    from: statement.from + context.from,
    options: context.quoted ? unique.map((o) => ({ ...o, label: `"${o.label}"` })) : unique,
    validFor: context.value !== null || context.argument !== null ? /^[^']*$/ : /^"?[\w$\u0080-\uffff]*$/,
  };
}
