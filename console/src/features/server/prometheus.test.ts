import { expect, test } from "vitest";
import { rates, readMetrics, total } from "./prometheus";

test("samples, labels, comments", () => {
  const found = readMetrics(
    '# HELP a x\n# TYPE a counter\na_total{p="x",q="1 \\"2\\""} 3\na_total{p="y"} 4\n\nb 1.5e3\n',
  );
  expect(found[0]).toEqual({ name: "a_total", labels: { p: "x", q: '1 "2"' }, value: 3 });
  expect([total(found, "a_total"), total(found, "a_total", { p: "y" }), total(found, "b"), total(found, "c")]).toEqual([
    7,
    4,
    1500,
    null,
  ]);
});
test("rates per second, and a start anew", () => {
  const at = (seconds: number, value: number) => ({ at: seconds, value });
  expect(rates([at(0, 10), at(2, 30), at(3, 5)])).toEqual([at(2, 10), at(3, 5)]);
});
