/* Between the page and the worker. */
import type { Column } from "../../api/types";
import type { Candles, Drawn, Keep, Points } from "./reduce";

export interface LoadMessage {
  kind: "load";
  id: number;
  url: string; /* of /exec, or of the rows that the server holds */
  headers: Record<string, string>; /* of the sign-on */
  held: boolean;
  sql: string;
  params: string; /* as sent; "": none */
  columns: Column[]; /* of the result */
  rows: number; /* that there are */
  x: number;
  xKind: "time" | "number" | "category";
  ys: number[];
  series: number;
  seriesMax: number;
}
/* What was loaded last, drawn for a range. */
export interface DrawMessage {
  kind: "draw";
  id: number;
  range: { lo: number; hi: number } | null;
  pixels: number;
  keep: Keep;
  candles: { series: number } | null;
}
export type ToWorker = LoadMessage | DrawMessage;

export type FromWorker =
  | { kind: "loaded"; id: number; names: Array<string | null>; more: number; categories: string[]; rows: number }
  | { kind: "drawn"; id: number; drawn: Drawn | null; candles: Candles | null }
  | { kind: "progress"; id: number; rows: number }
  | { kind: "failed"; id: number; message: string };

export type { Points };
