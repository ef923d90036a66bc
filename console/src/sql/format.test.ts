import { describe, expect, test } from "vitest";
import { format } from "./format";
import { tokenize } from "./lexer";

const tokens = (text: string) =>
  tokenize(text).map((t) => {
    const raw = text.slice(t.from, t.to);
    return t.kind === "word" ? raw.toLowerCase() : raw;
  });

describe("format", () => {
  test("a line for each clause", () => {
    expect(
      format(
        "select timestamp, avg(price) from trades where symbol='BTC' and timestamp in '2026' sample " +
          "by 1h fill(prev) align to calendar order by 1 limit 5",
      ),
    ).toBe(
      "SELECT timestamp, avg(price)\nFROM trades\nWHERE symbol='BTC'\n  AND timestamp IN '2026'\n" +
        "SAMPLE BY 1h\nFILL(prev)\nALIGN to CALENDAR\nORDER BY 1\nLIMIT 5",
    );
  });
  test("subqueries, joins, comments, between", () => {
    expect(
      format("select * from (select a from t -- why\n where x between 1 and 2 and y) s left join u on s.a=u.a"),
    ).toBe(
      "SELECT *\nFROM (\n  SELECT a\n  FROM t -- why\n  WHERE x BETWEEN 1 AND 2\n    AND y\n) s\n" +
        "LEFT JOIN u ON s.a=u.a",
    );
  });
  test("several statements", () => expect(format("select 1;select 2 -- x\n;")).toBe("SELECT 1;\n\nSELECT 2 -- x\n;"));

  const samples = [
    'select a.select, "from", sum(x) over (partition by b order by c rows between 1 preceding and ' +
      "current row) from a asof join b on (s) latest on ts partition by k",
    "with c as (select 1 x), d as (select * from c) select x , y from c , d where x in (select 1 " +
      "union all select 2) or not exists(select 3)",
    "create table t (ts timestamp, s symbol capacity 10 cache) timestamp(ts) partition by day wal " +
      "dedup upsert keys(ts, s)",
    "insert into t (a,b) values (1,'x;y'), (-2, $$z$$) /* c */",
    "update t set a=1, b = 'é' where c is distinct from 2; drop table t",
    "explain analyze select case when a>0 then 'p' else 'n' end, x::int, arr[1:2], @v from t where a " +
      "-1 > -b and (c or d)",
    "select averylongcolumnname1, averylongcolumnname2, averylongcolumnname3, averylongcolumnname4, " +
      "averylongcolumnname5 from t",
    "-- only a comment",
    "/* a */ select /* b */ 1 -- c",
    "select 'unfinished",
    "select ((((",
    ")) from",
  ];
  for (const sample of samples)
    test(`keeps every token, twice is once: ${sample.slice(0, 40)}`, () => {
      const once = format(sample);
      expect(tokens(once)).toEqual(tokens(sample));
      expect(format(once)).toBe(once);
    });
});
