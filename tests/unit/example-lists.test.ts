/** Every example is where examples are listed by hand. What is missing is named, with the place where it belongs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { faulty } from "../kernels/mutants/faults.js";
import { examples } from "../support/examples.js";
import { root } from "../support/tsc.js";

const read = (file: string): string => readFileSync(join(root, file), "utf8");

/** Why `npm run bench:gallery` leaves an example out. */
const NOT_TIMED: Readonly<Record<string, string>> = {
  all_reduce: "examples/all_reduce_ranks.py times it beside NCCL, on several GPUs",
};

/** Why no mistakes are seeded into an example. */
const NO_FAULTS: Readonly<Record<string, string>> = {
  "dependent-launch": "it asks what it is compiled for, which the evaluator cannot say",
  dropout: "no mistakes are written down for it yet",
  "gelu-dropout": "no mistakes are written down for it yet",
};

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
const isTimed: Place["has"] = (name, python) => timed.some((has) => has(name, python));

const places: readonly Place[] = [
  {
    file: "tests/kernels/mutants/faults.ts, or NO_FAULTS of tests/unit/example-lists.test.ts",
    what: "its mistakes, or why there are none",
    has: (name) => name in NO_FAULTS || faulty.some(({ example }) => example === name),
  },
  {
    file: `${galleries.join(" or ")}, or NOT_TIMED of tests/unit/example-lists.test.ts`,
    what: "a part that times it, or why none does",
    has: (name, python) => python in NOT_TIMED || isTimed(name, python),
  },
];

test("every example is in each list of them", () => {
  const missing = examples.flatMap(({ name, kernel }) =>
    places.filter(({ has }) => !has(name, kernel.name)).map(({ file, what }) => `${name}: add ${what} to ${file}`),
  );
  expect(missing).toEqual([]);
});

test("the lists name examples that there are", () => {
  const names = new Set(examples.map(({ name }) => name));
  const pythons = new Set(examples.map(({ kernel }) => kernel.name));
  expect(faulty.filter(({ example }) => !names.has(example)).map(({ example }) => example)).toEqual([]);
  const hasFaults = (name: string) => faulty.some(({ example }) => example === name);
  expect(Object.keys(NO_FAULTS).filter((name) => !names.has(name) || hasFaults(name))).toEqual([]);
  expect(Object.keys(NOT_TIMED).filter((python) => !pythons.has(python) || isTimed("", python))).toEqual([]);
});
