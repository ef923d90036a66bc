/* The lines of EXPLAIN as a tree. Pure. */

export interface PlanNode {
  text: string; /* the operator, and what it does */
  facts: Record<string, string>; /* of EXPLAIN ANALYZE: rows, batches, time, memory, read */
  ms: number | null; /* processor time of its own, without what is below it */
  children: PlanNode[];
}

function millis(text: string | undefined): number | null {
  const found = /^([\d.]+)\s*(ns|us|µs|ms|s)$/.exec(text ?? "");
  if (found === null) return null;
  return Number(found[1]) * ({ ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1000 }[found[2] ?? "ms"] ?? 1);
}

function readLine(line: string): PlanNode {
  const found = /^(.*?)\s*\(((?:[a-z_]+=\S+\s?)+)\)$/.exec(line.trim());
  const facts: Record<string, string> = {};
  for (const pair of found?.[2]?.split(" ") ?? []) {
    const at = pair.indexOf("=");
    if (at > 0) facts[pair.slice(0, at)] = pair.slice(at + 1);
  }
  return { text: found?.[1] ?? line.trim(), facts, ms: millis(facts.time), children: [] };
}

export function readPlan(lines: string[]): PlanNode[] {
  const roots: PlanNode[] = [];
  const path: Array<{ depth: number; node: PlanNode }> = [];
  for (const line of lines) {
    if (line.trim() === "") continue;
    const depth = line.length - line.trimStart().length;
    const node = readLine(line);
    while (path.length > 0 && (path[path.length - 1]?.depth ?? 0) >= depth) path.pop();
    (path[path.length - 1]?.node.children ?? roots).push(node);
    path.push({ depth, node });
  }
  return roots;
}

export const totalMs = (nodes: PlanNode[]): number => nodes.reduce((n, p) => n + (p.ms ?? 0) + totalMs(p.children), 0);
