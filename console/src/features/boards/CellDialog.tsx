/* One cell, changed: its text, and how the rows are shown, with a look at them. */
import { useState } from "preact/hooks";
import { type ChartState, ChartCanvas, NOT_DRAWN } from "../chart/ChartCanvas";
import { Tools } from "../chart/ChartView";
import { type ChartSpec, guess } from "../chart/spec";
import { Check, Choice } from "../../ui/fields";
import { isNumber } from "../../results/format";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { savedFor, specFor } from "../chart/saved";
import type { Asked, Cell, Show } from "./board";
import { CellBody } from "./CellView";
import { SqlField } from "./SqlField";
import { useAsked } from "./useAsked";

const NOT_HIDDEN: ReadonlySet<string> = new Set();
const nothing = () => undefined;

/* The chart and its choices; they go into the cell by the names of columns. */
function ChartPart({ cell, asked, set }: { cell: Cell; asked: Asked; set: (part: Partial<Cell>) => void }) {
  const { result, problem } = useAsked(asked, 0);
  const [state, setState] = useState<ChartState>(NOT_DRAWN);
  if (problem !== null)
    return (
      <p class="form-error" role="alert">
        {problem}
      </p>
    );
  if (result === null) return null;
  const spec = specFor(cell.spec, result.columns) ?? guess(result.columns, result.timestamp);
  if (spec === null)
    return <p class="side-note">A chart needs a column of numbers and another column to set it against.</p>;
  const change = (part: Partial<ChartSpec>) => {
    const next = { ...spec, ...part };
    if (next.ys.length === 0)
      next.ys = result.columns.flatMap((c, i) => (isNumber(c) && i !== next.x ? [i] : [])).slice(0, 1);
    if (next.ys.length > 0) set({ spec: savedFor(next, result.columns) });
  };
  return (
    <div class="chart">
      <div class="chart-bar">
        <Tools result={result} spec={spec} picture={state.picture} set={change} />
      </div>
      <ChartCanvas
        result={result}
        spec={spec}
        range={null}
        hidden={NOT_HIDDEN}
        onZoom={nothing}
        onCursor={nothing}
        onState={(part) => setState((now) => ({ ...now, ...part }))}
      />
    </div>
  );
}

interface Props {
  cell: Cell;
  ask: (sql: string) => Asked | null;
  onKeep: (cell: Cell) => void;
  onClose: () => void;
}

export function CellDialog({ cell: before, ask, onKeep, onClose }: Props) {
  const [cell, setCell] = useState(before);
  const [looked, setLooked] = useState(before.text); /* the text whose rows are seen */
  const set = (part: Partial<Cell>) => setCell((now) => ({ ...now, ...part }));
  const asked = ask(looked);
  return (
    <Dialog title={cell.kind === "text" ? "Text" : "Chart, table or value"} onClose={onClose} wide>
      <div class="form">
        <div class="form-row">
          <label class="wide-field">
            Title
            <input
              type="text"
              value={cell.title}
              maxLength={200}
              onInput={(e) => set({ title: e.currentTarget.value })}
            />
          </label>
          {cell.kind === "sql" && (
            <Choice
              label="Show it as"
              value={cell.show}
              options={[
                ["chart", "a chart"],
                ["table", "a table"],
                ["value", "one value"],
              ]}
              onChange={(v) => set({ show: v as Show })}
            />
          )}
        </div>
        {cell.kind === "text" ? (
          <label>
            Markdown
            <textarea rows={10} value={cell.text} onInput={(e) => set({ text: e.currentTarget.value })} />
          </label>
        ) : (
          <>
            <SqlField
              label="SQL of the cell"
              value={cell.text}
              onChange={(text) => set({ text })}
              onRun={() => setLooked(cell.text)}
            />
            <div class="form-row">
              <Button class="button" icon="play" onClick={() => setLooked(cell.text)}>
                Run
              </Button>
              <Check label="Show the statement, too" value={cell.sql} onChange={(sql) => set({ sql })} />
            </div>
          </>
        )}
        <div class="board-look">
          {cell.kind === "sql" && cell.show === "chart" && asked !== null ? (
            <ChartPart cell={cell} asked={asked} set={set} />
          ) : (
            <CellBody cell={{ ...cell, sql: false }} asked={asked} tick={0} marks={[]} />
          )}
        </div>
        <div class="form-buttons">
          <Button onClick={onClose}>Close</Button>
          <Button class="button primary" onClick={() => onKeep(cell)}>
            Apply
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
