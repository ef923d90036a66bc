import { describe, expect, test } from "vitest";
import { contextAt } from "./complete";

/* | is the cursor. */
const at = (marked: string) => contextAt(marked.replace("|", ""), marked.indexOf("|"));
const names = (marked: string) =>
  at(marked)?.sources.map((s) => (s.alias === s.name ? s.name : `${s.name} ${s.alias}`));

describe("clause", () => {
  for (const [marked, clause] of [
    ["|", "start"],
    ["sel|", "start"],
    ["select |", "select"],
    ["select a, b|", "select"],
    ["select * from |", "from"],
    ["select * from t |", "from"],
    ["select * from t where |", "where"],
    ["select * from t where a = 1 and b|", "where"],
    ["select * from t sample |", "sample"],
    ["select * from t sample by 1h |", "sample"],
    ["select * from t order by |", "order"],
    ["select * from t group by |", "group"],
    ["select * from t latest on |", "latest"],
    ["select * from t latest on ts partition by |", "partition"],
    ["insert into |", "from"],
    ["update t set |", "set"],
    ["select * from a join b on |", "join-on"],
    ["select (select |", "select"],
    ["select * from (select |) x", "select"],
    ["drop table |", "from"],
    ["select sum(|) from t", "select"],
    ["explain |", "start"],
    ["insert into t (|", "insert-columns"],
    ["select * from (|) x", "start"],
    ["with c as (|)", "start"],
  ] as const)
    test(marked, () => expect(at(marked)?.clause).toBe(clause));
});

describe("sources", () => {
  for (const [marked, want] of [
    ["select | from trades", ["trades"]],
    ["select | from trades t", ["trades t"]],
    ['select | from trades as t, "my table" m where', ["trades t", "my table m"]],
    ["select * from a x asof join b y on |", ["a x", "b y"]],
    ["select * from a where |", ["a"]],
    ["select (select | from inner1) from outer1 o", ["inner1", "outer1 o"]],
    ["select * from (select p as q, r from base) s where |", [" s"]],
    ["update trades set |", ["trades"]],
    ["select 1 from a union select | from b", ["b"]],
    ["select from trades t where | and broken ((", ["trades t"]],
  ] as const)
    test(marked, () => expect(names(marked)).toEqual(want));
  test("columns of subqueries and CTEs", () => {
    expect(at("select | from (select p as q, r, sum(x) total from base) s")?.sources[0]?.columns).toEqual([
      "q",
      "r",
      "total",
    ]);
    expect(at("select | from (select * from base) s")?.sources[0]?.columns).toBeNull();
    const cte = at("with c as (select a, b from t), d as (select 1 one) select | from c");
    expect([cte?.ctes, cte?.sources[0]?.columns]).toEqual([
      ["c", "d"],
      ["a", "b"],
    ]);
  });
});

test("qualifiers, values, joins, and where nothing is offered", () => {
  expect(at("select t.pr| from trades t")).toMatchObject({ qualifier: "t", word: "pr" });
  expect(at('select "my t".| from "my t"')).toMatchObject({ qualifier: "my t", word: "" });
  expect(at("select * from t where symbol = 'BT|")).toMatchObject({ word: "BT", value: { column: "symbol" } });
  expect(at("select * from t where symbol in ('a', 'b|')")).toMatchObject({ value: { column: "symbol" } });
  expect(at("select * from a join b on |")?.join?.right.name).toBe("b");
  for (const nothing of ["select 12|", "-- sel|", "select $1|", "select 'te|xt'"]) expect(at(nothing)).toBeNull();
});

test("any part of a statement is taken without an exception, in time", () => {
  const text =
    `with c as (select a, "b c" from t where x in ('1', '2')) select c.a, sum(d.v) over (partition by ` +
    "c.a) from c asof join data d on (a) where d.s = 'x' -- end\n sample by 1h fill(prev) align to " +
    "calendar order by 1 limit 5";
  const start = performance.now();
  for (let i = 0; i <= text.length; i++) {
    contextAt(text, i);
    contextAt(text.slice(0, i), i);
    contextAt(text.slice(i), 0);
  }
  expect((performance.now() - start) / (3 * text.length)).toBeLessThan(5);
});
