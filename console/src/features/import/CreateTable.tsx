/* A new table by form, shown as the statement that it is. */
import { useState } from "preact/hooks";
import { notify } from "../../ui/notice";
import { newTab } from "../../editor/tabs";
import { changeTables, reserved } from "../../api/catalog";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { createSql, type NewColumn, type NewTable } from "./ddl";
import { Check, Choice } from "../../ui/fields";
import { isTimestamp, OwnerField, PARTITIONS, TypeField, TypeList } from "./fields";

const START: NewTable = {
  name: "",
  columns: [
    { name: "ts", type: "TIMESTAMP", key: false },
    { name: "", type: "DOUBLE", key: false },
  ],
  timestamp: "ts",
  partitionBy: "DAY",
  ttl: "",
  dedup: false,
  ifNotExists: false,
  owner: "",
};

interface FieldsProps {
  table: NewTable;
  set: (part: Partial<NewTable>) => void;
}

function ColumnFields({ table, set }: FieldsProps) {
  const setColumn = (at: number, part: Partial<NewColumn>) => {
    const old = table.columns[at];
    const columns = table.columns.map((c, i) => (i === at ? { ...c, ...part } : c));
    const was = old !== undefined && old.name === table.timestamp;
    const still = columns[at] !== undefined && isTimestamp(columns[at].type);
    set({ columns, timestamp: was ? (still ? (columns[at]?.name ?? "") : "") : table.timestamp });
  };
  return (
    <fieldset class="new-columns">
      <legend>Columns</legend>
      {table.columns.map((c, i) => (
        <div class="new-column" key={i}>
          <input
            value={c.name}
            placeholder="name"
            aria-label={`Name of column ${i + 1}`}
            maxLength={127}
            spellcheck={false}
            onInput={(e) => setColumn(i, { name: e.currentTarget.value })}
          />
          <TypeField label={`Type of column ${i + 1}`} value={c.type} onChange={(type) => setColumn(i, { type })} />
          {table.dedup && c.name !== table.timestamp && (
            <Check label="key" value={c.key} onChange={(key) => setColumn(i, { key })} />
          )}
          <Button
            icon="close"
            label={`Remove column ${i + 1}`}
            disabled={table.columns.length === 1}
            onClick={() =>
              set({
                columns: table.columns.filter((_, at) => at !== i),
                timestamp: c.name === table.timestamp ? "" : table.timestamp,
              })
            }
          />
        </div>
      ))}
      <Button
        icon="plus"
        onClick={() => set({ columns: [...table.columns, { name: "", type: "DOUBLE", key: false }] })}
      >
        Column
      </Button>
    </fieldset>
  );
}

/* How the rows of the table are kept, and whose they are. */
function KeepingFields({ table, set }: FieldsProps) {
  const times = table.columns.filter((c) => isTimestamp(c.type) && c.name !== "").map((c) => c.name);
  return (
    <>
      <div class="form-row">
        <Choice
          label="Designated timestamp"
          value={table.timestamp}
          options={[["", "none"], ...times.map((t) => [t, t] as [string, string])]}
          onChange={(timestamp) => set({ timestamp, dedup: timestamp !== "" && table.dedup })}
        />
        <Choice
          label="Partition by"
          value={table.timestamp === "" ? "NONE" : table.partitionBy}
          disabled={table.timestamp === ""}
          options={PARTITIONS.map((p) => [p, p])}
          onChange={(partitionBy) => set({ partitionBy })}
        />
        <label>
          TTL
          <input
            value={table.ttl}
            placeholder="none, or 30 DAYS"
            disabled={table.timestamp === "" || table.partitionBy === "NONE"}
            onInput={(e) => set({ ttl: e.currentTarget.value })}
          />
        </label>
        <OwnerField value={table.owner} onChange={(owner) => set({ owner })} />
      </div>
      <div class="form-row">
        {table.timestamp !== "" && (
          <Check
            label="One row for equal keys (DEDUP UPSERT KEYS)"
            value={table.dedup}
            onChange={(dedup) => set({ dedup })}
          />
        )}
        <Check
          label="Only if it is not there"
          value={table.ifNotExists}
          onChange={(ifNotExists) => set({ ifNotExists })}
        />
      </div>
    </>
  );
}

export function CreateTable({ onClose }: { onClose: () => void }) {
  const [table, setTable] = useState<NewTable>(START);
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const set = (part: Partial<NewTable>) => setTable((now) => ({ ...now, ...part }));
  const sql = createSql(table, reserved);
  const create = async () => {
    setBusy(true);
    try {
      await changeTables(sql);
      notify(`${table.name} is made.`);
      onClose();
    } catch (e) {
      setProblem(e instanceof Error ? e.message : String(e));
    }
    setBusy(false);
  };
  return (
    <Dialog title="Create a table" wide onClose={onClose}>
      <TypeList />
      <form
        class="form"
        onSubmit={(e) => {
          e.preventDefault();
          void create();
        }}
      >
        <label>
          Name
          <input
            value={table.name}
            maxLength={127}
            required
            spellcheck={false}
            onInput={(e) => set({ name: e.currentTarget.value })}
          />
        </label>
        <ColumnFields table={table} set={set} />
        <KeepingFields table={table} set={set} />
        <pre class="ddl" tabIndex={0} aria-label="Statement">
          {sql}
        </pre>
        {problem !== null && (
          <p class="form-error" role="alert">
            {problem}
          </p>
        )}
        <div class="form-buttons">
          <Button
            onClick={() => {
              newTab(sql, table.name === "" ? undefined : table.name);
              onClose();
            }}
          >
            Open in a tab
          </Button>
          <Button type="submit" class="button primary" disabled={busy || table.name.trim() === ""}>
            Create
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
