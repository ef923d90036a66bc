/* EXPLAIN as a tree; with ANALYZE, each operator's rows, memory and share of the time. */
import { useState } from "preact/hooks";
import { shownBytes, shownCount, shownMs } from "./format";
import { type PlanNode, readPlan, totalMs } from "./plan";
import type { Run } from "./run";

export const isPlan = (run: Run): boolean =>
  run.result?.columns.length === 1 && run.result.columns[0]?.name === "QUERY PLAN";

function Facts({ node, total }: { node: PlanNode; total: number }) {
  if (node.ms === null) return null;
  const share = total > 0 ? node.ms / total : 0;
  return (
    <span class="plan-facts">
      <meter min={0} max={1} value={share} aria-label="Share of the time" />
      <span class="plan-time">
        {shownMs(node.ms)} ({Math.round(share * 100)} %)
      </span>
      <span>{shownCount(Number(node.facts.rows ?? 0))} rows</span>
      {Number(node.facts.memory ?? 0) > 0 && <span>{shownBytes(Number(node.facts.memory))}</span>}
      {node.facts.read !== undefined && <span>read {shownBytes(Number(node.facts.read))}</span>}
    </span>
  );
}

function Node({ node, total, level }: { node: PlanNode; total: number; level: number }) {
  const [open, setOpen] = useState(true);
  const leaf = node.children.length === 0;
  const slow = node.ms !== null && total > 0 && node.ms / total > 0.5;
  const operator =
    /^[a-z]+( (by|join|inner|left|right|full|outer|cross|asof|lt|splice|window)\b)*/.exec(node.text)?.[0] ?? "";
  return (
    <li
      role="treeitem"
      aria-expanded={leaf ? undefined : open}
      aria-level={level}
      tabIndex={level === 1 ? 0 : -1}
      onKeyDown={(e) => {
        const all = [
          ...(e.currentTarget.closest("[role=tree]")?.querySelectorAll<HTMLElement>("[role=treeitem]") ?? []),
        ];
        const now = all.indexOf(e.currentTarget);
        if (e.key === "ArrowDown") all[now + 1]?.focus();
        else if (e.key === "ArrowUp") all[now - 1]?.focus();
        else if (e.key === "ArrowLeft") setOpen(false);
        else if (e.key === "ArrowRight") setOpen(true);
        else return;
        e.preventDefault();
        e.stopPropagation();
      }}
    >
      <div class={slow ? "plan-row slow" : "plan-row"}>
        <button
          type="button"
          class="plan-toggle"
          tabIndex={-1}
          aria-hidden="true"
          disabled={leaf}
          onClick={() => setOpen(!open)}
        >
          {leaf ? "•" : open ? "▾" : "▸"}
        </button>
        <span class="plan-text">
          <strong>{operator}</strong>
          {node.text.slice(operator.length)}
        </span>
        <Facts node={node} total={total} />
      </div>
      {open && !leaf && (
        <ul role="group">
          {node.children.map((c, i) => (
            <Node key={i} node={c} total={total} level={level + 1} />
          ))}
        </ul>
      )}
    </li>
  );
}

export function PlanView({ run }: { run: Run }) {
  const lines = run.result?.loaded().flatMap((p) => p.rows.map((r) => String(r[0] ?? ""))) ?? [];
  const nodes = readPlan(lines);
  const total = totalMs(nodes);
  return (
    <div class="plan">
      <p class="side-note">
        {total > 0
          ? `Processor time of each operator itself, over all threads: ${shownMs(total)} together.`
          : "The outermost operator first. EXPLAIN ANALYZE adds times."}
      </p>
      <ul role="tree" aria-label="Plan">
        {nodes.map((n, i) => (
          <Node key={i} node={n} total={total} level={1} />
        ))}
      </ul>
    </div>
  );
}
