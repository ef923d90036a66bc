/*
 * A CSV, NDJSON or Parquet file into a table: what the server makes of its beginning, or of the schema at its end, is
 * shown (/imp with preview=true stores nothing), can be corrected, and then the file is sent.
 */
import { useState } from "preact/hooks";
import { writtenName } from "../../api/catalog";
import { runInTab } from "../../editor/runInTab";
import { shownBytes, shownCount } from "../../results/format";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { Icon } from "../../ui/Icon";
import { NameList, TypeList } from "./fields";
import { ImportForm } from "./ImportForm";
import { Report } from "./Preview";
import type { ImportReport } from "./upload";
import { useImport } from "./useImport";

function FileChoice({ onFile }: { onFile: (file: File) => void }) {
  const [over, setOver] = useState(false);
  return (
    <label
      class={over ? "drop-zone over" : "drop-zone"}
      onDragOver={(e) => {
        e.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(e) => {
        e.preventDefault();
        setOver(false);
        const file = e.dataTransfer?.files[0];
        if (file !== undefined) onFile(file);
      }}
    >
      <Icon name="upload" />
      <span>Drop a CSV, NDJSON or Parquet file here, packed or not, or choose one</span>
      <input
        type="file"
        accept=".csv,.tsv,.txt,.parquet,.ndjson,.jsonl,.json,.gz,.zst,text/csv"
        aria-label="File"
        onChange={(e) => {
          const file = e.currentTarget.files?.[0];
          if (file !== undefined) onFile(file);
        }}
      />
    </label>
  );
}

function Progress({ sent, size, onCancel }: { sent: number; size: number; onCancel: () => void }) {
  const all = sent >= size;
  return (
    <div class="import-progress">
      <p role="status">
        {all ? "The file is sent; the server stores it." : `${shownBytes(sent)} of ${shownBytes(size)}`}
      </p>
      <progress aria-label="Sent" {...(all ? {} : { value: sent, max: size })} />
      <Button class="button danger" onClick={onCancel}>
        Cancel
      </Button>
    </div>
  );
}

interface DoneProps {
  report: ImportReport;
  onAgain: () => void;
  onClose: () => void;
}
function Done({ report, onAgain, onClose }: DoneProps) {
  return (
    <div class="form">
      <p role="status">
        <strong>
          {shownCount(report.rowsImported)} rows are in {report.location}
        </strong>
        {report.rowsRejected > 0 && `, ${shownCount(report.rowsRejected)} were left out`}.
      </p>
      <Report report={report} preview={false} />
      <div class="form-buttons">
        <Button onClick={onAgain}>Import another file</Button>
        <Button
          class="button primary"
          onClick={() => {
            onClose();
            runInTab(`SELECT * FROM ${writtenName(report.location)} LIMIT 100;`, report.location);
          }}
        >
          Look at it
        </Button>
      </div>
    </div>
  );
}

export function ImportFile({ table, file: first, onClose }: { table: string; file: File | null; onClose: () => void }) {
  const model = useImport(table, first);
  const { file, phase, settings, fixed } = model;
  return (
    <Dialog title={table === "" ? "Import a file" : `Import a file into ${table}`} wide onClose={onClose}>
      <TypeList />
      <NameList table={fixed ? settings.name : ""} />
      {phase.kind === "done" ? (
        <Done report={phase.report} onAgain={model.reset} onClose={onClose} />
      ) : file === null ? (
        <FileChoice onFile={(f) => void model.take(f)} />
      ) : phase.kind === "sending" ? (
        <Progress sent={phase.sent} size={file.size} onCancel={() => phase.upload.cancel()} />
      ) : (
        <ImportForm model={model} file={file} onClose={onClose} />
      )}
    </Dialog>
  );
}
