/* What is to be put on a board. The boards ask on which of them (boards/AddDialog.tsx), while `cell` is there. */
import { createUserStore } from "../../state/owner";
import type { SavedSpec } from "./saved";

export interface NewCell {
  text: string; /* SQL */
  show?: "table"; /* a chart, where it is not there */
  spec?: SavedSpec; /* of the chart; guessed, where it is not there */
}

export const adding = createUserStore<{ cell: NewCell | null }>({ cell: null });
