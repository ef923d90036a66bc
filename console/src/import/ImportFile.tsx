/*
 * A CSV file into a table: what the server makes of its beginning is shown (/imp with preview=true stores nothing),
 * can be corrected, and then the file is sent.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { catalog, loadTables } from "../api/catalog";
import { plural, shownBytes, shownCount } from "../results/format";
import { newTab } from "../editor/tabs";
import { quoteText } from "../sql/lexer";
import { runInTab, written } from "../schema/actions";
import { useStore } from "../state/store";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Icon } from "../ui/Icon";
import { isExternal } from "../login/signon";
import { delimiterOf, readFault, readRecords, tableNameOf } from "./csv";
import { Check, Choice, isTime, isTimestamp, OwnerField, PARTITIONS, TypeField, TypeList } from "./fields";
import { type ImportReport, type ImportSettings, sampleOf, type Upload, upload } from "./upload";

const START: ImportSettings = { name: "", overwrite: false, forceHeader: false, timestamp: "", partitionBy: "DAY", owner: "", delimiter: "", atomicity: "skipRow", skipLev: false, schema: [] };
const PREVIEW_ROWS = 20;
const PREVIEW_MS = 300;

interface Sample {
  text: string;
  data: Blob;
  cut: boolean;
  parquet: boolean;
}

const reason = (e: unknown): string => (e instanceof Error ? e.message : String(e));

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
      <span>Drop a CSV file here, or choose one</span>
      <input
        type="file"
        accept=".csv,.tsv,.txt,.parquet,text/csv"
        aria-label="File"
        onChange={(e) => {
          const file = e.currentTarget.files?.[0];
          if (file !== undefined) onFile(file);
        }}
      />
    </label>
  );
}

interface PreviewProps {
  sample: Sample;
  report: ImportReport;
  settings: ImportSettings;
  fixed: boolean; /* the table is there and keeps its types */
  onType: (name: string, change: { name?: string; type?: string; pattern?: string }) => void;
}

function Preview({ sample, report, settings, fixed, onType }: PreviewProps) {
  const delimiter = settings.delimiter !== "" ? settings.delimiter : delimiterOf(sample.text, report.columns.length);
  const records = readRecords(sample.text, delimiter, PREVIEW_ROWS + 1, sample.cut).slice(report.header ? 1 : 0).slice(0, PREVIEW_ROWS);
  const faults = (report.errors ?? []).map(readFault).filter((f) => f !== null);
  const faultOf = (line: number, column: string) => faults.find((f) => f.line === line && (f.column === column || f.column === null));
  const patternOf = (name: string) => settings.schema.find((s) => s.name === name)?.pattern ?? "";
  return (
    <div class="list import-preview" tabIndex={0} role="region" aria-label="Columns and first rows">
      <table>
        <thead>
          <tr>
            {report.columns.map((c, i) => (
              <th key={i} scope="col">
                {report.header || fixed ? c.name : <input class="type-field" aria-label={`Name of column ${i + 1}`} value={c.name} onChange={(e) => onType(c.name, { name: e.currentTarget.value })} />}
                {fixed ? <span class="tree-type"> {c.type}</span> : <TypeField label={`Type of ${c.name}`} value={c.type} onChange={(type) => onType(c.name, { type })} />}
                {!fixed && /^(TIMESTAMP|DATE)/.test(c.type) && (
                  <input class="type-field" placeholder="pattern" aria-label={`Pattern of ${c.name}`} title="How times are written: dd/MM/yyyy HH:mm:ss" value={patternOf(c.name)} onChange={(e) => onType(c.name, { type: c.type, pattern: e.currentTarget.value.trim() })} />
                )}
                {c.errors > 0 && <span class="form-error">{plural(c.errors, "bad value")}</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {records.map((r) => (
            <tr key={r.line}>
              {report.columns.map((c, i) => {
                const fault = faultOf(r.line, c.name);
                return (
                  <td key={i} class={fault === undefined ? "" : "bad"} title={fault?.text}>
                    {(r.values[i] ?? "").slice(0, 120)}
                    {fault !== undefined && <span class="visually-hidden"> (does not fit)</span>}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function Report({ report, preview }: { report: ImportReport; preview: boolean }) {
  return (
    <>
      {(report.warnings ?? []).map((w) => (
        <p key={w} class="import-warning">
          {w}
        </p>
      ))}
      {report.errors !== undefined && report.errors.length > 0 && (
        <details open={!preview}>
          <summary>
            {preview ? "In the beginning of the file: " : ""}
            {plural(report.rowsRejected, "row")} left out, {plural(report.columns.reduce((n, c) => n + c.errors, 0), "value")} not taken
          </summary>
          <ul class="import-faults" tabIndex={0} aria-label="Faults">
            {report.errors.map((e, i) => (
              <li key={i}>{e}</li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

type Phase = { kind: "set" } | { kind: "sending"; sent: number; upload: Upload } | { kind: "done"; report: ImportReport };

function Progress({ sent, size, onCancel }: { sent: number; size: number; onCancel: () => void }) {
  const all = sent >= size;
  return (
    <div class="import-progress">
      <p role="status">{all ? "The file is sent; the server stores it." : `${shownBytes(sent)} of ${shownBytes(size)}`}</p>
      <progress aria-label="Sent" {...(all ? {} : { value: sent, max: size })} />
      <Button class="button danger" onClick={onCancel}>
        Cancel
      </Button>
    </div>
  );
}

export function ImportFile({ table, file: first, onClose }: { table: string; file: File | null; onClose: () => void }) {
  const known = useStore(catalog, (c) => c.tables);
  const [file, setFile] = useState<File | null>(null);
  const [sample, setSample] = useState<Sample | null>(null);
  const [settings, setSettings] = useState<ImportSettings>({ ...START, name: table });
  const [report, setReport] = useState<ImportReport | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [phase, setPhase] = useState<Phase>({ kind: "set" });
  const running = useRef<Upload | null>(null);
  const change = (part: Partial<ImportSettings>) => setSettings((now) => ({ ...now, ...part }));
  const take = async (chosen: File) => {
    setReport(null);
    setProblem(null);
    setFile(chosen);
    change({ name: table !== "" ? table : tableNameOf(chosen.name), schema: [], timestamp: "" });
    try {
      setSample(await sampleOf(chosen));
    } catch (e) {
      setProblem(reason(e));
    }
  };
  useEffect(() => {
    if (first !== null) void take(first);
    return () => running.current?.cancel();
  }, []);
  const exists = known.some((t) => t.name.toLowerCase() === settings.name.toLowerCase());
  const fixed = exists && !settings.overwrite;
  const key = JSON.stringify(settings);
  /* What the server would do with the beginning of the file, asked again after each change. */
  useEffect(() => {
    if (sample === null || sample.parquet || phase.kind !== "set" || settings.name.trim() === "") return;
    if (isExternal() && settings.owner === "" && !fixed) return; /* the owner is on its way */
    let live = true;
    let asked: Upload | null = null;
    const timer = setTimeout(
      () => {
        asked = upload({ ...settings, atomicity: settings.atomicity === "abort" ? "skipRow" : settings.atomicity }, sample.data, true);
        asked.done.then(
          (r) => {
            if (!live) return;
            setReport(r);
            setProblem(null);
            const time = r.columns.find((c) => isTimestamp(c.type)) ?? r.columns.find((c) => isTime(c.type));
            if (report === null && time !== undefined && settings.timestamp === "" && !fixed) change({ timestamp: time.name });
          },
          (e: unknown) => live && setProblem(reason(e)),
        );
      },
      report === null ? 0 : PREVIEW_MS,
    );
    return () => {
      live = false;
      clearTimeout(timer);
      asked?.cancel();
    };
  }, [key, sample, phase.kind]);
  const onType = (name: string, part: { name?: string; type?: string; pattern?: string }) => {
    const columns = report?.columns ?? [];
    const all = report?.header !== true; /* without a header all are named, in order */
    const old = (n: string) => settings.schema.find((s) => s.name === n);
    const next: ImportSettings["schema"] = [];
    for (const c of columns) {
      const before = old(c.name);
      if (c.name !== name) {
        if (before !== undefined || all) next.push(before ?? { name: c.name, type: c.type });
        continue;
      }
      const pattern = part.pattern ?? before?.pattern ?? "";
      next.push({ name: part.name ?? c.name, type: part.type ?? c.type, ...(pattern === "" ? {} : { pattern }) });
    }
    change({ schema: next, timestamp: settings.timestamp === name && part.type !== undefined && !isTime(part.type) ? "" : settings.timestamp });
  };
  const start = async () => {
    if (file === null) return;
    const sending = upload(settings, file, false, (sent) => setPhase((now) => (now.kind === "sending" ? { ...now, sent } : now)));
    running.current = sending;
    setPhase({ kind: "sending", sent: 0, upload: sending });
    setProblem(null);
    try {
      const done = await sending.done;
      setPhase({ kind: "done", report: done });
      await loadTables();
    } catch (e) {
      setProblem(reason(e));
      setPhase({ kind: "set" });
    }
    running.current = null;
  };
  const times = (report?.columns ?? []).filter((c) => isTime(c.type)).map((c) => c.name);
  return (
    <Dialog title={table === "" ? "Import a file" : `Import a file into ${table}`} wide onClose={onClose}>
      <TypeList />
      {phase.kind === "done" ? (
        <div class="form">
          <p role="status">
            <strong>
              {shownCount(phase.report.rowsImported)} rows are in {phase.report.location}
            </strong>
            {phase.report.rowsRejected > 0 && `, ${shownCount(phase.report.rowsRejected)} were left out`}.
          </p>
          <Report report={phase.report} preview={false} />
          <div class="form-buttons">
            <Button
              onClick={() => {
                setPhase({ kind: "set" });
                setFile(null);
                setSample(null);
                setReport(null);
              }}
            >
              Import another file
            </Button>
            <Button
              class="button primary"
              onClick={() => {
                onClose();
                runInTab(`SELECT * FROM ${written(phase.report.location)} LIMIT 100;`, phase.report.location);
              }}
            >
              Look at it
            </Button>
          </div>
        </div>
      ) : file === null ? (
        <FileChoice onFile={(f) => void take(f)} />
      ) : phase.kind === "sending" ? (
        <Progress sent={phase.sent} size={file.size} onCancel={() => phase.upload.cancel()} />
      ) : (
        <form
          class="form"
          onSubmit={(e) => {
            e.preventDefault();
            void start();
          }}
        >
          <p>
            <strong>{file.name}</strong>, {shownBytes(file.size)}{" "}
            <Button onClick={() => setFile(null)}>Another file</Button>
          </p>
          {sample?.parquet === true && (
            <p class="form-error" role="alert">
              This is a Parquet file, which the server reads from its import folder (cairo.sql.copy.root), not from here.{" "}
              <Button
                onClick={() => {
                  onClose();
                  newTab(`CREATE TABLE ${written(settings.name)} AS (SELECT * FROM read_parquet(${quoteText(file.name)}));`, settings.name);
                }}
              >
                Write the statement
              </Button>
            </p>
          )}
          <div class="form-row">
            <label>
              Table
              <input value={settings.name} maxLength={127} required spellcheck={false} onInput={(e) => change({ name: e.currentTarget.value })} />
            </label>
            <Choice
              label="If it is there"
              value={settings.overwrite ? "overwrite" : "append"}
              options={[
                ["append", exists ? "Append to it" : "Append (it is not there)"],
                ["overwrite", "Overwrite it"],
              ]}
              onChange={(v) => change({ overwrite: v === "overwrite" })}
            />
            <Choice label="Designated timestamp" value={fixed ? (report?.timestamp ?? "") : settings.timestamp} disabled={fixed} options={[["", "none"], ...(fixed && report?.timestamp !== undefined ? [report.timestamp] : times).map((t) => [t, t] as [string, string])]} onChange={(timestamp) => change({ timestamp })} />
            <Choice label="Partition by" value={fixed ? (report?.partitionBy ?? "NONE") : settings.timestamp === "" ? "NONE" : settings.partitionBy} disabled={fixed || settings.timestamp === ""} options={PARTITIONS.map((p) => [p, p])} onChange={(partitionBy) => change({ partitionBy })} />
            {!fixed && <OwnerField value={settings.owner} onChange={(owner) => change({ owner })} />}
            <Choice
              label="A value that does not fit"
              value={settings.atomicity}
              options={[
                ["skipRow", "leaves its row out"],
                ["skipCol", "becomes null"],
                ["abort", "ends the import"],
              ]}
              onChange={(v) => change({ atomicity: v as ImportSettings["atomicity"] })}
            />
            <Choice
              label="Delimiter"
              value={settings.delimiter}
              options={[
                ["", "found by itself"],
                [",", "comma"],
                [";", "semicolon"],
                ["\t", "tab"],
                ["|", "bar"],
              ]}
              onChange={(delimiter) => change({ delimiter })}
            />
          </div>
          <div class="form-row">
            <Check label="The first line is the header, whatever it looks like" value={settings.forceHeader} onChange={(forceHeader) => change({ forceHeader, schema: [] })} />
            <Check label="Cut values behind the last column off" value={settings.skipLev} onChange={(skipLev) => change({ skipLev })} />
          </div>
          {problem !== null && (
            <p class="form-error" role="alert">
              {problem}
            </p>
          )}
          {report !== null && sample !== null && <Preview sample={sample} report={report} settings={settings} fixed={fixed} onType={onType} />}
          {report !== null && <Report report={report} preview />}
          <div class="form-buttons">
            <Button onClick={onClose}>Close</Button>
            <Button type="submit" icon="upload" class="button primary" disabled={report === null || sample?.parquet === true}>
              {settings.overwrite && exists ? "Overwrite" : "Import"}
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
