/* What there is to know of a table: facts, columns, partitions, the statement that makes it; and its new name. */
import { useEffect, useState } from "preact/hooks";
import { changeTables, writtenName } from "../../api/catalog";
import { rows } from "../../api/client";
import { notify } from "../../ui/notice";
import { newTab } from "../../editor/tabs";
import { plural, shownBytes, shownCount } from "../../results/format";
import { quoteText } from "../../sql/lexer";
import { useStore } from "../../state/store";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { shownTable } from "./actions";
import { ddlOf, loadColumns, loadPartitions } from "./model";
import "./schema.css";
import type { ColumnNode, PartitionNode, TableNode } from "./tree";

const close = () => shownTable.set({ table: null });

function useLoaded<T>(load: () => Promise<T>, key: string): { value: T | null; problem: string | null } {
  const [now, setNow] = useState<{ value: T | null; problem: string | null }>({ value: null, problem: null });
  useEffect(() => {
    let live = true;
    load().then(
      (value) => live && setNow({ value, problem: null }),
      (e: unknown) => live && setNow({ value: null, problem: e instanceof Error ? e.message : String(e) }),
    );
    return () => {
      live = false;
    };
  }, [key]);
  return now;
}

interface Fact {
  what: string;
  value: string;
  bad?: boolean;
}

type Wire = Record<string, string | number | boolean | null>;
const text = (v: Wire[string] | undefined): string => (v === null || v === undefined ? "none" : String(v));

/* What takes writes, and how far they are; what is set. */
async function loadFacts(table: TableNode): Promise<Fact[]> {
  const name = quoteText(table.name);
  const one = async (sql: string): Promise<Wire> => (await rows<Wire>(sql))[0] ?? {};
  const t = await one(`SELECT * FROM tables() WHERE table_name = ${name}`);
  const facts: Fact[] = [{ what: "Kind", value: table.kind }];
  if (table.problem !== null) facts.push({ what: "State", value: table.problem, bad: true });
  if (table.kind !== "view") {
    facts.push(
      { what: "Rows", value: shownCount(table.rows ?? 0) },
      {
        what: "On disk",
        value:
          table.bytes === 0 && table.rows !== 0
            ? "nothing yet: the rows are in the log and in memory"
            : shownBytes(table.bytes ?? 0),
      },
      { what: "Designated timestamp", value: text(t.designatedTimestamp) },
      { what: "Partitions", value: `${shownCount(table.partitions ?? 0)}, by ${text(t.partitionBy)}` },
      { what: "Newest time", value: text(t.table_max_timestamp) },
      { what: "Writes", value: t.walEnabled === true ? "through the log (WAL)" : "BYPASS WAL" },
      { what: "Number of the last change", value: text(t.table_txn) },
      { what: "DEDUP", value: t.dedup === true ? "on" : "off" },
      { what: "TTL", value: Number(t.ttlValue) > 0 ? `${text(t.ttlValue)} ${text(t.ttlUnit)}` : "none" },
      { what: "maxUncommittedRows", value: text(t.maxUncommittedRows) },
      { what: "o3MaxLag", value: `${text(t.o3MaxLag)} µs` },
    );
    const w = await one(
      `SELECT suspended, writerTxn, sequencerTxn, errorTag, errorMessage FROM wal_tables() WHERE name = ${name}`,
    );
    if (w.suspended !== undefined) {
      const behind = Number(w.sequencerTxn) - Number(w.writerTxn);
      facts.push({
        what: "Write status",
        value:
          w.suspended === true
            ? `suspended: ${text(w.errorMessage)}`
            : behind > 0
              ? `${plural(behind, "change")} behind`
              : "up to date",
        bad: w.suspended === true,
      });
    }
  }
  if (table.kind === "materialized view") {
    const m = await one(`SELECT * FROM materialized_views() WHERE view_name = ${name}`);
    facts.push(
      { what: "Base table", value: text(m.base_table_name) },
      { what: "Refresh", value: text(m.refresh_type) },
      { what: "Last refresh", value: text(m.last_refresh_finish_timestamp) },
      {
        what: "State",
        value: `${text(m.view_status)}${m.invalidation_reason === null ? "" : `: ${text(m.invalidation_reason)}`}`,
        bad: m.view_status !== "valid",
      },
      { what: "Query", value: text(m.view_sql) },
    );
    if (m.view_status === "invalid")
      facts.push({ what: "Cure", value: `REFRESH MATERIALIZED VIEW ${writtenName(table.name)} FULL` });
  }
  return facts;
}

function Facts({ table }: { table: TableNode }) {
  const { value, problem } = useLoaded(() => loadFacts(table), table.name);
  if (problem !== null) return <p class="form-error">{problem}</p>;
  return (
    <dl class="facts">
      {value?.map((f) => (
        <div key={f.what + f.value}>
          <dt>{f.what}</dt>
          <dd class={f.bad === true ? "form-error" : ""}>{f.value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface ListColumn<T> {
  title: string;
  number?: boolean;
  show: (row: T) => string;
}

const LIST_MAX = 500;

export function List<T>({
  label,
  columns,
  list,
  problem,
}: {
  label: string;
  columns: Array<ListColumn<T>>;
  list: T[] | null;
  problem: string | null;
}) {
  const [all, setAll] = useState(false);
  if (problem !== null) return <p class="form-error">{problem}</p>;
  if (list === null) return <p>Loading …</p>;
  return (
    <div class="list" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((c) => (
              <th key={c.title} scope="col" class={c.number === true ? "number" : ""}>
                {c.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {(all ? list : list.slice(0, LIST_MAX)).map((row, i) => (
            <tr key={i}>
              {columns.map((c) => (
                <td key={c.title} class={c.number === true ? "number" : ""}>
                  {c.show(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {!all && list.length > LIST_MAX && (
        <Button onClick={() => setAll(true)}>Show all {shownCount(list.length)}</Button>
      )}
    </div>
  );
}

const COLUMNS: Array<ListColumn<ColumnNode>> = [
  { title: "Column", show: (c) => c.name },
  { title: "Type", show: (c) => c.type },
  {
    title: "Marks",
    show: (c) => [c.designated && "timestamp", c.key && "key", c.indexed && "indexed"].filter(Boolean).join(", "),
  },
  { title: "Symbols", number: true, show: (c) => (c.symbols === null ? "" : shownCount(c.symbols)) },
];

const PARTITIONS: Array<ListColumn<PartitionNode>> = [
  { title: "Partition", show: (p) => p.name },
  { title: "Format", show: (p) => p.format },
  { title: "State", show: (p) => p.state },
  { title: "Rows", number: true, show: (p) => shownCount(p.rows) },
  { title: "Size", number: true, show: (p) => shownBytes(p.bytes) },
  { title: "First", show: (p) => p.min ?? "" },
  { title: "Last", show: (p) => p.max ?? "" },
];

function Columns({ table }: { table: TableNode }) {
  const { value, problem } = useLoaded(() => loadColumns(table.name), table.name);
  return <List label="Columns" columns={COLUMNS} list={value} problem={problem} />;
}

function Partitions({ table }: { table: TableNode }) {
  const { value, problem } = useLoaded(() => loadPartitions(table.name), table.name);
  return <List label="Partitions" columns={PARTITIONS} list={value} problem={problem} />;
}

function Ddl({ table }: { table: TableNode }) {
  const { value, problem } = useLoaded(() => ddlOf(table), table.name);
  if (problem !== null) return <p class="form-error">{problem}</p>;
  return (
    <>
      <pre class="ddl" tabIndex={0} aria-label="Statement">
        {value ?? "…"}
      </pre>
      <div class="form-buttons">
        <Button
          icon="copy"
          disabled={value === null}
          onClick={() =>
            void navigator.clipboard.writeText(value ?? "").then(
              () => notify("Copied."),
              () => notify("The browser does not allow copying here.", "error"),
            )
          }
        >
          Copy
        </Button>
        <Button
          class="button primary"
          disabled={value === null}
          onClick={() => {
            newTab(value ?? "", table.name);
            close();
          }}
        >
          Open in a tab
        </Button>
      </div>
    </>
  );
}

const PARTS = [
  { title: "Facts", component: Facts, fits: () => true },
  { title: "Columns", component: Columns, fits: () => true },
  { title: "Partitions", component: Partitions, fits: (t: TableNode) => t.kind !== "view" },
  { title: "Statement", component: Ddl, fits: () => true },
];

function Details({ table, first }: { table: TableNode; first: string }) {
  const [shown, setShown] = useState(first);
  const parts = PARTS.filter((p) => p.fits(table));
  const part = parts.find((p) => p.title === shown) ?? parts[0];
  return (
    <Dialog title={table.name} wide onClose={close}>
      <div class="segments" role="group" aria-label="Part">
        {parts.map((p) => (
          <Button key={p.title} aria-pressed={p === part} onClick={() => setShown(p.title)}>
            {p.title}
          </Button>
        ))}
      </div>
      {part !== undefined && <part.component table={table} />}
    </Dialog>
  );
}

function Rename({ table }: { table: TableNode }) {
  const [name, setName] = useState(table.name);
  const [problem, setProblem] = useState<string | null>(null);
  const run = async () => {
    try {
      await changeTables(`RENAME TABLE ${writtenName(table.name)} TO ${writtenName(name)}`);
      notify(`${table.name} is ${name} now.`);
      close();
    } catch (e) {
      setProblem(e instanceof Error ? e.message : String(e));
    }
  };
  return (
    <Dialog title={`Rename ${table.name}`} onClose={close}>
      <form
        class="form"
        onSubmit={(e) => {
          e.preventDefault();
          void run();
        }}
      >
        <label>
          New name
          <input
            value={name}
            maxLength={127}
            required
            spellcheck={false}
            onInput={(e) => setName(e.currentTarget.value)}
          />
        </label>
        {problem !== null && (
          <p class="form-error" role="alert">
            {problem}
          </p>
        )}
        <Button type="submit" class="button primary" disabled={name === table.name || name.trim() === ""}>
          Rename
        </Button>
      </form>
    </Dialog>
  );
}

export function TableDialog() {
  const { table, panel } = useStore(shownTable, (s) => s);
  if (table === null) return null;
  if (panel === "rename") return <Rename table={table} />;
  return <Details key={table.name} table={table} first={panel === "ddl" ? "Statement" : "Facts"} />;
}
