/** What a verdict rests on: cases with elements, the author's shapes, sizes that the kernel accepts, and a time limit. */
import { describe, expect, it } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";
import type { TestCase, CompiledKernel, Evaluation } from "../../../src/compiled/compiled-kernel.js";
import { cases } from "../../../src/runtime/cases/arbitrary.js";
import { openDevice } from "../../../src/runtime/devices/devices.js";
import { verifyCase } from "../../../src/runtime/verify/runner.js";
import { verifyThoroughly } from "../../../src/runtime/verify/thorough.js";
import { verify, type Verification, summarize, type Summary } from "../../../src/runtime/verify/plan-cases.js";
import { vectorAdd } from "../../support/fixtures/vector-add.js";
import { fc } from "../../support/property.js";

const device = await openDevice({ device: "eval" });
const selection = { seed: 0 };

/** Rows of whole blocks: `D` is a multiple of 512, and no drawn number is. */
const wholeBlocks = (
  shapes: readonly { M: number; D: number }[] = [{ M: 5, D: 1024 }],
  isDescribed = false,
): Promise<CompiledKernel> =>
  build(
    kernel(
      "whole_blocks",
      {
        params: {
          x: tensor(tl.float32, ["M", "D"]),
          y: tensor.out(tl.float32, ["M", "D"]),
          D: constexpr(),
          BLOCK: constexpr(),
        },
        grid: ({ M, D, BLOCK }) => [M, D.floorDiv(BLOCK)],
        requires: ({ D, BLOCK }) => [D.mod(BLOCK).eq(0)],
        config: { BLOCK: 512 },
        inputs: ({ M, D }, torch) => (isDescribed ? { x: torch.randn([M, D]) } : {}),
        reference: ({ x }) => x.mul(2),
        shapes,
      },
      ({ x, y, BLOCK }) => {
        const row = tl.inBounds(tl.programId(0));
        const cols = tl.inBounds(tl.programId(1).mul(BLOCK).add(tl.arange(0, BLOCK)));
        tl.store(y.at(row, cols), tl.load(x.at(row, cols)).mul(2));
      },
    ),
  );

const thorough = { selection, runs: 12, timeLimitMs: 20_000 };

describe("drawn sizes", () => {
  it("should satisfy what the kernel requires without being empty", async () => {
    for (const made of [wholeBlocks(), wholeBlocks(undefined, true), wholeBlocks([])]) {
      const { outcomes } = await verifyThoroughly(await made, device, thorough);
      const rows = outcomes.map(({ testCase: at }) => at.sizes);
      expect(rows.filter(({ M, D }) => M! > 0 && D! > 0).length).toBeGreaterThan(10);
      expect(new Set(rows.map(({ M }) => M)).size).toBeGreaterThan(3);
      expect(rows.every(({ D }) => D! % 512 === 0)).toBe(true);
    }
  });

  it.each<[string, (sizes: Readonly<Record<string, number>>) => boolean]>([
    ["equals", ({ M, N }) => M === N],
    ["a size that is twice another", ({ M, K }) => K === 2 * M!],
    ["a sum", ({ M, N, K }) => K === M! + N!],
  ])("should move sizes together where the kernel requires %s", (_, holds) => {
    const shapes = [{ M: 6, N: 6, K: 12 }];
    const base = vectorAdd();
    const { signature } = base;
    const tied = vectorAdd({
      signature: { ...signature, sizes: ["M", "N", "K"] },
      shapes,
      refusal: ({ sizes }) => (holds(sizes) ? undefined : "they are tied"),
      sizes: ({ sizes }) => ({ ...sizes, N: sizes["N"]! }),
    });
    const drawn = fc.sample(cases(tied), { seed: 3, numRuns: 40 });
    expect(drawn.every(({ sizes }) => holds(sizes))).toBe(true);
    expect(new Set(drawn.map(({ sizes }) => sizes["M"])).size).toBeGreaterThan(4);
  });

  it("should end with the reason where the kernel accepts none", async () => {
    const none = vectorAdd({ shapes: [], refusal: () => "N is never right" });
    await expect(verifyThoroughly(none, device, thorough)).rejects.toThrow(
      "vector_add: no sizes were found that the kernel accepts (N is never right); list some of them as shapes in its spec",
    );
  });

  it("should shrink a declared shape that fails", async () => {
    const failsFrom38 = (at: TestCase): Evaluation => ({
      ...vectorAdd().evaluate(at),
      comparison: { correct: at.sizes["N"]! < 38, maxAbsDiff: 1, maxRelDiff: 1, wrong: 1, total: 1 },
    });
    const wrong = vectorAdd({ shapes: [{ N: 9000 }], evaluate: failsFrom38 });
    const { outcomes } = await verifyThoroughly(wrong, device, thorough);
    expect(outcomes.map(({ status, testCase: at }) => [status, at.sizes["N"]])).toEqual([["failed", 38]]);
  });

  it("should leave out a config that takes no size, and name it", async () => {
    const half = vectorAdd({ refusal: ({ config }) => (config === 1 ? "BLOCK is too large" : undefined) });
    const { outcomes, skipped: left } = await verifyThoroughly(half, device, thorough);
    expect(new Set(outcomes.map(({ testCase: at }) => at.config))).toEqual(new Set([0]));
    expect(left).toContain("config 1: no sizes were found that it accepts (BLOCK is too large)");
  });
});

const verdict = (verification: Verification): Pick<Summary, "correct" | "details"> => {
  const { correct, details } = summarize(verification, device);
  return { correct, details };
};

describe("a verdict", () => {
  it("should not pass on empty cases alone", async () => {
    const made = await wholeBlocks();
    const outcome = await verifyCase(made, device, { sizes: { M: 0, D: 0 }, dtypes: {}, config: 0, seed: 0 });
    expect(outcome.status).toBe("passed");
    expect(verdict({ kernel: made, hasChosenSizes: true, outcomes: [outcome], skipped: [], seconds: 0 })).toEqual({
      correct: false,
      details: "every case is empty, so no element was compared",
    });
  });

  it("should not pass without one of the shapes that the kernel declares", async () => {
    const large = await wholeBlocks([{ M: 2 ** 18, D: 2 ** 12 }]);
    for (const verification of [
      await verify(large, device, { selection }),
      await verifyThoroughly(large, device, thorough),
    ]) {
      expect(verification.outcomes.every(({ status }) => status === "passed")).toBe(true);
      expect(verification.skipped).toContain("declared shape M=262144 D=4096: too large for this device");
      expect(verdict(verification)).toEqual({
        correct: false,
        details:
          "none of the shapes that the kernel declares was run (M=262144 D=4096); declare one that this device runs, or choose sizes with --shape",
      });
    }
  });

  it("should say how many of the declared shapes ran", async () => {
    const made = await wholeBlocks([
      { M: 2 ** 18, D: 2 ** 12 },
      { M: 3, D: 512 },
    ]);
    for (const verification of [
      await verify(made, device, { selection }),
      await verifyThoroughly(made, device, thorough),
    ]) {
      const { correct, details, declaredCompared } = summarize(verification, device);
      expect({ correct, declaredCompared }).toEqual({ correct: true, declaredCompared: [1] });
      expect(details).toMatch(/cases passed on eval, with 1 of 2 declared shapes$/);
    }
  });

  it("should rest on the sizes that the user chose, if any", async () => {
    const made = await wholeBlocks([{ M: 2 ** 18, D: 2 ** 12 }]);
    const verification = await verify(made, device, { selection: { seed: 0, sizes: { M: 2, D: 512 } } });
    expect(verdict(verification)).toEqual({ correct: true, details: "1 of 1 cases passed on eval" });
  });
});

it("should stop a case of the evaluator at its time limit, at the author's line", async () => {
  const endless: CompiledKernel = await build(
    kernel(
      "endless",
      {
        params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]) },
        grid: () => [1],
        reference: ({ x }) => x,
      },
      ({ y }) => {
        const sum = tl.mut(tl.full([16], 0, tl.float32));
        for (const k of tl.range(0, 2_000_000_000)) sum.value = sum.value.add(k);
        const cols = tl.arange(0, 16);
        tl.store(y.at(cols), sum.value);
      },
    ),
  );
  const at = { sizes: { N: 16 }, dtypes: {}, config: 0, seed: 0 };
  const { status, failure } = await verifyCase(endless, device, at, { deadlineMs: 200 });
  expect({ status, kind: failure?.kind }).toEqual({ status: "failed", kind: "timeout" });
  expect(failure?.at?.file).toMatch(/verdict\.test\.ts$/);
});

it.each([
  ["values outside their range", 16, "inputs: x holds -100; its range is 0 up to but not including 16"],
  ["another shape", 17, "inputs: x must have shape [16], got [17]"],
])("should name the author's line for described inputs with %s", async (_, length, message) => {
  const described = await build(
    kernel(
      "described",
      {
        params: { x: tensor(tl.int64, ["N"], { range: [0, "N"] }), y: tensor.out(tl.int64, ["N"]) },
        grid: () => [1],
        inputs: (_sizes, torch) => ({ x: torch.full([length], -100) }),
        reference: ({ x }) => x,
      },
      ({ x, y }) => {
        const cols = tl.arange(0, 16);
        tl.store(y.at(cols), tl.load(x.at(cols)));
      },
    ),
  );
  const { failure } = await verifyCase(described, device, { sizes: { N: 16 }, dtypes: {}, config: 0, seed: 0 });
  expect(failure?.kind).toBe("inputs");
  expect(failure?.message).toContain(message);
  expect(failure?.at?.file).toMatch(/verdict\.test\.ts$/);
});
