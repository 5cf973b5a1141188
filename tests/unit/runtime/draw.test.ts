/** What cases are drawn: none is beyond what a device can hold. */
import { expect, it } from "vitest";
import { build } from "tilescript";
import { attentionWithGradients } from "../../../examples/attention-gradients.js";
import { gemm } from "../../../examples/gemm.js";
import { pagedAttention } from "../../../examples/paged-attention.js";
import { maxPool3d } from "../../../examples/max-pool-3d.js";
import { largestTensor } from "../../../src/runtime/cases/cases.js";
import { cases, productOfSizes } from "../../../src/runtime/cases/draw.js";
import { fc } from "../../support/property.js";

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
    expect(Math.max(...drawn.map(productOfSizes))).toBeLessThanOrEqual(2 ** 31);
  }
});

it("should draw what a kernel takes, also where few of the products of its many sizes are small", async () => {
  const kernel = await build(pagedAttention);
  const options = { maxSize: 1100, maxWork: 2 ** 31, specialisations: { most: 8, seed: 0 } };
  const drawn = fc.sample(cases(kernel, options), { seed: 1, numRuns: 60 });
  for (const { sizes } of drawn) {
    expect([16, 32, 64, 128, 256, 512, 1024]).toContain(sizes["HEAD_DIM"]);
    expect([16, 32, 64, 128, 256, 512, 1024]).toContain(sizes["PAGE_SIZE"]);
  }
  // Not ones alone, which are the cases that never are too much.
  expect(drawn.filter((at) => productOfSizes(at) > 2 ** 20).length).toBeGreaterThan(20);
});

it("should keep the sizes that are asked for, however large", async () => {
  const kernel = await build(gemm);
  const [at] = fc.sample(cases(kernel, { sizes: { M: 4000, N: 3000 }, maxWork: 2 ** 15 }), { seed: 1, numRuns: 1 });
  expect(at!.sizes).toMatchObject({ M: 4000, N: 3000, K: 1 });
});

it("should bound what a kernel computes, which its reference may hold as a whole", { timeout: 60_000 }, async () => {
  const kernel = await build(attentionWithGradients);
  const lanes = (maxLanes?: number) => {
    const options = { maxSize: 1100, maxWork: 2 ** 31, ...(maxLanes && { maxLanes }) };
    const drawn = fc.sample(cases(kernel, options), { seed: 5, numRuns: 60 });
    return Math.max(...drawn.map((at) => kernel.work(at).lanes));
  };
  expect(lanes()).toBeGreaterThan(2 ** 34);
  expect(lanes(2 ** 34)).toBeLessThanOrEqual(2 ** 34);
  expect(lanes(2 ** 34)).toBeGreaterThan(2 ** 28);
});
