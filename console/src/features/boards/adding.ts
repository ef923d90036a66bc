/* What is to be put on a board; the dialog of AddDialog.tsx asks on which. */
import { createUserStore } from "../../state/owner";
import type { Cell } from "./board";

export const adding = createUserStore<{ cell: Partial<Cell> | null }>({ cell: null });
