/** The order of drawn cases: breadth before depth. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { TestCase } from "../../../src/compiled/compiled-kernel.js";
import { cases } from "../../../src/runtime/cases/arbitrary.js";
import { breadthFirst, featuresOf } from "../../../src/runtime/cases/features.js";
import { vectorAdd } from "../../support/fixtures/vector-add.js";

const kernel = vectorAdd();
const size = (testCase: TestCase): number => testCase.sizes["N"]!;
const features = (list: readonly TestCase[]) => new Set(list.flatMap((each) => featuresOf(kernel, each)));

test("few cases have every feature, and none is lost", () => {
  const drawn = fc.sample(cases(kernel, { special: ["nan"], empty: true }), { seed: 1, numRuns: 100 });
  const ordered = breadthFirst(kernel, drawn, size, []);
  expect(new Set(ordered)).toEqual(new Set(drawn));
  const count = features(drawn).size;
  expect(count).toBeGreaterThan(8);
  expect(features(ordered.slice(0, count)).size).toBe(count);
  expect(features(ordered.slice(0, 8)).size).toBeGreaterThan(features(drawn.slice(0, 8)).size);
});

test("the cheapest comes first, and a feature that earlier cases have counts no more", () => {
  const at = (N: number, x: "sliced" | "contiguous"): TestCase => ({
    sizes: { N },
    dtypes: { T: "float32" },
    layouts: { x },
    config: 0,
    seed: 0,
  });
  const [wide, plain, small] = [at(900, "sliced"), at(100, "contiguous"), at(10, "sliced")];
  expect(breadthFirst(kernel, [wide, plain, small], size, [plain])).toEqual([small, wide, plain]);
});

test("of a proved kernel, special values and dtypes come before layouts, and none is lost", () => {
  const drawn = fc.sample(cases(kernel, { special: ["nan"], empty: true }), { seed: 2, numRuns: 100 });
  const isSpecial = ({ special = [] }: TestCase) => special.length > 0;
  const placed = ({ layouts = {} }: TestCase) => Object.values(layouts).some((layout) => layout !== "contiguous");
  const [before, after] = [false, true].map((isProved) => breadthFirst(kernel, drawn, size, [], isProved));
  expect(new Set(after)).toEqual(new Set(drawn));
  expect(features(after!.slice(0, 12))).toEqual(features(before!.slice(0, 12)));
  const ranks = (list: readonly TestCase[]) => list.flatMap((each, i) => (isSpecial(each) ? [i] : []));
  expect(ranks(after!)[0]).toBeLessThan(after!.findIndex((each) => placed(each) && !isSpecial(each)));
  const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0);
  expect(sum(ranks(after!))).toBeLessThan(sum(ranks(before!)));
});
