/** What cases are drawn: none is beyond what a device can hold. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { build } from "tilescript";
import { gemm } from "../../examples/gemm.js";
import { maxPool3d } from "../../examples/max-pool-3d.js";
import { largestTensor, workOf } from "../../src/runtime/cases.js";
import { cases } from "../../src/runtime/draw.js";

it.each([
  ["a tensor with all sizes", maxPool3d],
  ["a product of matrices", gemm],
])("should bound the elements of %s, not only the work", { timeout: 60_000 }, async (_, author) => {
  const kernel = await build(author);
  for (const specialisations of [undefined, { most: 2, seed: 3 }]) {
    const options = {
      maxSize: 1100,
      maxWork: 2 ** 31,
      maxElements: 2 ** 22,
      ...(specialisations && { specialisations }),
    };
    const drawn = fc.sample(cases(kernel, options), { seed: 5, numRuns: 100 });
    expect(Math.max(...drawn.map((at) => largestTensor(kernel, at)))).toBeLessThanOrEqual(2 ** 22);
    // The bound is met from below, so that it is this bound that was tried.
    expect(Math.max(...drawn.map((at) => largestTensor(kernel, at)))).toBeGreaterThan(2 ** 18);
    expect(Math.max(...drawn.map(workOf))).toBeLessThanOrEqual(2 ** 31);
  }
});
