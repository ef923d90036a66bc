/*
 * A CSV, NDJSON or Parquet file into a table: what the server makes of its beginning, or of the schema at its end, is
 * shown (/imp with preview=true stores nothing), can be corrected, and then the file is sent.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { catalog, loadTables, writtenName } from "../../api/catalog";
import { shownBytes, shownCount } from "../../results/format";
import { runInTab } from "../../editor/runInTab";
import { useStore } from "../../state/store";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { Icon } from "../../ui/Icon";
import { isExternal } from "../../login/signon";
import { type ColumnChange, withColumn } from "./columns";
import { tableNameOf } from "./csv";
import { Check, Choice } from "../../ui/fields";
import { isTime, isTimestamp, NameList, OwnerField, PARTITIONS, TypeList } from "./fields";
import { Preview, Report } from "./Preview";
import { type ImportReport, type ImportSettings, type Sample, sampleOf, type Upload, upload, withRows } from "./upload";

const START: ImportSettings = {
  name: "",
  overwrite: false,
  forceHeader: false,
  timestamp: "",
  partitionBy: "DAY",
  owner: "",
  delimiter: "",
  atomicity: "skipRow",
  skipLev: false,
  schema: [],
};
const PREVIEW_MS = 300;

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

type Phase =
  { kind: "set" } | { kind: "sending"; sent: number; upload: Upload } | { kind: "done"; report: ImportReport };

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

export function ImportFile({ table, file: first, onClose }: { table: string; file: File | null; onClose: () => void }) {
  const known = useStore(catalog, (c) => c.tables);
  const [file, setFile] = useState<File | null>(null);
  const [sample, setSample] = useState<Sample | null>(null);
  const [settings, setSettings] = useState<ImportSettings>({ ...START, name: table });
  const [report, setReport] = useState<ImportReport | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [fits, setFits] = useState(true); /* the table takes columns that are called so */
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
    if (sample === null || phase.kind !== "set" || settings.name.trim() === "") return;
    if (isExternal() && settings.owner === "" && !fixed) return; /* the owner is on its way */
    let live = true;
    let asked: Upload | null = null;
    const timer = setTimeout(
      () => {
        asked = upload(
          { ...settings, atomicity: settings.atomicity === "abort" ? "skipRow" : settings.atomicity },
          sample,
          "look",
        );
        asked.done.then(
          (r) => {
            if (!live) return;
            setReport(r);
            setProblem(null);
            setFits(true);
            const more = file === null ? null : withRows(file, sample, r);
            if (more !== null) setSample(more);
            const time = r.columns.find((c) => isTimestamp(c.type)) ?? r.columns.find((c) => isTime(c.type));
            if (report === null && time !== undefined && settings.timestamp === "" && !fixed)
              change({ timestamp: time.name });
          },
          (e: unknown) => {
            if (!live) return;
            setProblem(reason(e));
            if (settings.overwrite) return;
            /* what the file itself has, so that its columns can get the names that the table has */
            asked = upload({ ...settings, overwrite: true, timestamp: "" }, sample, "look");
            asked.done.then(
              (r) => {
                if (!live) return;
                setReport(r);
                setFits(false);
              },
              () => undefined,
            );
          },
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
  /* Two changes may come before the page is drawn again: each builds on what is set by then. */
  const onColumn = (at: number, part: ColumnChange) => {
    const column = report?.columns[at];
    if (report === null || column === undefined) return;
    setSettings((now) => {
      const isIt = now.timestamp === column.name;
      const timestamp = !isIt
        ? now.timestamp
        : part.type !== undefined && !isTime(part.type)
          ? ""
          : (part.name ?? now.timestamp);
      return { ...now, schema: withColumn(now.schema, report, at, part), timestamp };
    });
  };
  const start = async () => {
    if (file === null || sample === null) return;
    const sending = upload(settings, { ...sample, data: file }, "store", (sent) =>
      setPhase((now) => (now.kind === "sending" ? { ...now, sent } : now)),
    );
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
  const named = sample?.parquet === true || report?.format !== undefined; /* the file says what its columns are */
  const times = (report?.columns ?? []).filter((c) => isTime(c.type)).map((c) => c.name);
  return (
    <Dialog title={table === "" ? "Import a file" : `Import a file into ${table}`} wide onClose={onClose}>
      <TypeList />
      <NameList table={fixed ? settings.name : ""} />
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
                runInTab(`SELECT * FROM ${writtenName(phase.report.location)} LIMIT 100;`, phase.report.location);
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
            <strong>{file.name}</strong>, {shownBytes(file.size)}
            {report?.fileRows !== undefined && `, Parquet, ${shownCount(report.fileRows)} rows`}
            {report?.format === "ndjson" && ", NDJSON"}
            {report?.packed !== undefined && `, packed by ${report.packed}`}{" "}
            <Button onClick={() => setFile(null)}>Another file</Button>
          </p>
          <div class="form-row">
            <label>
              Table
              <input
                value={settings.name}
                maxLength={127}
                required
                spellcheck={false}
                onInput={(e) => change({ name: e.currentTarget.value })}
              />
            </label>
            <Choice
              label="If it is there"
              value={settings.overwrite ? "overwrite" : "append"}
              options={[
                ["append", exists ? "Append to it" : "Append (it is new)"],
                ["overwrite", "Overwrite it"],
              ]}
              onChange={(v) => change({ overwrite: v === "overwrite" })}
            />
            <Choice
              label="Designated timestamp"
              value={fixed ? (report?.timestamp ?? "") : settings.timestamp}
              disabled={fixed}
              options={[
                ["", "none"],
                ...(fixed && report?.timestamp !== undefined ? [report.timestamp] : times).map(
                  (t) => [t, t] as [string, string],
                ),
              ]}
              onChange={(timestamp) => change({ timestamp })}
            />
            <Choice
              label="Partition by"
              value={
                fixed ? (report?.partitionBy ?? "NONE") : settings.timestamp === "" ? "NONE" : settings.partitionBy
              }
              disabled={fixed || settings.timestamp === ""}
              options={PARTITIONS.map((p) => [p, p])}
              onChange={(partitionBy) => change({ partitionBy })}
            />
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
            {!named && (
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
            )}
          </div>
          {!named && (
            <div class="form-row">
              <Check
                label="The first line is the header, whatever it looks like"
                value={settings.forceHeader}
                onChange={(forceHeader) => change({ forceHeader, schema: [] })}
              />
              <Check
                label="Cut values behind the last column off"
                value={settings.skipLev}
                onChange={(skipLev) => change({ skipLev })}
              />
            </div>
          )}
          {problem !== null && (
            <p class="form-error" role="alert">
              {problem}
            </p>
          )}
          {report !== null && sample !== null && (
            <Preview sample={sample} report={report} settings={settings} fixed={fixed} onColumn={onColumn} />
          )}
          {report !== null && <Report report={report} preview />}
          <div class="form-buttons">
            <Button onClick={onClose}>Close</Button>
            <Button
              type="submit"
              icon="upload"
              class="button primary"
              disabled={report === null || !(fits || settings.overwrite)}
            >
              {settings.overwrite && exists ? "Overwrite" : "Import"}
            </Button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
