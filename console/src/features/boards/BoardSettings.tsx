/* What belongs to a board as a whole: parameters and events, while it is changed, and its name. */
import { useState } from "preact/hooks";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import type { Board, Variable } from "./board";

interface PartProps {
  board: Board;
  set: (part: Partial<Board>) => void;
}

/* What belongs to the board as a whole; only while it is changed. */
export function Settings({ board, set }: PartProps) {
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

export function NameDialog({
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
