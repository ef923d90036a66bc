/* Name, kind and colour of the server, for all who use it. */
import { useState } from "preact/hooks";
import { ApiError, putPreferences } from "../api/client";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { type Colour, COLOURS, type Instance, instance, loadInstance } from "../api/instance";
import { editing } from "./Instance";

const TYPES = ["", "development", "test", "staging", "production"];

function read(): Instance {
  const { name, type, description, colour } = instance.get();
  return { name, type, description, colour };
}

const TRIES = 3;

/* Other preferences change meanwhile, too: only where these were changed it is a conflict. */
async function put(draft: Instance, opened: Instance): Promise<void> {
  const none = (text: string) => (text.trim() === "" ? null : text.trim());
  const changes = {
    instance_name: none(draft.name),
    instance_type: none(draft.type),
    instance_description: none(draft.description),
    instance_rgb: none(draft.colour),
  };
  for (let i = 1; ; i++) {
    await loadInstance();
    if (JSON.stringify(read()) !== JSON.stringify(opened))
      throw new Error("Somebody else changed this meanwhile: close, and look again.");
    try {
      await putPreferences(instance.get().preferencesVersion, changes);
      return;
    } catch (e) {
      if (!(e instanceof ApiError) || e.status !== 409 || i === TRIES) throw e;
    }
  }
}

export function InstanceDialog() {
  const [opened] = useState(read);
  const [draft, setDraft] = useState<Instance>(opened);
  const [problem, setProblem] = useState<string | null>(null);
  const change = (part: Partial<Instance>) => setDraft((d) => ({ ...d, ...part }));
  const paint = (colour: Colour | "") => change({ colour });
  const close = () => editing.set({ open: false });
  const save = async () => {
    try {
      await put(draft, opened);
      await loadInstance();
      close();
    } catch (e) {
      setProblem(e instanceof Error ? e.message : String(e));
    }
  };
  return (
    <Dialog title="This server" onClose={close}>
      <form
        class="form"
        onSubmit={(e) => {
          e.preventDefault();
          void save();
        }}
      >
        <label>
          Name
          <input value={draft.name} maxLength={100} onInput={(e) => change({ name: e.currentTarget.value })} />
        </label>
        <label>
          Kind
          <select value={draft.type} onChange={(e) => change({ type: e.currentTarget.value })}>
            {(TYPES.includes(draft.type) ? TYPES : [...TYPES, draft.type]).map((t) => (
              <option key={t} value={t}>
                {t === "" ? "none" : t}
              </option>
            ))}
          </select>
        </label>
        <label>
          Description
          <input
            value={draft.description}
            maxLength={500}
            onInput={(e) => change({ description: e.currentTarget.value })}
          />
        </label>
        <fieldset class="instance-colours">
          <legend>Colour</legend>
          {(["", ...Object.keys(COLOURS)] as Array<Colour | "">).map((c) => (
            <label key={c} class="check">
              <input type="radio" name="colour" checked={draft.colour === c} onChange={() => paint(c)} />{" "}
              <span class={c === "" ? "" : `instance-swatch tag-${c}`}>{c === "" ? "none" : COLOURS[c]}</span>
            </label>
          ))}
        </fieldset>
        <p class="dim">All who use this server see it. With access control the permission SETTINGS is needed.</p>
        {problem !== null && (
          <p class="form-error" role="alert">
            {problem}
          </p>
        )}
        <div class="form-buttons">
          <Button class="button" onClick={close}>
            Close
          </Button>
          <Button type="submit" class="button primary">
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
