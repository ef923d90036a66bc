/* Whose server this is: name, kind and colour from its shared preferences, its version, and its warnings. */
import { createUserStore } from "../state/owner";
import { settings, warnings } from "./client";
import type { ServerWarning } from "./types";

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

export function instanceOf(preferences: Record<string, unknown>): Instance {
  const text = (key: string, max: number) =>
    typeof preferences[key] === "string" ? preferences[key].slice(0, max) : "";
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
