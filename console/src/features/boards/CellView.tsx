/* What a cell shows: text, or the rows of its statement as a chart, a table or one value. */
import { useMemo, useState } from "preact/hooks";
import { ChartCanvas, type ChartState, NOT_DRAWN } from "../chart/ChartCanvas";
import { Legend } from "../chart/ChartView";
import type { Mark } from "../chart/plot";
import { guess, xKind } from "../chart/spec";
import type { Range } from "../chart/sql";
import { cellShown, isNumber, plural } from "../../results/format";
import type { ResultSet } from "../../results/resultset";
import { prefs } from "../../state/prefs";
import { useStore } from "../../state/store";
import { Button } from "../../ui/Button";
import { specFor } from "../chart/saved";
import type { Asked, Cell } from "./board";
import { Markdown } from "./Markdown";
import { useAsked } from "./useAsked";

const ROWS_MAX = 200;
const NOT_HIDDEN: ReadonlySet<string> = new Set();

function Rows({ result }: { result: ResultSet }) {
  const utc = useStore(prefs, (p) => p.utc);
  const rows = Array.from({ length: Math.min(result.count, ROWS_MAX) }, (_, i) => result.row(i, false)).filter(
    (r) => r !== undefined,
  );
  return (
    <div class="board-rows" tabIndex={0} role="region" aria-label="Rows">
      <table>
        <thead>
          <tr>
            {result.columns.map((c, i) => (
              <th key={i} class={isNumber(c) ? "number" : ""} title={c.type}>
                {c.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((r, n) => (
            <tr key={n}>
              {result.columns.map((c, i) => (
                <td key={i} class={r[i] === null ? "null" : isNumber(c) ? "number" : ""}>
                  {cellShown(r[i] ?? null, c, utc)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {result.count > rows.length && (
        <p class="side-note">
          The first {rows.length} of {plural(result.count, "row")}.
        </p>
      )}
    </div>
  );
}

/* The last number of the first row, else its last column. */
function OneValue({ result }: { result: ResultSet }) {
  const utc = useStore(prefs, (p) => p.utc);
  const row = result.row(0, false);
  const numbers = result.columns.flatMap((c, i) => (isNumber(c) ? [i] : []));
  const at = numbers[numbers.length - 1] ?? result.columns.length - 1;
  const column = result.columns[at];
  if (row === undefined || column === undefined) return null;
  const value = row[at] ?? null;
  const shown =
    typeof value === "number"
      ? Number(value.toPrecision(8)).toLocaleString("en-US", { maximumFractionDigits: 6 })
      : /^(INT|LONG|SHORT|BYTE)$/.test(column.type) && typeof value === "string"
        ? value.replace(/\B(?=(\d{3})+$)/g, ",")
        : cellShown(value, column, utc);
  return (
    <div class="board-value">
      <strong>{shown}</strong>
      <span>{column.name}</span>
    </div>
  );
}

function Drawn({ cell, result, marks }: { cell: Cell; result: ResultSet; marks: Mark[] }) {
  const [ranges, setRanges] = useState<Range[]>([]);
  const [state, setState] = useState<ChartState>(NOT_DRAWN);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(NOT_HIDDEN);
  const [at, setAt] = useState<number | null>(null);
  const columns = JSON.stringify(result.columns);
  const spec = useMemo(
    () => specFor(cell.spec, result.columns) ?? guess(result.columns, result.timestamp),
    [cell.spec, columns],
  );
  if (spec === null)
    return (
      <p class="side-note">
        A chart needs a column of numbers and another column to set it against. Show it as a table or as a value.
      </p>
    );
  const flip = (label: string) => {
    const next = new Set(hidden);
    if (!next.delete(label)) next.add(label);
    setHidden(next);
  };
  return (
    <div class="chart">
      {state.problem !== null && (
        <p class="form-error side-note" role="alert">
          {state.problem}
        </p>
      )}
      {ranges.length > 0 && (
        <Button class="button board-unzoom" onClick={() => setRanges(ranges.slice(0, -1))}>
          Zoom out
        </Button>
      )}
      {state.picture !== null && (state.lines.length > 1 || spec.type === "candle") && (
        <Legend lines={state.lines} picture={state.picture} hidden={hidden} at={at} onToggle={flip} />
      )}
      <ChartCanvas
        result={result}
        spec={spec}
        range={ranges[ranges.length - 1] ?? null}
        hidden={hidden}
        {...(xKind(result.columns[spec.x]) === "time" ? { marks } : {})}
        onZoom={(r) => setRanges((list) => [...list, r])}
        onCursor={setAt}
        onState={(part) => setState((now) => ({ ...now, ...part }))}
      />
    </div>
  );
}

export function CellBody({
  cell,
  asked,
  tick,
  marks,
}: {
  cell: Cell;
  asked: Asked | null;
  tick: number;
  marks: Mark[];
}) {
  const now = useAsked(cell.kind === "sql" ? asked : null, tick);
  if (cell.kind === "text")
    return cell.text.trim() === "" ? (
      <p class="side-note">Nothing is written here yet.</p>
    ) : (
      <Markdown text={cell.text} />
    );
  const { result } = now;
  return (
    <div class="board-answer" data-busy={now.busy || (!now.done && now.problem === null && asked !== null)}>
      {cell.sql && <pre class="board-sql">{cell.text}</pre>}
      {now.problem !== null && (
        <p class="form-error side-note" role="alert">
          {now.problem}
        </p>
      )}
      {asked === null && <p class="side-note">This cell has no statement yet.</p>}
      {result === null && now.done && <p class="side-note">The statement ran; it has no rows.</p>}
      {result !== null &&
        (result.count === 0 ? (
          <p class="side-note">No rows.</p>
        ) : cell.show === "table" ? (
          <Rows result={result} />
        ) : cell.show === "value" ? (
          <OneValue result={result} />
        ) : (
          <Drawn cell={cell} result={result} marks={marks} />
        ))}
    </div>
  );
}
