/** What a kernel costs the checker, as a number that is the same on every machine. `npm run bench:types` says more. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { families, program } from "./calls.js";
import { instantiations } from "./cost.js";
import { drawn } from "../support/drawn.js";
import { root } from "../support/tsc.js";

const importOnly = `import { tl } from "tilescript";\nexport { tl };`;

test("the matrix product stays within its budget of instantiations", { timeout: 120_000 }, () => {
  const gemm = readFileSync(join(root, "examples/gemm.ts"), "utf8");
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
  memory: 261,
  atomic: 207,
  random: 63,
  hints: 74,
  libdevice: 165,
  control: 56,
};

test("a call of each family of ops stays within its budget", { timeout: 300_000 }, () => {
  expect(Object.keys(families)).toEqual(Object.keys(MEASURED));
  const sets = 16;
  const declared = instantiations(program(() => [], sets));
  const measured = drawn("families of ops that are measured", Object.entries(families), {
    key: ([name]) => name,
    sources: () => ["tests/types/calls.ts"],
    least: 2,
  });
  const over = measured.flatMap(([name, calls]) => {
    const cost = (instantiations(program(calls, sets)) - declared) / sets / calls("0").length;
    return cost > MEASURED[name]! * 1.15 || cost <= 0 ? [`${name}: ${Math.round(cost)}, was ${MEASURED[name]}`] : [];
  });
  expect(over).toEqual([]);
});
