/* One board: seen, refreshed, changed, kept. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { catalog } from "../../api/catalog";
import { notify } from "../../ui/notice";
import { go } from "../../state/route";
import type { Mark } from "../chart/plot";
import { seconds } from "../chart/seconds";
import { timeColumns, QUICK } from "../../editor/range";
import { newTab } from "../../editor/tabs";
import { toClipboard } from "../../results/copy";
import { isTime } from "../../results/format";
import { userMap } from "../../state/owner";
import { useStore } from "../../state/store";
import { Button } from "../../ui/Button";
import { confirm } from "../../ui/Confirm";
import { Dialog } from "../../ui/Dialog";
import { Icon } from "../../ui/Icon";
import { MenuButton } from "../../ui/Menu";
import {
  askedOf,
  type Asked,
  type Board,
  boardOf,
  boardText,
  type Cell,
  HEIGHTS,
  newBoard,
  newCell,
  REFRESHES,
  type Variable,
  WIDTHS,
  withVariables,
  boardPath,
} from "./board";
import { CellDialog } from "./CellDialog";
import { CellBody } from "./CellView";
import { boards, loadBoards, putBoard } from "./store";
import { useAsked } from "./useAsked";

/* Changes that are not kept yet, by name: leaving the page does not lose them. */
const drafts = userMap<string, { board: Board; before: string }>();
const EVENTS_MAX = 500;
const told = (e: unknown) => notify(e instanceof Error ? e.message : String(e), "error");

function VariableField({
  variable,
  value,
  tick,
  asked,
  onChange,
}: {
  variable: Variable;
  value: string;
  tick: number;
  asked: Asked | null;
  onChange: (v: string) => void;
}) {
  const { result, problem } = useAsked(asked, tick);
  const choices =
    result === null
      ? []
      : Array.from({ length: Math.min(result.count, 500) }, (_, i) => String(result.row(i, false)?.[0] ?? ""));
  return (
    <label class="board-choice" title={problem ?? undefined}>
      <code>{variable.name}</code>
      {variable.choices.trim() === "" ? (
        <input type="text" value={value} placeholder="null" onInput={(e) => onChange(e.currentTarget.value)} />
      ) : (
        <select value={value} onChange={(e) => onChange(e.currentTarget.value)}>
          {[...new Set(["", value, ...choices])].map((c) => (
            <option key={c} value={c}>
              {c === "" ? "null" : c}
            </option>
          ))}
        </select>
      )}
      {problem !== null && <span class="form-error">{problem}</span>}
    </label>
  );
}

/* First time and first text of each row. */
function useMarks(asked: Asked | null, tick: number): { marks: Mark[]; problem: string | null } {
  const { result, problem } = useAsked(asked, tick);
  const marks = useMemo(() => {
    if (result === null) return [];
    const time = result.columns.findIndex(isTime);
    const text = result.columns.findIndex((c, i) => i !== time && !isTime(c));
    if (time < 0) return [];
    const rows = Array.from({ length: Math.min(result.count, EVENTS_MAX) }, (_, i) => result.row(i, false)).filter(
      (r) => r !== undefined,
    );
    return rows
      .flatMap((r) =>
        typeof r[time] === "string" ? [{ x: seconds(r[time]), text: text < 0 ? "" : String(r[text] ?? "") }] : [],
      )
      .sort((a, b) => a.x - b.x);
  }, [result]);
  return {
    marks,
    problem:
      problem ??
      (result !== null && result.columns.findIndex(isTime) < 0 ? "The query of the events has no time." : null),
  };
}

interface PartProps {
  board: Board;
  set: (part: Partial<Board>) => void;
}

/* What belongs to the board as a whole; only while it is changed. */
function Settings({ board, set }: PartProps) {
  const change = (name: string, part: Partial<Variable>) =>
    set({ variables: board.variables.map((v) => (v.name === name ? { ...v, ...part } : v)) });
  return (
    <div class="board-settings">
      {board.variables.length === 0 && (
        <p class="board-hint">Write @name in a statement, and the board has a field for it.</p>
      )}
      {board.variables.map((v) => (
        <div key={v.name} class="form-row" role="group" aria-label={v.name}>
          <code>{v.name}</code>
          <input
            type="text"
            value={v.value}
            placeholder="value at first: null"
            aria-label={`${v.name}: value at first`}
            onInput={(e) => change(v.name, { value: e.currentTarget.value })}
          />
          <input
            type="text"
            class="wide-field"
            value={v.choices}
            placeholder="query for the values to choose from, like SELECT DISTINCT symbol FROM trades"
            aria-label={`${v.name}: query for its values`}
            onChange={(e) => change(v.name, { choices: e.currentTarget.value })}
          />
        </div>
      ))}
      <div class="form-row">
        <span>Events</span>
        <input
          type="text"
          class="wide-field"
          value={board.events}
          placeholder="query for marks in the charts: a time and a text, like SELECT ts, text FROM deployments"
          aria-label="Query for events"
          onChange={(e) => set({ events: e.currentTarget.value })}
        />
      </div>
    </div>
  );
}

function NameDialog({
  name,
  onName,
  onClose,
}: {
  name: string;
  onName: (name: string) => Promise<void>;
  onClose: () => void;
}) {
  const [next, setNext] = useState(name);
  const [problem, setProblem] = useState<string | null>(null);
  return (
    <Dialog title="Rename the board" onClose={onClose}>
      <form
        class="form"
        onSubmit={(e) => {
          e.preventDefault();
          void onName(next.trim()).catch((x: unknown) => setProblem(x instanceof Error ? x.message : String(x)));
        }}
      >
        <label>
          New name
          <input type="text" value={next} maxLength={100} required onInput={(e) => setNext(e.currentTarget.value)} />
        </label>
        {problem !== null && (
          <p class="form-error" role="alert">
            {problem}
          </p>
        )}
        <div class="form-buttons">
          <Button type="submit" class="button primary" disabled={next.trim() === ""}>
            Rename
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

export function BoardPage({ name, json, params }: { name: string; json: string; params: URLSearchParams }) {
  const ready = useStore(catalog, (c) => c.loaded);
  const readonly = useStore(boards, (b) => b.readonly);
  const [draft, setDraft] = useState(
    () =>
      drafts.get(name) ??
      (params.get("edit") === "1" && !readonly
        ? { board: withVariables(boardOf(json) ?? newBoard()), before: json }
        : null),
  );
  const kept = useMemo(() => withVariables(boardOf(json) ?? newBoard()), [json]);
  const board = draft?.board ?? kept;
  const [values, setValues] = useState<Record<string, string>>(() =>
    Object.fromEntries([...params].filter(([k]) => k.startsWith("@"))),
  );
  const [range, setRange] = useState<string | null>(params.get("range"));
  const [refresh, setRefresh] = useState<number | null>(null);
  const [tick, setTick] = useState(0);
  const [editing, setEditing] = useState<Cell | null>(null);
  const [naming, setNaming] = useState(false);
  const only = params.get("only") === "1";
  const every = refresh ?? board.refresh;
  const span = range ?? board.range;
  const valueOf = (v: Variable): string => values[v.name] ?? v.value;
  const now = Object.fromEntries(board.variables.map((v) => [v.name, valueOf(v)]));
  const ask = (sql: string): Asked | null => (ready ? askedOf(sql, timeColumns, span, now) : null);
  const { marks, problem } = useMarks(board.events.trim() === "" ? null : ask(board.events), tick);
  useEffect(() => {
    if (every === 0) return;
    const timer = setInterval(() => !document.hidden && setTick((n) => n + 1), every * 1000);
    return () => clearInterval(timer);
  }, [every]);
  useEffect(() => {
    if (draft === null) drafts.delete(name);
    else drafts.set(name, draft);
    const ask = (e: BeforeUnloadEvent) => e.preventDefault();
    if (draft === null || boardText(draft.board) === draft.before) return;
    window.addEventListener("beforeunload", ask);
    return () => window.removeEventListener("beforeunload", ask);
  }, [draft]);
  const begin = () => setDraft({ board: kept, before: json });
  const set = (part: Partial<Board>) => {
    const from = draft ?? { board: kept, before: json };
    setDraft({ ...from, board: withVariables({ ...from.board, ...part }) });
  };
  const setCell = (id: string, part: Partial<Cell>) =>
    set({ cells: board.cells.map((c) => (c.id === id ? { ...c, ...part } : c)) });
  const move = (at: number, by: number) => {
    const cells = [...board.cells];
    const [cell] = cells.splice(at, 1);
    if (cell !== undefined) cells.splice(Math.max(0, Math.min(cells.length, at + by)), 0, cell);
    set({ cells });
  };
  const leave = () => {
    setDraft(null);
    if (params.get("edit") === "1") go(boardPath(name));
  };
  const save = async () => {
    if (draft === null) return;
    if ((await putBoard(name, boardText(draft.board), draft.before)) === "changed")
      return notify(
        "Somebody else has changed this board meanwhile. Copy what you need, then take your changes " +
          "back to see theirs.",
        "error",
      );
    notify("The board is saved on the server.");
    leave();
  };
  const rename = async (next: string) => {
    if (next !== name && (await putBoard(next, json, json, name)) === "changed")
      throw new Error("There is a board of this name, or this one was changed meanwhile.");
    setNaming(false);
    if (next !== name) go(boardPath(next));
  };
  const copy = async () => {
    let next = `${name} (copy)`;
    while (boards.get().list.some((b) => b.name === next)) next += "'";
    if ((await putBoard(next, json, null)) === "kept") go(boardPath(next));
  };
  const link = (more: Record<string, string> = {}) =>
    `${location.href.split("#")[0]}#${boardPath(name, { ...(range === null ? {} : { range }), ...values, ...more })}`;
  const copyLink = (more?: Record<string, string>) =>
    void toClipboard(link(more)).then(() => notify("The link was copied."), told);
  const remove = () =>
    confirm({
      title: `Delete ${name}?`,
      text: "The board goes for all who use this server.",
      verb: "Delete",
      name,
      run: async () => {
        if ((await putBoard(name, null, json)) === "changed") {
          await loadBoards();
          throw new Error("The board was changed meanwhile.");
        }
        go("/boards");
      },
    });
  const ranges: Array<[string, string]> = [
    ["as the statements say", ""],
    ...QUICK,
    ...(QUICK.some(([, i]) => i === span) || span === "" ? [] : [[span, span] as [string, string]]),
  ];
  const refreshes: Array<[string, number]> = [
    ...REFRESHES,
    ...(REFRESHES.some(([, s]) => s === every) ? [] : [[`every ${every} s`, every] as [string, number]]),
  ];
  const height = (c: Cell) => HEIGHTS.find(([, px]) => px === c.height)?.[0];
  return (
    <div class="board" data-pane="board" tabIndex={-1}>
      <div class="board-head">
        <h2>{name}</h2>
        {board.variables.map((v) => (
          <VariableField
            key={v.name}
            variable={v}
            value={valueOf(v)}
            tick={tick}
            asked={v.choices.trim() === "" ? null : ask(v.choices)}
            onChange={(value) => setValues((all) => ({ ...all, [v.name]: value }))}
          />
        ))}
        <span class="spring" />
        <label class="board-choice">
          <Icon name="clock" />
          <select
            aria-label="Time range"
            value={span}
            onChange={(e) =>
              draft === null ? setRange(e.currentTarget.value) : (setRange(null), set({ range: e.currentTarget.value }))
            }
          >
            {ranges.map(([title, interval]) => (
              <option key={interval} value={interval}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <label class="board-choice">
          <Button icon="refresh" label="Refresh now" onClick={() => setTick((n) => n + 1)} />
          <select
            aria-label="Refresh"
            value={String(every)}
            onChange={(e) =>
              draft === null
                ? setRefresh(Number(e.currentTarget.value))
                : (setRefresh(null), set({ refresh: Number(e.currentTarget.value) }))
            }
          >
            {refreshes.map(([title, s]) => (
              <option key={s} value={String(s)}>
                {title}
              </option>
            ))}
          </select>
        </label>
        {only ? (
          <Button icon="close" label="Show the rest of the page" onClick={() => go(boardPath(name))} />
        ) : draft === null ? (
          <>
            <Button
              class="button"
              disabled={readonly}
              label={readonly ? "Not to be changed: http.settings.readonly" : "Change the board"}
              onClick={begin}
            >
              Edit
            </Button>
            <MenuButton
              icon="more"
              label="More about the board"
              items={() => [
                { title: "The board alone", run: () => go(boardPath(name, { only: "1" })) },
                { title: "Copy a link", run: () => copyLink() },
                { title: "Copy a link to the board alone", run: () => copyLink({ only: "1" }) },
                { title: "Rename", disabled: readonly, run: () => setNaming(true) },
                { title: "Make a copy", disabled: readonly, run: () => void copy().catch(told) },
                { title: "Delete for everybody", danger: true, disabled: readonly, run: remove },
              ]}
            />
          </>
        ) : (
          <>
            <MenuButton
              label="Add a cell"
              items={() => [
                { title: "Chart, table or value", run: () => setEditing(newCell({ show: "chart" })) },
                { title: "Text", run: () => setEditing(newCell({ kind: "text", width: 12, height: 140 })) },
              ]}
            >
              Add
            </MenuButton>
            <Button class="button" onClick={leave}>
              Take back
            </Button>
            <Button class="button primary" onClick={() => void save().catch(told)}>
              Save
            </Button>
          </>
        )}
      </div>
      {draft !== null && <Settings board={board} set={set} />}
      {problem !== null && (
        <p class="form-error side-note" role="alert">
          Events: {problem}
        </p>
      )}
      {board.cells.length === 0 && (
        <p class="board-hint">
          Nothing is on this board yet. {draft === null ? "Edit it, or put" : "Add a cell, or put"} the chart of a
          result on it from the editor.
        </p>
      )}
      <div class="board-grid">
        {board.cells.map((c, at) => (
          <section
            key={c.id}
            class={`board-cell ${c.kind}`}
            aria-label={c.title || (c.kind === "text" ? "Text" : "Cell")}
            style={{ "--width": String(c.width), "--height": `${c.height}px` }}
          >
            {(c.title !== "" || draft !== null) && (
              <div class="board-cell-head">
                <h3>{c.title}</h3>
                {draft !== null && (
                  <span class="board-tools">
                    <Button
                      icon="left"
                      label={`Move ${c.title} forward`}
                      disabled={at === 0}
                      onClick={() => move(at, -1)}
                    />
                    <Button
                      icon="right"
                      label={`Move ${c.title} backward`}
                      disabled={at === board.cells.length - 1}
                      onClick={() => move(at, 1)}
                    />
                    <Button class="button" onClick={() => setEditing(c)}>
                      Change
                    </Button>
                    <MenuButton
                      icon="more"
                      label={`More about ${c.title || "the cell"}`}
                      items={() => [
                        ...WIDTHS.map((w) => ({
                          title: `Width: ${w} of 12`,
                          ...(w === c.width ? { hint: "now" } : {}),
                          run: () => setCell(c.id, { width: w }),
                        })),
                        ...HEIGHTS.map(([title, px]) => ({
                          title: `Height: ${title}`,
                          ...(height(c) === title ? { hint: "now" } : {}),
                          run: () => setCell(c.id, { height: px }),
                        })),
                        ...(c.kind === "sql"
                          ? [
                              {
                                title: "Open in the editor",
                                run: () => (newTab(c.text, c.title || undefined), go("/")),
                              },
                            ]
                          : []),
                        {
                          title: "Make a copy",
                          run: () =>
                            set({
                              cells: [
                                ...board.cells.slice(0, at + 1),
                                newCell({ ...c, id: newCell({}).id }),
                                ...board.cells.slice(at + 1),
                              ],
                            }),
                        },
                        {
                          title: "Take away",
                          danger: true,
                          run: () => set({ cells: board.cells.filter((o) => o.id !== c.id) }),
                        },
                      ]}
                    />
                  </span>
                )}
              </div>
            )}
            <CellBody cell={c} asked={c.kind === "sql" ? ask(c.text) : null} tick={tick} marks={marks} />
          </section>
        ))}
      </div>
      {naming && <NameDialog name={name} onClose={() => setNaming(false)} onName={rename} />}
      {editing !== null && (
        <CellDialog
          cell={editing}
          ask={ask}
          onClose={() => setEditing(null)}
          onKeep={(c) => {
            set({
              cells: board.cells.some((o) => o.id === c.id)
                ? board.cells.map((o) => (o.id === c.id ? c : o))
                : [...board.cells, c],
            });
            setEditing(null);
          }}
        />
      )}
    </div>
  );
}
