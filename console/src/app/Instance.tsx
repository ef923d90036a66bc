/* Whose server this is: name, kind and colour from its shared preferences, its version, and its warnings. */
import { createUserStore } from "../state/owner";
import { useStore } from "../state/store";
import { settings, warnings } from "../api/client";
import type { ServerWarning } from "../api/types";
import { Button } from "../ui/Button";
import { MenuButton } from "../ui/Menu";
import { notify } from "../ui/notice";

/* As other consoles keep them: instance_name, instance_type, instance_description, instance_rgb. */
export const COLOURS = { r: "red", o: "orange", g: "green", b: "blue", v: "violet" } as const;
export type Colour = keyof typeof COLOURS;

export interface Instance {
  name: string;
  type: string; /* production, test ... */
  description: string;
  colour: Colour | "";
}
interface State extends Instance {
  version: string;
  preferencesVersion: number;
  warnings: ServerWarning[];
  config: Record<string, unknown>;
}
export const instance = createUserStore<State>({
  name: "",
  type: "",
  description: "",
  colour: "",
  version: "",
  preferencesVersion: 0,
  warnings: [],
  config: {},
});
export const editing = createUserStore<{ open: boolean }>({ open: false });

export function instanceOf(preferences: Record<string, unknown>): Instance {
  const text = (key: string, max: number) =>
    typeof preferences[key] === "string" ? (preferences[key] as string).slice(0, max) : "";
  const colour = text("instance_rgb", 1);
  return {
    name: text("instance_name", 100),
    type: text("instance_type", 30),
    description: text("instance_description", 500),
    colour: colour in COLOURS ? (colour as Colour) : "",
  };
}

export async function loadInstance(ask = settings): Promise<void> {
  const [found, list] = await Promise.all([ask(), warnings()]);
  const version = found.config["release.version"];
  instance.set({
    ...instanceOf(found.preferences),
    version: typeof version === "string" ? version : "",
    preferencesVersion: found["preferences.version"],
    warnings: list,
    config: found.config,
  });
}

export function InstanceName() {
  const { name, type, description, colour, version, warnings: list } = useStore(instance, (i) => i);
  return (
    <>
      {list.length > 0 && (
        <MenuButton
          icon="warning"
          label={`${list.length} warnings of the server`}
          items={() => list.map((w) => ({ title: w.warning, run: () => notify(`${w.tag}: ${w.warning}`) }))}
        >
          {String(list.length)}
        </MenuButton>
      )}
      <Button
        class={colour === "" ? "button instance" : `button instance tag-${colour}`}
        label={
          description === ""
            ? "Instance and version of the server: change name and colour"
            : `${description}: change name and colour`
        }
        onClick={() => editing.set({ open: true })}
      >
        {name !== "" && <strong>{name}</strong>}
        {type !== "" && <span class="instance-type">{type}</span>}
        <span>{version}</span>
      </Button>
    </>
  );
}
