/** What cases are drawn: none is beyond what a device can hold. */
import { describe, expect, it } from "vitest";
import { build, type TestCase, type CompiledKernel, constexpr, kernel, tensor, tl } from "tilescript";
import { attentionWithGradients } from "../../../examples/attention-gradients.js";
import { gemm } from "../../../examples/gemm.js";
import { layerNorm } from "../../../examples/layer-norm.js";
import { pagedAttention } from "../../../examples/paged-attention.js";
import { maxPool3d } from "../../../examples/max-pool-3d.js";
import { largestNumel, planCases } from "../../../src/runtime/cases/cases.js";
import { cases, productOfSizes } from "../../../src/runtime/cases/arbitrary.js";
import { tensorsWithLayout } from "../../../src/runtime/cases/selection.js";
import { sampleCases } from "../../support/sampled-tests.js";
import { examples, sourcesOf } from "../../support/examples.js";
import { fc } from "../../support/property.js";

it.each([
  ["a tensor with all sizes", maxPool3d],
  ["a product of matrices", gemm],
])("should bound the elements of %s, not only the work", { timeout: 60_000 }, async (_, author) => {
  const kernel = await build(author);
  for (const specializations of [undefined, { most: 2, seed: 3 }]) {
    const options = {
      maxSize: 1100,
      maxWork: 2 ** 31,
      maxElements: 2 ** 22,
      ...(specializations && { specializations }),
    };
    const drawn = fc.sample(cases(kernel, options), { seed: 5, numRuns: 100 });
    expect(Math.max(...drawn.map((at) => largestNumel(kernel, at)))).toBeLessThanOrEqual(2 ** 22);
    // The bound is met from below, so that it is this bound that was tried.
    expect(Math.max(...drawn.map((at) => largestNumel(kernel, at)))).toBeGreaterThan(2 ** 18);
    expect(Math.max(...drawn.map(productOfSizes))).toBeLessThanOrEqual(2 ** 31);
  }
});

it("should draw what a kernel takes, also where few of the products of its many sizes are small", async () => {
  const kernel = await build(pagedAttention);
  const options = { maxSize: 1100, maxWork: 2 ** 31, specializations: { most: 8, seed: 0 } };
  const drawn = fc.sample(cases(kernel, options), { seed: 1, numRuns: 60 });
  for (const { sizes } of drawn) {
    expect([16, 32, 64, 128, 256, 512, 1024]).toContain(sizes["HEAD_DIM"]);
    expect([16, 32, 64, 128, 256, 512, 1024]).toContain(sizes["PAGE_SIZE"]);
  }
  // Not ones alone, which are the cases that never are too much.
  expect(drawn.filter((at) => productOfSizes(at) > 2 ** 20).length).toBeGreaterThan(20);
});

it("should shrink whatever is drawn or declared to a case that the kernel takes", { timeout: 120_000 }, async () => {
  const chosen = sampleCases("examples whose cases shrink", examples, {
    key: ({ name }) => name,
    sources: ({ name }) => [...sourcesOf(name), "src/runtime/cases/arbitrary.ts", "src/runtime/cases/cases.ts"],
    maximum: 2,
    perRun: 4,
  });
  for (const { kernel: author } of chosen) {
    const kernel = await build(author);
    const drawn = cases(kernel, {
      maxSize: 1100,
      maxWork: 2 ** 31,
      maxLanes: 2 ** 33,
      specializations: { most: 2, seed: 0 },
      empty: true,
      special: ["-0", "subnormal"],
    });
    const { cases: declared } = planCases(
      kernel,
      { elements: 2 ** 24, work: 2 ** 40, op: 0, exhaustive: false },
      { seed: 0 },
    );
    const given = [...declared.map(({ testCase: at }) => at), ...Array.from({ length: 6 }, () => undefined)];
    const found = given.map((at, seed) => {
      const never = fc.property(drawn, () => false);
      return fc.check(never, { seed, numRuns: 1, examples: at ? [[at]] : [] });
    });
    for (const { counterexample } of found) expect(kernel.refusal(counterexample![0] as TestCase)).toBeUndefined();
    expect(Math.max(...found.map(({ numShrinks }) => numShrinks))).toBeGreaterThan(0);
  }
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
    const drawn = fc.sample(cases(kernel, options), { seed: 5, numRuns: 20 });
    return Math.max(...drawn.map((at) => kernel.work(at).lanes));
  };
  expect(lanes()).toBeGreaterThan(2 ** 33);
  expect(lanes(2 ** 33)).toBeLessThanOrEqual(2 ** 33);
  expect(lanes(2 ** 33)).toBeGreaterThan(2 ** 28);
});

describe("memory of outputs", () => {
  const copy = (contiguous: boolean, hasStrides: boolean) =>
    kernel(
      "copy",
      {
        params: {
          x: tensor(tl.float32, ["M", "N"]),
          y: tensor.out(tl.float32, ["M", "N"], { contiguous }),
          BLOCK: constexpr(),
        },
        grid: ({ M, N, BLOCK }) => [M, tl.cdiv(N, BLOCK)],
        config: { BLOCK: 16 },
        reference: ({ x }) => x,
      },
      ({ x, y, N, BLOCK }) => {
        const row = tl.programId(0);
        const cols = tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK));
        const values = tl.load(x.at(row, cols));
        if (hasStrides) tl.store(y.at(row, cols), values);
        else tl.store(y.ptr.add(row.mul(N).add(cols)), values, { mask: cols.lt(N) });
      },
    );
  const drawnOf = (compiled: CompiledKernel, options = {}) =>
    fc.sample(cases(compiled, { maxSize: 40, ...options }), { seed: 1, numRuns: 80 });
  const layoutsOf = (drawn: readonly TestCase[]) => new Set(drawn.map(({ layouts }) => layouts?.["y"]));

  it("should be drawn, where callers may choose it", async () => {
    const drawn = drawnOf(await build(copy(false, true)));
    expect(layoutsOf(drawn)).toEqual(new Set(["contiguous", "transposed", "sliced", "offset"]));
    expect(layoutsOf(drawnOf(await build(copy(true, true))))).toEqual(new Set(["contiguous", "offset"]));
    expect(layoutsOf(drawnOf(await build(copy(false, true)), { layouts: ["expanded"] }))).toEqual(
      new Set(["contiguous"]),
    );
  });

  it("should be their own in an operator, which allocates them", async () => {
    const { signature } = await build(layerNorm);
    const outputs = signature.tensors.filter(({ role }) => role === "out");
    expect(outputs).not.toEqual([]);
    for (const { name } of outputs) expect(tensorsWithLayout(signature).map((each) => each.name)).not.toContain(name);
  });

  it("should show a store that leaves out strides", async () => {
    const [right, wrong] = [await build(copy(false, true)), await build(copy(false, false))];
    for (const at of drawnOf(right)) expect(right.evaluate(at, { lowered: true }).findings).toEqual([]);
    const found = drawnOf(wrong).filter((at) => {
      const { findings, comparison } = wrong.evaluate(at);
      return findings.length > 0 || comparison?.correct === false;
    });
    expect(layoutsOf(found)).toEqual(new Set(["transposed", "sliced"]));
    // What asks for contiguous outputs is right without strides.
    const asking = await build(copy(true, false));
    for (const at of drawnOf(asking)) expect(asking.evaluate(at).findings).toEqual([]);
  });

  it("should be planned with every layout of a rank", async () => {
    const limits = { elements: 2 ** 20, work: 2 ** 24, op: 0, exhaustive: false };
    const planned = planCases(await build(copy(false, true)), limits, { seed: 0 }).cases.map(({ testCase: at }) => at);
    expect(layoutsOf(planned)).toEqual(new Set([undefined, "transposed", "sliced", "offset"]));
  });
});

it("should draw sizes around blocks and beyond two of them, also of blocks that no config chooses", async () => {
  const fixed = kernel(
    "fixed",
    {
      params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]) },
      grid: ({ N }) => [tl.cdiv(N, 32)],
      reference: ({ x }) => x,
    },
    ({ x, y }) => {
      const i = tl.programId(0).mul(32).add(tl.arange(0, 32));
      tl.store(y.at(i), tl.load(x.at(i)));
    },
  );
  const drawn = fc.sample(cases(await build(fixed), { maxSize: 2000 }), { seed: 1, numRuns: 200 });
  const sizes = drawn.map(({ sizes: { N } }) => N);
  for (const size of [31, 32, 33, 64, 65]) expect(sizes).toContain(size);
});
