import { expect, test } from "vitest";
import { blocks, inlines } from "./markdown";

test("blocks", () => {
  expect(
    blocks("# A *b*\n\none\ntwo\n- x\n- `y`\n\n1. z\n```\n<b>\n```\n> q\n> r\n\n---\n| a | b |\n|---|--:|\n| 1 | 2 |"),
  ).toEqual([
    { kind: "heading", level: 1, text: ["A ", { kind: "em", text: ["b"] }] },
    { kind: "paragraph", text: ["one two"] },
    { kind: "list", ordered: false, items: [["x"], [{ kind: "code", text: "y" }]] },
    { kind: "list", ordered: true, items: [["z"]] },
    { kind: "code", text: "<b>" },
    { kind: "quote", text: ["q r"] },
    { kind: "line" },
    { kind: "table", head: [["a"], ["b"]], rows: [[["1"], ["2"]]] },
  ]);
});

test("links of the web alone, and nothing is lost", () => {
  expect(inlines("see [it](https://a.b/c) or [x](javascript:alert(1)) **b** 2 * 3 * 4")).toEqual([
    "see ",
    { kind: "link", to: "https://a.b/c", text: "it" },
    " or ",
    "[x](javascript:alert(1)",
    ") ",
    { kind: "strong", text: ["b"] },
    " 2 * 3 * 4",
  ]);
});

test("any text is taken, in time", () => {
  const odd = "|\n|-\n> \n```\n# \n1.\n**a*`[](".repeat(300);
  const start = performance.now();
  for (let i = 0; i < 40; i++) blocks(odd.slice(i));
  expect(performance.now() - start).toBeLessThan(2000);
});
