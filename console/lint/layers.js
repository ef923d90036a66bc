/*
 * The eslint rule `almanac/layers`: a file of src/ imports only what the line of its folder in layers.txt allows. Types
 * count as well, and so do imports that come late. Files directly in src/ start the page, and may import every layer.
 */
import fs from "node:fs";
import path from "node:path";

const TOP = path.resolve(import.meta.dirname, "..");

/* Map of each folder to the set of those that it may import. Throws for a line that would allow a circle. */
export function readLayers(text) {
  const layers = new Map();
  for (const line of text.split("\n")) {
    if (line.trim() === "" || line.startsWith("#")) continue;
    const [folder, ...rest] = line.split(":");
    const below = rest.join(":").trim().split(/\s+/).filter(Boolean);
    if (layers.has(folder)) throw new Error(`layers.txt: ${folder} has two lines`);
    for (const one of below)
      if (!layers.has(one)) throw new Error(`layers.txt: ${folder} names ${one}, which is not on a line above`);
    layers.set(folder, new Set(below));
  }
  return layers;
}

/* The layer of a path relative to src/, with slashes: the longest line that it lies below; null: there is none. */
export function layerOf(layers, file) {
  const folders = file.split("/").slice(0, -1);
  for (let n = folders.length; n > 0; n--) {
    const folder = folders.slice(0, n).join("/");
    if (layers.has(folder)) return folder;
  }
  return null;
}

/* What is wrong with an import, both paths relative to src/; null: nothing. */
export function problemOf(layers, file, imported) {
  if (imported.startsWith("../")) return `${imported.replaceAll("../", "")} is not below src/`;
  const to = layerOf(layers, imported);
  if (to === null) return `${imported} is in no folder of layers.txt`;
  if (!file.includes("/")) return null;
  const from = layerOf(layers, file);
  if (from === null) return `${file} is in no folder of layers.txt`;
  return from === to || layers.get(from).has(to) ? null : `${from} must not import ${to} (layers.txt)`;
}

const layers = readLayers(fs.readFileSync(path.join(TOP, "layers.txt"), "utf8"));

export const layersRule = {
  meta: { type: "problem", schema: [], messages: { layer: "{{problem}}" } },
  create(context) {
    const src = path.join(TOP, "src");
    const file = path.relative(src, context.filename).replaceAll(path.sep, "/");
    const check = (node) => {
      if (node?.type !== "Literal" || typeof node.value !== "string" || !node.value.startsWith(".")) return;
      const target = path.resolve(path.dirname(context.filename), node.value.replace(/\?.*$/, ""));
      const problem = problemOf(layers, file, path.relative(src, target).replaceAll(path.sep, "/"));
      if (problem !== null) context.report({ node, messageId: "layer", data: { problem } });
    };
    return {
      ImportDeclaration: (node) => check(node.source),
      ExportNamedDeclaration: (node) => check(node.source),
      ExportAllDeclaration: (node) => check(node.source),
      ImportExpression: (node) => check(node.source),
      TSImportType: (node) => check(node.source),
    };
  },
};
