import { expect, test } from "vitest";
import { createSql, type NewTable } from "./ddl";

const table: NewTable = {
  name: "my trades",
  columns: [
    { name: "ts", type: "TIMESTAMP", key: false },
    { name: 'a "b"', type: "SYMBOL", key: true },
    { name: "", type: "INT", key: false },
    { name: "select", type: "DOUBLE", key: false },
  ],
  timestamp: "ts",
  partitionBy: "DAY",
  ttl: "2 WEEKS",
  dedup: true,
  ifNotExists: false,
  owner: "",
};

test("a table with everything, names quoted where they must be", () => {
  expect(createSql(table, (w) => w === "select")).toBe(
    'CREATE TABLE "my trades" (\n    ts TIMESTAMP,\n    "a ""b""" SYMBOL,\n    "select" DOUBLE\n) ' +
      'TIMESTAMP(ts) PARTITION BY DAY TTL 2 WEEKS\nDEDUP UPSERT KEYS(ts, "a ""b""");',
  );
});
test("without a timestamp nothing depends on it", () => {
  expect(createSql({ ...table, timestamp: "", ifNotExists: true })).toMatch(
    /^CREATE TABLE IF NOT EXISTS "my trades" \([^)]*\n\);$/,
  );
});
test("an owner stands at the end", () => {
  expect(createSql({ ...table, owner: "my group" })).toMatch(/\nOWNED BY "my group";$/);
  expect(createSql({ ...table, timestamp: "", owner: "g" })).toMatch(/\)\nOWNED BY g;$/);
});
