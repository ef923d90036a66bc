export interface Column {
  name: string;
  type: string; /* as the server says it: LONG, SYMBOL, TIMESTAMP_NS, GEOHASH(5c), DECIMAL(10,2), ARRAY ... */
  dim?: number; /* of an ARRAY */
  elemType?: string;
}

/* LONG comes as text, so that no digit is lost; binary as text in base 64; an array as nested lists. */
export type Cell = string | number | boolean | null | Cell[];
export type Row = Cell[];

export interface Timings {
  compiler: number; /* nanoseconds, as the rest */
  execute: number;
  count: number;
  authentication: number;
  hold?: number; /* to encode and pack the rows that the server holds */
}

export interface RowsAnswer {
  kind: "rows";
  query: string;
  columns: Column[];
  timestamp: number; /* index of the designated timestamp, -1: none */
  dataset: Row[];
  count: number; /* all rows of the statement */
  timings: Timings | null;
  snapshot: string | null; /* the server holds the rows under this name */
  complete: boolean; /* false: it could not hold them all, and ended there */
}
export interface DoneAnswer {
  kind: "done";
  query: string;
  updated: number | null; /* rows of UPDATE, DELETE */
}
export type Answer = RowsAnswer | DoneAnswer;

/* Seen from here, beside what the server measured. */
export interface Exchange {
  answer: Answer;
  networkMs: number; /* from the first byte sent to the last received, less the server's own time */
  totalMs: number;
  bytes: number; /* of the answer, unpacked */
  queryId: string | null;
}

export interface ServerSettings {
  config: Record<string, unknown>;
  "preferences.version": number;
  "preferences.public"?: boolean; /* true: without a login, they are those that anybody may read */
  preferences: Record<string, unknown>;
}
export interface ServerWarning {
  tag: string;
  warning: string;
}
