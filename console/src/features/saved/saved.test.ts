import { expect, test } from "vitest";
import { changesOf, savedOf } from "./saved";

test("queries among other preferences, by name", () => {
  expect(savedOf({ instance_name: "lab", "query.b": "select 2", "query.a <b>": "select 1", "query.n": 5 })).toEqual([
    { name: "a <b>", sql: "select 1", versions: [] },
    { name: "b", sql: "select 2", versions: [] },
  ]);
});

test("what a text replaces stays, five of them; a query takes its versions along", () => {
  let preferences: Record<string, unknown> = { other: 1 };
  const put = (sql: string | null, second: number) => {
    for (const [key, value] of Object.entries(
      changesOf(savedOf(preferences), "a.b", sql, `2026-01-01T00:00:0${second}.000Z`),
    )) {
      if (value === null) delete preferences[key];
      else preferences = { ...preferences, [key]: value };
    }
    return savedOf(preferences)[0];
  };
  expect(put("v0", 0)?.versions).toEqual([]);
  expect(put("v0", 1)?.versions).toEqual([]);
  for (let i = 1; i < 8; i++) put(`v${i}`, i);
  expect(savedOf(preferences)).toEqual([
    {
      name: "a.b",
      sql: "v7",
      versions: [6, 5, 4, 3, 2].map((i) => ({ time: `2026-01-01T00:00:0${i + 1}.000Z`, sql: `v${i}` })),
    },
  ]);
  expect(put(null, 9)).toBe(undefined);
  expect(preferences).toEqual({ other: 1 });
});
