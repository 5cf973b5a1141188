/** Strides that the kernel does not take: of tensors with equal strides, and of contiguous ones. */
import { describe, expect, test } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";
import { cases } from "tilescript/testing";
import type { TestCase, CompiledKernel, Layout } from "../../../src/compiled/compiled-kernel.js";
import { jitFunction } from "../../support/emit.js";
import { strided } from "../host/kernels.js";
import { fc } from "../../support/property.js";

const T = tl.float32;
const dims = ["M", "N"] as const;

const headOf = (python: string): string => /^def \w+\(([^]*?)\):/.exec(jitFunction(python))![1]!;
const at = (layouts: Readonly<Record<string, Layout>>): TestCase => ({
  sizes: { M: 5, N: 7 },
  dtypes: {},
  layouts,
  config: 0,
  seed: 1,
});

describe("tensors with equal strides", () => {
  test("share one set of parameters, which the wrapper checks", async () => {
    const { python } = await build(strided);
    expect(headOf(python).match(/stride_\w+/g)).toEqual(["stride_qm", "stride_qn", "stride_om", "stride_on"]);
    expect(python).toContain("if not _same_strides(k, q):");
    expect(python).toContain("if not _same_strides(s, q):");
    expect(python).not.toContain("_same_strides(o");
  });

  test("must have them in a case", async () => {
    const compiled = await build(strided);
    expect(compiled.refusal(at({ q: "transposed" }))).toBe("k must have the strides of q, [1, 5], got [7, 1]");
    expect(compiled.refusal(at({ q: "transposed", k: "transposed", s: "sliced" }))).toContain(
      "s must have the strides of q",
    );
    const same = { q: "transposed", k: "transposed", s: "transposed" } as const;
    expect(compiled.refusal(at(same))).toBeUndefined();
    expect(compiled.evaluate(at(same), { lowered: true }).findings).toEqual([]);
  });

  test("have them in every case that is drawn", async () => {
    const compiled = await build(strided);
    const drawn = fc.sample(cases(compiled, { maxSize: 8 }), { numRuns: 60, seed: 1 });
    const layouts = drawn.map(({ layouts = {} }) => ["q", "k", "s"].map((name) => layouts[name] ?? "contiguous"));
    for (const each of layouts) expect(new Set(each).size).toBe(1);
    expect(new Set(layouts.map(([layout]) => layout)).size).toBeGreaterThan(2);
    for (const each of drawn) expect(compiled.refusal(each)).toBeUndefined();
  });

  test.each<[string, readonly unknown[], string]>([
    ["a name of nothing", ["x", "z"], "sameStrides lists z, which is not a tensor"],
    ["a size", ["x", "N"], "sameStrides lists N, which is not a tensor"],
    ["one twice", ["x", "x"], "sameStrides lists x, which is listed twice"],
    ["other dims", ["x", "y"], "sameStrides lists y, whose dims are not those of x"],
    ["one that may be absent", ["x", "p"], "sameStrides lists p, which may be absent"],
    ["a contiguous one", ["x", "c"], "sameStrides lists c, whose strides are sizes, as it is contiguous"],
    ["one that is no list", [["x"], 3], "sameStrides must be a list of groups of tensors"],
  ])("%s is refused", async (_, group, says) => {
    const x = tensor(T, dims);
    const params = { x, y: tensor.out(T, ["N"]), p: x.optional(), c: tensor(T, dims, { contiguous: true }) };
    const made = kernel("refused", { params, grid: () => [1], sameStrides: [group] } as never, (() => {}) as never);
    await expect(build(made)).rejects.toThrow(says);
  });

  test("are named as the editor knows them", () => {
    const params = { x: tensor(T, dims), y: tensor.out(T, dims) };
    const body = (): void => {};
    kernel("typed", { params, grid: () => [1], sameStrides: [["x", "y"]] }, body);
    // @ts-expect-error z is no tensor of params
    kernel("typed", { params, grid: () => [1], sameStrides: [["x", "z"]] }, body);
    // @ts-expect-error a group has two tensors at least
    kernel("typed", { params, grid: () => [1], sameStrides: [["x"]] }, body);
  });
});

describe("a contiguous tensor's strides are products of sizes", () => {
  const volume = ["B", "M", "N", 2] as const;
  const shifted = (offsets: typeof tl.int32 | typeof tl.int64) =>
    kernel(
      "shifted",
      {
        params: {
          x: tensor(T, volume, { contiguous: true, offsets }),
          y: tensor.out(T, volume, { contiguous: true, offsets }),
          z: tensor.out(tl.int32, ["B"]),
          BLOCK: constexpr(),
        },
        grid: ({ B, M, N, BLOCK }) => [B, M, tl.cdiv(N, BLOCK)],
        config: { BLOCK: 16 },
      },
      ({ x, y, z, M, N, BLOCK }) => {
        const [b, m] = [tl.programId(0), tl.programId(1)];
        const cols = tl.programId(2).mul(BLOCK).add(tl.arange(0, BLOCK));
        tl.store(y.at(b, m, cols, 0), tl.load(x.at(b, m, cols, 1)));
        tl.store(y.at(b, m, cols, 1), tl.load(x.at(b, m, cols, 0)));
        // With int64 offsets a product of sizes has no stride's name.
        const stride = offsets === tl.int64 ? M.mul(N).mul(2) : x.stride(0);
        tl.store(z.at(b), stride.to(tl.int32), { mask: m.eq(0).and(tl.programId(2).eq(0)) });
      },
    );
  const check = (compiled: CompiledKernel): void => {
    const sizes = { B: 3, M: 4, N: 21 };
    const { findings, outputs } = compiled.evaluate({ sizes, dtypes: {}, config: 0, seed: 1 }, { lowered: true });
    expect(findings).toEqual([]);
    expect(Array.from(outputs["z"]!.data, Number)).toEqual([168, 168, 168]);
  };

  test.each([
    ["int32", tl.int32],
    ["int64", tl.int64],
  ] as const)("with %s offsets", async (_, offsets) => {
    const compiled = await build(shifted(offsets as never));
    expect(headOf(compiled.python).match(/stride_\w+/g)).toEqual(["stride_zb"]);
    check(compiled);
  });

  test("which a descriptor gets, too", async () => {
    const described = kernel(
      "described",
      {
        params: {
          x: tensor(T, ["B", "M", "N"], { contiguous: true }),
          y: tensor.out(T, ["B", "M", "N"], { contiguous: true }),
          BLOCK: constexpr(),
        },
        grid: ({ B, M, N, BLOCK }) => [B, tl.cdiv(M, BLOCK), tl.cdiv(N, BLOCK)],
        config: { BLOCK: 16 },
      },
      ({ x, y, BLOCK }) => {
        const from = tl.makeTensorDescriptor(x, [1, BLOCK, BLOCK]);
        const to = tl.makeTensorDescriptor(y, [1, BLOCK, BLOCK]);
        const place = [tl.programId(0), tl.programId(1).mul(BLOCK), tl.programId(2).mul(BLOCK)] as const;
        to.store(place, from.load(place));
      },
    );
    const compiled = await build(described);
    const tensors = compiled.signature.tensors.map(({ described: isDescribed }) => isDescribed);
    expect(tensors).toEqual([true, true]);
    expect(headOf(compiled.python)).not.toContain("stride");
    const sizes = { B: 2, M: 5, N: 20 };
    expect(compiled.evaluate({ sizes, dtypes: {}, config: 0, seed: 1 }, { lowered: true }).findings).toEqual([]);
    expect(compiled.refusal({ sizes: { ...sizes, N: 21 }, dtypes: {}, config: 0, seed: 1 })).toContain("descriptor");
  });
});
