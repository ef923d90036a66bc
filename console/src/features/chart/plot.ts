/* uPlot, given a picture: lines, areas, bars, points, candles; colours from the style sheet. */
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Column } from "../../api/types";
import type { Picture } from "./source";
import { type Range } from "./sql";
import { type ChartSpec, xKind } from "./spec";

export interface Line {
  label: string;
  colour: string;
  axis: string; /* name of the scale */
  values: Array<number | null>;
}

const css = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export const COLOURS = 10;
export const colourOf = (i: number): string => css(`--series-${(i % COLOURS) + 1}`);

export function linesOf(picture: Picture, columns: Column[], spec: ChartSpec): Line[] {
  return (picture.drawn?.lines ?? []).map((l, i) => {
    const y = spec.ys[l.y] ?? 0;
    const column = columns[y]?.name ?? "";
    const value = picture.names[l.series] ?? "null";
    const axis = spec.axes[y] ?? "left";
    return {
      label: spec.series < 0 ? column : spec.ys.length > 1 ? `${value} ${column}` : value,
      colour: colourOf(i),
      axis: axis === "own" ? `own${y}` : axis,
      values: l.values,
    };
  });
}

function candlePaths(picture: Picture): (u: uPlot) => null {
  const c = picture.candles;
  return (u) => {
    if (c === null) return null;
    const { ctx } = u;
    const near =
      c.x.length > 1
        ? Math.min(
            ...c.x
              .slice(1)
              .map((v, i) => v - (c.x[i] as number))
              .filter((d) => d > 0),
          )
        : 1;
    const step = Math.abs(
      u.valToPos((c.x[0] ?? 0) + (c.width || near), "x", true) - u.valToPos(c.x[0] ?? 0, "x", true),
    );
    const body = Math.max(1, Math.min(step * 0.7, 40));
    ctx.save();
    ctx.beginPath();
    ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    ctx.clip();
    ctx.lineWidth = Math.max(1, devicePixelRatio);
    const [up, down] = [css("--candle-up"), css("--candle-down")];
    c.x.forEach((at, i) => {
      const x = u.valToPos(at, "x", true);
      const y = (v: number) => u.valToPos(v, "left", true);
      const [o, h, l, e] = [c.open[i] as number, c.high[i] as number, c.low[i] as number, c.close[i] as number];
      ctx.strokeStyle = ctx.fillStyle = e >= o ? up : down;
      ctx.beginPath();
      ctx.moveTo(x, y(h));
      ctx.lineTo(x, y(l));
      ctx.stroke();
      const top = Math.min(y(o), y(e));
      const height = Math.max(1, Math.abs(y(o) - y(e)));
      /* hollow where it rises: told apart without colour, too */
      if (e >= o) {
        ctx.clearRect(x - body / 2, top, body, height);
        ctx.strokeRect(x - body / 2, top, body, height);
      } else ctx.fillRect(x - body / 2, top, body, height);
    });
    ctx.restore();
    return null;
  };
}

/* Bars of several lines stand beside each other, from 0. */
function barPaths(picture: Picture, lines: Line[], at: number): (u: uPlot) => null {
  const x = picture.drawn?.x ?? [];
  const line = lines[at] as Line;
  return (u) => {
    const { ctx } = u;
    const step =
      x.length > 1
        ? Math.min(
            ...x
              .slice(1, 2000)
              .map((v, i) => u.valToPos(v, "x", true) - u.valToPos(x[i] as number, "x", true))
              .filter((d) => d > 0),
          )
        : u.bbox.width / 2;
    const shown = lines.filter((l) => u.series[lines.indexOf(l) + 1]?.show !== false);
    const width = Math.max(1, Math.min(step * 0.8, 120 * devicePixelRatio) / shown.length);
    ctx.save();
    ctx.beginPath();
    ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    ctx.clip();
    ctx.fillStyle = line.colour;
    const zero = u.valToPos(0, line.axis, true);
    line.values.forEach((v, i) => {
      if (v === null) return;
      const y = u.valToPos(v, line.axis, true);
      const left = u.valToPos(x[i] as number, "x", true) + (shown.indexOf(line) - shown.length / 2) * width;
      ctx.fillRect(left, Math.min(y, zero), Math.max(1, width - (width > 4 ? 1 : 0)), Math.abs(y - zero));
    });
    ctx.restore();
    return null;
  };
}

function seriesOf(lines: Line[], picture: Picture, spec: ChartSpec, hidden: ReadonlySet<string>): uPlot.Series[] {
  if (picture.candles !== null)
    return [
      { label: "low", scale: "left", paths: candlePaths(picture), points: { show: false } },
      { label: "high", scale: "left", paths: () => null, points: { show: false } },
    ];
  return lines.map((l, at) => ({
    label: l.label,
    scale: l.axis,
    show: !hidden.has(l.label),
    stroke: l.colour,
    width: spec.type === "scatter" ? 0 : spec.type === "bar" ? 1 : 1.5,
    spanGaps: spec.series >= 0 || picture.drawn?.reduced === true,
    ...(spec.type === "area" ? { fill: `${l.colour}40` } : {}),
    ...(spec.type === "bar"
      ? { paths: barPaths(picture, lines, at) }
      : spec.type === "scatter"
        ? { paths: () => null }
        : {}),
    points:
      spec.type === "scatter"
        ? { show: true, size: 5, fill: l.colour, stroke: l.colour }
        : spec.type === "bar"
          ? { show: false }
          : {},
  }));
}

/*
 * Times as the grid has them: 24 hours, year first. See uPlot's axis.values: unit, form, then forms where year, day,
 * minute change.
 */
const DAY = "\n{YYYY}-{MM}-{DD}";
const MINUTE = `${DAY} {HH}:{mm}`;
const TIMES: unknown = [
  [86400 * 365, "{YYYY}", null, null, null, null, null, null, 1],
  [86400 * 28, "{YYYY}-{MM}", null, null, null, null, null, null, 1],
  [86400, "{MM}-{DD}", "\n{YYYY}", null, null, null, null, null, 1],
  [60, "{HH}:{mm}", DAY, null, DAY, null, null, null, 1],
  [1, ":{ss}", MINUTE, null, MINUTE, null, "\n{HH}:{mm}", null, 1],
  [0.001, ":{ss}.{fff}", MINUTE, null, MINUTE, null, "\n{HH}:{mm}", null, 1],
];

/* Bars and candles have a width: half a step more on both sides. */
function padded(x: number[]): (u: uPlot, min: number, max: number) => [number, number] {
  const near = Math.min(
    ...x
      .slice(1, 2000)
      .map((v, i) => v - (x[i] as number))
      .filter((d) => d > 0),
  );
  const half = Number.isFinite(near) ? near / 2 : 0.5;
  return (_, min, max) => [min - half, max + half];
}

/* An event at a place of the x axis. */
export interface Mark {
  x: number; /* seconds, or the number */
  text: string;
}

const MARK_MAX = 40; /* letters */

function drawMarks(u: uPlot, marks: Mark[]): void {
  const { ctx, bbox } = u;
  const colour = css("--mark");
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.lineWidth = devicePixelRatio;
  ctx.font = `${11 * devicePixelRatio}px ${css("--sans")}`;
  ctx.textBaseline = "top";
  ctx.textAlign = "left";
  let free = bbox.left; /* texts do not lie over each other: the next one goes a line lower */
  let row = 0;
  for (const m of marks) {
    const x = Math.round(u.valToPos(m.x, "x", true)) + 0.5;
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const text = m.text.length > MARK_MAX ? `${m.text.slice(0, MARK_MAX)}…` : m.text;
    const width = ctx.measureText(text).width;
    const gap = 4 * devicePixelRatio;
    const left = x + gap + width > bbox.left + bbox.width ? x - gap - width : x + gap;
    row = left < free ? (row + 1) % 3 : 0;
    free = left + width + gap;
    ctx.fillText(text, left, bbox.top + gap + row * 14 * devicePixelRatio);
  }
  ctx.restore();
}

export interface PlotOptions {
  host: HTMLElement;
  picture: Picture;
  columns: Column[];
  spec: ChartSpec;
  hidden: ReadonlySet<string>;
  marks: Mark[]; /* in order of x */
  utc: boolean;
  width: number;
  height: number;
  onZoom: (range: Range) => void;
  onCursor: (u: uPlot, index: number | null) => void;
}

export function plot(o: PlotOptions): { chart: uPlot; lines: Line[] } {
  const lines = linesOf(o.picture, o.columns, o.spec);
  const kind = xKind(o.columns[o.spec.x]);
  const c = o.picture.candles;
  const axis = {
    stroke: css("--text-dim"),
    font: `12px ${css("--sans")}`,
    grid: { stroke: css("--border"), width: 1 },
    ticks: { stroke: css("--border"), width: 1 },
  };
  const scales = c !== null ? ["left"] : [...new Set(lines.map((l) => l.axis))];
  const sided = (scale: string): 1 | 3 => (scale === "left" ? 3 : 1);
  const options: uPlot.Options = {
    width: o.width,
    height: o.height,
    legend: { show: false },
    cursor: { drag: { x: true, y: false, setScale: false } },
    tzDate: (t) => (o.utc ? uPlot.tzDate(new Date(t * 1000), "Etc/UTC") : new Date(t * 1000)),
    scales: {
      x: {
        time: kind === "time",
        ...(o.spec.type === "bar" || c !== null ? { range: padded(c?.x ?? o.picture.drawn?.x ?? []) } : {}),
      },
      ...Object.fromEntries(
        scales.map((s) => [
          s,
          o.spec.type === "bar"
            ? {
                range: (_u: uPlot, min: number, max: number) =>
                  uPlot.rangeNum(Math.min(0, min), Math.max(0, max), 0.1, true),
              }
            : {},
        ]),
      ),
    },
    series: [{}, ...seriesOf(lines, o.picture, o.spec, o.hidden)],
    axes: [
      {
        ...axis,
        ...(kind === "time" ? { values: TIMES as uPlot.Axis.Values } : {}),
        ...(kind === "category"
          ? {
              values: (_u: uPlot, splits: number[]) =>
                splits.map((s) => (Number.isInteger(s) ? (o.picture.categories[s] ?? "").slice(0, 14) : "")),
              incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
            }
          : {}),
      },
      ...scales.map((scale, i) => ({
        ...axis,
        scale,
        side: sided(scale),
        size: (_u: uPlot, values: string[] | null) => 22 + 7.4 * Math.max(3, ...(values ?? []).map((v) => v.length)),
        ...(i > 0 ? { grid: { show: false } } : {}),
        ...(scales.length > 1 ? { stroke: lines.find((l) => l.axis === scale)?.colour ?? axis.stroke } : {}),
      })),
    ],
    hooks: {
      setSelect: [
        (u) => {
          if (u.select.width < 4) return;
          o.onZoom({ lo: u.posToVal(u.select.left, "x"), hi: u.posToVal(u.select.left + u.select.width, "x") });
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
      draw: [(u) => drawMarks(u, o.marks)],
      setCursor: [(u) => o.onCursor(u, u.cursor.idx ?? null)],
    },
  };
  const data: uPlot.AlignedData =
    c !== null ? [c.x, c.low, c.high] : [o.picture.drawn?.x ?? [], ...lines.map((l) => l.values)];
  return { chart: new uPlot(options, data, o.host), lines };
}

/* The picture with its ground, title and legend, as a file. */
export function savePng(chart: uPlot, lines: Line[], title: string, file: string): void {
  const from = chart.ctx.canvas;
  const scale = devicePixelRatio || 1;
  const head = 28 * scale;
  const canvas = document.createElement("canvas");
  canvas.width = from.width;
  canvas.height = from.height + head;
  const ctx = canvas.getContext("2d");
  if (ctx === null) return;
  ctx.fillStyle = css("--surface");
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  ctx.font = `${12 * scale}px ${css("--sans")}`;
  ctx.textBaseline = "middle";
  let x = 12 * scale;
  const put = (text: string, colour: string) => {
    ctx.fillStyle = colour;
    ctx.fillText(text, x, head / 2);
    x += ctx.measureText(text).width + 16 * scale;
  };
  put(title, css("--text"));
  for (const l of lines) put(`● ${l.label}`, l.colour);
  ctx.drawImage(from, 0, head);
  canvas.toBlob((blob) => {
    if (blob === null) return;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = file;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }, "image/png");
}
