/** Outputs that are integers: compared exactly, with 64 bits too, or by steps that few elements may take. */
import { describe, expect, test } from "vitest";
import { build, constexpr, kernel, libdevice, tensor, tl } from "tilescript";
import { compareOutput } from "../../../src/eval/compare-outputs.js";

const LARGE = 2n ** 60n;

/** One that quantizes rows, whose rounding differs from that of the reference for few elements. */
const quantized = (round: (x: any) => any, tolerance?: object) =>
  kernel(
    "quantized",
    {
      params: {
        x: tensor(tl.bfloat16, ["M", "N"]),
        q: tensor.out(tl.int8, ["M", "N"]),
        scale: tensor.out(tl.float32, ["M"]),
        BLOCK: constexpr.launch(({ N }) => tl.nextPowerOf2(N)),
      },
      grid: ({ M }) => [M],
      reference: ({ x }, torch) => {
        const largest = x.to(tl.float32).abs().amax(1).div(127).clamp(1e-8);
        return [torch.round(x.to(tl.float32).div(largest.unsqueeze(1))).to(tl.int8), largest];
      },
      ...(tolerance && { tolerance }),
    },
    ({ x, q, scale, BLOCK }) => {
      const row = tl.inBounds(tl.programId(0));
      const cols = tl.arange(0, BLOCK);
      const values = tl.load(x.at(row, cols)).to(tl.float32);
      const largest = tl.maximum(tl.max(tl.abs(values), 0).div(127), 1e-8);
      tl.store(q.at(row, cols), round(values.div(largest)).to(tl.int8));
      tl.store(scale.at(row), largest);
    },
  );

const rint = (x: any) => libdevice.rint(x);
const at = { sizes: { M: 67, N: 521 }, dtypes: {}, config: 0, seed: 2 };

const verdict = async (of: unknown) => (await build(of)).evaluate(at).comparison!;

describe("a kernel that quantizes", () => {
  test("is told how to allow what rounding decides", async () => {
    const compiled = await build(quantized(rint));
    const { comparison } = compiled.evaluate(at);
    expect(comparison).toMatchObject({ correct: false, finds: "rounding", integers: true });
    expect(() => compiled.check(at)).toThrow("tolerance: { q: { atol: 1 } }");
  });

  test("passes with a step for few of its elements", async () => {
    expect(await verdict(quantized(rint, { q: { atol: 1 } }))).toMatchObject({ correct: true, maxAbsDiff: 1 });
  });

  test.each([
    ["that truncates", (x: any) => x],
    ["that is one step off", (x: any) => libdevice.rint(x).sub(1)],
    ["that floors", (x: any) => tl.floor(x)],
  ])("fails with it %s", async (_, round) => {
    expect(await verdict(quantized(round, { q: { atol: 1 } }))).toMatchObject({ correct: false, finds: "mistake" });
  });

  test("fails where few elements are two steps off", async () => {
    const rarely = (x: any) => tl.where(x.gt(126.5), 125, libdevice.rint(x));
    expect(await verdict(quantized(rarely, { q: { atol: 1 } }))).toMatchObject({ correct: false, finds: "mistake" });
  });

  test("does not widen what holds for the other outputs", async () => {
    const shifted = kernel(
      "shifted",
      {
        params: {
          x: tensor(tl.float32, ["N"]),
          q: tensor.out(tl.int32, ["N"]),
          y: tensor.out(tl.float32, ["N"]),
          BLOCK: constexpr(),
        },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        config: { BLOCK: 64 },
        tolerance: { q: { atol: 1 } },
        reference: ({ x }) => [x.floor().to(tl.int32), x],
      },
      ({ x, q, y, BLOCK }) => {
        const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        const value = tl.load(x.at(i));
        tl.store(q.at(i), tl.floor(value).to(tl.int32));
        tl.store(y.at(i), value.add(0.5));
      },
    );
    const { comparison } = (await build(shifted)).evaluate({ sizes: { N: 100 }, dtypes: {}, config: 0, seed: 1 });
    expect(comparison).toMatchObject({ correct: false, wrong: 100, worst: { output: "y" } });
  });

  test.each<[string, object, string]>([
    ["a name that is no output", { s: { atol: 1 } }, "tolerance has s, which is no output"],
    ["a share of floats", { scale: { share: 0.1 } }, "tolerance has a share of scale"],
    ["rtol of integers", { q: { rtol: 0.1 } }, "give atol, how far they may be off"],
    ["a share above 1", { q: { atol: 1, share: 2 } }, "tolerance is"],
    ["a number by name", { q: 1 }, "tolerance is"],
  ])("refuses %s", async (_, tolerance, says) => {
    const refused = async () => build(quantized(rint, tolerance));
    await expect(refused()).rejects.toThrow(says);
  });
});

describe("integers of 64 bits", () => {
  const exact = { rtol: 0, atol: 0 };
  const output = (...data: bigint[]) => ({ dtype: "int64", shape: [data.length], data: BigInt64Array.from(data) });

  test("are compared beyond what a float64 holds", () => {
    const expected = { shape: [2], data: [LARGE, 1] };
    expect(compareOutput("y", output(LARGE, 1n), expected, exact).correct).toBe(true);
    const found = compareOutput("y", output(LARGE + 1n, 1n), expected, exact);
    expect(found).toMatchObject({ wrong: 1, maxAbsDiff: 1, worst: { expected: LARGE, got: LARGE + 1n } });
  });

  test("are not compared with a number that need not be exact", () => {
    expect(() => compareOutput("y", output(LARGE), { shape: [1], data: [2 ** 60] }, exact)).toThrow("beyond 2^53");
  });
});

describe("integers of a reference", () => {
  const stepped = (dtype: any, reference: (x: any) => any, body: (x: any) => any) =>
    kernel(
      "stepped",
      {
        params: { x: tensor(dtype, ["N"]), y: tensor.out(dtype, ["N"]), BLOCK: constexpr() },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        config: { BLOCK: 64 },
        reference: ({ x }) => reference(x),
      },
      ({ x, y, BLOCK }) => {
        const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        tl.store(y.at(i), body(tl.load(x.at(i))));
      },
    );
  const judged = async (of: unknown, data: Int32Array | BigInt64Array | BigUint64Array, dtype: string) =>
    (await build(of)).evaluate(
      { sizes: { N: data.length }, dtypes: {}, config: 0, seed: 1 },
      { inputs: { x: { dtype, shape: [data.length], data } } },
    );

  test("wrap as PyTorch's do, before a shift too", async () => {
    const hash = (x: any) => x.mul(65599).add(12345);
    const both = stepped(
      tl.int32,
      (x) => hash(x).bitwise_right_shift(3).bitwise_xor(hash(x)),
      (x) => hash(x).shr(3).xor(hash(x)),
    );
    const { comparison } = await judged(both, Int32Array.of(1, -70000, 2 ** 30, -(2 ** 31)), "int32");
    expect(comparison).toMatchObject({ correct: true, maxAbsDiff: 0 });
  });

  test("of 8 bits wrap at 8 bits", async () => {
    const doubled = stepped(
      tl.int8,
      (x) => x.add(x).bitwise_right_shift(1),
      (x) => x.add(x).shr(1),
    );
    const { comparison } = await judged(doubled, Int32Array.of(100, -100, 3), "int8");
    expect(comparison).toMatchObject({ correct: true });
  });

  test("of uint64 that wrap below 0 are left to PyTorch, before a shift too", async () => {
    const shifted = stepped(
      tl.uint64,
      (x) => x.sub(1).bitwise_right_shift(60),
      (x) => x.sub(1).shr(60),
    );
    const { comparison, unchecked } = await judged(shifted, BigUint64Array.of(0n), "uint64");
    expect(comparison).toBeUndefined();
    expect(unchecked).toEqual([expect.stringContaining("beyond 2^53")]);
  });

  test("beyond 2^53 are left to PyTorch", async () => {
    const same = stepped(
      tl.int64,
      (x) => x.add(1),
      (x) => x.add(2),
    );
    const { comparison, unchecked } = await judged(same, BigInt64Array.of(LARGE), "int64");
    expect(comparison).toBeUndefined();
    expect(unchecked).toEqual([expect.stringContaining("beyond 2^53")]);
  });
});
