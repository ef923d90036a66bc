/* The columns of a file as they would be stored, to be corrected, its first rows, and what the server says of it. */
import { plural, shownBytes } from "../../results/format";
import type { ColumnChange } from "./columns";
import { delimiterOf, readFault, readRecords } from "./csv";
import { Draft } from "../../ui/fields";
import { TypeField } from "./fields";
import { GROUP_BYTES, type ImportReport, type ImportSettings, type Sample, withinReach } from "./upload";

const PREVIEW_ROWS = 20;
const UNITS: Array<[value: string, title: string]> = [
  ["", "ticks of the type"],
  ["s", "seconds"],
  ["ms", "milliseconds"],
  ["us", "microseconds"],
  ["ns", "nanoseconds"],
];

interface PreviewProps {
  sample: Sample;
  report: ImportReport;
  settings: ImportSettings;
  fixed: boolean; /* the table is there and keeps its types */
  onColumn: (at: number, change: ColumnChange) => void;
}

interface Row {
  line: number; /* as faults count: lines of a text, rows of a Parquet file */
  values: Array<string | null>;
}

const isRead = (sample: Sample, report: ImportReport): boolean =>
  sample.parquet || sample.packed || report.format !== undefined;

/* The server tells the rows of files that it alone can read; those of a CSV file are read here. */
function rowsOf(sample: Sample, report: ImportReport, settings: ImportSettings): Row[] {
  const first = report.header && report.format === undefined ? 2 : 1;
  if (isRead(sample, report)) return (report.rows ?? []).map((values, i) => ({ line: i + first, values }));
  const delimiter = settings.delimiter !== "" ? settings.delimiter : delimiterOf(sample.text, report.columns.length);
  return readRecords(sample.text, delimiter, PREVIEW_ROWS + 1, sample.cut)
    .slice(report.header ? 1 : 0)
    .slice(0, PREVIEW_ROWS);
}

function ColumnHead({
  report,
  at,
  settings,
  fixed,
  parquet,
  onColumn,
}: Omit<PreviewProps, "sample"> & { at: number; parquet: boolean }) {
  const c = report.columns[at];
  if (c === undefined) return null;
  const said = settings.schema.find((s) => s.name === (c.source ?? c.name));
  const pattern = said?.pattern ?? "";
  const unit = said?.unit ?? "";
  return (
    <th scope="col">
      <Draft
        label={`Name of column ${at + 1}`}
        title={c.source === undefined ? undefined : `${c.source} in the file`}
        value={c.name}
        list="column-names"
        onChange={(name) => onColumn(at, { name })}
      />
      {fixed ? (
        <span class="tree-type"> {c.type}</span>
      ) : (
        <TypeField label={`Type of ${c.name}`} value={c.type} onChange={(type) => onColumn(at, { type })} />
      )}
      {!fixed && !parquet && /^(TIMESTAMP|DATE)/.test(c.type) && (
        <Draft
          placeholder={c.suggestedPattern ?? "pattern"}
          label={`Pattern of ${c.name}`}
          title="How times are written: dd/MM/yyyy HH:mm:ss"
          value={pattern}
          onChange={(p) => onColumn(at, { type: c.type, pattern: p })}
        />
      )}
      {(c.suggestedUnit !== undefined || unit !== "") && (
        <select
          aria-label={`Unit of the numbers in ${c.name}`}
          title="What the numbers count since 1970"
          value={unit}
          onChange={(e) => onColumn(at, { type: c.type, unit: e.currentTarget.value })}
        >
          {UNITS.map(([value, title]) => (
            <option key={value} value={value}>
              {title}
              {value === c.suggestedUnit && " (suggested)"}
            </option>
          ))}
        </select>
      )}
      {c.errors > 0 && <span class="form-error">{plural(c.errors, "bad value")}</span>}
    </th>
  );
}

function ValueCell({ value, fault }: { value: string | null; fault: string | undefined }) {
  return (
    <td class={fault !== undefined ? "bad" : value === null ? "null" : ""} title={fault}>
      {value === null ? "null" : value.slice(0, 120)}
      {fault !== undefined && <span class="visually-hidden"> (does not fit)</span>}
    </td>
  );
}

export function Preview({ sample, report, settings, fixed, onColumn }: PreviewProps) {
  const faults = (report.errors ?? []).map(readFault).filter((f) => f !== null);
  const faultOf = (line: number, column: string) =>
    faults.find((f) => f.line === line && (f.column === column || f.column === null))?.text;
  return (
    <>
      <div class="list import-preview" tabIndex={0} role="region" aria-label="Columns and first rows">
        <table>
          <thead>
            <tr>
              {report.columns.map((_, i) => (
                <ColumnHead
                  key={i}
                  report={report}
                  at={i}
                  settings={settings}
                  fixed={fixed}
                  parquet={sample.parquet}
                  onColumn={onColumn}
                />
              ))}
            </tr>
          </thead>
          <tbody>
            {rowsOf(sample, report, settings).map((r) => (
              <tr key={r.line}>
                {report.columns.map((c, i) => (
                  <ValueCell
                    key={i}
                    value={isRead(sample, report) ? (r.values[i] ?? null) : (r.values[i] ?? "")}
                    fault={faultOf(r.line, c.name)}
                  />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {sample.fileSize !== null && report.rows === undefined && (
        <p class="side-note">
          {report.firstRows !== undefined && withinReach(report.firstRows, sample.fileSize)
            ? "The first rows come …"
            : `What is needed for its first rows is larger than ${shownBytes(GROUP_BYTES)}: the schema alone is shown.`}
        </p>
      )}
    </>
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
            {plural(report.rowsRejected, "row")} left out,{" "}
            {plural(
              report.columns.reduce((n, c) => n + c.errors, 0),
              "value",
            )}{" "}
            not taken
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
