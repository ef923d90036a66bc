/* The dialogs that bring data in: which of them is open. */
import { useStore } from "../../state/store";
import { CreateTable } from "./CreateTable";
import "./import.css";
import { ImportFile } from "./ImportFile";
import { importing } from "./open";

export const closeImport = (): void => importing.set({ open: null, file: null });

export function ImportDialogs() {
  const { open, table, file } = useStore(importing, (i) => i);
  if (open === "create") return <CreateTable onClose={closeImport} />;
  return open === "import" ? <ImportFile table={table} file={file} onClose={closeImport} /> : null;
}
