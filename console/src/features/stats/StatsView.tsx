/* Statistics of a column of the result, computed by the server over all of its rows. */
import { useEffect, useState } from "preact/hooks";
import { rows } from "../../api/client";
import type { Cell, Column } from "../../api/types";
import { canWrap } from "../../sql/wrap";
import { plural, shownCount } from "../../results/format";
import type { ResultSet } from "../../results/resultset";
import type { Run } from "../../results/run";
import { Button } from "../../ui/Button";
import { BUCKETS, extentSql, histogramSql, shapeOf, summarySql, topSql } from "./sql";
import "./stats.css";

interface Bar {
  label: string;
  count: number;
}
interface Found {
  facts: Array<[what: string, value: string]>;
  bars: Bar[];
  histogram: boolean;
  ends: [least: string, greatest: string];
}

type Ask = (sql: string) => Promise<Array<Record<string, Cell>>>;
const text = (v: Cell | undefined): string => (v === null || v === undefined ? "null" : String(v));

/* Not more buckets than there are values: else even ones leave gaps. */
async function histogram(sql: string, c: Column, buckets: number, ask: Ask): Promise<Bar[]> {
  const extent = (await ask(extentSql(sql, c)))[0];
  if (extent === undefined || extent.lo === null || extent.hi === null) return [];
  const time = shapeOf(c) === "time";
  const [lo, hi] = [Number(extent.lo), Number(extent.hi)];
  const width = time
    ? String((BigInt(text(extent.hi)) - BigInt(text(extent.lo))) / BigInt(buckets) + 1n)
    : String((hi - lo) / buckets || 1);
  const found = await ask(histogramSql(sql, c, text(extent.lo), width));
  const counts = new Array<number>(buckets).fill(0);
  for (const r of found) {
    const at = Math.max(0, Math.min(buckets - 1, Number(r.b)));
    counts[at] = (counts[at] ?? 0) + Number(r.n);
  }
  const unit = /^TIMESTAMP_NS/i.test(c.type) ? 1e6 : /^TIMESTAMP/i.test(c.type) ? 1e3 : 1;
  const edge = (i: number): string => {
    const value = lo + i * Number(width);
    return time ? new Date(value / unit).toISOString() : String(Number(value.toPrecision(6)));
  };
  return counts.map((count, i) => ({ label: `${edge(i)} to ${edge(i + 1)}`, count }));
}

async function load(sql: string, c: Column, ask: Ask): Promise<Found> {
  const s = (await ask(summarySql(sql, c)))[0] ?? {};
  const n = Number(s.n);
  const nulls = n - Number(s.present);
  const facts: Found["facts"] = [
    ["Rows", shownCount(n)],
    ["Nulls", n === 0 ? "0" : `${shownCount(nulls)} (${((nulls / n) * 100).toFixed(1)} %)`],
    ["Distinct values", shownCount(Number(s.d))],
    ["Least", text(s.lo).slice(0, 200)],
    ["Greatest", text(s.hi).slice(0, 200)],
  ];
  if ("mean" in s)
    facts.push(["Mean", text(s.mean)], ["Standard deviation", text(s.deviation)], ["Sum", text(s.total)]);
  const bucketed = shapeOf(c) !== "other";
  const bars = bucketed
    ? await histogram(sql, c, Math.max(1, Math.min(BUCKETS, Number(s.d))), ask)
    : (await ask(topSql(sql, c))).map((r) => ({ label: text(r.v), count: Number(r.n) }));
  return { facts, bars, histogram: bucketed, ends: [text(s.lo), text(s.hi)] };
}

function Histogram({ bars, ends }: { bars: Bar[]; ends: [string, string] }) {
  const top = Math.max(1, ...bars.map((b) => b.count));
  return (
    <>
      <ol class="histogram" aria-label="Histogram">
        {bars.map((b) => (
          <li key={b.label} title={`${b.label}: ${shownCount(b.count)}`}>
            <span class="histogram-bar" style={{ height: `${(b.count / top) * 100}%` }} />
            <span class="visually-hidden">
              {b.label}: {shownCount(b.count)}
            </span>
          </li>
        ))}
      </ol>
      <div class="histogram-ends" aria-hidden="true">
        <span>{ends[0]}</span>
        <span>the highest bar: {plural(top, "row")}</span>
        <span>{ends[1]}</span>
      </div>
    </>
  );
}

function Frequent({ bars }: { bars: Bar[] }) {
  const top = Math.max(1, ...bars.map((b) => b.count));
  return (
    <ol class="frequent" aria-label="Most frequent values">
      {bars.map((b) => (
        <li key={b.label}>
          <span class="frequent-bar" style={{ width: `${(b.count / top) * 100}%` }} />
          <span class="frequent-text">{b.label.slice(0, 200)}</span>
          <span class="frequent-count">{shownCount(b.count)}</span>
        </li>
      ))}
    </ol>
  );
}

function Statistics({ result, column }: { result: ResultSet; column: Column }) {
  const [now, setNow] = useState<{ found: Found | null; problem: string | null }>({ found: null, problem: null });
  useEffect(() => {
    const abort = new AbortController();
    const params = result.params === "" ? [] : (JSON.parse(result.params) as Cell[]);
    setNow({ found: null, problem: null });
    load(result.sql, column, (sql) => rows<Record<string, Cell>>(sql, { params, signal: abort.signal })).then(
      (found) => !abort.signal.aborted && setNow({ found, problem: null }),
      (e: unknown) =>
        !abort.signal.aborted && setNow({ found: null, problem: e instanceof Error ? e.message : String(e) }),
    );
    return () => abort.abort();
  }, [result, column]);
  if (now.problem !== null)
    return (
      <p class="form-error" role="alert">
        {now.problem}
      </p>
    );
  if (now.found === null) return <p role="status">The server counts …</p>;
  return (
    <>
      <h3>
        {column.name} <span class="grid-type">{column.type}</span>
      </h3>
      <dl class="stats-facts">
        {now.found.facts.map(([what, value]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {now.found.histogram ? (
        <Histogram bars={now.found.bars} ends={now.found.ends} />
      ) : (
        <Frequent bars={now.found.bars} />
      )}
    </>
  );
}

export function StatsView({ run }: { run: Run }) {
  const result = run.result as ResultSet;
  const [at, setAt] = useState(0);
  const [search, setSearch] = useState("");
  const column = result.columns[at] ?? result.columns[0];
  if (column === undefined) return null;
  if (!canWrap(result.sql, result.columns))
    return (
      <p class="side-note">
        Statistics are computed by a query around the statement. They need a SELECT whose columns have different names.
      </p>
    );
  const list = result.columns
    .map((c, i) => ({ c, i }))
    .filter(({ c }) => c.name.toLowerCase().includes(search.toLowerCase()));
  return (
    <div class="stats">
      <div class="stats-columns">
        {result.columns.length > 12 && (
          <input
            type="search"
            placeholder="Column"
            aria-label="Search columns"
            value={search}
            onInput={(e) => setSearch(e.currentTarget.value)}
          />
        )}
        <ul>
          {list.slice(0, 200).map(({ c, i }) => (
            <li key={i}>
              <Button aria-pressed={i === at} onClick={() => setAt(i)}>
                {c.name}
              </Button>
            </li>
          ))}
        </ul>
      </div>
      <div class="stats-of" tabIndex={0} role="region" aria-label={`Statistics of ${column.name}`}>
        <Statistics result={result} column={column} />
      </div>
    </div>
  );
}
