import { expect, test } from "vitest";
import { HEAD_PX, placeColumns, ROW_PX, visibleIn } from "./layout";
import { placeOf } from "./tableKeys";

test("a key leads to a cell, with Ctrl to the end in its direction; other keys lead nowhere", () => {
  const from = { row: 5, column: 1 };
  const end = { row: 9, column: 3 };
  const to = (key: string, mod = false) => placeOf(key, from, end, 4, mod);
  expect([to("ArrowUp"), to("ArrowUp", true)]).toEqual([
    { row: 4, column: 1 },
    { row: 0, column: 1 },
  ]);
  expect([to("ArrowDown"), to("ArrowDown", true)]).toEqual([
    { row: 6, column: 1 },
    { row: 9, column: 1 },
  ]);
  expect([to("ArrowLeft"), to("ArrowLeft", true)]).toEqual([
    { row: 5, column: 0 },
    { row: 5, column: 0 },
  ]);
  expect([to("ArrowRight"), to("ArrowRight", true)]).toEqual([
    { row: 5, column: 2 },
    { row: 5, column: 3 },
  ]);
  expect([to("PageUp"), to("PageDown")]).toEqual([
    { row: 1, column: 1 },
    { row: 9, column: 1 },
  ]);
  expect([to("Home"), to("Home", true)]).toEqual([
    { row: 5, column: 0 },
    { row: 0, column: 0 },
  ]);
  expect([to("End"), to("End", true)]).toEqual([
    { row: 5, column: 3 },
    { row: 9, column: 3 },
  ]);
  expect([to("Enter"), to("a", true)]).toEqual([undefined, undefined]);
});

test("rows and columns in sight: those that are cut count, frozen columns are beside the others", () => {
  const places = placeColumns([2, 0, 1], [100, 200, 50], 1);
  const view = { top: ROW_PX * 2.5, left: 90, width: 72 + 50 + 100, height: HEAD_PX + ROW_PX * 3 };
  const visible = visibleIn(view, places, 100);
  expect([visible.left, visible.first, visible.last, visible.rows]).toEqual([122, 2, 6, [2, 3, 4, 5]]);
  expect(visible.columns.map((c) => c.index)).toEqual([0, 1]);
  expect(visibleIn({ ...view, top: 0 }, places, 2).rows).toEqual([0, 1]);
  expect(visibleIn({ top: 0, left: 0, width: 0, height: 0 }, places, 0).rows).toEqual([]);
});
