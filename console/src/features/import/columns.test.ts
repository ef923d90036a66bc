import { describe, expect, test } from "vitest";
import { withColumn } from "./columns";
import type { ImportReport } from "./upload";

const report = (header: boolean, ...columns: ImportReport["columns"]): ImportReport => ({
  status: "OK",
  location: "t",
  rowsRejected: 0,
  rowsImported: 0,
  header,
  partitionBy: "NONE",
  columns,
});
const column = (name: string, type: string, source?: string) => ({
  name,
  type,
  errors: 0,
  ...(source === undefined ? {} : { source }),
});

describe("corrected columns", () => {
  test("of a file with names: by these, with what they are called instead", () => {
    const r = report(true, column("when", "TIMESTAMP"), column("px", "VARCHAR"));
    const typed = withColumn([], r, 1, { type: "DOUBLE" });
    expect(typed).toEqual([{ name: "px", type: "DOUBLE" }]);
    /* a second change before the server said anything keeps the first */
    const named = withColumn(typed, r, 1, { name: "price" });
    expect(named).toEqual([{ name: "px", type: "DOUBLE", as: "price" }]);
    const now = report(true, column("when", "TIMESTAMP"), column("price", "DOUBLE", "px"));
    expect(withColumn(named, now, 0, { pattern: "yyyy" })).toEqual([
      { name: "when", type: "TIMESTAMP", pattern: "yyyy" },
      { name: "px", type: "DOUBLE", as: "price" },
    ]);
    expect(withColumn(named, now, 1, { name: "px" })).toEqual([{ name: "px", type: "DOUBLE" }]);
    expect(withColumn(named, now, 1, { name: "" })).toEqual([{ name: "px", type: "DOUBLE" }]);
  });

  test("units of numbers, of times without a pattern", () => {
    const r = report(true, column("t", "TIMESTAMP"), column("v", "INT"));
    const units = withColumn([], r, 0, { type: "TIMESTAMP", unit: "ms" });
    expect(units).toEqual([{ name: "t", type: "TIMESTAMP", unit: "ms" }]);
    expect(withColumn(units, r, 1, { type: "LONG" })).toEqual([
      { name: "t", type: "TIMESTAMP", unit: "ms" },
      { name: "v", type: "LONG" },
    ]);
    expect(withColumn(units, r, 0, { unit: "" })).toEqual([{ name: "t", type: "TIMESTAMP" }]);
    expect(withColumn(units, r, 0, { pattern: "yyyy" })).toEqual([{ name: "t", type: "TIMESTAMP", pattern: "yyyy" }]);
    expect(withColumn(units, r, 0, { type: "LONG" })).toEqual([{ name: "t", type: "LONG" }]);
  });

  test("of a file without: all, in order", () => {
    const r = report(false, column("f0", "INT"), column("f1", "VARCHAR"));
    const first = withColumn([], r, 1, { name: "sym" });
    expect(first).toEqual([
      { name: "f0", type: "INT" },
      { name: "sym", type: "VARCHAR" },
    ]);
    expect(
      withColumn(first, report(false, column("f0", "INT"), column("sym", "VARCHAR")), 0, { name: "k", type: "LONG" }),
    ).toEqual([
      { name: "k", type: "LONG" },
      { name: "sym", type: "VARCHAR" },
    ]);
  });
});
