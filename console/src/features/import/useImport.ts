/*
 * An import: the chosen file and its beginning, the settings, what the server would make of them, and how far the
 * sending is. The views of ImportFile.tsx and ImportForm.tsx draw it.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { catalog, loadTables } from "../../api/catalog";
import { isExternal } from "../../login/signon";
import { useStore } from "../../state/store";
import { type ColumnChange, withColumn } from "./columns";
import { tableNameOf } from "./csv";
import { isTime, isTimestamp } from "./fields";
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

export type Phase =
  { kind: "set" } | { kind: "sending"; sent: number; upload: Upload } | { kind: "done"; report: ImportReport };

interface Looked {
  report: ImportReport | null; /* what the server makes of the beginning of the file */
  problem: string | null;
  fits: boolean; /* the table takes columns that are called so */
}
const NOT_LOOKED: Looked = { report: null, problem: null, fits: true };

/* The file, its beginning, and what became of the server's look at it. */
function useFile() {
  const [file, setFile] = useState<File | null>(null);
  const [sample, setSample] = useState<Sample | null>(null);
  const [looked, setLooked] = useState<Looked>(NOT_LOOKED);
  const know = (part: Partial<Looked>) => setLooked((now) => ({ ...now, ...part }));
  return { file, setFile, sample, setSample, ...looked, know };
}
type FileState = ReturnType<typeof useFile>;

/* What the server would do with the beginning of the file, asked again after each change. */
function usePreview(
  { file, sample, setSample, report, know }: FileState,
  settings: ImportSettings,
  fixed: boolean,
  phase: Phase,
  change: (part: Partial<ImportSettings>) => void,
): void {
  const key = JSON.stringify(settings);
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
            know({ report: r, problem: null, fits: true });
            const more = file === null ? null : withRows(file, sample, r);
            if (more !== null) setSample(more);
            const time = r.columns.find((c) => isTimestamp(c.type)) ?? r.columns.find((c) => isTime(c.type));
            if (report === null && time !== undefined && settings.timestamp === "" && !fixed)
              change({ timestamp: time.name });
          },
          (e: unknown) => {
            if (!live) return;
            know({ problem: reason(e) });
            if (settings.overwrite) return;
            /* what the file itself has, so that its columns can get the names that the table has */
            asked = upload({ ...settings, overwrite: true, timestamp: "" }, sample, "look");
            asked.done.then(
              (r) => {
                if (!live) return;
                know({ report: r, fits: false });
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
}

export function useImport(table: string, first: File | null) {
  const known = useStore(catalog, (c) => c.tables);
  const state = useFile();
  const { file, sample, report, know } = state;
  const [settings, setSettings] = useState<ImportSettings>({ ...START, name: table });
  const [phase, setPhase] = useState<Phase>({ kind: "set" });
  const running = useRef<Upload | null>(null);
  const change = (part: Partial<ImportSettings>) => setSettings((now) => ({ ...now, ...part }));
  const exists = known.some((t) => t.name.toLowerCase() === settings.name.toLowerCase());
  const fixed = exists && !settings.overwrite; /* the table says what its columns are */
  const take = async (chosen: File) => {
    know({ report: null, problem: null });
    state.setFile(chosen);
    change({ name: table !== "" ? table : tableNameOf(chosen.name), schema: [], timestamp: "" });
    try {
      state.setSample(await sampleOf(chosen));
    } catch (e) {
      know({ problem: reason(e) });
    }
  };
  useEffect(() => {
    if (first !== null) void take(first);
    return () => running.current?.cancel();
  }, []);
  usePreview(state, settings, fixed, phase, change);
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
    know({ problem: null });
    try {
      const done = await sending.done;
      setPhase({ kind: "done", report: done });
      await loadTables();
    } catch (e) {
      know({ problem: reason(e) });
      setPhase({ kind: "set" });
    }
    running.current = null;
  };
  const reset = () => {
    setPhase({ kind: "set" });
    state.setFile(null);
    state.setSample(null);
    know({ report: null });
  };
  return { ...state, settings, change, phase, exists, fixed, take, onColumn, start, reset };
}
export type Import = ReturnType<typeof useImport>;
