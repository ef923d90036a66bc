/* What a chart draws, as it is kept: on a board, or on its way to one. Pure. */
import type { AxisOf, ChartSpec, ChartType } from "./spec";

/* By names of columns: a statement that is changed may have them elsewhere. */
export interface SavedSpec {
  type: ChartType;
  x: string;
  ys: string[];
  series: string | null;
  axes: Record<string, AxisOf>;
  candle: string | null;
}

type Columns = Array<{ name: string }>;

/* null: the columns it speaks of are not there any more. */
export function specFor(saved: SavedSpec | null, columns: Columns): ChartSpec | null {
  if (saved === null) return null;
  const at = (name: string): number => columns.findIndex((c) => c.name === name);
  const ys = saved.ys.map(at).filter((i) => i >= 0);
  const x = at(saved.x);
  const series = saved.series === null ? -1 : at(saved.series);
  if (x < 0 || ys.length === 0 || (saved.series !== null && series < 0)) return null;
  return {
    type: saved.type,
    x,
    ys,
    series,
    candle: saved.candle,
    axes: Object.fromEntries(Object.entries(saved.axes).flatMap(([name, a]) => (at(name) < 0 ? [] : [[at(name), a]]))),
  };
}

export function savedFor(spec: ChartSpec, columns: Columns): SavedSpec {
  const name = (i: number): string => columns[i]?.name ?? "";
  return {
    type: spec.type,
    x: name(spec.x),
    ys: spec.ys.map(name),
    series: spec.series < 0 ? null : name(spec.series),
    candle: spec.candle,
    axes: Object.fromEntries(Object.entries(spec.axes).map(([i, a]) => [name(Number(i)), a])),
  };
}
