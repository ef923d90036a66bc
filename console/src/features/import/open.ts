/* Opens the dialogs that bring data in; they come as code of their own. */
import { createUserStore } from "../../state/owner";

export const importing = createUserStore<{ open: "import" | "create" | null; table: string; file: File | null }>({
  open: null,
  table: "",
  file: null,
});

export const openImport = (table = "", file: File | null = null): void =>
  importing.set({ open: "import", table, file });
export const openCreate = (): void => importing.set({ open: "create", table: "", file: null });
