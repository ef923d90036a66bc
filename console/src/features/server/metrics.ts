/* Metrics of the server while its page is seen: asked for every two seconds, the last five minutes are kept. */
import { fetchText, rows } from "../../api/client";
import { createUserStore } from "../../state/owner";
import { type Point, rates, readMetrics, type Sample, total } from "./prometheus";

const EVERY_MS = 2000;
const KEPT = 150;

export type Unit = "count" | "bytes" | "rate" | "byterate" | "percent";
interface LineOf {
  label: string;
  of: (s: Sample[]) => number | null;
  rate?: boolean; /* a count, shown per second */
}
export interface Chart {
  title: string;
  unit: Unit;
  lines: LineOf[];
}

const now = (label: string, name: string, labels?: Record<string, string>): LineOf => ({
  label,
  of: (s) => total(s, name, labels),
});
const perSecond = (label: string, name: string): LineOf => ({ ...now(label, name), rate: true });
/* Records of the log that are newer than what a gauge names. */
const behind = (label: string, name: string): LineOf => ({
  label,
  of: (s) => {
    const [newest, then] = [total(s, "questdb_wal_seq_txn"), total(s, name)];
    return newest === null || then === null ? null : Math.max(0, newest - then);
  },
});

export const CHARTS: Chart[] = [
  {
    title: "Rows stored",
    unit: "rate",
    lines: [
      perSecond("stored", "questdb_committed_rows_total"),
      perSecond("written to files", "questdb_physically_written_rows_total"),
    ],
  },
  {
    title: "Statements",
    unit: "rate",
    lines: [
      perSecond("HTTP", "questdb_json_queries_total"),
      perSecond("PostgreSQL", "questdb_pg_wire_queries_total"),
      perSecond("errors", "almanac_statement_failures_total"),
    ],
  },
  {
    title: "Connections",
    unit: "count",
    lines: [
      now("HTTP", "questdb_http_connections"),
      now("PostgreSQL", "questdb_pg_wire_connections"),
      now("line protocol", "questdb_line_tcp_connections"),
    ],
  },
  {
    title: "Memory",
    unit: "bytes",
    lines: [
      now("in RAM", "process_resident_memory_bytes"),
      now("statements", "almanac_memory_used_bytes", { account: "statements" }),
      now("rows not in files", "almanac_memory_used_bytes", { account: "head" }),
    ],
  },
  { title: "Processor", unit: "percent", lines: [perSecond("of one processor", "process_cpu_seconds_total")] },
  {
    title: "Network",
    unit: "byterate",
    lines: [perSecond("received", "almanac_received_bytes_total"), perSecond("sent", "almanac_sent_bytes_total")],
  },
  {
    title: "Write lag: records of the log",
    unit: "count",
    lines: [
      behind("not on disk", "almanac_wal_synced_record"),
      behind("not seen by queries", "questdb_wal_writer_txn"),
      behind("since the checkpoint", "almanac_checkpoint_record"),
    ],
  },
  { title: "Log", unit: "byterate", lines: [perSecond("written", "almanac_wal_bytes_total")] },
  {
    title: "Partitions",
    unit: "count",
    lines: [now("partitions", "almanac_partitions"), now("files", "almanac_parts")],
  },
];

export interface Query {
  query_id: string;
  worker_pool: string;
  username: string;
  query_start: string;
  state: string;
  query: string;
}

export interface ServerState {
  history: Array<{ at: number; samples: Sample[] }>;
  queries: Query[];
  problem: string | null;
}

export const serverState = createUserStore<ServerState>({ history: [], queries: [], problem: null });

export function linesOf(chart: Chart, history: ServerState["history"]): Array<{ label: string; points: Point[] }> {
  return chart.lines.map((l) => {
    const points = history.flatMap((h) => {
      const value = l.of(h.samples);
      return value === null ? [] : [{ at: h.at, value }];
    });
    return { label: l.label, points: l.rate === true ? rates(points) : points };
  });
}

const OWN = "console: statements that run"; /* so that this list does not list itself */

export async function look(): Promise<void> {
  try {
    const [text, queries] = await Promise.all([
      fetchText("metrics"),
      rows<Query>(
        "SELECT query_id, worker_pool, username, query_start, state, query FROM query_activity() " +
          `ORDER BY query_start /* ${OWN} */`,
      ),
    ]);
    serverState.set((s) => ({
      history: [...s.history, { at: Date.now() / 1000, samples: readMetrics(text) }].slice(-KEPT),
      queries: queries.filter((q) => !q.query.includes(OWN)),
      problem: null,
    }));
  } catch (e) {
    serverState.set({ problem: e instanceof Error ? e.message : String(e) });
  }
}

/* While the page is there and seen. */
export function watch(): () => void {
  void look();
  const timer = setInterval(() => document.visibilityState === "visible" && void look(), EVERY_MS);
  return () => clearInterval(timer);
}
