/* Puts a cell on a board that is there, or on a new one. */
import { useEffect, useState } from "preact/hooks";
import { notify } from "../../ui/notice";
import { go } from "../../state/route";
import { useStore } from "../../state/store";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { adding } from "../chart/adding";
import { boardOf, boardPath, boardText, newBoard, newCell } from "./board";
import { boards, keptNow, loadBoards, putBoard } from "./store";

export function AddDialog() {
  const cell = useStore(adding, (a) => a.cell);
  const { list, readonly } = useStore(boards, (b) => b);
  const [name, setName] = useState("");
  const [title, setTitle] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => void loadBoards(), []);
  const close = () => adding.set({ cell: null });
  const put = async () => {
    if (cell === null) return;
    const wanted = name.trim();
    for (let i = 0; i < 3; i++) {
      const before = keptNow(wanted);
      const board = before === null ? newBoard() : boardOf(before);
      if (board === null) return setProblem("This board was made by another version of the console.");
      if (
        (await putBoard(
          wanted,
          boardText({ ...board, cells: [...board.cells, newCell({ ...cell, title: title.trim() })] }),
          before,
        )) === "kept"
      ) {
        close();
        notify(`It is on the board ${wanted}.`);
        return go(boardPath(wanted));
      }
    }
    setProblem("Somebody else changes this board: try again.");
  };
  return (
    <Dialog title="Put on a board" onClose={close}>
      <form
        class="form"
        onSubmit={(e) => {
          e.preventDefault();
          void put().catch((x: unknown) => setProblem(x instanceof Error ? x.message : String(x)));
        }}
      >
        <label>
          Board, of those that are there or a new one
          <input
            type="text"
            list="board-names"
            value={name}
            maxLength={100}
            required
            onInput={(e) => setName(e.currentTarget.value)}
          />
          <datalist id="board-names">
            {list.map((b) => (
              <option key={b.name} value={b.name} />
            ))}
          </datalist>
        </label>
        <label>
          Title
          <input type="text" value={title} maxLength={200} onInput={(e) => setTitle(e.currentTarget.value)} />
        </label>
        {readonly && <p>Boards of this server are not to be changed (http.settings.readonly).</p>}
        {problem !== null && (
          <p class="form-error" role="alert">
            {problem}
          </p>
        )}
        <div class="form-buttons">
          <Button type="submit" class="button primary" disabled={readonly || name.trim() === ""}>
            Put it there
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
