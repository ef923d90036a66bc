/*
 * Before statements run that take much away at once: DROP, TRUNCATE, UPDATE and DELETE without WHERE. And before all
 * statements of a tab do, which is one key away from the one at the cursor; that question can be left out from then
 * on.
 */
import { prefs } from "../state/prefs";
import { createUserStore } from "../state/owner";
import { useStore } from "../state/store";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";

/* grave: of the statements, those that take much away */
const asked = createUserStore<{ statements: string[]; grave: string[]; answer: ((go: boolean) => void) | null }>({
  statements: [],
  grave: [],
  answer: null,
});

export function isGrave(sql: string): boolean {
  const text = sql.replace(/--[^\n]*|\/\*[\s\S]*?\*\//g, " ").trim();
  return (
    /^(drop|truncate)\b/i.test(text) ||
    /^alter\s+table\b[\s\S]*\bdrop\b/i.test(text) ||
    (/^(update|delete)\b/i.test(text) && !/\bwhere\b/i.test(text))
  );
}

/* True: run them. all: they are all of a tab. */
export function ask(statements: string[], all: boolean): Promise<boolean> {
  const grave = statements.filter(isGrave);
  if (grave.length === 0 && !(all && statements.length > 1 && prefs.get().askAll)) return Promise.resolve(true);
  return new Promise((answer) => asked.set({ statements, grave, answer }));
}

const excerpt = (statements: string[]): string =>
  [...statements.slice(0, 5).map((s) => s.slice(0, 300)), ...(statements.length > 5 ? ["…"] : [])].join(";\n");

export function AskDialog() {
  const { statements, grave, answer } = useStore(asked, (a) => a);
  if (answer === null) return null;
  const end = (go: boolean) => {
    asked.set({ statements: [], grave: [], answer: null });
    answer(go);
  };
  const harmless = grave.length === 0;
  return (
    <Dialog title={harmless ? `Run all ${statements.length} statements?` : "Run this?"} onClose={() => end(false)}>
      <p>{harmless ? "One after the other, to the first error:" : "This cannot be undone:"}</p>
      <pre class="asked">{excerpt(harmless ? statements : grave)}</pre>
      {harmless && (
        <label class="check">
          <input type="checkbox" onChange={(e) => prefs.set({ askAll: !e.currentTarget.checked })} /> Do not ask again
        </label>
      )}
      <div class="dialog-buttons">
        <Button onClick={() => end(false)}>Leave it</Button>
        <Button class={harmless ? "button primary" : "button danger"} autofocus={harmless} onClick={() => end(true)}>
          Run
        </Button>
      </div>
    </Dialog>
  );
}
