import { describe, expect, it } from "vitest";
import type { TestCase, CompiledKernel, TensorSignature } from "../../../src/compiled/compiled-kernel.js";
import { planCases, type Limits } from "../../../src/runtime/cases/cases.js";
import { toleranceFor } from "../../../src/compiled/tolerance.js";
import { noRoundings, vectorAdd } from "../../support/fixtures/vector-add.js";

const small: Limits = { elements: 2 ** 17, work: 2 ** 23, op: 0, exhaustive: false };
const selection = { seed: 0 };

function matmul(changes: Partial<CompiledKernel> = {}): CompiledKernel {
  const tensor = (name: string, role: "in" | "out", dims: string[]): TensorSignature => ({
    name,
    python: name,
    role,
    dtype: { variable: "T" },
    dims,
    contiguous: false,
    optional: false,
  });
  const base = vectorAdd();
  return {
    ...base,
    signature: {
      ...base.signature,
      tensors: [tensor("a", "in", ["M", "K"]), tensor("b", "in", ["K", "N"]), tensor("c", "out", ["M", "N"])],
      sizes: ["M", "K", "N"],
      dtypes: { T: ["float16", "bfloat16"] },
      contracted: ["K"],
      arithmetic: { ...noRoundings, dots: [{ dtype: "float16", precision: "tf32" }] },
    },
    configs: [16, 32, 64, 128].map((BLOCK) => ({ values: { BLOCK } })),
    shapes: [
      { M: 64, N: 64, K: 64 },
      { M: 4096, N: 4096, K: 4096 },
    ],
    work: ({ sizes }) => ({ ops: 0, lanes: sizes["M"]! * sizes["N"]! * sizes["K"]! }),
    ...changes,
  };
}

describe("the plan", () => {
  it("should run what the author declares first, with every dtype", () => {
    const { cases } = planCases(matmul(), small, selection);
    expect(
      cases.slice(0, 2).map(({ testCase: at, declaredIndex: declared }) => [at.sizes, at.dtypes["T"], declared]),
    ).toEqual([
      [{ M: 64, N: 64, K: 64 }, "float16", 0],
      [{ M: 64, N: 64, K: 64 }, "bfloat16", 0],
    ]);
    expect(cases.slice(2).every(({ declaredIndex: declared }) => declared === undefined)).toBe(true);
  });

  it("should measure what is too large by the grid and its blocks, not by the product of all sizes", () => {
    const many = { work: () => ({ ops: 10, lanes: 4096 }) };
    const { skipped: left } = planCases(
      matmul({ ...many, shapes: [{ M: 200, N: 200, K: 200 }] }),
      { ...small, work: 2 ** 12 },
      selection,
    );
    expect(left).toEqual([]);
  });

  it("should try every config and every dtype, over sizes that no block divides", () => {
    const { cases, skipped: left } = planCases(matmul(), small, selection);
    const first = cases.filter(({ label }) => label === "beyond blocks");
    expect(first.map(({ testCase: at }) => at.config)).toEqual([0, 1, 2, 3]);
    expect(new Set(first.map(({ testCase: at }) => at.dtypes["T"]))).toEqual(new Set(["float16", "bfloat16"]));
    for (const size of Object.values(first[0]!.testCase.sizes))
      for (const block of [16, 32, 64]) expect(size % block).not.toBe(0);
    expect(new Set(cases.map(({ label }) => label))).toEqual(
      new Set([
        "beyond blocks",
        "ones",
        "primes",
        "aligned",
        "author's",
        "special rows",
        "special columns",
        "offset rows",
        "offset columns",
      ]),
    );
    expect(left).toEqual(["declared shape M=4096 N=4096 K=4096: too large for this device"]);
  });

  it("should run smaller sizes where a device is slow, the last sizes the largest", () => {
    const { cases, skipped: left } = planCases(matmul(), { ...small, work: 2 ** 18 }, selection);
    const sizes = new Map(cases.map(({ label, testCase: at }) => [label, at.sizes]));
    expect(sizes.get("beyond blocks")).toEqual({ M: 11, K: 263, N: 71 });
    expect(sizes.get("aligned")).toEqual({ M: 16, K: 128, N: 128 });
    expect(left).toEqual(["declared shape M=4096 N=4096 K=4096: too large for this device"]);
  });

  it("should try every layout that the rank has", () => {
    const layouts = planCases(matmul(), small, selection).cases.map(({ testCase: at }) => at.layouts?.["a"]);
    expect(new Set(layouts)).toEqual(new Set([undefined, "transposed", "sliced", "offset"]));
  });

  it("should leave tensors contiguous that have to be", () => {
    const { signature } = matmul();
    const tensors = signature.tensors.map((tensor) => ({ ...tensor, contiguous: tensor.name === "a" }));
    const { cases } = planCases(matmul({ signature: { ...signature, tensors } }), small, selection);
    expect(new Set(cases.map(({ testCase: at }) => at.layouts?.["a"]))).toEqual(new Set([undefined, "offset"]));
    expect(new Set(cases.map(({ testCase: at }) => at.layouts?.["b"]))).toContain("transposed");
  });

  it("should run everything with everything on a GPU", () => {
    const { cases, skipped: left } = planCases(
      matmul(),
      { elements: 2 ** 31, work: Infinity, op: 0, exhaustive: true },
      selection,
    );
    expect(cases.filter(({ testCase: at }) => at.sizes["M"] === 4096)).toHaveLength(4 * 2);
    expect(left).toEqual([]);
  });

  it("should run sizes near those that the kernel refuses", () => {
    const refusal: CompiledKernel["refusal"] = ({ sizes }) =>
      sizes["M"]! % 16 > 0 ? "M is a multiple of 16" : undefined;
    const { cases, skipped: left } = planCases(matmul({ refusal }), small, selection);
    expect(cases.every(({ testCase: at }) => at.sizes["M"]! % 16 === 0)).toBe(true);
    expect(new Set(cases.map(({ label }) => label))).toContain("ones");
    expect(left.filter((each) => each.includes("refuses"))).toEqual([]);
  });

  it("should leave out what the kernel refuses, and say why", () => {
    const refusal = ({ sizes }: Pick<TestCase, "sizes">) => (sizes["M"] === 64 ? "M is not 64" : "no size is right");
    const { cases, skipped: left } = planCases(matmul({ refusal }), small, selection);
    expect(cases).toEqual([]);
    expect(left).toContain("declared shape M=64 N=64 K=64: the kernel refuses it (M is not 64)");
    expect(left).toContain("M=1 K=1 N=1: the kernel refuses it (no size is right)");
  });

  it("should leave out a declared shape without its optional tensors where the kernel refuses that, and say why", () => {
    const base = matmul();
    const tensors = base.signature.tensors.map((each) => (each.name === "b" ? { ...each, optional: true } : each));
    const refusal: CompiledKernel["refusal"] = ({ absent = [] }) =>
      absent.length > 0 ? "b has to be given" : undefined;
    const kernel = matmul({ refusal, signature: { ...base.signature, tensors } });
    const { cases, skipped: left } = planCases(kernel, small, selection);
    expect(cases.length).toBeGreaterThan(0);
    expect(cases.filter(({ testCase: at }) => at.absent !== undefined)).toEqual([]);
    expect(left.filter((each) => each.includes("declared shape M=64"))).toEqual([
      expect.stringMatching(/ without b: the kernel refuses it \(b has to be given\)$/),
    ]);
  });

  it("should span several of the largest blocks when there is one size", () => {
    const kernel = vectorAdd({ configs: [{ values: { BLOCK: 4096 } }] });
    const size = planCases(kernel, small, selection).cases.find(({ label }) => label === "beyond blocks")!.testCase
      .sizes["N"]!;
    expect(size).toBeGreaterThan(4096);
    expect(size % 4096).not.toBe(0);
  });

  it("should run the sizes that were asked for, however large", () => {
    const { cases } = planCases(matmul(), small, { seed: 1, sizes: { M: 5000, N: 5000, K: 5000 }, config: 2 });
    expect(cases.map(({ testCase: at }) => [at.sizes["M"], at.config, at.seed])).toEqual([
      [5000, 2, 1],
      [5000, 2, 1],
    ]);
  });
});

describe("tolerances", () => {
  const arithmetic = noRoundings;
  const plain = { arithmetic, contracted: [] };
  const none = { sizes: {}, dtypes: {} };
  const sum = { arithmetic, contracted: ["K"] };
  const long = { sizes: { K: 4096 }, dtypes: { T: "float32" } };
  const productOf = (precision: string) => ({
    arithmetic: { ...noRoundings, dots: [{ dtype: { variable: "T" }, precision }] },
    contracted: [],
  });

  it("should be the output dtype's where only the result is rounded", () => {
    expect(toleranceFor("float16", plain, none, "cuda")).toEqual({ rtol: 1e-3, atol: 2 ** -24, rms: 1e-5 });
    expect(toleranceFor("bfloat16", plain, none, "cuda")).toEqual({ rtol: 1e-2, atol: 2 ** -126, rms: 1e-5 });
    expect(toleranceFor("float32", plain, none, "cuda")).toEqual({ rtol: 1e-5, atol: 2 ** -126, rms: 1e-5 });
    expect(toleranceFor("float64", plain, none, "cuda")).toMatchObject({ rtol: 1e-12, rms: 1e-12 });
    expect(toleranceFor("int32", plain, none, "cuda")).toEqual({ rtol: 0, atol: 0, rms: 0 });
  });

  it("should grow with the root of the terms of a sum", () => {
    expect(toleranceFor("float32", sum, long, "cuda").rms).toBeCloseTo(8e-5);
    expect(toleranceFor("float16", sum, long, "cuda")).toMatchObject({ rtol: 1e-3, rms: 8e-5 });
  });

  it("should have room for values that are rounded on the way", () => {
    const rounds = [{ dtype: "bfloat16", count: 4 }];
    const { rms } = toleranceFor("bfloat16", { ...plain, arithmetic: { ...arithmetic, rounds } }, none, "eval");
    expect(rms).toBe(4 * 2 ** -8 * 2);
    const many = { ...arithmetic, rounds: [{ dtype: "float8e5", count: 100 }], declared: ["float8e5"] };
    expect(toleranceFor("float32", { ...plain, arithmetic: many }, none, "eval").rms).toBe(0.04);
  });

  it("should have no room for roundings and sums that the author does not declare", () => {
    const rms = (parts: Partial<typeof arithmetic>, dtype = "float32") =>
      toleranceFor(dtype, { ...plain, arithmetic: { ...arithmetic, ...parts } }, none, "eval").rms;
    const narrow = [{ dtype: "float16", count: 1 }];
    expect([rms({ rounds: narrow }), rms({ rounds: narrow, declared: ["float16"] })]).toEqual([1e-5, 2 ** -9]);
    const inFloat16 = { sums: narrow, declared: ["float16"] };
    expect([rms(inFloat16, "float16"), rms({ ...inFloat16, declaredSums: ["float16"] }, "float16")]).toEqual([
      1e-5,
      2 ** -9,
    ]);
  });

  it("should have room for TF32 only where a product of float32 runs in it", () => {
    const rms = (precision: string, on: "eval" | "interpreter" | "cuda", T = "float32") =>
      toleranceFor("float32", productOf(precision), { sizes: {}, dtypes: { T } }, on).rms;
    expect([rms("tf32", "cuda"), rms("tf32", "interpreter"), rms("tf32", "eval")]).toEqual([2 ** -8, 1e-5, 2 ** -8]);
    expect([rms("ieee", "cuda"), rms("ieee", "eval"), rms("tf32", "cuda", "float16")]).toEqual([1e-5, 1e-5, 1e-5]);
  });

  it("should be exactly what was asked for", () => {
    expect(toleranceFor("float16", sum, long, "cuda", { atol: 1e-4 })).toMatchObject({
      rtol: 1e-3,
      atol: 1e-4,
      rms: 0,
    });
    expect(toleranceFor("float16", plain, none, "cuda", { rtol: 0.1 })).toMatchObject({ rtol: 0.1, rms: 1e-5 });
  });
});
