/** The order of folders, and that what runs in a browser asks nothing of Node. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  SRC,
  folderOf,
  folders,
  importCycles,
  imports,
  innerFolders,
  sourceFiles,
  specifiersOf,
} from "../../docs/folders.js";
import { librarySourcesFile } from "../../scripts/library-text.js";

const order = Object.keys(folders);
/** What runs where files are read and processes are started. */
const onNode = new Set(["source", "runtime", "pipeline", "testing"]);

/** The imports that go up in a list of folders, or out of it. */
function upwards(list: readonly string[], depth: number): string[] {
  return imports().flatMap(({ importer: from, imported: to }) => {
    const [above, below] = [folderOf(from, depth), folderOf(to, depth)];
    if (above === undefined || above === below || !list.includes(above)) return [];
    if (depth > 1 && !below?.startsWith(`${list[0]!.split("/")[0]}/`)) return [];
    return list.indexOf(below ?? "") < list.indexOf(above) && list.includes(below ?? "")
      ? []
      : [`${from} imports ${to}`];
  });
}

test("every folder is listed with its sentence, in docs/folders.ts", () => {
  const found = new Set(sourceFiles().flatMap((file) => folderOf(file) ?? []));
  expect(order.toSorted()).toEqual([...found].sort());
});

test("a folder imports only folders that stand before it, types included", () => {
  expect(upwards(order, 1)).toEqual([]);
});

test.each(Object.keys(innerFolders))("so do the folders inside of %s", (folder) => {
  const list = innerFolders[folder]!.map((name) => `${folder}/${name}`);
  const present = new Set(
    sourceFiles().flatMap((file) => (folderOf(file) === folder ? (folderOf(file, 2) ?? []) : [])),
  );
  expect([...present].sort()).toEqual(list.toSorted());
  expect(upwards(list, 2)).toEqual([]);
});

/** Types that refer to each other, each group with the reason. No function is imported in a cycle. */
const mutuallyRecursive: readonly (readonly string[])[] = [
  // The builder holds the body that is retraced, and a retrace builds statements.
  ["ir/builder.ts", "ir/retrace.ts"],
  // A statement has an op, and the record of an op has functions of arguments.
  ["ir/nodes.ts", "ir/op.ts"],
  // The transfer functions are parts of the analysis.
  [
    "prove/properties/padding/analysis.ts",
    "prove/properties/padding/elementwise.ts",
    "prove/properties/padding/folds.ts",
  ],
  // The types of methods refer to the types that have the methods.
  ["rules/descriptor-rules.ts", "rules/memory-rules.ts", "rules/tensor-types.ts"],
  ["types/constexpr.ts", "types/dtype.ts", "types/promote.ts", "types/tile.ts", "types/types.ts"],
];

test("no files import each other, types included, unless their declarations are mutually recursive", () => {
  expect(importCycles(imports()).toSorted()).toEqual(mutuallyRecursive);
});

test("runtime sees compiled kernels and the text of imported ones, and the pipeline is joined by entry files and tests", () => {
  const seen = imports().filter(({ importer: from }) => folderOf(from) === "runtime");
  const folder = new Set(seen.map(({ imported: to }) => folderOf(to)));
  expect([...folder].sort()).toEqual(["compiled", "diagnostics", "import", "runtime", "visualize"]);
});

test("what is evaluated, checked and emitted needs no Node module", () => {
  // Bundles contain the text that this file reads: scripts/library-text.ts.
  const replaced = "codegen/library/sources.ts";
  expect(librarySourcesFile.test(`src/${replaced}`)).toBe(true);
  const wrong = sourceFiles().flatMap((file) => {
    const folder = folderOf(file);
    if (folder === undefined || onNode.has(folder) || file === replaced) return [];
    return specifiersOf(file)
      .filter((specifier) => specifier.startsWith("node:"))
      .map((specifier) => `${file} imports ${specifier}`);
  });
  expect(wrong).toEqual([]);
});

test("ts-morph, which edits the author's file, is loaded by the commands that edit alone", () => {
  const matching = (pattern: RegExp) =>
    sourceFiles().filter((file) => pattern.test(readFileSync(join(SRC, file), "utf8")));
  expect(matching(/ from "ts-morph"/)).toEqual(["source/rewrite-configs.ts"]);
  expect(matching(/ from "[^"]*\/rewrite-configs\.js"/)).toEqual([]);
});
