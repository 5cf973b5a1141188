/** A kernel run in-process on an author's own arrays. */
import { describe, expect, test } from "vitest";
import { NDArray, tl } from "tilescript";
import { gemm } from "../../../examples/gemm.js";
import { careless, copied, counting, filled, ramp, scaled } from "./kernels.js";
import { fc } from "../../support/property.js";

const x = NDArray.of([1, -2, 3, -4, 5, -6], [2, 3]);

describe("evaluate", () => {
  test("should give outputs by name, in their dtype and shape", async () => {
    const { outputs, correct, findings, unchecked } = await scaled.evaluate({ x, alpha: 3 });
    expect([outputs.y.dtype, outputs.y.shape, correct, findings, unchecked]).toEqual(["float32", [2, 3], true, [], []]);
    expect(outputs.y.toArray()).toEqual([
      [3, -6, 9],
      [-12, 15, -18],
    ]);
  });

  test("should agree with a matrix product written in JavaScript, for views of any layout", async () => {
    const array = (rows: number, columns: number, seed: number, layout: string) => {
      const draw = (m: number, n: number) => NDArray.randint(-4, 5, [m, n], tl.float16, seed);
      if (layout === "transposed") return draw(columns, rows).t();
      return layout === "sliced"
        ? draw(rows + 1, 2 * columns)
            .slice(0, 1)
            .slice(1, 0, undefined, 2)
        : draw(rows, columns);
    };
    const layouts = fc.constantFrom("contiguous", "transposed", "sliced");
    const size = fc.integer({ min: 1, max: 40 });
    const config = fc.record({ BLOCK_M: fc.constantFrom(16, 32), BLOCK_K: fc.constantFrom(16, 64) });
    await fc.assert(
      fc.asyncProperty(size, size, size, layouts, layouts, config, async (M, N, K, first, second, blocks) => {
        const [a, b] = [array(M, K, M + N, first), array(K, N, K, second)];
        const { outputs, correct, findings } = await gemm.evaluate({ a, b }, { ...blocks, BLOCK_N: 16 });
        const [left, right] = [a.toArray() as number[][], b.toArray() as number[][]];
        const due = left.map((row) =>
          right[0]!.map((_, n) => row.reduce((sum, value, k) => sum + value * right[k]![n]!, 0)),
        );
        expect([outputs.c.toArray(), correct, findings]).toEqual([due, true, []]);
      }),
      { seed: 7, numRuns: 25 },
    );
  });

  test("should take typed arrays for one axis, scalars, flags and optional tensors", async () => {
    const bias = Float32Array.of(10, 20, 30);
    const { outputs, correct } = await scaled.evaluate({ x, bias }, { NEGATE: true, BLOCK: 16 });
    expect(outputs.y.toArray()).toEqual([
      [-12, -16, -36],
      [-2, -30, -18],
    ]);
    expect(correct).toBe(true);
    expect((await scaled.evaluate({ x, bias: null })).outputs.y.toArray()).toEqual([
      [2, -4, 6],
      [-8, 10, -12],
    ]);
  });

  test("should leave inputs alone and return what is updated in place", async () => {
    const n = BigInt64Array.of(2n ** 60n, -1n);
    const { outputs, correct } = await counting.evaluate({ n, by: 5 });
    expect(outputs.n.data).toEqual(BigInt64Array.of(2n ** 60n + 5n, 4n));
    expect(n).toEqual(BigInt64Array.of(2n ** 60n, -1n));
    expect(correct).toBeNull();
  });

  test("should take sizes and dtypes that no input tells", async () => {
    const { outputs } = await ramp.evaluate({ N: 4, step: 0.5 }, { DTYPE: tl.float16 });
    expect([outputs.y.dtype, outputs.y.toArray()]).toEqual(["float16", [0, 0.5, 1, 1.5]]);
  });

  test("should know the memory behind a raw pointer by what is given for it", async () => {
    const p = NDArray.zeros([20]);
    const right = await filled.evaluate({ p, value: 1, N: 20 });
    expect([right.findings, right.outputs.p.toArray()]).toEqual([[], Array<number>(20).fill(1)]);
    const { findings } = await filled.evaluate({ p, value: 1, N: 21 });
    expect(findings.map(({ code }) => code)).toEqual(["out-of-bounds"]);
  });

  test("should find what is wrong, whatever the numbers are", async () => {
    const { correct, findings } = await careless.evaluate({ x: new Float32Array(17) });
    expect([correct, findings.map(({ code }) => code)]).toEqual([true, ["false-in-bounds", "false-in-bounds"]]);
    expect(findings[0]!.at?.file).toContain("call/kernels.ts");
  });

  test("should run programs in the order that is asked for and name ops that make infinities", async () => {
    const huge = NDArray.of([1e38, 1], [1, 2]);
    const { findings } = await scaled.evaluate({ x: huge, alpha: 100 }, { nonFinite: true, order: "reversed" });
    expect(findings.map(({ code }) => code)).toEqual(["non-finite"]);
  });

  test("should take a config with other values, checked as any", async () => {
    const seen = await Promise.all([16, 32, 64].map((BLOCK) => scaled.evaluate({ x }, { BLOCK, numWarps: 2 })));
    expect(seen.map(({ correct }) => correct)).toEqual([true, true, true]);
    await expect(scaled.evaluate({ x }, { order: "backwards" as never })).rejects.toThrow(
      'order is "backwards"; it is "sequential", "reversed", "shuffled", or each program from 0 to 1 once',
    );
    await expect(scaled.evaluate({ x }, { BLOCK: 48 })).rejects.toThrow(
      "BLOCK is 48 in config 0; a tile's dimension is a power of two, such as 32 or 64",
    );
  });

  test.each<[string, () => Promise<unknown>]>([
    [
      "x is missing; give an NDArray of float32 or float16 or float8e5 with shape [M, N]",
      () => scaled.evaluate({} as never),
    ],
    [
      "x has shape [3], and needs [M, N]; give its shape, NDArray.of(values, shape)",
      () => scaled.evaluate({ x: new Float32Array(3) as never }),
    ],
    ["x has shape [1, 1, 1], and needs [M, N]", () => scaled.evaluate({ x: NDArray.zeros([1, 1, 1]) })],
    [
      "N is 3 by x with shape [2, 3] and 4 by bias with shape [4]; give arrays that agree",
      () => scaled.evaluate({ x, bias: new Float32Array(4) }),
    ],
    [
      "x is float64, and needs float32 or float16 or float8e5; NDArray.of(values, shape, tl.float32) converts",
      () => scaled.evaluate({ x: NDArray.zeros([2, 2], tl.float64) as never }),
    ],
    [
      "T is float16 by a and bfloat16 by b; give one dtype",
      () => gemm.evaluate({ a: NDArray.zeros([1, 1], tl.float16), b: NDArray.zeros([1, 1], tl.bfloat16) }),
    ],
    ["x is missing", () => (scaled.evaluate as () => Promise<unknown>).call(scaled)],
    ["scaled: tolerance is 0.001; it is { rtol: 1e-3,", () => scaled.evaluate({ x }, { tolerance: 1e-3 as never })],
    ['tolerance is {"rtl":1}', () => scaled.evaluate({ x }, { tolerance: { rtl: 1 } as never })],
    ['tolerance is {"rtol":-1}', () => scaled.evaluate({ x }, { tolerance: { rtol: -1 } })],
    ["x is a JavaScript array; give an NDArray", () => scaled.evaluate({ x: [1, 2] as never })],
    ['alpha is "3"; give a number', () => scaled.evaluate({ x, alpha: "3" as never })],
    ["by is missing; give a number", () => counting.evaluate({ n: BigInt64Array.of(1n) })],
    ["by is 1.5, and needs int32", () => counting.evaluate({ n: BigInt64Array.of(1n), by: 1.5 })],
    ["y is an output, which the call returns; leave it out", () => scaled.evaluate({ x, y: x } as never)],
    ["z is not an input of the kernel; it has x, bias, alpha", () => scaled.evaluate({ x, z: x } as never)],
    ["NEGATE is a constexpr; give it in the second argument", () => scaled.evaluate({ x, NEGATE: true } as never)],
    ["NEGATE is 1; give true or false", () => scaled.evaluate({ x }, { NEGATE: 1 as never })],
    ["BLOK is not a constexpr of the kernel; it has NEGATE, BLOCK", () => scaled.evaluate({ x }, { BLOK: 1 } as never)],
    ["N is missing; no tensor's shape determines this size, so give it", () => ramp.evaluate({}, { DTYPE: "float32" })],
    ["the dtype OUT is missing; give it with the constexprs", () => ramp.evaluate({ N: 4 })],
    ['DTYPE is "int8"; give one of float32, float16', () => ramp.evaluate({ N: 4 }, { DTYPE: tl.int8 })],
    [
      "the kernel refuses this call: x is reached through a descriptor",
      () => copied.evaluate({ x: NDArray.zeros([16, 16], tl.float16).t() }),
    ],
  ])("should refuse: %s", async (message, call) => {
    await expect(call()).rejects.toThrow(message);
    await expect(call()).rejects.toThrow("evaluate.test.ts");
  });
});

describe("check", () => {
  test("should give what evaluate gives where all is right", async () => {
    expect((await scaled.check({ x })).outputs.y.size).toBe(6);
  });

  test("should say which line is wrong", async () => {
    await expect(careless.check({ x: new Float32Array(17) })).rejects.toThrow(
      /careless at N=17, config 0: .*kernels\.ts:\d+:\d+: .*inBounds/,
    );
  });

  test("should say which element is wrong", async () => {
    const inputs = { x: NDArray.full([1, 3], 1e5), alpha: 1 / 3 };
    await expect(scaled.check(inputs)).resolves.toBeDefined();
    await expect(scaled.check(inputs, { tolerance: { rtol: 0, atol: 0 } })).rejects.toThrow(
      "scaled at M=1 N=3, config 0: 3 of 3 elements are wrong; y[0, 0] is 33333.3359375, expected 33333.33333333333",
    );
  });

  test("should not pass what was compared with nothing", async () => {
    await expect(counting.check({ n: BigInt64Array.of(1n), by: 1 })).rejects.toThrow(
      "nothing was compared: the kernel has no reference; give it one",
    );
  });
});
