/* Goal: a board survives being kept, whatever is in there; its statements are asked as they are meant. */
import { expect, test } from "vitest";
import { savedFor, specFor } from "../chart/saved";
import { askedOf, boardOf, boardText, namesOf, newBoard, newCell, withVariables } from "./board";

test("what is kept is what was kept; what is broken is mended, or no board", () => {
  const board = {
    ...newBoard(),
    range: "$today",
    refresh: 10,
    cells: [
      newCell({ title: "<b>", text: "select 1", show: "value", width: 3 }),
      newCell({ kind: "text", text: "# a" }),
    ],
    variables: [{ name: "@s", value: "x", choices: "select 1" }],
    events: "select ts, t from e",
  };
  const back = boardOf(boardText(board));
  expect(back === null ? null : boardText(back)).toBe(boardText(board));
  expect(boardOf("{}")).toBeNull();
  expect(boardOf("nonsense")).toBeNull();
  const mended = boardOf(
    '{"almanacBoard":1,"cells":[5,{"kind":"odd","width":99,"height":"x","show":"?",' +
      '"spec":{"type":"line","ys":"a","axes":{"a":"up"}}}],"variables":[{"name":"; drop"},null],' +
      '"refresh":-4}',
  );
  expect(mended).toMatchObject({
    refresh: 0,
    range: "",
    variables: [],
    cells: [
      { kind: "sql", text: "" },
      { kind: "sql", width: 12, height: 280, show: "chart", spec: { type: "line", ys: [], axes: {} } },
    ],
  });
});

test("charts by names of columns, wherever they stand", () => {
  const spec = { type: "line" as const, x: 0, ys: [2, 3], series: 1, axes: { 3: "right" as const }, candle: null };
  const saved = savedFor(spec, [{ name: "t" }, { name: "s" }, { name: "a" }, { name: "b" }]);
  expect(specFor(saved, [{ name: "s" }, { name: "b" }, { name: "t" }, { name: "a" }])).toEqual({
    type: "line",
    x: 2,
    ys: [3, 1],
    series: 0,
    axes: { 1: "right" },
    candle: null,
  });
  expect(specFor(saved, [{ name: "t" }, { name: "a" }])).toBeNull();
});

test("parameters and the time range of the board", () => {
  const board = withVariables({
    ...newBoard(),
    variables: [
      { name: "@s", value: "x", choices: "select a from t where b = @b" },
      { name: "@gone", value: "", choices: "" },
    ],
    cells: [newCell({ text: "select * from t where s = @s and p > $1" })],
  });
  expect(namesOf(board)).toEqual(["@s", "@b"]);
  expect(board.variables).toEqual([
    { name: "@s", value: "x", choices: "select a from t where b = @b" },
    { name: "@b", value: "", choices: "" },
  ]);
  const ts = () => [{ name: "ts" }];
  expect(askedOf("select * from t where s = @s; select 2", ts, "$now - 1h..$now", { "@s": "it's" })).toEqual({
    text: "select * from t where ts IN '$now - 1h..$now' AND s = $1",
    params: ["it's"],
  });
  expect(askedOf("select * from t where ts in '2026' and s = @s", ts, "", {})).toEqual({
    text: "select * from t where ts in '2026' and s = $1",
    params: [null],
  });
  expect(askedOf("select * from t where ts in '2026'", ts, "$today", {})?.text).toBe(
    "select * from t where ts IN '$today'",
  );
  expect(askedOf("select 1", () => [], "$today", {})?.text).toBe("select 1");
  expect(askedOf(" -- nothing", ts, "", {})).toBeNull();
});
