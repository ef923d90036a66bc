/* Goal: the layers hold, and a breach is seen. Method: the rule on texts with a breach, and all imports of src/. */
import fs from "node:fs";
import path from "node:path";
import { Linter } from "eslint";
import tseslint from "typescript-eslint";
import { expect, test } from "vitest";
import { layersRule, problemOf, readLayers } from "./layers.js";

const SRC = path.resolve(import.meta.dirname, "../src");
const linter = new Linter({ cwd: path.dirname(SRC) });
const config = {
  files: ["**/*.ts", "**/*.tsx"],
  languageOptions: { parser: tseslint.parser },
  plugins: { almanac: { rules: { layers: layersRule } } },
  rules: { "almanac/layers": "error" },
};
const said = (file, text) => linter.verify(text, config, path.join(SRC, file)).map((m) => m.message);

test("a line names lines above it alone, and each folder once", () => {
  expect([...readLayers("# why\na:\nb: a\n").get("b")]).toEqual(["a"]);
  expect(() => readLayers("a: b\nb:\n")).toThrow("a names b, which is not on a line above");
  expect(() => readLayers("a: a\n")).toThrow("a names a");
  expect(() => readLayers("a:\na:\n")).toThrow("a has two lines");
});

test("every kind of import is looked at", () => {
  const breach = ["api must not import app (layers.txt)"];
  expect(said("api/x.ts", 'import { a } from "../app/places";')).toEqual(breach);
  expect(said("api/x.ts", 'import type { a } from "../app/places";')).toEqual(breach);
  expect(said("api/x.ts", 'import "../app/places";')).toEqual(breach);
  expect(said("api/x.ts", 'export { a } from "../app/places";')).toEqual(breach);
  expect(said("api/x.ts", 'export * from "../app/places";')).toEqual(breach);
  expect(said("api/x.ts", 'export const a = () => import("../app/places");')).toEqual(breach);
  expect(said("api/x.ts", 'export type A = import("../app/places").A;')).toEqual(breach);
  expect(said("api/x.ts", 'import { a } from "../state/store"; import { b } from "./y"; import "preact";')).toEqual([]);
});

test("folders of features are layers, files of src/ start the page, and nothing is outside of the table", () => {
  const layers = readLayers("low:\nfeatures/a: low\nfeatures/b: low features/a\n");
  expect(problemOf(layers, "features/b/x.ts", "features/a/y")).toBe(null);
  expect(problemOf(layers, "features/a/x.ts", "features/b/y")).toBe(
    "features/a must not import features/b (layers.txt)",
  );
  expect(problemOf(layers, "main.tsx", "features/b/y")).toBe(null);
  expect(problemOf(layers, "low/x.ts", "other/y")).toBe("other/y is in no folder of layers.txt");
  expect(problemOf(layers, "other/x.ts", "low/y")).toBe("other/x.ts is in no folder of layers.txt");
  expect(problemOf(layers, "low/x.ts", "../e2e/y")).toBe("e2e/y is not below src/");
});

/* Files that one file imports, tests left out. */
function importsOf(file, all) {
  const text = fs.readFileSync(file, "utf8");
  const found = [...text.matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map((m) => path.resolve(file, "..", m[1]));
  return found.flatMap((target) => [target, `${target}.ts`, `${target}.tsx`].filter((name) => all.has(name)));
}

test("the files of src/ import each other in no circle, and each line of layers.txt is of use", () => {
  const files = fs.readdirSync(SRC, { recursive: true }).filter((f) => /\.tsx?$/.test(f) && !/\.test\./.test(f));
  const all = new Set(files.map((f) => path.join(SRC, f)));
  const imports = new Map([...all].map((file) => [file, importsOf(file, all)]));
  expect([...imports.values()].flat().length).toBeGreaterThan(all.size); /* the expression above finds them */
  const done = new Set();
  const visit = (file, way) => {
    expect(way.includes(file), `a circle: ${[...way, file].map((f) => path.relative(SRC, f)).join(" > ")}`).toBe(false);
    if (done.has(file)) return;
    for (const next of imports.get(file) ?? []) visit(next, [...way, file]);
    done.add(file);
  };
  for (const file of all) visit(file, []);

  const layers = readLayers(fs.readFileSync(path.join(SRC, "../layers.txt"), "utf8"));
  const folderOf = (file) => path.relative(SRC, path.dirname(file));
  const used = new Set([...imports].flatMap(([file, list]) => list.map((to) => `${folderOf(file)}: ${folderOf(to)}`)));
  const allowed = [...layers].flatMap(([folder, below]) => [...below].map((to) => `${folder}: ${to}`));
  expect(allowed.filter((edge) => !used.has(edge))).toEqual([]);
});
