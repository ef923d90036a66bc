/* The settings of an import, and what the server would make of the file. */
import { shownBytes, shownCount } from "../../results/format";
import { Button } from "../../ui/Button";
import { Check, Choice } from "../../ui/fields";
import { isTime, OwnerField, PARTITIONS } from "./fields";
import { Preview, Report } from "./Preview";
import type { ImportSettings } from "./upload";
import type { Import } from "./useImport";

/* Does the file say what its columns are? */
const isNamed = ({ sample, report }: Import): boolean => sample?.parquet === true || report?.format !== undefined;

/* The table, and how its rows are kept. */
function TableFields({ model }: { model: Import }) {
  const { settings, report, exists, fixed, change } = model;
  const times = (report?.columns ?? []).filter((c) => isTime(c.type)).map((c) => c.name);
  return (
    <>
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
        value={fixed ? (report?.partitionBy ?? "NONE") : settings.timestamp === "" ? "NONE" : settings.partitionBy}
        disabled={fixed || settings.timestamp === ""}
        options={PARTITIONS.map((p) => [p, p])}
        onChange={(partitionBy) => change({ partitionBy })}
      />
      {!fixed && <OwnerField value={settings.owner} onChange={(owner) => change({ owner })} />}
    </>
  );
}

/* What becomes of values, and how a text is cut into them. */
function ValueFields({ model }: { model: Import }) {
  const { settings, change } = model;
  const named = isNamed(model);
  return (
    <>
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
    </>
  );
}

/* What may be said of a text without names of columns. */
function LineFields({ model }: { model: Import }) {
  const { settings, change } = model;
  return (
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
  );
}

export function ImportForm({ model, file, onClose }: { model: Import; file: File; onClose: () => void }) {
  const { settings, report, sample, problem, exists, fixed, fits } = model;
  return (
    <form
      class="form"
      onSubmit={(e) => {
        e.preventDefault();
        void model.start();
      }}
    >
      <p>
        <strong>{file.name}</strong>, {shownBytes(file.size)}
        {report?.fileRows !== undefined && `, Parquet, ${shownCount(report.fileRows)} rows`}
        {report?.format === "ndjson" && ", NDJSON"}
        {report?.packed !== undefined && `, packed by ${report.packed}`}{" "}
        <Button onClick={() => model.setFile(null)}>Another file</Button>
      </p>
      <div class="form-row">
        <TableFields model={model} />
        <ValueFields model={model} />
      </div>
      {!isNamed(model) && <LineFields model={model} />}
      {problem !== null && (
        <p class="form-error" role="alert">
          {problem}
        </p>
      )}
      {report !== null && sample !== null && (
        <Preview sample={sample} report={report} settings={settings} fixed={fixed} onColumn={model.onColumn} />
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
  );
}
