/* What the server does now: statements that run, warnings, and its metrics as small charts. */
import { useEffect, useState } from "preact/hooks";
import { cancelQuery } from "../../api/client";
import { instance, loadInstance } from "../../api/instance";
import { notify } from "../../ui/notice";
import { shownBytes, shownMs } from "../../results/format";
import { useStore } from "../../state/store";
import { Button } from "../../ui/Button";
import { Icon } from "../../ui/Icon";
import { type Chart, CHARTS, linesOf, look, type Query, serverState, type Unit, watch } from "./metrics";
import { type Point, total } from "./prometheus";
import "./server.css";

function shown(value: number, unit: Unit): string {
  if (unit === "bytes") return shownBytes(Math.round(value));
  if (unit === "byterate") return `${shownBytes(Math.round(value))}/s`;
  if (unit === "percent") return `${(value * 100).toFixed(value < 0.1 ? 1 : 0)} %`;
  return value.toLocaleString("en-US", { maximumFractionDigits: value < 10 ? 1 : 0 }) + (unit === "rate" ? "/s" : "");
}

const WIDTH = 280;
const HEIGHT = 64;

function path(points: Point[], from: number, to: number, top: number): string {
  const x = (at: number) => ((at - from) / Math.max(1, to - from)) * WIDTH;
  const y = (v: number) => HEIGHT - 2 - (v / (top || 1)) * (HEIGHT - 6);
  return points.map((p, i) => `${i === 0 ? "M" : "L"}${x(p.at).toFixed(1)} ${y(p.value).toFixed(1)}`).join("");
}

function Small({ chart }: { chart: Chart }) {
  const history = useStore(serverState, (s) => s.history);
  const lines = linesOf(chart, history);
  const from = history[0]?.at ?? 0;
  const to = history[history.length - 1]?.at ?? 1;
  const top = Math.max(0, ...lines.flatMap((l) => l.points.map((p) => p.value)));
  return (
    <section class="small-chart" aria-label={chart.title}>
      <h3>{chart.title}</h3>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {lines.map((l, i) => (
          <path key={l.label} class={`line-${i + 1}`} d={path(l.points, from, to, top)} />
        ))}
      </svg>
      <ul>
        {lines.map((l, i) => {
          const last = l.points[l.points.length - 1];
          return (
            <li key={l.label}>
              <span class={`swatch line-${i + 1}`} aria-hidden="true" /> {l.label}{" "}
              <strong>{last === undefined ? "…" : shown(last.value, chart.unit)}</strong>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function Running({ query }: { query: Query }) {
  const [ending, setEnding] = useState(false);
  const end = async () => {
    setEnding(true);
    try {
      if (!(await cancelQuery(query.query_id))) notify("It has ended already, or it is not yours to end.");
    } catch (e) {
      notify(e instanceof Error ? e.message : String(e), "error");
    }
    await look();
    setEnding(false);
  };
  return (
    <tr>
      <td>{query.query_id}</td>
      <td>{query.username}</td>
      <td>{query.worker_pool}</td>
      <td class="number">{shownMs(Math.max(0, Date.now() - Date.parse(query.query_start)))}</td>
      <td class="query-text">
        <code>{query.query.slice(0, 500)}</code>
      </td>
      <td>
        <Button
          class="button danger"
          aria-label={`Cancel statement ${query.query_id}`}
          disabled={ending || query.state !== "active"}
          onClick={() => void end()}
        >
          Cancel
        </Button>
      </td>
    </tr>
  );
}

function Facts() {
  const history = useStore(serverState, (s) => s.history);
  const version = useStore(instance, (i) => i.version);
  const samples = history[history.length - 1]?.samples;
  if (samples === undefined) return null;
  const value = (name: string) => total(samples, name) ?? 0;
  const up = Math.max(0, Date.now() / 1000 - value("process_start_time_seconds"));
  const days = Math.floor(up / 86_400);
  const facts: Array<[string, string]> = [
    ["Version", version],
    ["Up", `${days > 0 ? `${days} d ` : ""}${new Date(up * 1000).toISOString().slice(11, 19)}`],
    ["Tables", shown(value("almanac_tables"), "count")],
    ["Rows", shown(value("almanac_rows"), "count")],
    ["Partitions", shown(value("almanac_partitions"), "count")],
    ["On disk", shown(value("almanac_parts_bytes"), "bytes")],
    ["Sessions", shown(value("almanac_sessions"), "count")],
    ["Open files", `${shown(value("process_open_fds"), "count")} of ${shown(value("process_max_fds"), "count")}`],
  ];
  return (
    <dl class="server-facts">
      {facts.map(([what, text]) => (
        <div key={what}>
          <dt>{what}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}

function Problems() {
  const { problem, history } = useStore(serverState, (s) => s);
  const warnings = useStore(instance, (i) => i.warnings);
  const readOnly = (total(history[history.length - 1]?.samples ?? [], "almanac_storage_read_only") ?? 0) > 0;
  const all = [
    ...(problem === null ? [] : [problem]),
    ...(readOnly ? ["The disk failed: writes are refused until the server is restarted."] : []),
  ];
  return (
    <>
      {all.map((text) => (
        <p key={text} class="banner error" role="alert">
          <Icon name="warning" /> {text}
        </p>
      ))}
      {warnings.map((w) => (
        <p class="banner" key={w.tag + w.warning}>
          <Icon name="warning" /> {w.warning}
        </p>
      ))}
    </>
  );
}

export function ServerPage() {
  const queries = useStore(serverState, (s) => s.queries);
  useEffect(watch, []);
  useEffect(() => void loadInstance().catch(() => undefined), []);
  return (
    <div class="server-page" tabIndex={-1} data-pane="server">
      <h2>Server</h2>
      <Problems />
      <Facts />
      <h3>Statements that run</h3>
      <div class="server-queries" tabIndex={0} role="region" aria-label="Statements that run">
        <table>
          <thead>
            <tr>
              {["Number", "User", "Came by", "For", "Statement"].map((t) => (
                <th key={t} scope="col">
                  {t}
                </th>
              ))}
              <th scope="col">
                <span class="visually-hidden">Cancel</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {queries.map((q) => (
              <Running key={q.query_id} query={q} />
            ))}
            {queries.length === 0 && (
              <tr>
                <td colSpan={6}>None.</td>
              </tr>
            )}
          </tbody>
        </table>
      </div>
      <h3>The last minutes</h3>
      <div class="small-charts">
        {CHARTS.map((c) => (
          <Small key={c.title} chart={c} />
        ))}
      </div>
    </div>
  );
}
