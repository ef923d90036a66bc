import { expect, test } from "vitest";
import { createSignal } from "./signal";

test("followers run in order, their answers go to the publisher; who has ended it is not run", () => {
  const signal = createSignal<number, string>();
  expect(signal.emit(1)).toEqual([]);
  const end = signal.on((n) => `a${n}`);
  signal.on((n) => `b${n}`);
  expect(signal.emit(2)).toEqual(["a2", "b2"]);
  end();
  end(); /* once more: the others stay */
  expect(signal.emit(3)).toEqual(["b3"]);
});
