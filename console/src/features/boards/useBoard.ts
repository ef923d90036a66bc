/*
 * What the page of a board knows: the board as it is kept or as it is being changed, what the reader has chosen beside
 * it, and what is open over it. boardActions.ts keeps, renames, copies and deletes; the views draw.
 */
import { useEffect, useMemo, useState } from "preact/hooks";
import { catalog } from "../../api/catalog";
import { timeColumns } from "../../editor/range";
import { userMap } from "../../state/owner";
import { go } from "../../state/route";
import { useStore } from "../../state/store";
import {
  askedOf,
  type Asked,
  type Board,
  boardOf,
  boardPath,
  boardText,
  type Cell,
  newBoard,
  type Variable,
  withVariables,
} from "./board";
import { boards } from "./store";
import { useMarks } from "./useMarks";

/* Changes that are not kept yet, by name: leaving the page does not lose them. */
const drafts = userMap<string, { board: Board; before: string }>();

/* The board as it is kept, or as it is being changed (draft). */
function useDraft(name: string, json: string, params: URLSearchParams) {
  const readonly = useStore(boards, (b) => b.readonly);
  const [draft, setDraft] = useState(
    () =>
      drafts.get(name) ??
      (params.get("edit") === "1" && !readonly
        ? { board: withVariables(boardOf(json) ?? newBoard()), before: json }
        : null),
  );
  const kept = useMemo(() => withVariables(boardOf(json) ?? newBoard()), [json]);
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
  const leave = () => {
    setDraft(null);
    if (params.get("edit") === "1") go(boardPath(name));
  };
  return { readonly, draft, board: draft?.board ?? kept, begin, set, leave };
}

/* What the reader has chosen in place of what the board says, and how often its statements were asked (tick). */
function useChoices(board: Board, params: URLSearchParams) {
  const [values, setValues] = useState<Record<string, string>>(() =>
    Object.fromEntries([...params].filter(([k]) => k.startsWith("@"))),
  );
  const [range, setRange] = useState<string | null>(params.get("range"));
  const [refresh, setRefresh] = useState<number | null>(null);
  const [tick, setTick] = useState(0);
  const every = refresh ?? board.refresh;
  useEffect(() => {
    if (every === 0) return;
    const timer = setInterval(() => !document.hidden && setTick((n) => n + 1), every * 1000);
    return () => clearInterval(timer);
  }, [every]);
  return {
    values,
    valueOf: (v: Variable): string => values[v.name] ?? v.value,
    setValue: (v: Variable, value: string) => setValues((all) => ({ ...all, [v.name]: value })),
    range,
    setRange,
    span: range ?? board.range,
    setRefresh,
    every,
    tick,
    refreshNow: () => setTick((n) => n + 1),
  };
}

export function useBoard(name: string, json: string, params: URLSearchParams) {
  const ready = useStore(catalog, (c) => c.loaded);
  const draft = useDraft(name, json, params);
  const { board, set } = draft;
  const choices = useChoices(board, params);
  const [editing, setEditing] = useState<Cell | null>(null);
  const [naming, setNaming] = useState(false);
  const now = Object.fromEntries(board.variables.map((v) => [v.name, choices.valueOf(v)]));
  const ask = (sql: string): Asked | null => (ready ? askedOf(sql, timeColumns, choices.span, now) : null);
  const events = useMarks(board.events.trim() === "" ? null : ask(board.events), choices.tick);
  /* In place of the cell of this id, or behind all others. */
  const putCell = (cell: Cell) => {
    const known = board.cells.some((o) => o.id === cell.id);
    set({ cells: known ? board.cells.map((o) => (o.id === cell.id ? cell : o)) : [...board.cells, cell] });
  };
  const open = { editing, setEditing, naming, setNaming };
  return { name, json, only: params.get("only") === "1", ...draft, ...choices, ...events, ...open, ask, putCell };
}
export type BoardModel = ReturnType<typeof useBoard>;
