/* Boards: the list of them, or the one whose name stands in the address. */
import { useEffect, useState } from "preact/hooks";
import { onBack } from "../../api/connection";
import { go, route } from "../../state/route";
import { plural } from "../../results/format";
import { useStore } from "../../state/store";
import { Button } from "../../ui/Button";
import { BoardPage } from "./BoardPage";
import { boardOf, boardText, newBoard, newCell, boardPath } from "./board";
import "./boards.css";
import { boards, keptNow, loadBoards, putBoard } from "./store";

const FIRST_TEXT = "# A note\n\nText in **Markdown**, and cells of SQL below it.";

function NewBoard() {
  const [name, setName] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  const make = async (notebook: boolean) => {
    const board = {
      ...newBoard(),
      cells: notebook
        ? [
            newCell({ kind: "text", text: FIRST_TEXT, width: 12, height: 140 }),
            newCell({ text: "SELECT 1", show: "table", sql: true, width: 12 }),
          ]
        : [],
    };
    if ((await putBoard(name.trim(), boardText(board), null)) === "changed")
      return setProblem("There is a board of this name.");
    go(boardPath(name.trim(), { edit: "1" }));
  };
  const submit = (notebook: boolean) =>
    void make(notebook).catch((e: unknown) => setProblem(e instanceof Error ? e.message : String(e)));
  return (
    <form
      class="board-new"
      onSubmit={(e) => {
        e.preventDefault();
        submit(false);
      }}
    >
      <input
        type="text"
        value={name}
        maxLength={100}
        placeholder="Name of a new board"
        aria-label="Name of a new board"
        onInput={(e) => setName(e.currentTarget.value)}
      />
      <Button
        type="submit"
        class="button primary"
        disabled={name.trim() === ""}
        label="Charts, tables and values side by side"
      >
        New dashboard
      </Button>
      <Button
        class="button"
        disabled={name.trim() === ""}
        label="Text and statements, one below the other"
        onClick={() => submit(true)}
      >
        New notebook
      </Button>
      {problem !== null && (
        <span class="form-error" role="alert">
          {problem}
        </span>
      )}
    </form>
  );
}

function BoardList() {
  const { list, loaded, readonly, problem } = useStore(boards, (b) => b);
  return (
    <div class="boards">
      <h2>Boards</h2>
      {problem !== null && (
        <p class="form-error" role="alert">
          {problem}
        </p>
      )}
      {readonly ? (
        <p class="side-note">Boards of this server are not to be changed (http.settings.readonly).</p>
      ) : (
        <NewBoard />
      )}
      {loaded && list.length === 0 && problem === null && (
        <p class="board-hint">
          No boards yet. A board has charts, tables, values and text side by side (a dashboard) or below each other (a
          notebook), for all who use this server. A chart of a result can be put on one, too: the button beside it.
        </p>
      )}
      <ul class="board-list">
        {list.map((b) => {
          const board = boardOf(b.json);
          return (
            <li key={b.name}>
              <a href={`#${boardPath(b.name)}`}>
                <strong>{b.name}</strong>
                <span>
                  {board === null
                    ? "not to be read by this version"
                    : plural(board.cells.length, "cell") +
                      (board.refresh > 0 ? `, refreshed every ${board.refresh} s` : "")}
                </span>
              </a>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

export function BoardsPage() {
  const params = useStore(route, (r) => r.params);
  const { loaded, list, problem } = useStore(boards, (b) => b);
  useEffect(() => {
    void loadBoards();
    return onBack(() => void loadBoards());
  }, []);
  const name = params.get("name");
  if (name === null) return <BoardList />;
  if (!loaded) return <p class="side-note">Loading …</p>;
  const json = list.find((b) => b.name === name)?.json ?? null;
  const board = json === null ? null : boardOf(json);
  if (json === null || board === null)
    return (
      <div class="boards">
        <h2>{name}</h2>
        <p role="alert">
          {problem ??
            (json === null
              ? "There is no board of this name: it was deleted or renamed."
              : "This board was made by another version of the console.")}
        </p>
        <p>
          <a href="#/boards">All boards</a>
        </p>
      </div>
    );
  return <BoardPage key={name} name={name} json={keptNow(name) ?? json} params={params} />;
}
