/* One board: seen, refreshed, changed, kept. */
import { BoardCells } from "./BoardCells";
import { BoardHead } from "./BoardHead";
import { renameBoard } from "./boardActions";
import { NameDialog, Settings } from "./BoardSettings";
import { CellDialog } from "./CellDialog";
import { useBoard } from "./useBoard";

export function BoardPage({ name, json, params }: { name: string; json: string; params: URLSearchParams }) {
  const model = useBoard(name, json, params);
  const { board, draft, problem, editing } = model;
  return (
    <div class="board" data-pane="board" tabIndex={-1}>
      <BoardHead model={model} />
      {draft !== null && <Settings board={board} set={model.set} />}
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
      <BoardCells model={model} />
      {model.naming && (
        <NameDialog name={name} onClose={() => model.setNaming(false)} onName={(next) => renameBoard(model, next)} />
      )}
      {editing !== null && (
        <CellDialog
          cell={editing}
          ask={model.ask}
          onClose={() => model.setEditing(null)}
          onKeep={(cell) => {
            model.putCell(cell);
            model.setEditing(null);
          }}
        />
      )}
    </div>
  );
}
