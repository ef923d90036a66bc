/* Before statements run that take much away at once: DROP, TRUNCATE, UPDATE and DELETE without WHERE. */
import { createStore, useStore } from "../state/store";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";

const asked = createStore<{ statements: string[]; answer: ((go: boolean) => void) | null }>({ statements: [], answer: null });

export function isGrave(sql: string): boolean {
  const text = sql.replace(/--[^\n]*|\/\*[\s\S]*?\*\//g, " ").trim();
  return /^(drop|truncate)\b/i.test(text) || /^alter\s+table\b[\s\S]*\bdrop\b/i.test(text) || (/^(update|delete)\b/i.test(text) && !/\bwhere\b/i.test(text));
}

/* True: run them. */
export function ask(statements: string[]): Promise<boolean> {
  const grave = statements.filter(isGrave);
  if (grave.length === 0) return Promise.resolve(true);
  return new Promise((answer) => asked.set({ statements: grave, answer }));
}

export function AskDialog() {
  const { statements, answer } = useStore(asked, (a) => a);
  if (answer === null) return null;
  const end = (go: boolean) => {
    asked.set({ statements: [], answer: null });
    answer(go);
  };
  return (
    <Dialog title="Run this?" onClose={() => end(false)}>
      <p>This cannot be undone:</p>
      <pre class="asked">{statements.slice(0, 5).map((s) => s.slice(0, 300)).join(";\n")}</pre>
      <div class="dialog-buttons">
        <Button onClick={() => end(false)}>Leave it</Button>
        <Button class="button danger" onClick={() => end(true)}>
          Run
        </Button>
      </div>
    </Dialog>
  );
}
