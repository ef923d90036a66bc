import { describe, expect, test } from "vitest";
import type { Column } from "../../api/types";
import { withCondition, withInterval } from "../../sql/interval";
import { candles, reduce } from "./reduce";
import { guess, ohlcOf } from "./spec";
import { canWrap } from "../../sql/wrap";
import { bucketSql, xText } from "./sql";

const columns = (text: string): Column[] =>
  text.split(" ").map((t) => ({ name: t.split(":")[0] ?? "", type: t.split(":")[1] ?? "" }));

describe("guess", () => {
  test("time, series by a symbol, candles by names, bars by categories", () => {
    expect(guess(columns("sym:SYMBOL ts:TIMESTAMP price:DOUBLE amount:DOUBLE"), 1)).toMatchObject({
      type: "line",
      x: 1,
      ys: [2],
      series: 0,
    });
    expect(guess(columns("a:DOUBLE at:DATE b:INT"), -1)).toMatchObject({ type: "line", x: 1, ys: [0, 2], series: -1 });
    expect(guess(columns("ts:TIMESTAMP o:DOUBLE high:DOUBLE low:DOUBLE px_close:DOUBLE"), 0)).toMatchObject({
      type: "candle",
      x: 0,
    });
    expect(guess(columns("name:VARCHAR n:LONG"), -1)).toMatchObject({ type: "bar", x: 0, ys: [1] });
    expect(guess(columns("n:LONG name:VARCHAR m:INT"), -1)).toMatchObject({ type: "bar", x: 1, ys: [0, 2] });
    expect(guess(columns("x:LONG y:DOUBLE"), -1)).toMatchObject({ type: "line", x: 0, ys: [1] });
    expect(guess(columns("a:VARCHAR b:VARCHAR"), -1)).toBeNull();
    expect(ohlcOf(columns("open:DOUBLE high:DOUBLE low:DOUBLE"))).toBeNull();
  });
});

describe("reduction", () => {
  const n = 100_000;
  const x = Float64Array.from({ length: n }, (_, i) => i);
  const y = Float64Array.from({ length: n }, (_, i) => Math.sin(i / 500));
  y[54_321] = 99;
  y[77_777] = -99;
  y[10] = NaN;
  test("keeps every extreme in two points per pixel", () => {
    const d = reduce({ x, ys: [y], codes: null, names: [] }, null, 800, "both");
    expect([d.x.length, d.reduced, d.rows]).toEqual([1600, true, n]);
    const values = d.lines[0]?.values as number[];
    expect([Math.max(...values), Math.min(...values)]).toEqual([99, -99]);
    expect(Math.abs((d.x[values.indexOf(99)] ?? 0) - 54_321)).toBeLessThan(n / 800);
  });
  test("a range is looked at closer; few rows stay as they are, sorted", () => {
    const d = reduce({ x, ys: [y], codes: null, names: [] }, { lo: 54_000, hi: 54_999 }, 800, "both");
    expect([d.x.length, d.reduced]).toEqual([1000, false]);
    const small = reduce(
      {
        x: Float64Array.of(3, 1, NaN, 1),
        ys: [Float64Array.of(30, 10, 5, 11)],
        codes: Int32Array.of(0, 1, 0, 0),
        names: ["a", "b"],
      },
      null,
      10,
      "both",
    );
    expect(small.x).toEqual([1, 3]);
    expect(small.lines.map((l) => l.values)).toEqual([
      [11, 30],
      [10, null],
    ]);
  });
  test("candles from prices", () => {
    const c = candles(
      { x: Float64Array.of(0, 1, 2, 3), ys: [Float64Array.of(5, 9, 1, 4)], codes: null, names: [] },
      null,
      1,
      0,
    );
    expect([c.open, c.high, c.low, c.close, c.rows]).toEqual([[5], [9], [1], [4], 4]);
  });
});

describe("sql", () => {
  const cs = columns("ts:TIMESTAMP sym:SYMBOL select:DOUBLE");
  const spec = { type: "line" as const, x: 0, ys: [2], series: 1, axes: {}, candle: null };
  test("what can be wrapped", () => {
    expect(canWrap("-- a\n(select 1)", cs)).toBe(true);
    expect(canWrap("show tables", cs)).toBe(false);
    expect(canWrap("select 1", columns("a:INT A:INT"))).toBe(false);
  });
  test("buckets, names quoted, values escaped", () => {
    expect(bucketSql("select * from t;", cs, spec, "17", "5", { lo: 0.5, hi: 1 }, ["it's", null])).toBe(
      `SELECT ("ts"::long - 17) / 5 b, "sym"::varchar s, min("select"::double) lo0, ` +
        `max("select"::double) hi0 FROM (\nselect * from t\n) WHERE "ts" BETWEEN ` +
        `'1970-01-01T00:00:00.500000Z' AND '1970-01-01T00:00:01.000000Z' AND ("sym"::varchar IN ` +
        `('it''s') OR "sym" IS NULL) GROUP BY b, s ORDER BY b`,
    );
    expect(xText("DOUBLE", 1.5)).toBe("1.5");
  });
});

describe("interval in the query", () => {
  const put = (sql: string) => withInterval(sql, "ts", "'a'", "'b'");
  test("a WHERE where there is none", () => {
    expect(put("select * from t")).toBe("select * from t WHERE ts BETWEEN 'a' AND 'b'");
    expect(put("select avg(x) from t sample by 1h;")).toBe(
      "select avg(x) from t WHERE ts BETWEEN 'a' AND 'b' sample by 1h;",
    );
    expect(put("select * from (select * from u where x = 1 order by y) limit 5 -- end")).toBe(
      "select * from (select * from u where x = 1 order by y) WHERE ts BETWEEN 'a' AND 'b' limit 5 -- end",
    );
  });
  test("before what is there; the one of last time goes", () => {
    expect(put("select * from t where a = 1 or b = 2 order by a")).toBe(
      "select * from t where ts BETWEEN 'a' AND 'b' AND (a = 1 or b = 2) order by a",
    );
    expect(put("select * from t WHERE ts BETWEEN 'x' AND 'y' AND a = 1")).toBe(
      "select * from t WHERE ts BETWEEN 'a' AND 'b' AND a = 1",
    );
  });
  test("a text of an interval takes the place of an interval, and the other way; nothing takes it away", () => {
    const within = (sql: string, condition: string) => withCondition(sql, "ts", condition);
    expect(within("select * from t where ts between 'x' and 'y' and a = 1 limit 5", "ts IN '$today'")).toBe(
      "select * from t where ts IN '$today' and a = 1 limit 5",
    );
    expect(put("select * from t where TS in '2026' order by a")).toBe(
      "select * from t where ts BETWEEN 'a' AND 'b' order by a",
    );
    expect(within("select * from t where ts in '2026' and a = 1", "")).toBe("select * from t where a = 1");
    expect(within("select * from t where ts in '2026' order by a;", "")).toBe("select * from t order by a;");
    expect(within("select * from t", "")).toBe("select * from t");
    /* not ours: what follows belongs to it, or it is another column */
    expect(within("select * from t where ts in '2026' or a = 1", "ts IN 'x'")).toBe(
      "select * from t where ts IN 'x' AND (ts in '2026' or a = 1)",
    );
    expect(within("select * from t where b in 'x'", "")).toBe("select * from t where b in 'x'");
  });
  test("not where it is unclear", () => {
    expect(put("select 1")).toBeNull();
    expect(put("select ts from t union select ts from u")).toBeNull();
  });
});
