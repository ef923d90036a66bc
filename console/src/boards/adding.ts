/* The cell that is to be put on a board; the dialog of AddDialog.tsx asks on which. */
import { createStore } from "../state/store";
import type { Cell } from "./board";

export const adding = createStore<{ cell: Cell | null }>({ cell: null });
