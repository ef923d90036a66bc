/* What can be done, by its name: F1, some letters, Enter. The commands are those that have keys. */
import { useEffect, useRef, useState } from "preact/hooks";
import { createUserStore } from "../state/owner";
import { useStore } from "../state/store";
import { Dialog } from "../ui/Dialog";
import { type Shortcut, shortcuts, shownKeys } from "../ui/keys";
import { found } from "./commandSearch";

export const palette = createUserStore<{ open: boolean }>({ open: false });

function Commands({ all, onRun }: { all: Shortcut[]; onRun: (s: Shortcut) => void }) {
  const [search, setSearch] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const shown = found(all, search);
  const active = Math.min(at, shown.length - 1);
  useEffect(() => list.current?.children[active]?.scrollIntoView({ block: "nearest" }), [active]);
  const onKey = (e: KeyboardEvent) => {
    const step = e.key === "ArrowDown" ? 1 : e.key === "ArrowUp" ? -1 : 0;
    const chosen = shown[active];
    if (step !== 0 && shown.length > 0) setAt((active + step + shown.length) % shown.length);
    else if (e.key === "Enter" && chosen !== undefined) onRun(chosen);
    else return;
    e.preventDefault();
  };
  return (
    <>
      <input
        type="text"
        role="combobox"
        list={undefined}
        class="palette-search"
        aria-label="Command"
        aria-expanded="true"
        aria-controls="palette-commands"
        {...(active < 0 ? {} : { "aria-activedescendant": `palette-${shown[active]?.id ?? ""}` })}
        autofocus
        value={search}
        onInput={(e) => {
          setSearch(e.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKey}
      />
      <ul id="palette-commands" class="palette" role="listbox" aria-label="Commands" ref={list}>
        {shown.map((s, i) => (
          <li key={s.id} id={`palette-${s.id}`} role="option" aria-selected={i === active} onClick={() => onRun(s)}>
            {s.title}{" "}
            <span>
              {(s.shown ?? s.keys).slice(0, 1).map((k) => (
                <kbd key={k}>{shownKeys(k)}</kbd>
              ))}
            </span>
          </li>
        ))}
      </ul>
      {shown.length === 0 && <p role="status">No command has these words.</p>}
    </>
  );
}

export function PaletteDialog() {
  const open = useStore(palette, (p) => p.open);
  if (!open) return null;
  return (
    <Dialog title="Commands" onClose={() => palette.set({ open: false })}>
      <Commands
        all={shortcuts().filter((s) => s.run !== undefined && s.id !== "palette")}
        onRun={(s) => {
          palette.set({ open: false });
          setTimeout(() => s.run?.()); /* when the dialog is gone and the focus is back */
        }}
      />
    </Dialog>
  );
}
