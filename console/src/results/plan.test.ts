import { expect, test } from "vitest";
import { readPlan, totalMs } from "./plan";

test("a tree of what EXPLAIN ANALYZE says", () => {
  const nodes = readPlan([
    "group by keys: x values: count() (rows=600 batches=1 time=10.890ms memory=130624)",
    "  join inner keys: x = x (rows=600 batches=1 time=6.158ms memory=315968)",
    "    filter (x % 5) > 1 (rows=600000 batches=123 time=3.000ms memory=0)",
    "    scan trades [price] filter: symbol = 'a (b)' (rows=1 batches=1 time=1.5s memory=0 read=17)",
  ]);
  expect(nodes).toHaveLength(1);
  const join = nodes[0]?.children[0];
  expect(join?.children.map((c) => [c.text, c.ms, c.facts.rows])).toEqual([
    ["filter (x % 5) > 1", 3, "600000"],
    ["scan trades [price] filter: symbol = 'a (b)'", 1500, "1"],
  ]);
  expect(totalMs(nodes)).toBeCloseTo(1520.048);
});
test("plain EXPLAIN has no times", () =>
  expect(readPlan(["limit", "  source x (a, b)"])).toEqual([
    { text: "limit", facts: {}, ms: null, children: [{ text: "source x (a, b)", facts: {}, ms: null, children: [] }] },
  ]));
