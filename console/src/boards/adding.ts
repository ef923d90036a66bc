/* What is to be put on a board; the dialog of AddDialog.tsx asks on which. */
import { createStore } from "../state/store";
import type { Cell } from "./board";

export const adding = createStore<{ cell: Partial<Cell> | null }>({ cell: null });
