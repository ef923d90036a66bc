/* The time range of the statement at the cursor: chosen, and written into its WHERE. */
import { useEffect, useState } from "preact/hooks";
import { extentOf, type Extent, reserved } from "../api/catalog";
import { withCondition } from "../sql/interval";
import { Choice } from "../ui/fields";
import { quoteName, quoteText, statementAt } from "../sql/lexer";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { runHere } from "./commands";
import { asTime, QUICK, timeColumns } from "./range";
import { currentView } from "./view";
import { range } from "./rangeOpen";

const plainTime = (iso: string | null): string => (iso ?? "").slice(0, 19).replace("T", " ");

/* The statement at the cursor when the dialog opens, its columns of time, and the condition on one of them. */
function useTimeRange() {
  const view = currentView();
  const [statement] = useState(() =>
    view === null ? null : statementAt(view.state.doc.toString(), view.state.selection.main.head),
  );
  const [columns] = useState(() => timeColumns(statement?.text ?? ""));
  const [column, setColumn] = useState(columns[0]?.name ?? "");
  const [extent, setExtent] = useState<Extent | null>(null);
  useEffect(() => {
    let live = true;
    setExtent(null);
    const table = columns.find((c) => c.name === column)?.table;
    if (table !== undefined) void extentOf(table, column).then((found) => live && setExtent(found));
    return () => void (live = false);
  }, [column]);
  const [problem, setProblem] = useState<string | null>(null);
  const name = quoteName(column, (word) => word !== "timestamp" && reserved(word)); /* this one may stand plain */
  const close = () => range.set({ open: false });
  const apply = (condition: string) => {
    if (view === null || statement === null) return close();
    const next = withCondition(statement.text, name, condition);
    if (next === null)
      return setProblem("The statement has more than one SELECT: write the condition where it is meant.");
    if (next !== statement.text)
      view.dispatch({
        changes: { from: statement.from, to: statement.to, insert: next },
        selection: { anchor: statement.from + Math.min(next.length, view.state.selection.main.head - statement.from) },
      });
    close();
    view.focus();
    if (condition !== "") runHere();
  };
  return { columns, column, setColumn, extent, problem, name, close, apply };
}
type Model = ReturnType<typeof useTimeRange>;

function QuickRanges({ model }: { model: Model }) {
  const { column, extent, name, apply } = model;
  return (
    <div class="range-quick" role="group" aria-label="Ranges up to now">
      {QUICK.map(([title, interval], i) => (
        <Button
          key={interval}
          class="button"
          {...(i === 0 ? { "data-first": "" } : {})}
          disabled={column === ""}
          onClick={() => apply(`${name} IN ${quoteText(interval)}`)}
        >
          {title}
        </Button>
      ))}
      {extent?.hi != null && (
        <Button class="button" onClick={() => apply(`${name} IN ${quoteText(extent.hi?.slice(0, 10) ?? "")}`)}>
          Last day with rows
        </Button>
      )}
    </div>
  );
}

function ExtentText({ extent }: { extent: Extent }) {
  return (
    <p class="range-extent">
      {extent.hi === null ? (
        "The table has no rows."
      ) : (
        <>
          Rows from {plainTime(extent.lo)} to {plainTime(extent.hi)} UTC.
        </>
      )}
    </p>
  );
}

export function TimeRangeDialog() {
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  const model = useTimeRange();
  const { columns, column, setColumn, extent, problem, name, close, apply } = model;
  const between = `${name} BETWEEN ${asTime(from)} AND ${asTime(to)}`;
  return (
    <Dialog title="Time range of the statement" onClose={close}>
      {columns.length === 0 ? (
        <p>No table with a designated timestamp stands in the FROM of the statement at the cursor.</p>
      ) : (
        <div class="form">
          {columns.length > 1 && (
            <Choice label="Column" value={column} options={columns.map((c) => [c.name, c.name])} onChange={setColumn} />
          )}
          <QuickRanges model={model} />
          {extent !== null && <ExtentText extent={extent} />}
          <div class="form-row">
            <label>
              From (UTC)
              <input type="datetime-local" step="1" value={from} onInput={(e) => setFrom(e.currentTarget.value)} />
            </label>
            <label>
              To (UTC)
              <input type="datetime-local" step="1" value={to} onInput={(e) => setTo(e.currentTarget.value)} />
            </label>
          </div>
          {problem !== null && (
            <p class="form-error" role="alert">
              {problem}
            </p>
          )}
          <div class="form-buttons">
            <Button class="button" onClick={() => apply("")}>
              Take it away
            </Button>
            <Button
              class="button primary"
              disabled={column === "" || from === "" || to === ""}
              onClick={() => apply(between)}
            >
              Write and run
            </Button>
          </div>
        </div>
      )}
    </Dialog>
  );
}
