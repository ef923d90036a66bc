/*
 * Goal: the first page of an answer that is still coming. Method: every beginning of an answer as the server writes
 * it.
 */
import { expect, test } from "vitest";
import { pageOf } from "./client";

const query = "select '\"dataset\":[' t, x";
const rows = [
  ["a\n]", 1],
  ["b", 2],
  ["c", 3],
];
const head = JSON.stringify({
  query,
  columns: [
    { name: "t", type: "STRING" },
    { name: "x", type: "INT" },
  ],
  timestamp: -1,
}).slice(0, -1);
const whole =
  `${head},"dataset":[${rows.map((r, i) => `${i > 0 ? "," : ""}${JSON.stringify(r)}\n`).join("")}],` +
  `"count":3,"snapshot":"n","complete":true}`;

test("whatever has come, the page is there when its rows are", () => {
  for (const wanted of [1, 2, 3]) {
    const until = whole.indexOf("[", whole.indexOf('"dataset":[', head.length) + 11);
    let end = until;
    for (let i = 0; i < wanted; i++) end = whole.indexOf("]\n", end + 1);
    for (let n = 0; n <= whole.length; n++) {
      const page = pageOf(query, whole.slice(0, n), wanted);
      if (n < end + 2) expect(page).toBe(null);
      else expect(page).toMatchObject({ kind: "rows", query, dataset: rows.slice(0, wanted), snapshot: null });
    }
  }
  expect(pageOf(query, '{"ddl":"OK"}\n', 1)).toBe(null);
});
