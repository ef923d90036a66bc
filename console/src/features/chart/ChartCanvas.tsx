/*
 * The picture of a chart: points are fetched for what is to be seen, and drawn; what stands around it is its owner's.
 */
import { useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import type { ResultSet } from "../../results/resultset";
import { prefs } from "../../state/prefs";
import { useStore } from "../../state/store";
import "./chart.css";
import { type Line, type Mark, plot } from "./plot";
import { openSource, type Picture, type Source } from "./source";
import type { ChartSpec } from "./spec";
import type { Range } from "./sql";

export interface ChartState {
  busy: boolean;
  read: number; /* rows so far */
  problem: string | null;
  picture: Picture | null;
  lines: Line[];
  chart: uPlot | null;
}
export const NOT_DRAWN: ChartState = { busy: true, read: 0, problem: null, picture: null, lines: [], chart: null };

interface Props {
  result: ResultSet;
  spec: ChartSpec;
  range: Range | null;
  hidden: ReadonlySet<string>;
  marks?: Mark[];
  onZoom: (range: Range) => void;
  onCursor: (index: number | null) => void;
  onState: (part: Partial<ChartState>) => void;
}

const CANDLE_PX = 4;
const NO_MARKS: Mark[] = [];

export function ChartCanvas({ result, spec, range, hidden, marks = NO_MARKS, onZoom, onCursor, onState }: Props) {
  const utc = useStore(prefs, (p) => p.utc);
  const theme = useStore(prefs, (p) => p.theme);
  const [picture, setPicture] = useState<{ of: ResultSet; now: Picture } | null>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [systemDark, flip] = useReducer((n: number) => n + 1, 0);
  const host = useRef<HTMLDivElement>(null);
  const source = useRef<Source | null>(null);
  const specKey = JSON.stringify({
    ...spec,
    axes: 0,
    type: spec.type === "candle" ? "candle" : spec.type === "bar" ? "bar" : "line",
  });
  const pixels = Math.max(50, Math.round(size.width - 80));
  const wide = Math.round(pixels / 100); /* asked again when it is another by 100 pixels */
  useEffect(() => {
    const el = host.current;
    if (el === null) return;
    const watch = new ResizeObserver(() => setSize({ width: el.clientWidth, height: el.clientHeight }));
    watch.observe(el);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const onDark = () => flip(0);
    dark.addEventListener("change", onDark);
    return () => {
      watch.disconnect();
      dark.removeEventListener("change", onDark);
    };
  }, []);
  useEffect(() => {
    source.current = openSource(result, spec, (read) => onState({ read }));
    return () => source.current?.close();
  }, [specKey, result]);
  const rangeKey = range === null ? "" : `${range.lo},${range.hi}`;
  useEffect(() => {
    if (size.width === 0) return;
    let live = true;
    onState({ busy: true, read: 0, problem: null });
    source.current?.draw(range, spec.type === "candle" ? Math.round(pixels / CANDLE_PX) : pixels).then(
      (now) => {
        if (!live) return;
        setPicture({ of: result, now });
        onState({ busy: false, read: 0, problem: null, picture: now });
      },
      (e: unknown) => live && onState({ busy: false, read: 0, problem: e instanceof Error ? e.message : String(e) }),
    );
    return () => {
      live = false;
    };
  }, [specKey, result, rangeKey, wide, size.width > 0]);
  const drawKey = useMemo(
    () => ({}),
    [picture, utc, theme, systemDark, hidden, marks, JSON.stringify(spec.axes), spec.type, size.width, size.height],
  );
  useEffect(() => {
    const el = host.current;
    if (el === null || picture === null || size.width === 0) return;
    const now = plot({
      host: el,
      picture: picture.now,
      columns: picture.of.columns,
      spec,
      hidden,
      marks,
      utc,
      width: size.width,
      height: Math.max(80, size.height),
      onZoom,
      onCursor: (_, i) => onCursor(i),
    });
    onState({ chart: now.chart, lines: now.lines });
    return () => {
      now.chart.destroy();
      onState({ chart: null });
    };
  }, [drawKey]);
  return (
    <div
      class="chart-host"
      ref={host}
      role="img"
      aria-label={
        `Chart: ${spec.type} of ${spec.ys.map((y) => result.columns[y]?.name).join(", ")} over ` +
        `${result.columns[spec.x]?.name ?? ""}`
      }
    />
  );
}
