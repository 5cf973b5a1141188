/**
 * What a kernel costs the checker, as a number that hardly depends on the machine. `npm run bench -- types` says more.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { families, program } from "./calls.js";
import { instantiations } from "./cost.js";
import { sampleCases, seedOfRun } from "../support/sampled-tests.js";
import { root } from "../support/tsc.js";

const importOnly = `import { tl } from "tilescript";\nexport { tl };`;

test("the matrix product stays within its budget of instantiations", { timeout: 120_000 }, () => {
  const gemm = readFileSync(join(root, "examples/gemm.ts"), "utf8");
  // The compiler reads files side by side, and their order moves a count by up to 80 either way.
  const cost = instantiations(gemm) - instantiations(importOnly);
  const measured = 19_385;
  expect(cost).toBeGreaterThan(0);
  expect(cost).toBeLessThan(measured * 1.1);
});

/** Instantiations of one call on tiles of new dimensions, on average over the family's calls. */
const MEASURED: Readonly<Record<string, number>> = {
  create: 43,
  arithmetic: 176,
  bits: 90,
  compare: 79,
  math: 119,
  cast: 26,
  shape: 131,
  join: 123,
  reduce: 77,
  dot: 251,
  memory: 320,
  atomic: 207,
  random: 73,
  hints: 74,
  libdevice: 165,
  control: 63,
};

const SETS = 16;
const costOf = (calls: (typeof families)[string], declared: number): number =>
  (instantiations(program(calls, SETS)) - declared) / SETS;

const budgets = sampleCases("budgets of types", ["calls of all families of ops"], {
  key: (name) => name,
  sources: () => ["tests/types/cost.test.ts", "tests/types/calls.ts"],
  minimum: 0,
});

test.each(budgets)("%s stay within their budget", { timeout: 300_000 }, () => {
  expect(Object.keys(families)).toEqual(Object.keys(MEASURED));
  const declared = instantiations(program(() => [], SETS));
  const all = Object.entries(families);
  const budget = all.reduce((sum, [name, calls]) => sum + MEASURED[name]! * calls("0").length, 0);
  const cost = costOf((set) => all.flatMap(([, calls]) => calls(set)), declared);
  expect(cost).toBeGreaterThan(0);
  expect(cost).toBeLessThan(budget * 1.05);
  // By itself, one family in eight: what one of them costs more is in the sum, too.
  const over = all.flatMap(([name, calls], i) => {
    if (i % 8 !== seedOfRun() % 8) return [];
    const each = costOf(calls, declared) / calls("0").length;
    return each > MEASURED[name]! * 1.15 || each <= 0 ? [`${name}: ${Math.round(each)}, was ${MEASURED[name]}`] : [];
  });
  expect(over).toEqual([]);
});
