/* The head of a board: its parameters, time range and refresh, and what can be done with it. */
import { QUICK } from "../../editor/range";
import { go } from "../../state/route";
import { Button } from "../../ui/Button";
import { Icon } from "../../ui/Icon";
import { MenuButton } from "../../ui/Menu";
import { type Asked, boardPath, newCell, REFRESHES, type Variable } from "./board";
import { copyBoard, copyLink, removeBoard, saveBoard, told } from "./boardActions";
import { useAsked } from "./useAsked";
import type { BoardModel } from "./useBoard";

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

/* While the board is changed, what is chosen becomes part of it. */
function RangeChoice({ model }: { model: BoardModel }) {
  const { draft, span, set, setRange } = model;
  const ranges: Array<[string, string]> = [
    ["as the statements say", ""],
    ...QUICK,
    ...(QUICK.some(([, i]) => i === span) || span === "" ? [] : [[span, span] as [string, string]]),
  ];
  const choose = (range: string) => {
    setRange(draft === null ? range : null);
    if (draft !== null) set({ range });
  };
  return (
    <label class="board-choice">
      <Icon name="clock" />
      <select aria-label="Time range" value={span} onChange={(e) => choose(e.currentTarget.value)}>
        {ranges.map(([title, interval]) => (
          <option key={interval} value={interval}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

function RefreshChoice({ model }: { model: BoardModel }) {
  const { draft, every, set, setRefresh } = model;
  const refreshes: Array<[string, number]> = [
    ...REFRESHES,
    ...(REFRESHES.some(([, s]) => s === every) ? [] : [[`every ${every} s`, every] as [string, number]]),
  ];
  const choose = (refresh: number) => {
    setRefresh(draft === null ? refresh : null);
    if (draft !== null) set({ refresh });
  };
  return (
    <label class="board-choice">
      <Button icon="refresh" label="Refresh now" onClick={model.refreshNow} />
      <select aria-label="Refresh" value={String(every)} onChange={(e) => choose(Number(e.currentTarget.value))}>
        {refreshes.map(([title, s]) => (
          <option key={s} value={String(s)}>
            {title}
          </option>
        ))}
      </select>
    </label>
  );
}

function ReadingButtons({ model }: { model: BoardModel }) {
  const { name, readonly } = model;
  return (
    <>
      <Button
        class="button"
        disabled={readonly}
        label={readonly ? "Not to be changed: http.settings.readonly" : "Change the board"}
        onClick={model.begin}
      >
        Edit
      </Button>
      <MenuButton
        icon="more"
        label="More about the board"
        items={() => [
          { title: "The board alone", run: () => go(boardPath(name, { only: "1" })) },
          { title: "Copy a link", run: () => copyLink(model) },
          { title: "Copy a link to the board alone", run: () => copyLink(model, { only: "1" }) },
          { title: "Rename", disabled: readonly, run: () => model.setNaming(true) },
          { title: "Make a copy", disabled: readonly, run: () => void copyBoard(model).catch(told) },
          { title: "Delete for everybody", danger: true, disabled: readonly, run: () => removeBoard(model) },
        ]}
      />
    </>
  );
}

function ChangingButtons({ model }: { model: BoardModel }) {
  const add = (part: Parameters<typeof newCell>[0]) => () => model.setEditing(newCell(part));
  return (
    <>
      <MenuButton
        label="Add a cell"
        items={() => [
          { title: "Chart, table or value", run: add({ show: "chart" }) },
          { title: "Text", run: add({ kind: "text", width: 12, height: 140 }) },
        ]}
      >
        Add
      </MenuButton>
      <Button class="button" onClick={model.leave}>
        Take back
      </Button>
      <Button class="button primary" onClick={() => void saveBoard(model).catch(told)}>
        Save
      </Button>
    </>
  );
}

export function BoardHead({ model }: { model: BoardModel }) {
  const { name, board, ask, tick } = model;
  return (
    <div class="board-head">
      <h2>{name}</h2>
      {board.variables.map((v) => (
        <VariableField
          key={v.name}
          variable={v}
          value={model.valueOf(v)}
          tick={tick}
          asked={v.choices.trim() === "" ? null : ask(v.choices)}
          onChange={(value) => model.setValue(v, value)}
        />
      ))}
      <span class="spring" />
      <RangeChoice model={model} />
      <RefreshChoice model={model} />
      {model.only ? (
        <Button icon="close" label="Show the rest of the page" onClick={() => go(boardPath(name))} />
      ) : model.draft === null ? (
        <ReadingButtons model={model} />
      ) : (
        <ChangingButtons model={model} />
      )}
    </div>
  );
}
