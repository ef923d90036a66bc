/*
 * A board: cells of SQL (drawn as a chart, a table or one value) and of text, on a grid of twelve columns, with
 * values for the parameters of their statements, a time range and a time between two refreshes. As it is kept on the
 * server. Pure.
 */
import type { SavedSpec } from "../chart/saved";
import { type AxisOf, type ChartType, TYPES } from "../chart/spec";
import { withCondition } from "../../sql/interval";
import { randomHex } from "../../state/random";
import { quoteName, quoteText, statements } from "../../sql/lexer";
import { bind, parametersOf } from "../../sql/params";

export type Show = "chart" | "table" | "value";
export const SHOWS: Show[] = ["chart", "table", "value"];

export interface Cell {
  id: string;
  kind: "sql" | "text";
  title: string;
  text: string; /* SQL, or Markdown */
  show: Show;
  spec: SavedSpec | null; /* null: guessed */
  sql: boolean; /* the statement is shown, too */
  width: number; /* columns of twelve */
  height: number; /* pixels */
}

export interface Variable {
  name: string; /* "@symbol" */
  value: string; /* at first; "" is null */
  choices: string; /* a query whose first column has the values to choose from; "": any text */
}

export interface Board {
  cells: Cell[];
  variables: Variable[];
  range: string; /* of the designated timestamps, as it is written behind IN; "": what the statements say */
  refresh: number; /* seconds; 0: by hand */
  events: string; /* a query whose first time and first text are marked in charts over time; "": none */
}

export const WIDTHS = [3, 4, 6, 8, 12];
export const HEIGHTS: Array<[title: string, pixels: number]> = [
  ["low", 140],
  ["middle", 280],
  ["high", 440],
];
export const REFRESHES: Array<[title: string, seconds: number]> = [
  ["by hand", 0],
  ["every 5 s", 5],
  ["every 10 s", 10],
  ["every 30 s", 30],
  ["every minute", 60],
  ["every 5 min", 300],
];
const CELLS_MAX = 100;

export const newBoard = (): Board => ({ cells: [], variables: [], range: "", refresh: 0, events: "" });
const newId = (): string => randomHex(6);
export const newCell = (part: Partial<Cell>): Cell => ({
  id: newId(),
  kind: "sql",
  title: "",
  text: "",
  show: "chart",
  spec: null,
  sql: false,
  width: 6,
  height: 280,
  ...part,
});

/* Where a board is, in the part of the address behind #. */
export const boardPath = (name: string, more: Record<string, string> = {}): string =>
  `/boards?${new URLSearchParams({ name, ...more })}`;

type Loose = Record<string, unknown>;
const object = (v: unknown): Loose => (typeof v === "object" && v !== null && !Array.isArray(v) ? (v as Loose) : {});
const text = (v: unknown): string => (typeof v === "string" ? v : "");
const list = (v: unknown): unknown[] => (Array.isArray(v) ? v : []);
const number = (v: unknown, lo: number, hi: number, or: number): number =>
  typeof v === "number" && Number.isFinite(v) ? Math.max(lo, Math.min(hi, Math.round(v))) : or;

function specOf(v: unknown): SavedSpec | null {
  const s = object(v);
  if (!TYPES.includes(s.type as ChartType)) return null;
  const axes = Object.entries(object(s.axes)).filter(([, a]) => a === "left" || a === "right" || a === "own") as Array<
    [string, AxisOf]
  >;
  return {
    type: s.type as ChartType,
    x: text(s.x),
    ys: list(s.ys).filter((y) => typeof y === "string"),
    series: typeof s.series === "string" ? s.series : null,
    axes: Object.fromEntries(axes),
    candle: typeof s.candle === "string" ? s.candle : null,
  };
}

function cellOf(v: unknown): Cell {
  const c = object(v);
  return newCell({
    kind: c.kind === "text" ? "text" : "sql",
    title: text(c.title),
    text: text(c.text),
    show: SHOWS.includes(c.show as Show) ? (c.show as Show) : "chart",
    spec: specOf(c.spec),
    sql: c.sql === true,
    width: number(c.width, 1, 12, 6),
    height: number(c.height, 60, 2000, 280),
  });
}

/* Of what is kept, whoever wrote it; null: it is no board. */
export function boardOf(json: string): Board | null {
  let found: unknown;
  try {
    found = JSON.parse(json);
  } catch {
    return null;
  }
  const b = object(found);
  if (b.almanacBoard !== 1) return null;
  const variables = list(b.variables).map((v) => ({
    name: text(object(v).name),
    value: text(object(v).value),
    choices: text(object(v).choices),
  }));
  return {
    cells: list(b.cells).slice(0, CELLS_MAX).map(cellOf),
    variables: variables.filter((v) => /^@\w+$/.test(v.name)),
    range: text(b.range),
    refresh: number(b.refresh, 0, 86400, 0),
    events: text(b.events),
  };
}

/* Without what is at its default and without names of cells, so that two that say the same are the same text. */
export function boardText(b: Board): string {
  const cells = b.cells.map(({ id: _, ...c }) => ({ ...c, spec: c.spec ?? undefined, sql: c.sql || undefined }));
  return JSON.stringify({
    almanacBoard: 1,
    cells,
    variables: b.variables,
    range: b.range,
    refresh: b.refresh,
    events: b.events,
  });
}

/* Names of the parameters of all statements, as they come. */
export function namesOf(b: Board): string[] {
  const texts = [
    ...b.cells.filter((c) => c.kind === "sql").map((c) => c.text),
    ...b.variables.map((v) => v.choices),
    b.events,
  ];
  return [
    ...new Set(
      texts.flatMap((t) => statements(t).flatMap((s) => parametersOf(s.text))).filter((n) => n.startsWith("@")),
    ),
  ];
}

/* With a definition for each parameter that a statement has, and for no other. */
export const withVariables = (b: Board): Board => ({
  ...b,
  variables: namesOf(b).map((name) => b.variables.find((v) => v.name === name) ?? { name, value: "", choices: "" }),
});

export interface Asked {
  text: string;
  params: Array<string | null>;
}

/*
 * The first statement of a text as it is sent: in the time range, with the values of its parameters. null: there is
 * none.
 */
export function askedOf(
  sql: string,
  columns: (sql: string) => Array<{ name: string }>,
  range: string,
  values: Record<string, string>,
): Asked | null {
  const statement = statements(sql)[0]?.text;
  if (statement === undefined) return null;
  let inside = statement;
  const column = range === "" ? undefined : columns(statement)[0]?.name;
  if (column !== undefined) {
    const name = quoteName(column);
    inside = withCondition(statement, name, `${name} IN ${quoteText(range)}`) ?? statement;
  }
  const bound = bind(inside);
  return {
    text: bound.text,
    params: bound.values.map((n) => ((values[n] ?? "") === "" ? null : (values[n] as string))),
  };
}
