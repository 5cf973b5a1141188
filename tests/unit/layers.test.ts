/** The order of folders, and that what runs in a browser asks nothing of Node. */
import { expect, test } from "vitest";
import { folderOf, folders, imports, inner, sourceFiles, specifiersOf } from "../../docs/folders.js";

const order = Object.keys(folders);
/** What runs where files are read and processes are started. */
const onNode = new Set(["source", "runtime", "pipeline", "testing"]);

/** The imports that go up in a list of folders, or out of it. */
function upwards(list: readonly string[], depth: number): string[] {
  return imports().flatMap(({ from, to }) => {
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

test.each(Object.keys(inner))("so do the folders inside of %s", (folder) => {
  const list = inner[folder]!.map((name) => `${folder}/${name}`);
  const present = new Set(
    sourceFiles().flatMap((file) => (folderOf(file) === folder ? (folderOf(file, 2) ?? []) : [])),
  );
  expect([...present].sort()).toEqual(list.toSorted());
  expect(upwards(list, 2)).toEqual([]);
});

test("runtime sees compiled kernels and the text of imported ones, and the pipeline is joined by entry files and tests", () => {
  const seen = imports().filter(({ from }) => folderOf(from) === "runtime");
  const folder = new Set(seen.map(({ to }) => folderOf(to)));
  expect([...folder].sort()).toEqual(["compiled", "diagnostics", "import", "runtime", "visualize"]);
});

test("what is evaluated, checked and emitted needs no Node module", () => {
  const wrong = sourceFiles().flatMap((file) => {
    const folder = folderOf(file);
    if (folder === undefined || onNode.has(folder)) return [];
    return specifiersOf(file)
      .filter((specifier) => specifier.startsWith("node:"))
      .map((specifier) => `${file} imports ${specifier}`);
  });
  expect(wrong).toEqual([]);
});
