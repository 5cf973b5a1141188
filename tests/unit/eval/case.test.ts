/** What surrounds a run: whether a case can be launched, what it is tried with, what could not be checked. */
import { describe, expect, test } from "vitest";
import { compile } from "../../../src/pipeline/compile-kernel.js";
import { signatureOf } from "../../../src/codegen/module/signature.js";
import { definitionOf } from "../../../src/dsl/definition.js";
import { kernel } from "../../../src/pipeline/build.js";
import { constexpr, pointer, scalar, tensor } from "../../../src/dsl/params.js";
import { python } from "../../../src/dsl/record-spec.js";
import { trace } from "../../../src/dsl/trace.js";
import * as tl from "../../../src/dsl/tl.js";
import { rangesOf } from "../../../src/eval/bindings.js";
import { makeInputs } from "../../../src/eval/make-inputs.js";
import { refusal } from "../../../src/eval/refusal.js";
import type { Tile } from "../../../src/types/tile.js";
import { evaluate, float32s } from "../../support/evaluate.js";

const rows = kernel(
  "rows",
  {
    params: {
      x: tensor(tl.float32, ["M", "N"]),
      out: tensor.out(tl.float32, ["M"]),
      LIMIT: constexpr.int({ default: 64 }),
      BLOCK: constexpr.launch(({ N }) => N),
    },
    grid: ({ M }) => [1, M],
    requires: ({ N, LIMIT }) => [N.le(LIMIT), N.gt(0)],
    reference: ({ x }, torch) => torch.sum(x, 1),
  },
  ({ x, out, BLOCK }) => {
    const row = tl.programId(1);
    tl.store(out.at(row), tl.sum(tl.load(x.at(row, tl.arange(0, BLOCK))), 0));
  },
);

const T = tl.dtype("T", [tl.float16, tl.float32]);

const rowProducts = kernel(
  "row_products",
  { params: { x: tensor(T, [16, "K"]), out: tensor.out(tl.float32, [16, 16]), K: constexpr() }, grid: () => [1] },
  ({ x, out, K }) => {
    const rows = tl.arange(0, 16);
    const tile = tl.load(x.at(rows, tl.arange(0, K)));
    tl.store(out.at(rows, rows), tl.dot(tile, tile.T));
  },
);

describe("refusal", () => {
  const ir = trace(definitionOf(rows));
  const refused = (M: number, N: number, LIMIT = 64) =>
    refusal(ir, { sizes: { M, N }, dtypes: {}, constexprs: { LIMIT }, config: 0, seed: 1 });

  test("should be silent where everything holds", () => expect(refused(3, 32)).toBeUndefined());

  test("should say which requirement fails, with its values", () => {
    expect(refused(3, 128)).toBe("it requires N <= LIMIT; here N is 128 and LIMIT is 64");
    expect(refused(3, 0)).toBe("it requires N > 0; here N is 0");
  });

  test("should know the limits of tiles and grids", () => {
    expect(refused(3, 48)).toBe("BLOCK is 48, and a tile's dimension is a power of two");
    expect(refused(3, 2 ** 21, 2 ** 22)).toContain("would have 2097152 elements");
    expect(refused(70_000, 32)).toBe("axis 1 of the grid has 70000 programs, and a GPU allows 65535");
  });

  test("should know what a product needs, by the dtype of the case", () => {
    const product = trace(definitionOf(rowProducts));
    const thin = (K: number, T: string) =>
      refusal(product, { sizes: { K }, dtypes: { T: T as never }, config: 0, seed: 1 });
    expect(thin(8, "float16")).toBe("dot: the inner dimension K is 8; 16-bit operands need at least 16");
    expect(thin(8, "float32")).toBeUndefined();
    expect(thin(16, "float16")).toBeUndefined();
  });

  test("should look into helper functions", () => {
    const product = tl.fn((x: Tile<"float16", [16, "K"]>) => tl.dot(x, x.T));
    const calling = kernel(
      "calling",
      {
        params: { x: tensor(tl.float16, [16, "K"]), out: tensor.out(tl.float32, [16, 16]), K: constexpr() },
        grid: () => [1],
      },
      ({ x, out, K }) => {
        const rows = tl.arange(0, 16);
        tl.store(out.at(rows, rows), product(tl.load(x.at(rows, tl.arange(0, K)))));
      },
    );
    const compiled = compile(calling);
    const refused = (K: number) => compiled.refusal({ sizes: { K }, dtypes: {}, config: 0, seed: 1 });
    expect(refused(8)).toBe("dot: the inner dimension K is 8; 16-bit operands need at least 16");
    expect(refused(16)).toBeUndefined();
    expect(compiled.python).toContain("K must be a power of two from 16 up");
  });

  test("should not keep a kernel from running on the right sizes", () => {
    const { comparison, findings } = evaluate(rows, { sizes: { M: 5, N: 32 } });
    expect([comparison?.correct, findings]).toEqual([true, []]);
  });
});

describe("inputs", () => {
  const gathering = kernel(
    "gathering",
    {
      params: {
        table: tensor(tl.float16, ["V"]),
        index: tensor(tl.int64, ["N"], { range: [0, "V"] }),
        flag: tensor(tl.int1, ["N"]),
        out: tensor.out(tl.float16, ["N"]),
        scale: scalar(tl.float16, { default: 2 }),
        BLOCK: constexpr(),
      },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 32 },
    },
    ({ table, index, flag, out, scale, BLOCK }) => {
      const lanes = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      const picked = tl.load(table.gather(tl.inBounds(tl.load(index.at(lanes)))));
      tl.store(out.at(lanes), tl.where(tl.load(flag.at(lanes)), picked.mul(scale), 0));
    },
  );

  test("should lie in their range and be representable", () => {
    const ir = trace(definitionOf(gathering));
    const at = { sizes: { V: 7, N: 500 }, dtypes: {}, config: 0, seed: 3 };
    const { table, index, flag } = makeInputs(signatureOf(ir), at, { ranges: rangesOf(ir, at) });
    expect(new Set(index!.data as BigInt64Array)).toEqual(new Set([0n, 1n, 2n, 3n, 4n, 5n, 6n]));
    expect(new Set(flag!.data as Uint8Array)).toEqual(new Set([0, 1]));
    expect(table!.data).toEqual(Float32Array.from(table!.data as Float32Array, (x) => x));
    expect(
      (table!.data as Float32Array).every((x) => x === Math.fround(x) && x * 2 ** 24 === Math.round(x * 2 ** 24)),
    ).toBe(true);
  });

  test("should be uniform in a range of floats", () => {
    const copy = kernel(
      "copy",
      {
        params: { x: tensor(tl.float32, ["N"], { range: [-2, 0] }), out: tensor.out(tl.float32, ["N"]) },
        grid: ({ N }) => [N],
      },
      ({ x, out }) => {
        const i = tl.inBounds(tl.programId(0));
        tl.store(out.at(i), tl.load(x.at(i)));
      },
    );
    const at = { sizes: { N: 50 }, dtypes: {}, config: 0, seed: 3 };
    const ir = trace(definitionOf(copy));
    const { x } = makeInputs(signatureOf(ir), at, { ranges: rangesOf(ir, at) });
    expect((x!.data as Float32Array).every((value) => value >= -2 && value < 0)).toBe(true);
    expect(new Set(x!.data as Float32Array).size).toBeGreaterThan(40);
    const ends = (value: number) => ({ x: { dtype: "float32", shape: [2], data: Float32Array.of(-2, value) } });
    expect(evaluate(copy, { sizes: { N: 2 } }, ends(0)).findings).toEqual([]);
    expect(() => evaluate(copy, { sizes: { N: 2 } }, ends(0.5))).toThrow("x holds 0.5; its range is -2 up to 0");
  });

  test("should suit the kernel: 64-bit indices, truth values, scalars", () => {
    const { outputs, findings } = evaluate(gathering, { sizes: { V: 3, N: 40 } });
    expect([outputs["out"]?.shape, findings]).toEqual([[40], []]);
  });

  test("should be what the author describes, cast to the dtype", () => {
    const k = kernel(
      "k",
      {
        params: {
          offsets: tensor(tl.int32, ["N"], { range: [0, "V"] }),
          table: tensor(tl.float32, ["V"]),
          out: tensor.out(tl.int32, ["N"]),
          BLOCK: constexpr(),
        },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        config: { BLOCK: 32 },
        inputs: ({ N, V }, torch) => ({
          offsets: torch
            .randint(0, V, [N])
            .sub(torch.ones([N]))
            .clamp(0),
        }),
      },
      ({ offsets, out, BLOCK }) => {
        const lanes = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        tl.store(out.at(lanes), tl.load(offsets.at(lanes)));
      },
    );
    const first = evaluate(k, { sizes: { N: 200, V: 6 } });
    expect(new Set(first.outputs["out"]!.data as Int32Array)).toEqual(new Set([0, 1, 2, 3, 4]));
    expect(evaluate(k, { sizes: { N: 200, V: 6 } }).outputs).toEqual(first.outputs);
    expect(evaluate(k, { sizes: { N: 200, V: 6 }, seed: 9 }).outputs).not.toEqual(first.outputs);
    const wrong = { dtype: "int32", shape: [2], data: Int32Array.of(0, 6) };
    expect(() => evaluate(k, { sizes: { N: 2, V: 6 } }, { offsets: wrong })).toThrow(
      "offsets holds 6; its range is 0 up to but not including 6",
    );
  });

  test("should be tensors that the kernel reads", () => {
    const k = kernel(
      "k",
      {
        params: { x: tensor(tl.float32, ["N"]), out: tensor.out(tl.float32, ["N"]) },
        grid: () => [1],
        inputs: (({ N }: any, torch: any) => ({ out: torch.rand([N]) })) as never,
      },
      () => {},
    );
    expect(() => trace(definitionOf(k))).toThrow("inputs: out is not a tensor that the kernel reads; those are x");
  });

  test("should be refused when they do not fit", () => {
    const wrong = () => evaluate(rows, { sizes: { M: 5, N: 32 } }, { x: float32s(1, 2) });
    expect(wrong).toThrow("x must have shape [5, 32], got [2]");
  });
});

describe("what cannot be checked", () => {
  test("should be listed: a reference in Python", () => {
    const k = kernel(
      "k",
      {
        params: { out: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
        grid: () => [1],
        config: { BLOCK: 4 },
        reference: python`return torch.zeros(4)`,
      },
      ({ out, BLOCK }) => tl.store(out.at(tl.arange(0, BLOCK)), tl.zeros([BLOCK], tl.float32)),
    );
    const { unchecked, comparison } = evaluate(k, { sizes: { N: 4 } });
    expect(comparison).toBeUndefined();
    expect(unchecked).toEqual(["the reference is Python source, which cannot be evaluated here"]);
  });

  test("should be listed: raw pointer arguments", () => {
    const k = kernel(
      "k",
      { params: { p: pointer(tl.float32), BLOCK: constexpr() }, grid: () => [1], config: { BLOCK: 4 } },
      ({ p, BLOCK }) => tl.store(p.add(tl.arange(0, BLOCK)), 1),
    );
    expect(evaluate(k, { sizes: {} }).unchecked[0]).toContain("the extent of a raw pointer is unknown");
  });
});

describe("what memory would not hold", () => {
  const compiled = compile(rows);
  const evaluated = (M: number, N: number) => () =>
    compiled.evaluate({ sizes: { M, N }, scalars: { LIMIT: 2 ** 31 }, dtypes: {}, config: 0, seed: 1 });

  test("a grid of more programs than the evaluator has room for is refused before anything is made", () => {
    expect(evaluated(2 ** 31 - 1, 1)).toThrow(
      "rows: the grid [1, 2147483647] has 2147483647 programs, and the evaluator runs at most 16777216; give smaller sizes",
    );
  });

  test("tensors of more elements than the evaluator has room for are refused before they are drawn", () => {
    expect(evaluated(2, 2 ** 30)).toThrow(
      "rows: its tensors have 2147483650 elements, and the evaluator has room for 1073741824; give smaller sizes",
    );
  });
});
