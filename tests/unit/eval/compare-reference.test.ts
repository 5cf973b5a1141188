/** A kernel's algorithm is held against its reference apart from its rounding. */
import { describe, expect, test } from "vitest";
import { build, constexpr, kernel, libdevice, tensor, tl } from "tilescript";
import { attentionWithGradients } from "../../../examples/attention-gradients.js";
import { fp8Gemm } from "../../../examples/fp8-gemm.js";
import { gradientTolerance, MAX_RMS_TOLERANCE, roundingUnit, toleranceFor } from "../../../src/compiled/tolerance.js";
import { trace } from "../../../src/dsl/trace.js";
import { definitionOf } from "../../../src/dsl/definition.js";
import { evaluateKernel } from "../../../src/eval/evaluate-kernel.js";
import { magnitudes } from "../../../src/eval/compare-outputs.js";
import { noRoundings } from "../../support/fixtures/vector-add.js";
import { sampleCases, isFullRun } from "../../support/sampled-tests.js";
import { cases, inputsOf } from "../../triton/ops/harness.js";

const matrices = {
  a: tensor(tl.float32, ["M", "K"]),
  b: tensor(tl.float32, ["K", "N"]),
  c: tensor.out(tl.float32, ["M", "N"]),
  M: constexpr(),
  N: constexpr(),
  K: constexpr(),
};

function product(inputPrecision: "ieee" | "tf32", more: number, tolerance?: { atol: number }) {
  return kernel(
    "product",
    {
      params: matrices,
      grid: () => [1],
      reference: ({ a, b }, torch) => torch.matmul(a, b),
      ...(tolerance && { tolerance }),
    },
    ({ a, b, c, M, N, K }) => {
      const x = tl.load(a.at(tl.arange(0, M), tl.arange(0, K)));
      const y = tl.load(b.at(tl.arange(0, K), tl.arange(0, N)));
      tl.store(c.at(tl.arange(0, M), tl.arange(0, N)), tl.dot(x, y, undefined, { inputPrecision }).add(more));
    },
  );
}

const T = tl.dtype("T", [tl.float16, tl.bfloat16, tl.float32]);

type Body = (x: any) => any;
/** `y = body(x)` on float32, and its reference. */
const rowwise = (body: Body, reference: (x: any, torch: any) => any, dtype: any = T) =>
  kernel(
    "rowwise",
    {
      params: { x: tensor(dtype, ["N"]), y: tensor.out(dtype, ["N"]), BLOCK: constexpr() },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 64 },
      reference: ({ x }, torch) => reference(x, torch),
    },
    ({ x, y, BLOCK }) => {
      const at = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      tl.store(y.at(at), body(tl.load(x.at(at)).to(tl.float32)).to(dtype));
    },
  );

async function verdict(of: unknown, sizes: Record<string, number>, dtypes: Record<string, string> = {}) {
  const compiled = await build(of);
  const { comparison, unchecked } = compiled.evaluate({ sizes, dtypes, config: 0, seed: 2 });
  return { correct: comparison?.correct, finds: comparison?.finds, unchecked };
}
const right = { correct: true, finds: undefined, unchecked: [] };
const mistake = { correct: false, finds: "mistake", unchecked: [] };
const cube = { M: 16, N: 16, K: 64 };

describe("a mistake", () => {
  test("should be found whatever the precision of a product allows", async () => {
    for (const precision of ["ieee", "tf32"] as const) {
      expect(await verdict(product(precision, 0), cube)).toEqual(right);
      expect(await verdict(product(precision, 0.01), cube)).toEqual(mistake);
      expect(await verdict(product(precision, 1e-4), cube)).toEqual(mistake);
    }
  });

  test("should be found in every dtype of the output", async () => {
    const wrong = rowwise(
      (x) => tl.exp(x).mul(1.0001),
      (x) => x.exp(),
    );
    for (const dtype of ["float16", "bfloat16", "float32"])
      expect(await verdict(wrong, { N: 100 }, { T: dtype }), dtype).toEqual(mistake);
  });

  test("should be found beside a constant that fills most elements", async () => {
    const masked = (more: number) =>
      rowwise(
        (x) => tl.where(x.gt(0.8), x.add(more), -1e9),
        (x, torch) => torch.where(x.gt(0.8), x, -1e9),
        tl.float32,
      );
    expect(await verdict(masked(0), { N: 200 })).toEqual(right);
    expect(await verdict(masked(0.3), { N: 200 })).toEqual(mistake);
    expect(await verdict(masked(1e-4), { N: 200 })).toEqual(mistake);
  });

  test("should pass within a tolerance that the author declares", async () => {
    expect(await verdict(product("ieee", 0.01, { atol: 0.02 }), cube)).toEqual(right);
  });

  test("should be told by check", async () => {
    const compiled = await build(product("tf32", 0.01));
    expect(() => compiled.check({ sizes: cube, dtypes: {}, config: 0, seed: 2 })).toThrow(
      /256 of 256 elements are wrong; c\[\d+, \d+\] is .*; they are wrong with every float in float64 too/,
    );
  });
});

describe("rounding", () => {
  test("should be told from a mistake", async () => {
    const narrow = rowwise(
      (x) => x.to(tl.bfloat16).to(tl.float32).mul(3),
      (x) => x.mul(3),
      tl.float32,
    );
    // Neither the reference nor a dtype of a tensor rounds to bfloat16.
    expect(await verdict(narrow, { N: 100 })).toEqual({ correct: false, finds: "rounding", unchecked: [] });
    const cancels = rowwise(
      (x) => x.to(tl.bfloat16).mul(64).add(x.mul(-63.9).to(tl.bfloat16)).to(tl.float32),
      (x) => x.mul(0.1),
      tl.float32,
    );
    expect(await verdict(cancels, { N: 100 })).toEqual({ correct: false, finds: "rounding", unchecked: [] });
  });

  test("should be as the reference writes it, and do nothing in either to the algorithm", async () => {
    const rounds = rowwise(
      (x) => tl.exp(x).to(tl.float16).to(tl.float32).mul(3),
      (x) => x.exp().to(tl.float16).mul(3),
      tl.float32,
    );
    expect(await verdict(rounds, { N: 100 })).toEqual(right);
    const half = rowwise(
      (x) => tl.exp(x).to(tl.float16).to(tl.float32),
      (x) => x.exp().half(),
      tl.float32,
    );
    expect(await verdict(half, { N: 100 })).toEqual(right);
  });
});

describe("the bits of floats", () => {
  const bits = (x: any) => x.to(tl.int32, { bitcast: true });
  const float = (x: any) => x.to(tl.float32, { bitcast: true });

  test("should be those of the float's own dtype", async () => {
    // The sign bit; inputs are exact, so nothing is rounded.
    const negated = rowwise(
      (x) => float(bits(x).xor(-(2 ** 31))),
      (x) => x.neg(),
      tl.float32,
    );
    expect(await verdict(negated, { N: 100 })).toEqual(right);
  });

  test("should be said to leave the algorithm unchecked where they round", async () => {
    const cut = rowwise(
      (x) => float(bits(tl.exp(x)).and(-4)), // bits
      (x) => x.exp(),
      tl.float32,
    );
    const { correct, unchecked } = await verdict(cut, { N: 100 });
    expect(correct).toBe(true);
    expect(unchecked).toHaveLength(1);
    expect(unchecked[0]).toMatch(
      /^the algorithm apart from rounding, of y: tl\.to at .*compare-reference\.test\.ts:\d+:\d+ computes/,
    );
  });

  test("should be exact where nothing rounded before, and hide no mistake", async () => {
    const shifted = (more: number) =>
      rowwise(
        (x) => float(bits(x)).add(more),
        (x) => x,
        tl.float32,
      );
    expect(await verdict(shifted(0), { N: 100 })).toEqual(right);
    expect(await verdict(shifted(1e-5), { N: 100 })).toEqual(mistake);
  });
});

describe("an unrounded run", () => {
  test("should compute every op in float64, or say that it rounds", () => {
    const rounding = new Set<string>();
    const tested = sampleCases("ops without rounding", cases(), {
      key: ({ id }) => id,
      minimum: 100,
      isWhole: true,
    });
    for (const each of tested) {
      const run = { sizes: {}, dtypes: {}, constexprs: {}, inputs: inputsOf(each) };
      const ir = trace(definitionOf(each.kernel));
      const [own, unrounded] = [evaluateKernel(ir, run), evaluateKernel(ir, { ...run, unrounded: true })];
      for (const { op } of unrounded.rounded) rounding.add(op.name);
      for (const [name, { data, dtype }] of Object.entries(unrounded.outputs)) {
        expect([each.id, data instanceof Float64Array]).toEqual([each.id, /float/.test(dtype)]);
        // A wrong dtype gives other numbers altogether; a last bit can move a cast's integer by one.
        const near = Array.from(own.outputs[name]!.data, Number).map((x, i) => {
          const exact = Number(data[i]);
          // float8e4b15 ends at 1.875.
          if (each.op === "to" && Math.abs(exact) > 1.5) return true;
          return Object.is(x, exact) || Number.isNaN(x) || Math.abs(x - exact) <= 1 + 0.25 * Math.abs(exact);
        });
        expect([each.id, near.includes(false)]).toEqual([each.id, false]);
      }
    }
    const names = [...rounding].filter((name) => !name.startsWith("libdevice")).sort();
    expect(isFullRun() ? names : ROUNDING.filter((name) => names.includes(name))).toEqual(
      isFullRun() ? ROUNDING : names,
    );
  });

  test("should compute functions that exist for float32 alone as others", async () => {
    const fast = rowwise(
      (x) => libdevice.fastExpf(x),
      (x) => x.exp(),
      tl.float32,
    );
    expect(await verdict(fast, { N: 100 })).toMatchObject({ correct: true, finds: undefined });
  });
});

/** Of numbers alone these are float32, whatever else is not rounded. */
const OF_NUMBERS = ["clamp", "exp", "fma", "sigmoid", "where"];
const ROUNDING = [
  "dotScaled",
  "pairUniformToNormal",
  "rand",
  "rand4x",
  "randn",
  "randn4x",
  "to",
  "uintToUniformFloat",
  ...OF_NUMBERS,
].sort();

describe("a gradient", () => {
  const known = { sizes: { H: 1, S: 8, HEAD_DIM: 16 }, dtypes: { T: "float16" } };

  test("comes after the roundings of all kernels of its operator, an output after those of one", async () => {
    const { signature } = await build(attentionWithGradients);
    const narrow = signature.arithmetic.rounds.filter(({ dtype }) => typeof dtype !== "string");
    const count = narrow.reduce((sum, each) => sum + each.count, 0);
    expect(Math.max(...narrow.map((each) => each.count))).toBeLessThan(count);
    expect(gradientTolerance("float16", signature, "q", known, "cuda").rms).toBeCloseTo(
      4 * 2 ** -11 * count ** 0.5,
      10,
    );
    expect(toleranceFor("float16", signature, known, "cuda").rms).toBe(4 * 2 ** -11);
    // What is taken for rounding has an end, whatever is counted.
    const wide = { ...known, dtypes: { T: "bfloat16" } };
    expect(gradientTolerance("bfloat16", signature, "q", wide, "cuda").rms).toBeLessThanOrEqual(MAX_RMS_TOLERANCE);
  });

  test("moves by what the kernel's widest operation rounds by", async () => {
    const { arithmetic } = (await build(attentionWithGradients)).signature;
    expect(roundingUnit(arithmetic, { T: "float16" }, "cuda")).toBe(2 ** -11);
    expect(roundingUnit(arithmetic, { T: "bfloat16" }, "cuda")).toBe(2 ** -8);
    const single = { ...noRoundings, dots: [{ dtype: "float32", precision: "tf32" }] };
    expect([roundingUnit(single, {}, "cuda"), roundingUnit(single, {}, "interpreter")]).toEqual([2 ** -10, 0]);
  });
});

test("sums of 8-bit floats may be off by what tensor cores cut, more in longer sums", async () => {
  const { signature } = await build(fp8Gemm);
  const rms = (K: number, on: "cuda" | "eval" | "interpreter" = "cuda") =>
    toleranceFor("float16", signature, { sizes: { M: 17, N: 1, K }, dtypes: { T: "float16" } }, on).rms;
  expect([rms(32), rms(64), rms(4096)]).toEqual([2 ** -9, 2 ** -9, 2 ** -6]);
  // Far from what a block of K that is left out costs.
  expect(rms(4096)).toBeLessThan(Math.sqrt(64 / 4096));
  expect([rms(64, "eval"), rms(64, "interpreter")]).toEqual([1e-5, 1e-5]);
});

test("rows of an output have the scale of their own terms, and columns too", () => {
  const rows = Float64Array.of(30, -40, 0.3, 0.4, Infinity, 0.5);
  const found = magnitudes([3, 2], rows);
  expect(found[0]).toBeCloseTo(50 / Math.SQRT2, 10);
  expect(found[1]).toBeCloseTo(50 / Math.SQRT2, 10);
  expect(found[3]).toBeCloseTo(Math.sqrt((1600 + 0.16 + 0.25) / 3), 10);
  const turned = magnitudes([2, 3], Float64Array.of(30, 0.3, Infinity, -40, 0.4, 0.5));
  expect([turned[0], turned[3], turned[1], turned[4]]).toEqual([found[0], found[1], found[2], found[3]]);
  const filled = magnitudes([2, 3], Float64Array.of(-1e9, -1e9, 3, -1e9, 4, -5));
  expect(filled[4]).toBeCloseTo(Math.sqrt(41 / 2), 10);
});

test("a reference that casts to a dtype of the caller's choice is not held to its rounding", async () => {
  const OUT = tl.dtype("OUT", [tl.float16, tl.bfloat16]);
  const third = kernel(
    "third",
    {
      params: { x: tensor(tl.float32, ["N"]), y: tensor.out(OUT, ["N"]), TO: constexpr.dtype(OUT), BLOCK: constexpr() },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 16 },
      reference: ({ x, TO }) => x.div(3).to(TO),
    },
    ({ x, y, TO, BLOCK }) => {
      const places = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      tl.store(y.at(places), tl.load(x.at(places)).div(3).to(TO));
    },
  );
  const built = await build(third);
  for (const dtype of ["float16", "bfloat16"])
    expect(
      built.evaluate({ sizes: { N: 40 }, scalars: {}, dtypes: { OUT: dtype }, config: 0, seed: 1 }).comparison,
    ).toMatchObject({
      correct: true,
    });
});
