/*
 * What may come next, as far as the words before the cursor tell: rows of a pattern and what is offered there, the
 * first that fits. Where none fits it is a value or what joins one to the next (operandNext), by clause. Pure.
 */
import type { Clause } from "./complete";

export type Names = "tables" | "materialized" | "columns" | "symbols" | "types";

export interface Expected {
  words?: string[]; /* keywords, the likely ones first */
  literals?: Array<[text: string, meaning: string]>; /* taken as they are */
  names?: Names;
  open?: boolean; /* offered before a letter is typed */
}

const PERIODS: Array<[string, string]> = [
  ["1s", "second"],
  ["10s", "10 seconds"],
  ["1m", "minute"],
  ["5m", "5 minutes"],
  ["15m", "15 minutes"],
  ["1h", "hour"],
  ["4h", "4 hours"],
  ["1d", "day"],
  ["1w", "week"],
  ["1M", "month"],
  ["1y", "year"],
];
const FILLS = ["prev", "null", "linear", "none"];
const UNITS_OF_PARTITIONS = ["day", "hour", "week", "month", "year", "none"];
const KINDS = ["table", "view", "materialized view", "user", "group", "service account"];
const PERMISSIONS = [
  "all",
  "select",
  "insert",
  "update",
  "http",
  "pgwire",
  "ilp",
  "create table",
  "drop table",
  "alter column type",
  "truncate table",
  "settings",
  "database admin",
];
const BEHIND_SAMPLE = [
  "fill(prev)",
  "fill(null)",
  "fill(linear)",
  "fill(none)",
  "from",
  "align to calendar",
  "align to first observation",
  "order by",
  "limit",
];
const BEHIND_CREATE = ["timestamp(", "partition by", "ttl", "wal", "bypass wal", "dedup upsert keys("];

/* N: one name or value. The patterns are looked for at the end of what stands before the cursor, see trailOf(). */
const N = "[^\\s(),]+";
const ROWS: Array<[pattern: string, expected: Expected]> = [
  ["(group|order|partition|sample)", { words: ["by"], open: true }],
  ["sample by", { literals: PERIODS, open: true }],
  [`sample by ${N}`, { words: BEHIND_SAMPLE }],
  ["align", { words: ["to calendar", "to first observation"], open: true }],
  ["align to", { words: ["calendar", "first observation"], open: true }],
  ["align to calendar", { words: ["time zone", "with offset", "order by", "limit"] }],
  ["(sample .*)?fill \\( ?", { words: FILLS, open: true }],
  ["latest", { words: ["on"], open: true }],
  [`latest on ${N}`, { words: ["partition by"], open: true }],
  ["latest on .*partition by( .*,)?", { names: "symbols", open: true }],
  ["over \\(", { words: ["partition by", "order by"], open: true }],
  ["over \\( .*(rows|range)", { words: ["between", "unbounded preceding", "current row"], open: true }],
  ["(asof|lt|splice|inner|cross|window|left outer|right outer|full outer)", { words: ["join"], open: true }],
  ["(left|right|full)", { words: ["join", "outer join"], open: true }],
  ["(union|except|intersect)", { words: ["all", "select"], open: true }],
  ["is", { words: ["null", "not null"], open: true }],
  ["case", { words: ["when"], open: true }],
  [
    "limit",
    {
      literals: [
        ["10", "rows"],
        ["100", "rows"],
        ["1000", "rows"],
        ["-10", "the last 10"],
        ["-100", "the last 100"],
      ],
    },
  ],
  ["::", { names: "types", open: true }],
  ["cast \\( .* as", { names: "types", open: true }],
  ["^alter", { words: ["table", "materialized view", "view", "user", "group", "service account"], open: true }],
  [
    "^(alter|drop|describe|show columns from|show partitions from|show create) table( if exists)?|" +
      "^truncate table|^vacuum table|^scrub table|^rename table|^backup table",
    { names: "tables", open: true },
  ],
  ["^(drop|alter|show create) view( if exists)?", { names: "tables", open: true }],
  ["^(refresh|alter|drop|show create) materialized view( if exists)?", { names: "materialized", open: true }],
  [
    `^alter table ${N}`,
    {
      words: [
        "add column",
        "drop column",
        "rename column",
        "alter column",
        "drop partition",
        "detach partition",
        "attach partition",
        "convert partition to parquet",
        "convert partition to native",
        "squash partitions",
        "dedup enable upsert keys(",
        "dedup disable",
        "set ttl",
        "set param",
        "set type",
        "resume wal",
      ],
    },
  ],
  [`^alter table ${N} (drop|rename|alter)`, { words: ["column", "partition"], open: true }],
  [`^alter table ${N} (drop|rename|alter) column`, { names: "columns", open: true }],
  [`^alter table ${N} rename column ${N}`, { words: ["to"], open: true }],
  [
    `^alter table ${N} alter column ${N}`,
    { words: ["type", "add index", "drop index", "cache", "nocache", "symbol capacity"], open: true },
  ],
  [`^alter table ${N} (alter column ${N} type|add( column)? (if not exists )?${N})`, { names: "types", open: true }],
  [`^alter table ${N} add column`, { words: ["if not exists"] }],
  [
    `^alter table ${N} (drop|detach|convert) partition( to parquet| to native)?`,
    { words: ["list", "where"], open: true },
  ],
  [`^alter table ${N} dedup enable upsert keys \\(( .*,)?`, { names: "columns", open: true }],
  [`^alter table ${N} set`, { words: ["ttl", "param", "type wal", "type bypass wal"], open: true }],
  [`^refresh materialized view ${N}`, { words: ["full", "incremental", "range from"], open: true }],
  ["^create", { words: [...KINDS, "or replace view"], open: true }],
  ["^create (table|materialized view|view)", { words: ["if not exists"] }],
  [`^create table (if not exists )?${N}`, { words: ["as (", "like"] }],
  [`^create table (if not exists )?${N} \\((.*,)? ${N}`, { names: "types", open: true }],
  [`^create table (if not exists )?${N} \\(.*,|^create table (if not exists )?${N} \\(`, {}],
  ["^create .*partition by", { words: UNITS_OF_PARTITIONS, open: true }],
  ["^create table .*(timestamp|keys) \\(", { names: "columns", open: true }],
  [
    `^create (table|materialized view) .*\\(\\)|^create (table|materialized view) .*\\(\\) partition by ${N}`,
    { words: BEHIND_CREATE },
  ],
  ["^drop", { words: KINDS, open: true }],
  ["^(truncate|rename|vacuum|scrub)", { words: ["table"], open: true }],
  [`^rename table ${N}`, { words: ["to"], open: true }],
  ["^refresh", { words: ["materialized view"], open: true }],
  [
    "^show",
    {
      words: [
        "tables",
        "columns from",
        "create table",
        "create view",
        "create materialized view",
        "partitions from",
        "parameters",
        "users",
        "groups",
        "permissions",
        "user",
        "server_version",
      ],
      open: true,
    },
  ],
  ["^show (columns|partitions)", { words: ["from"], open: true }],
  ["^insert", { words: ["into"], open: true }],
  [`^insert into ${N}`, { words: ["values (", "select"] }],
  [`^insert into ${N} \\(( .*,)?`, { names: "columns", open: true }],
  [`^insert into ${N} \\(\\)`, { words: ["values (", "select"], open: true }],
  [`^update ${N}`, { words: ["set"], open: true }],
  ["^update .* set( .*,)?", { names: "columns", open: true }],
  ["^explain", { words: ["analyze", "select", "update", "with"], open: true }],
  ["^explain analyze", { words: ["select", "with"], open: true }],
  ["^(grant|revoke)( .*,)?", { words: PERMISSIONS, open: true }],
];
const PATTERNS = ROWS.map(
  ([pattern, expected]) =>
    [new RegExp(`(${pattern.startsWith("^") ? "" : "(^|\\s)"}(${pattern}))$`), expected] as const,
);

/* trail: as trailOf() of complete.ts writes it. null: no row fits. */
export const expectedAt = (trail: string): Expected | null =>
  PATTERNS.find(([pattern]) => pattern.test(trail))?.[1] ?? null;

/* Words behind which a value comes. */
const BEFORE_VALUE = new Set([
  "select",
  "distinct",
  "from",
  "where",
  "having",
  "and",
  "or",
  "not",
  "by",
  "on",
  "in",
  "between",
  "like",
  "ilike",
  "when",
  "then",
  "else",
  "case",
  "as",
  "join",
  "into",
  "set",
  "values",
  "all",
  "update",
  "with",
  "using",
  "within",
  "symmetric",
]);

/* Does a value come next (a column, a function), or what stands behind one? */
export function operandNext(trail: string): boolean {
  const last = trail.split(" ").pop() ?? "";
  if (last === "*") return !/(^|[\s(,.])(select|distinct|\(|,) ?\*$|\.\*$/.test(trail);
  if (last === "" || BEFORE_VALUE.has(last)) return true;
  return /^[^\w"'`)@$\u0080-\uffff]+$/.test(last) && last !== "()";
}

/* Behind which no column, function or table comes. */
const BEHIND_ROWS = [
  "where",
  "sample by",
  "latest on",
  "asof join",
  "join",
  "left join",
  "lt join",
  "splice join",
  "cross join",
  "window join",
  "group by",
  "order by",
  "limit",
  "union all",
  "on",
  "as",
];
const COMPARISONS = ["and", "or", "in", "between", "like", "ilike", "is null", "is not null"];

export const BEHIND_VALUE: Partial<Record<Clause, string[]>> = {
  select: [
    "from",
    "as",
    "over (",
    "and",
    "or",
    "between",
    "in",
    "is null",
    "when",
    "then",
    "else",
    "end",
    "order by",
    "partition by",
  ],
  from: BEHIND_ROWS,
  "join-on": ["and", "or", "where", "join", "left join", "asof join", "tolerance", "sample by", "order by", "limit"],
  where: [...COMPARISONS, "sample by", "latest on", "group by", "order by", "limit"],
  group: ["having", "order by", "limit"],
  order: ["asc", "desc", "limit", "nulls last", "nulls first", "rows", "range"],
  latest: ["partition by"],
  partition: ["order by", "limit", "where"],
  limit: ["union all"],
  set: ["where", "from"],
  sample: BEHIND_SAMPLE,
};

export const VALUE_WORDS: Partial<Record<Clause, string[]>> = {
  start: [
    "select",
    "with",
    "insert into",
    "update",
    "create table",
    "alter table",
    "drop table",
    "truncate table",
    "show",
    "explain",
    "explain analyze",
    "declare",
    "copy",
    "rename table",
    "create view",
    "create materialized view",
    "refresh materialized view",
    "grant",
    "revoke",
  ],
  select: ["distinct", "case when", "null", "true", "false", "not", "cast"],
  where: ["not", "null", "case when", "true", "false"],
  "join-on": ["not", "null"],
  other: ["select", "values"],
};

/* Texts that a function takes as an argument; the first one, but of those of AT. */
const CLOCK: Array<[string, string]> = [
  ["s", "second"],
  ["m", "minute"],
  ["h", "hour"],
  ["d", "day"],
  ["w", "week"],
  ["M", "month"],
  ["y", "year"],
  ["T", "millisecond"],
  ["u", "microsecond"],
  ["n", "nanosecond"],
];
const TRUNCATED = [
  "minute",
  "hour",
  "day",
  "week",
  "month",
  "quarter",
  "year",
  "second",
  "milliseconds",
  "microseconds",
  "decade",
  "century",
  "millennium",
];
export const ARGUMENTS: Record<string, Array<[text: string, meaning: string]>> = {
  dateadd: CLOCK,
  datediff: CLOCK,
  date_trunc: TRUNCATED.map((unit) => [unit, ""]),
  timestamp_floor: PERIODS,
  timestamp_ceil: PERIODS,
};

const two = (n: number): string => String(n).padStart(2, "0");

/* Texts that a time is compared with; of IN also spans. newest: the last time of the table, ISO, where it is known. */
export function timeTexts(operator: string, now: Date, newest: string | null): Array<[text: string, meaning: string]> {
  const day = `${now.getUTCFullYear()}-${two(now.getUTCMonth() + 1)}-${two(now.getUTCDate())}`;
  const last: Array<[string, string]> =
    newest === null || newest.slice(0, 10) === day ? [] : [[newest.slice(0, 10), "the last day of the table"]];
  if (operator !== "in") return [...last, [day, "today"], [`${day}T${two(now.getUTCHours())}:00:00Z`, "this hour"]];
  return [
    ["$today", "all of today"],
    ["$yesterday", "all of yesterday"],
    ["$now - 1h..$now", "the last hour"],
    ["$now - 24h..$now", "the last 24 hours"],
    ["$now - 7d..$now", "the last 7 days"],
    ["$now - 30d..$now", "the last 30 days"],
    ...last,
    [day, "a day"],
    [day.slice(0, 7), "a month"],
    [`${day};1h`, "a day and an hour more"],
  ];
}
