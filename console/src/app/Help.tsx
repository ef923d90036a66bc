/* The list of keyboard shortcuts. */
import { createStore, useStore } from "../state/store";
import { Dialog } from "../ui/Dialog";
import { shortcuts, shownKeys } from "../ui/keys";

export const help = createStore<{ open: boolean }>({ open: false });

export function HelpDialog() {
  const open = useStore(help, (h) => h.open);
  if (!open) return null;
  const all = shortcuts();
  const groups = [...new Set(all.map((s) => s.group))];
  return (
    <Dialog title="Keyboard shortcuts" wide onClose={() => help.set({ open: false })}>
      <div class="keys">
        {groups.map((g) => (
          <section key={g}>
            <h3>{g}</h3>
            <dl>
              {all
                .filter((s) => s.group === g)
                .map((s) => (
                  <div key={s.id}>
                    <dt>
                      {(s.shown ?? s.keys).map((k) => (
                        <kbd key={k}>{shownKeys(k)}</kbd>
                      ))}
                    </dt>
                    <dd>{s.title}</dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
