/** The examples at any shape, as a user would test a kernel. A failure prints its seed and shrinks to a small case. */
import { expect, test } from "vitest";
import { build } from "tilescript";
import { cases } from "tilescript/testing";
import { fc, runCount } from "../support/property.js";
import { asin } from "../../examples/asin.js";
import { bitonicTopk } from "../../examples/bitonic-topk.js";
import { attention } from "../../examples/flash-attention.js";
import { gemmPersistent } from "../../examples/gemm-persistent.js";
import { gemmTma } from "../../examples/gemm-tma.js";
import { gemm } from "../../examples/gemm.js";
import { groupedGemm } from "../../examples/grouped-gemm.js";
import { int4Gemm } from "../../examples/int4-gemm.js";
import { jaggedSoftmax } from "../../examples/jagged-softmax.js";
import { chunkScan } from "../../examples/mamba-chunk-scan.js";
import { maxPool3d } from "../../examples/max-pool-3d.js";
import { moeGemm } from "../../examples/moe-gemm.js";
import { pagedAttention } from "../../examples/paged-attention.js";
import { softmax } from "../../examples/softmax.js";
import { adamwStochastic } from "../../examples/stochastic-rounding.js";
import { vectorAdd } from "../../examples/vector-add.js";

test.each([
  [vectorAdd, { maxSize: 3000 }],
  [asin, { maxSize: 3000 }],
  [softmax, { maxSize: 300 }],
  [gemm, { maxSize: 130, maxWork: 2 ** 18 }],
  [gemmPersistent, { maxSize: 130, maxWork: 2 ** 18 }],
  [gemmTma, { maxSize: 130, maxWork: 2 ** 18 }],
])("$name is right at any shape", async (kernel, options) => {
  const compiled = await build(kernel);
  fc.assert(
    fc.property(cases(compiled, options), (at) => {
      compiled.check(at);
    }),
    { numRuns: runCount(150) },
  );
});

test.each([
  [chunkScan, 6, { maxSize: 7, maxWork: 2 ** 14, sizes: { STATE: 128 } }],
  [bitonicTopk, 8, { maxSize: 40 }],
  [int4Gemm, 8, { maxSize: 5 }],
  [groupedGemm, 8, { maxSize: 40, maxWork: 2 ** 16 }],
  [jaggedSoftmax, 8, { maxSize: 60 }],
  [pagedAttention, 8, { maxSize: 6, sizes: { HEAD_DIM: 64, PAGE_SIZE: 16 } }],
  [moeGemm, 8, { maxSize: 9, sizes: { BLOCK_M: 16 } }],
  [maxPool3d, 8, { maxSize: 9 }],
  [adamwStochastic, 8, { maxSize: 3000 }],
])("$name is right at small shapes", async (kernel, numRuns, options) => {
  const compiled = await build(kernel);
  // An optimizer's arguments are not arbitrary numbers between -2 and 2.
  const scalars = Object.fromEntries(compiled.signature.scalars.map((scalar) => [scalar.name, scalar.default!]));
  fc.assert(
    fc.property(cases(compiled, options), (at) => {
      compiled.check({ ...at, scalars });
    }),
    { numRuns: runCount(numRuns) },
  );
});

test("attention is right at any shape", async () => {
  const compiled = await build(attention);
  const drawn = cases(compiled, { maxSize: 150, maxWork: 2 ** 14, sizes: { HEAD_DIM: 32 } });
  // Weights are rounded to T before the second product, which default tolerances leave little room for: a fixed seed.
  fc.assert(
    fc.property(drawn, (at) => {
      compiled.check(at);
    }),
    { numRuns: runCount(60), seed: 1 },
  );
});

test("cases cover what a kernel can be called with", async () => {
  const compiled = await build(gemm);
  const drawn = fc.sample(cases(compiled, { maxSize: 130 }), { numRuns: 400, seed: 1 });
  const blocks = new Set(compiled.configs.flatMap(({ values }) => Object.values(values)));
  expect(new Set(drawn.map((at) => at.dtypes.T))).toEqual(new Set(["float16", "bfloat16"]));
  expect(new Set(drawn.map((at) => at.config)).size).toBe(compiled.configs.length);
  expect(new Set(drawn.flatMap((at) => Object.values(at.layouts ?? {})))).toEqual(
    new Set(["contiguous", "transposed", "sliced", "offset", "expanded"]),
  );
  expect(drawn.some((at) => at.sizes.M === 1)).toBe(true);
  expect(drawn.some((at) => blocks.has(at.sizes.M!))).toBe(true);
  expect(drawn.some((at) => blocks.has(at.sizes.M! - 1))).toBe(true);
});
