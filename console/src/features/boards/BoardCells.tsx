/* The cells of a board, and what is done with each while the board is changed. */
import { newTab } from "../../editor/tabs";
import { go } from "../../state/route";
import { Button } from "../../ui/Button";
import { MenuButton, type MenuItem } from "../../ui/Menu";
import { type Board, type Cell, HEIGHTS, newCell, WIDTHS } from "./board";
import { CellBody } from "./CellView";
import type { BoardModel } from "./useBoard";

/* The cells with one of them `by` places further. */
function moved(board: Board, at: number, by: number): Cell[] {
  const cells = [...board.cells];
  const [cell] = cells.splice(at, 1);
  if (cell !== undefined) cells.splice(Math.max(0, Math.min(cells.length, at + by)), 0, cell);
  return cells;
}

function cellItems({ board, set }: BoardModel, c: Cell, at: number): MenuItem[] {
  const change = (part: Partial<Cell>) => () =>
    set({ cells: board.cells.map((o) => (o.id === c.id ? { ...o, ...part } : o)) });
  const height = HEIGHTS.find(([, px]) => px === c.height)?.[0];
  const copy = () =>
    set({
      cells: [...board.cells.slice(0, at + 1), newCell({ ...c, id: newCell({}).id }), ...board.cells.slice(at + 1)],
    });
  return [
    ...WIDTHS.map((w) => ({
      title: `Width: ${w} of 12`,
      ...(w === c.width ? { hint: "now" } : {}),
      run: change({ width: w }),
    })),
    ...HEIGHTS.map(([title, px]) => ({
      title: `Height: ${title}`,
      ...(height === title ? { hint: "now" } : {}),
      run: change({ height: px }),
    })),
    ...(c.kind === "sql"
      ? [{ title: "Open in the editor", run: () => (newTab(c.text, c.title || undefined), go("/")) }]
      : []),
    { title: "Make a copy", run: copy },
    { title: "Take away", danger: true, run: () => set({ cells: board.cells.filter((o) => o.id !== c.id) }) },
  ];
}

function CellTools({ model, cell: c, at }: { model: BoardModel; cell: Cell; at: number }) {
  const { board, set, setEditing } = model;
  const move = (by: number) => set({ cells: moved(board, at, by) });
  return (
    <span class="board-tools">
      <Button icon="left" label={`Move ${c.title} forward`} disabled={at === 0} onClick={() => move(-1)} />
      <Button
        icon="right"
        label={`Move ${c.title} backward`}
        disabled={at === board.cells.length - 1}
        onClick={() => move(1)}
      />
      <Button class="button" onClick={() => setEditing(c)}>
        Change
      </Button>
      <MenuButton icon="more" label={`More about ${c.title || "the cell"}`} items={() => cellItems(model, c, at)} />
    </span>
  );
}

export function BoardCells({ model }: { model: BoardModel }) {
  const { board, draft, ask, tick, marks } = model;
  return (
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
              {draft !== null && <CellTools model={model} cell={c} at={at} />}
            </div>
          )}
          <CellBody cell={c} asked={c.kind === "sql" ? ask(c.text) : null} tick={tick} marks={marks} />
        </section>
      ))}
    </div>
  );
}
