/* Asks before something that cannot be undone: once, and then again, by the name of what would be lost. */
import { useState } from "preact/hooks";
import { createUserStore } from "../state/owner";
import { useStore } from "../state/store";
import { Button } from "./Button";
import { Dialog } from "./Dialog";

export interface Question {
  title: string;
  text: string;
  verb: string; /* of the button: "Drop" */
  name: string; /* to be typed the second time */
  run: () => Promise<void>;
}

const asked = createUserStore<{ question: Question | null }>({ question: null });

export const confirm = (question: Question): void => asked.set({ question });

function Steps({ question }: { question: Question }) {
  const [second, setSecond] = useState(false);
  const [typed, setTyped] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const close = () => asked.set({ question: null });
  const go = async () => {
    if (!second) return setSecond(true);
    if (typed !== question.name) return;
    setBusy(true);
    try {
      await question.run();
      close();
    } catch (e) {
      setProblem(e instanceof Error ? e.message : String(e));
      setBusy(false);
    }
  };
  return (
    <Dialog title={question.title} onClose={close}>
      <form
        class="form"
        onSubmit={(e) => {
          e.preventDefault();
          void go();
        }}
      >
        <p>{question.text}</p>
        {second && (
          <label>
            Type its name to be sure: {question.name}
            <input
              value={typed}
              autocomplete="off"
              spellcheck={false}
              ref={(el) => el?.focus()}
              onInput={(e) => setTyped(e.currentTarget.value)}
            />
          </label>
        )}
        {problem !== null && (
          <p class="form-error" role="alert">
            {problem}
          </p>
        )}
        <div class="form-buttons">
          <Button onClick={close}>Keep it</Button>
          <Button type="submit" class="button danger" disabled={busy || (second && typed !== question.name)}>
            {second ? question.verb : `${question.verb} …`}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

export function ConfirmDialog() {
  const question = useStore(asked, (a) => a.question);
  return question === null ? null : <Steps question={question} />;
}
