import { expect, test } from "vitest";
import { allRowsSql } from "./wrap";

const columns = [
  { name: "a b", type: "LONG" },
  { name: "t", type: "VARCHAR" },
  { name: "bin", type: "BINARY" },
  { name: "xs", type: "ARRAY" },
];

test("sort and filter around the query", () => {
  expect(allRowsSql("select * from t;", columns, { column: 0, down: true }, "")).toBe(
    'SELECT * FROM (\nselect * from t\n)\nORDER BY "a b" DESC;',
  );
  expect(allRowsSql("select 1 -- c", columns, null, " It's  x ")).toBe(
    `SELECT * FROM (\nselect 1 -- c\n)\nWHERE (strpos(lower("a b"::varchar), 'it''s') > 0 OR ` +
      `strpos(lower("t"::varchar), 'it''s') > 0)\n  AND (strpos(lower("a b"::varchar), 'x') > 0 OR ` +
      `strpos(lower("t"::varchar), 'x') > 0);`,
  );
});
test("not of what cannot stand in brackets", () => {
  expect(allRowsSql("show tables", columns, null, "x")).toBe(null);
  expect(allRowsSql("select 1 a, 2 a", [...columns.slice(0, 1), ...columns.slice(0, 1)], null, "x")).toBe(null);
  expect(allRowsSql("select 1", columns.slice(2), null, "x")).toBe(null);
});
