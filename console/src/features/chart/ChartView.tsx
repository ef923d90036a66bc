/* A result as a chart. */
import { useState } from "preact/hooks";
import { exec } from "../../api/client";
import { adding } from "./adding";
import { savedFor } from "./saved";
import { notify } from "../../ui/notice";
import { newTab, tabs } from "../../editor/tabs";
import { currentView } from "../../editor/view";
import { plural, shownCount } from "../../results/format";
import type { ResultSet } from "../../results/resultset";
import { type Run, runJobs } from "../../results/run";
import { quoteName } from "../../sql/lexer";
import { userMap } from "../../state/owner";
import { Button } from "../../ui/Button";
import { MenuButton } from "../../ui/Menu";
import { ChartCanvas, type ChartState, NOT_DRAWN } from "./ChartCanvas";
import "./chart.css";
import { withInterval } from "../../sql/interval";
import { type Line, savePng } from "./plot";
import type { Picture } from "./source";
import { canWrap } from "../../sql/wrap";
import { type Range, xText } from "./sql";
import { type AxisOf, type ChartSpec, type ChartType, guess, TYPES, xKind } from "./spec";
import { isNumber } from "../../results/format";

/* What was chosen, for results of the same columns. */
const chosen = userMap<string, ChartSpec>();
const keyOf = (r: ResultSet): string => r.columns.map((c) => `${c.name}:${c.type}`).join("|");

/* Times of the range go into the statement, which then runs again; where it is no plain select, around it. */
async function writeInterval(run: Run, result: ResultSet, spec: ChartSpec, range: Range): Promise<void> {
  const column = result.columns[spec.x];
  if (column === undefined) return;
  const name = quoteName(column.name);
  const [lo, hi] = [xText(column.type, range.lo), xText(column.type, range.hi)];
  const around = `SELECT * FROM (\n${run.sql}\n) WHERE ${name} BETWEEN ${lo} AND ${hi}`;
  const inside = withInterval(run.sql, name, lo, hi);
  const text =
    inside !== null &&
    (await exec(`EXPLAIN ${inside}`).then(
      () => true,
      () => false,
    ))
      ? inside
      : around;
  const view = currentView();
  const tabId = tabs.get().active;
  if (view === null || tabId !== run.tabId) return;
  let from = view.state.sliceDoc(run.from, run.to) === run.sql ? run.from : view.state.doc.toString().indexOf(run.sql);
  if (from < 0) {
    newTab(text);
    from = 0;
  } else view.dispatch({ changes: { from, to: from + run.sql.length, insert: text } });
  const active = tabs.get().active;
  void runJobs(active, [
    {
      sql: text,
      from,
      to: from + text.length,
      params: result.params === "" ? [] : (JSON.parse(result.params) as string[]),
    },
  ]);
}

interface ToolsProps {
  result: ResultSet;
  spec: ChartSpec;
  picture: Picture | null;
  set: (part: Partial<ChartSpec>) => void;
}

const AXES: Array<[AxisOf, string]> = [
  ["left", "left axis"],
  ["right", "right axis"],
  ["own", "axis of its own"],
];

export function Tools({ result, spec, picture, set }: ToolsProps) {
  const columns = result.columns;
  const select = (
    label: string,
    name: string,
    value: string,
    options: Array<[string, string]>,
    onChange: (v: string) => void,
  ) => (
    <label class="chart-choice">
      {label}
      <select aria-label={name} value={value} onChange={(e) => onChange(e.currentTarget.value)}>
        {options.map(([v, t]) => (
          <option key={v} value={v}>
            {t}
          </option>
        ))}
      </select>
    </label>
  );
  const ys = columns.flatMap((c, i) => (isNumber(c) && i !== spec.x ? [i] : []));
  const toggle = (i: number) => {
    const next = spec.ys.includes(i) ? spec.ys.filter((y) => y !== i) : [...spec.ys, i].sort((a, b) => a - b);
    if (next.length > 0) set({ ys: next });
  };
  const label = (i: number) => columns[i]?.name ?? "";
  return (
    <>
      {select(
        "Type",
        "Chart type",
        spec.type,
        TYPES.map((t) => [t, t]),
        (v) => set({ type: v as ChartType }),
      )}
      {select(
        "x",
        "Column of the x axis",
        String(spec.x),
        columns.map((c, i) => [String(i), c.name]),
        (v) => set({ x: Number(v), ys: spec.ys.filter((y) => y !== Number(v)) }),
      )}
      <MenuButton
        label="Columns that are drawn"
        items={() => [
          ...ys.map((i) => ({ title: label(i), hint: spec.ys.includes(i) ? "✓" : "", run: () => toggle(i) })),
          ...(spec.type === "candle"
            ? []
            : spec.ys.flatMap((y) =>
                AXES.filter(([a]) => a !== (spec.axes[y] ?? "left")).map(([a, t]) => ({
                  title: `${label(y)}: ${t}`,
                  run: () => set({ axes: { ...spec.axes, [y]: a } }),
                })),
              )),
        ]}
      >
        y: {spec.ys.map(label).join(", ")}
      </MenuButton>
      {select(
        "by",
        "One line by each value of",
        String(spec.series),
        [
          ["-1", "nothing"],
          ...columns.flatMap((c, i) => (i !== spec.x && !isNumber(c) ? [[String(i), c.name] as [string, string]] : [])),
        ],
        (v) => set({ series: Number(v), candle: null }),
      )}
      {spec.type === "candle" &&
        picture !== null &&
        picture.names.length > 1 &&
        select(
          "of",
          "Candles of",
          spec.candle ?? picture.names[0] ?? "",
          picture.names.map((n) => [n ?? "null", n ?? "null"]),
          (candle) => set({ candle }),
        )}
    </>
  );
}

function Note({ picture, result }: { picture: Picture; result: ResultSet }) {
  const rows = picture.drawn?.rows ?? picture.candles?.rows ?? 0;
  const parts = [plural(rows, "row")];
  if (picture.drawn?.reduced === true)
    parts.push(
      `reduced to the least and greatest per pixel ${picture.where === "server" ? "by the server" : "in the browser"}`,
    );
  if (picture.candles !== null) parts.push(`${shownCount(picture.candles.x.length)} candles`);
  if (picture.more > 0) parts.push(`only the ${picture.names.length} most frequent of the series`);
  if (picture.cut) parts.push(`only the first ${shownCount(result.count)} rows`);
  return <span class="chart-note">{parts.join(", ")}</span>;
}

const shown = (v: number | null | undefined): string =>
  v === null || v === undefined ? "" : Number(v.toPrecision(8)).toLocaleString("en-US", { maximumFractionDigits: 8 });

/* What stands at the cursor, and lines that can be hidden. */
export function Legend({
  lines,
  picture,
  hidden,
  at,
  onToggle,
}: {
  lines: Line[];
  picture: Picture;
  hidden: ReadonlySet<string>;
  at: number | null;
  onToggle: (label: string) => void;
}) {
  const c = picture.candles;
  if (c !== null)
    return (
      <div class="chart-legend candles">
        {at !== null && c.x[at] !== undefined && (
          <span>
            open {shown(c.open[at])} · high {shown(c.high[at])} · low {shown(c.low[at])} · close {shown(c.close[at])}
          </span>
        )}
      </div>
    );
  return (
    <div class="chart-legend" role="group" aria-label="Lines">
      {lines.map((l) => (
        <button
          key={l.label}
          type="button"
          class="legend-item"
          aria-pressed={!hidden.has(l.label)}
          onClick={() => onToggle(l.label)}
        >
          <span class="legend-swatch" style={{ background: l.colour }} aria-hidden="true" />
          {l.label} <span class="legend-value">{at === null ? "" : shown(l.values[at])}</span>
        </button>
      ))}
    </div>
  );
}

export function ChartView({ run }: { run: Run }) {
  const result = run.result as ResultSet;
  const [spec, setSpec] = useState<ChartSpec | null>(
    () => chosen.get(keyOf(result)) ?? guess(result.columns, result.timestamp),
  );
  const [ranges, setRanges] = useState<Range[]>([]);
  const [state, setState] = useState<ChartState>(NOT_DRAWN);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [at, setAt] = useState<number | null>(null);
  const [legend, setLegend] = useState(true);
  const range = ranges[ranges.length - 1] ?? null;
  const { picture, lines, chart } = state;
  const set = (part: Partial<ChartSpec>) => {
    if (spec === null) return;
    const next = { ...spec, ...part };
    const free = result.columns.findIndex((c, i) => isNumber(c) && i !== next.x);
    if (next.ys.length === 0) next.ys = free < 0 ? [] : [free];
    if (next.ys.length === 0) return;
    chosen.set(keyOf(result), next);
    if (next.x !== spec.x) setRanges([]);
    setSpec(next);
  };
  if (spec === null)
    return <p class="side-note">A chart needs a column of numbers and another column to set it against.</p>;
  const canWrite = range !== null && xKind(result.columns[spec.x]) !== "category" && canWrap(run.sql, result.columns);
  const flipLine = (label: string) => {
    const next = new Set(hidden);
    if (!next.delete(label)) next.add(label);
    setHidden(next);
  };
  return (
    <div class="chart">
      <div class="chart-bar">
        <Tools result={result} spec={spec} picture={picture} set={set} />
        <Button aria-pressed={legend} onClick={() => setLegend(!legend)}>
          Legend
        </Button>
        <Button
          icon="download"
          label="Save as PNG"
          disabled={chart === null}
          onClick={() =>
            chart !== null &&
            savePng(chart, lines, picture?.candles != null ? (spec.candle ?? picture.names[0] ?? "") : "", "chart.png")
          }
        />
        <Button
          icon="board"
          label="Put on a board"
          onClick={() => adding.set({ cell: { text: run.sql, spec: savedFor(spec, result.columns) } })}
        />
        {range !== null && <Button onClick={() => setRanges(ranges.slice(0, -1))}>Zoom out</Button>}
        {canWrite && (
          <Button
            label="The interval goes into the statement, which runs again"
            onClick={() =>
              void writeInterval(run, result, spec, range).catch((e: unknown) => notify(String(e), "error"))
            }
          >
            Write into the query
          </Button>
        )}
        <span class="chart-status" role="status">
          {state.busy
            ? `Reading${state.read > 0 ? ` ${plural(state.read, "row")}` : ""} …`
            : picture !== null && <Note picture={picture} result={result} />}
        </span>
      </div>
      {state.problem !== null && (
        <p class="form-error side-note" role="alert">
          {state.problem}
        </p>
      )}
      {legend && picture !== null && (
        <Legend lines={lines} picture={picture} hidden={hidden} at={at} onToggle={flipLine} />
      )}
      <ChartCanvas
        result={result}
        spec={spec}
        range={range}
        hidden={hidden}
        onZoom={(r) => setRanges((list) => [...list, r])}
        onCursor={setAt}
        onState={(part) => setState((now) => ({ ...now, ...part }))}
      />
    </div>
  );
}
