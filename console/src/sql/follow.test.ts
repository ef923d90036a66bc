/* Goal: what is offered where, before a letter is typed. Method: statements with the cursor at |. */
import { describe, expect, test } from "vitest";
import { contextAt } from "./complete";
import { ARGUMENTS, expectedAt, operandNext, timeTexts } from "./follow";

const at = (marked: string) => contextAt(marked.replace("|", ""), marked.indexOf("|"));
const expected = (marked: string) => expectedAt(at(marked)?.trail ?? "?");

describe("words", () => {
  for (const [marked, first] of [
    ["select a from t group |", "by"],
    ["select a from t order |", "by"],
    ["select a from t sample by 1h |", "fill(prev)"],
    ["select a from t sample by 1h fill(|", "prev"],
    ["select a from t sample by 1h align |", "to calendar"],
    ["select a from t sample by 1h align to |", "calendar"],
    ["select * from t latest |", "on"],
    ["select * from t latest on ts |", "partition by"],
    ["select sum(x) over (|", "partition by"],
    ["select * from a asof |", "join"],
    ["select 1 union |", "all"],
    ["select * from t where a is |", "null"],
    ["alter |", "table"],
    ["alter table t |", "add column"],
    ['alter table "my t" drop |', "column"],
    ["alter table t alter column a |", "type"],
    ["create |", "table"],
    ["create table t (ts timestamp) |", "timestamp("],
    ["create table t (ts timestamp) timestamp(ts) |", "timestamp("],
    ["create table t (ts timestamp) timestamp(ts) partition by |", "day"],
    ["drop |", "table"],
    ["show |", "tables"],
    ["insert |", "into"],
    ["insert into t (a, b) |", "values ("],
    ["update t |", "set"],
    ["refresh |", "materialized view"],
    ["explain |", "analyze"],
    ["grant |", "all"],
    ["grant select, |", "all"],
    ["create table t as (select a from u sample by |", undefined],
  ] as const)
    test(marked, () => expect(expected(marked)?.words?.[0]).toBe(first));
});

describe("names and literals", () => {
  for (const [marked, names] of [
    ["select price::|", "types"],
    ["select cast(price as |", "types"],
    ["alter table |", "tables"],
    ["drop table if exists |", "tables"],
    ["refresh materialized view |", "materialized"],
    ["alter table t drop column |", "columns"],
    ["insert into t (a, |", "columns"],
    ["alter table t add column x |", "types"],
    ["create table t (a int, b |", "types"],
    ["select * from t latest on ts partition by |", "symbols"],
    ["update t set |", "columns"],
    ["update t set a = 1, |", "columns"],
    ["create table t (a timestamp) timestamp(|", "columns"],
  ] as const)
    test(marked, () => expect(expected(marked)?.names).toBe(names));
  test("a new name: nothing", () => expect(expected("create table t (a int, |")).toEqual({}));
  test("periods", () => expect(expected("select a from t sample by |")?.literals?.map((l) => l[0])).toContain("1h"));
});

describe("a value, or what stands behind one", () => {
  for (const [marked, value] of [
    ["select |", true],
    ["select a, |", true],
    ["select avg(|", true],
    ["select a |", false],
    ["select avg(a) |", false],
    ["select * |", false],
    ["select a * |", true],
    ["select count(*) |", false],
    ["select t.* |", false],
    ["select 5 |", false],
    ["select 'x' |", false],
    ['select "a b" |', false],
    ["select a from |", true],
    ["select a from t |", false],
    ["select a from t where |", true],
    ["select a from t where b |", false],
    ["select a from t where b = |", true],
    ["select a from t where b = 1 |", false],
    ["select a from t where b = 1 and |", true],
    ["select a from t order by |", true],
    ["select a from t order by a |", false],
    ["select $1 |", false],
  ] as const)
    test(marked, () => expect(operandNext(at(marked)?.trail ?? "?")).toBe(value));
});

test("inside texts: what is compared, which function", () => {
  expect(at("select * from t where ts in '|")?.value).toMatchObject({ column: "ts", operator: "in" });
  expect(at("select * from t where ts >= '|")?.value).toMatchObject({ column: "ts", operator: ">=" });
  expect(at("select * from t where ts between '2026-01-01' and '|")?.value).toMatchObject({
    column: "ts",
    operator: "between",
  });
  expect(at("select date_trunc('|")).toMatchObject({ argument: "date_trunc", value: null });
  expect(at("select dateadd('h|', 1, ts) from t")).toMatchObject({ argument: "dateadd", word: "h" });
  expect(ARGUMENTS.date_trunc?.map((u) => u[0])).toContain("day");
  const now = new Date("2026-03-04T05:06:07Z");
  expect(timeTexts("in", now, "2026-01-07T23:59:00.000000Z").map((t) => t[0])).toEqual([
    "$today",
    "$yesterday",
    "$now - 1h..$now",
    "$now - 24h..$now",
    "$now - 7d..$now",
    "$now - 30d..$now",
    "2026-01-07",
    "2026-03-04",
    "2026-03",
    "2026-03-04;1h",
  ]);
  expect(timeTexts(">=", now, null).map((t) => t[0])).toEqual(["2026-03-04", "2026-03-04T05:00:00Z"]);
});

test("keywords go on in the case of the statement", () => {
  expect(at("select a from t sample |")?.lower).toBe(true);
  expect(at("SELECT a FROM t SAMPLE |")?.lower).toBe(false);
});
