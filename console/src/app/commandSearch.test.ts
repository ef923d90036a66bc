import { expect, test } from "vitest";
import { found } from "./commandSearch";

test("commands by words, those that begin with the search first", () => {
  const all = ["Open the tab closed last again", "New tab", "Next tab", "Tab of nothing"].map((title) => ({
    title,
    group: "Tabs",
  }));
  expect(found(all, "").map((s) => s.title)).toEqual(all.map((s) => s.title));
  expect(found(all, " TAB ").map((s) => s.title)[0]).toBe("Tab of nothing");
  expect(found(all, "tab n").map((s) => s.title)).toEqual(
    ["Open the tab closed last again", "New tab", "Next tab", "Tab of nothing"].filter((t) => /n/i.test(t)),
  );
  expect(found(all, "tabs nothing").length).toBe(1);
  expect(found(all, "nowhere")).toEqual([]);
});
