/** Nine in ten examples are where examples are listed by hand. What is missing is named, with the place for it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { faulty } from "../kernels/mutants/faults.js";
import { examples } from "../support/examples.js";
import { root } from "../support/tsc.js";

const read = (file: string): string => readFileSync(join(root, file), "utf8");

interface Place {
  readonly file: string;
  readonly what: string;
  has(name: string, python: string): boolean;
}

const holds = (file: string, pattern: (python: string) => string): Place["has"] => {
  const text = read(file);
  return (_, python) => text.includes(pattern(python));
};
const galleries = ["cases", "models", "products"].map((name) => `bench/gallery_${name}.py`);
const timed = galleries.map((file) => holds(file, (python) => `module(folder, "${python}")`));

const places: readonly Place[] = [
  {
    file: "tests/kernels/mutants/faults.ts",
    what: "its mistakes",
    has: (name) => faulty.some(({ example }) => example === name),
  },
  {
    file: galleries.join(" or "),
    what: "a part that times it",
    has: (name, python) => timed.some((has) => has(name, python)),
  },
];

test.each(places)("nine in ten examples are in $file", ({ file, what, has }) => {
  const missing = examples.flatMap(({ name, kernel }) =>
    has(name, kernel.name) ? [] : [`${name}: add ${what} to ${file}`],
  );
  expect(missing.length, missing.join("\n")).toBeLessThanOrEqual(examples.length / 10);
});

test("the lists name examples that there are", () => {
  const names = new Set(examples.map(({ name }) => name));
  expect(faulty.filter(({ example }) => !names.has(example)).map(({ example }) => example)).toEqual([]);
});

test("the gallery of the site lists each example once, by its purpose", () => {
  const [, purposes = ""] = /^const PURPOSES[^{]*= (\{[^]*?^\});/m.exec(read("site/gallery.ts")) ?? [];
  const listed = Array.from(purposes.matchAll(/"([a-z0-9-]+)"/g), ([, name]) => name!);
  expect(listed.sort()).toEqual(examples.map(({ name }) => name).sort());
});
