import { describe, expect, test } from "vitest";
import { delimiterOf, readFault, readRecords, tableNameOf } from "./csv";

describe("csv", () => {
  test("quotes, line ends, and the lines that records begin on", () => {
    const text = '\ufeffa,b\r\n"x ""y""","two\nlines"\n\n1,\n';
    expect(readRecords(text, ",", 10, true)).toEqual([
      { line: 1, values: ["a", "b"] },
      { line: 2, values: ['x "y"', "two\nlines"] },
      { line: 5, values: ["1", ""] },
    ]);
  });
  test("a record that the sample cut is left out", () => {
    expect(readRecords("a,b\n1,2", ",", 10, true).length).toBe(1);
    expect(readRecords("a,b\n1,2", ",", 10, false).length).toBe(2);
    expect(readRecords('a,"open', ",", 10, false)).toEqual([{ line: 1, values: ["a", "open"] }]);
  });
  test("delimiter by the number of columns", () => {
    expect(delimiterOf("a;b,c;d\n", 3)).toBe(";");
    expect(delimiterOf("a\tb\n", 2)).toBe("\t");
    expect(delimiterOf("a\n", 1)).toBe(",");
    expect(delimiterOf("a;b;\n", 2)).toBe(";");
  });
  test("names and faults", () => {
    expect(tableNameOf("/tmp/Trades 2026-01.csv")).toBe("Trades_2026_01");
    expect(tableNameOf("trades.ndjson.gz")).toBe("trades");
    expect(tableNameOf("...csv")).toBe("imported");
    expect(readFault('line 3, column a: "x, column y: z" is not a value of type INT')).toEqual({
      line: 3,
      column: "a",
      text: 'line 3, column a: "x, column y: z" is not a value of type INT',
    });
    expect(readFault("and 5 more")).toBeNull();
  });
});
