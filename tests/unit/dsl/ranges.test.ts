/** Declared ranges and partitions: what is drawn, what is refused, and what the wrapper checks. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compile } from "../../../src/pipeline/compile-kernel.js";
import { kernel } from "../../../src/pipeline/build.js";
import { constexpr, pointer, scalar, tensor } from "../../../src/dsl/params.js";
import * as tl from "../../../src/dsl/tl.js";
import { cases } from "../../../src/runtime/cases/arbitrary.js";
import { planCases } from "../../../src/runtime/cases/cases.js";
import { TileScriptError } from "../../../src/diagnostics/diagnostic.js";
import { seedOfRun } from "../../support/sampled-tests.js";

const ids = (range: any) => tensor(tl.int32, ["N"], { range });

/** y[i] = x[i + shift], for a shift that the caller gives. */
const shifted = kernel(
  "shifted",
  {
    params: {
      x: tensor(tl.float32, ["M"]),
      y: tensor.out(tl.float32, ["N"]),
      shift: scalar(tl.int32, { range: [0, "M"] }),
      WIDTH: constexpr.int({ range: [2, 5] }),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 32 },
  },
  ({ x, y, shift, WIDTH, BLOCK }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(y.at(i), tl.load(x.at(i.add(shift))).mul(WIDTH.add(0)));
  },
);

/** The sum of each row of `values`, which `offsets` divides. */
const rowSums = kernel(
  "row_sums",
  {
    params: {
      values: tensor(tl.float32, ["TOTAL"]),
      offsets: tensor(tl.int32, ["ENDS"], { partition: "TOTAL" }),
      sums: tensor.out(tl.float32, ["ENDS"]),
      BLOCK: constexpr(),
    },
    grid: ({ ENDS }) => [ENDS],
    config: { BLOCK: 16 },
  },
  ({ values, offsets, sums, ENDS, BLOCK }) => {
    const row = tl.inBounds(tl.programId(0));
    const next = tl.minimum(row.add(1), ENDS.sub(1));
    const [start, end] = [tl.load(offsets.at(row)), tl.load(offsets.at(tl.inBounds(next)))];
    const sum = tl.mut(tl.zeros([BLOCK], tl.float32));
    for (const k of tl.range(start, end, BLOCK)) {
      const i = k.add(tl.arange(0, BLOCK));
      sum.value = sum.value.add(tl.load(values.at(i), { mask: i.lt(end), other: 0 }));
    }
    tl.store(sums.at(row), tl.sum(sum.value));
  },
);

/** The last element of each row, or of the rows before it. */
const rowEnds = kernel(
  "row_ends",
  {
    params: {
      values: tensor(tl.float32, ["TOTAL"]),
      ends: tensor(tl.int32, ["ENDS"], { partition: { ends: "TOTAL" } }),
      first: tensor.out(tl.float32, ["ENDS"]),
    },
    grid: ({ ENDS }) => [ENDS],
  },
  ({ values, ends, first }) => {
    const row = tl.inBounds(tl.programId(0));
    tl.store(first.at(row), tl.load(values.at(tl.load(ends.at(row)).sub(1)), { other: 0 }));
  },
);

describe("the range of a number", () => {
  const compiled = compile(shifted);

  test("should be a requirement of the wrapper", () => {
    expect(compiled.python).toContain("if not (shift >= 0 and shift < M and WIDTH >= 2 and WIDTH < 5):");
    // An index that cannot be negative has no lower bound in its mask.
    expect(compiled.python).not.toContain(">= 0)");
  });

  const at = { sizes: { M: 40, N: 8 }, dtypes: {}, config: 0, seed: 1, constexprs: { WIDTH: 2 } };

  test.each([
    [0, 2, undefined],
    [39, 4, undefined],
    [40, 2, "it requires shift < M; here shift is 40 and M is 40"],
    [-1, 2, "it requires shift >= 0; here shift is -1"],
    [0, 1, "it requires WIDTH >= 2; here WIDTH is 1"],
    [0, 5, "it requires WIDTH < 5; here WIDTH is 5"],
  ])("shift %i and WIDTH %i: %s", (shift, width, why) => {
    expect(compiled.refusal({ ...at, scalars: { shift }, constexprs: { WIDTH: width } })).toBe(why);
  });

  test("should hold in every drawn case, and in every planned one", () => {
    const drawn = fc.sample(cases(compiled), { numRuns: 60, seed: seedOfRun() });
    const limits = { elements: 1e5, work: 1e6, op: 10, exhaustive: false };
    const planned = planCases(compiled, limits, { seed: 1 }).cases.map((each) => each.testCase);
    expect(planned.length).toBeGreaterThan(3);
    for (const each of [...drawn, ...planned]) {
      const { shift, WIDTH } = { ...each.scalars, ...each.constexprs } as Record<string, number>;
      expect({ shift: shift! >= 0 && shift! < each.sizes["M"]!, width: WIDTH! >= 2 && WIDTH! < 5 }).toEqual({
        shift: true,
        width: true,
      });
    }
    expect(new Set(drawn.map(({ constexprs }) => constexprs!["WIDTH"])).size).toBe(3);
    expect(new Set(drawn.map(({ scalars }) => scalars!["shift"])).size).toBeGreaterThan(4);
  });

  test("a number that a module draws for its inputs lies in it", () => {
    expect(compiled.python).toContain("return [torch.randn((M,), device=device, dtype=torch.float32), N, 1, 2]");
  });
});

describe("the range of a tensor", () => {
  const gather = (range: any) =>
    kernel(
      "gather",
      {
        params: {
          table: tensor(tl.float32, ["PAGES", "SIZE"]),
          ids: ids(range),
          y: tensor.out(tl.float32, ["N"]),
          BLOCK: constexpr(),
        },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        config: { BLOCK: 32 },
      },
      ({ ids: given, table, y, SIZE, BLOCK }) => {
        const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        const id = tl.load(given.at(i), { other: 0 });
        tl.store(y.at(i), tl.load(table.gather(tl.inBounds(id.floorDiv(SIZE)), tl.inBounds(id.mod(SIZE)))));
      },
    );

  test("may be computed from sizes", () => {
    const compiled = compile(gather(({ PAGES, SIZE }: any) => [0, PAGES.mul(SIZE)]));
    const at = { sizes: { PAGES: 3, SIZE: 5, N: 900 }, dtypes: {}, config: 0, seed: 1 };
    expect(compiled.ranges(at)).toEqual({ ids: [0, 15] });
    expect(compiled.evaluate(at).findings).toEqual([]);
    expect(compiled.python).toContain("torch.randint(0, PAGES * SIZE, (N,), device=device, dtype=torch.int32)");
    const wrong = { ids: { dtype: "int32", shape: [900], data: new Int32Array(900).fill(15) } };
    expect(() => compiled.evaluate(at, { inputs: wrong })).toThrow(
      "ids holds 15; its range is 0 up to but not including 15",
    );
  });

  test("may not depend on what a launch decides", () => {
    expect(() => compile(gather(({ BLOCK }: any) => [0, BLOCK]))).toThrow(
      "gather: the range of ids names BLOCK, which is decided at the launch",
    );
  });
});

describe("a partition", () => {
  const compiled = compile(rowSums);
  const at = { sizes: { TOTAL: 50, ENDS: 7 }, dtypes: {}, config: 0, seed: 1 };
  const offsets = (...data: number[]) => ({
    offsets: { dtype: "int32", shape: [data.length], data: Int32Array.from(data) },
  });

  test("should be drawn in order, from 0 to its size", () => {
    expect(compiled.ranges(at)).toEqual({ offsets: [0, 51] });
    expect(compiled.evaluate(at).findings).toEqual([]);
    expect(compiled.python).toContain("torch.randint(0, TOTAL + 1, (ENDS,), device=device, dtype=torch.int32)");
    expect(compiled.python).toContain("    offsets[0] = 0\n    offsets[-1] = TOTAL\n");
  });

  test.each([
    [[0, 10, 9, 20, 30, 40, 50], "offsets is a partition of TOTAL, 50, but element 2 is 9, below the 10 before it"],
    [[1, 10, 12, 20, 30, 40, 50], "offsets is a partition of TOTAL, 50, but its first element is 1, not 0"],
    [[0, 10, 12, 20, 30, 40, 49], "offsets is a partition of TOTAL, 50, but its last element is 49, not 50"],
  ])("%j is refused", (data, why) => {
    expect(() => compiled.evaluate(at, { inputs: offsets(...data) })).toThrow(why);
  });

  test("may hold where rows end", () => {
    const held = compile(rowEnds);
    const ends = (...data: number[]) => held.evaluate(at, { inputs: { ends: { ...offsets(...data).offsets } } });
    expect(held.ranges(at)).toEqual({ ends: [0, 51] });
    expect(held.evaluate(at).findings).toEqual([]);
    expect(held.python).toContain("    ends[-1] = TOTAL\n");
    expect(held.python).not.toContain("ends[0] = 0");
    expect(held.python).toContain("rising to TOTAL");
    expect(ends(3, 3, 12, 20, 30, 40, 50).findings).toEqual([]);
    expect(() => ends(3, 2, 12, 20, 30, 40, 50)).toThrow(
      "ends has the ends of a partition of TOTAL, 50, but element 1 is 2, below the 3 before it",
    );
    expect(() => ends(3, 3, 12, 20, 30, 40, 49)).toThrow("but its last element is 49, not 50");
    expect(() => ends(-1, 3, 12, 20, 30, 40, 50)).toThrow("but its first element is -1, below 0");
    expect(held.refusal({ ...at, sizes: { TOTAL: 50, ENDS: 1 } })).toBe(undefined);
    expect(held.refusal({ ...at, sizes: { TOTAL: 50, ENDS: 0 } })).toContain("it requires (ENDS >= 1) | (TOTAL == 0)");
  });

  test("of one offset has nothing to divide", () => {
    expect(compiled.refusal({ ...at, sizes: { TOTAL: 50, ENDS: 1 } })).toBe(
      "it requires (ENDS >= 2) | (TOTAL == 0); here ENDS is 1 and TOTAL is 50",
    );
    expect(compiled.refusal({ ...at, sizes: { TOTAL: 0, ENDS: 1 } })).toBe(undefined);
  });
});

describe("what cannot be right", () => {
  const build = (params: () => object, config: object = {}) => {
    try {
      compile(
        kernel(
          "k",
          { params: { ...params(), y: tensor.out(tl.int32, ["N"]) }, grid: () => [1], config } as any,
          (({ y }: any) => tl.store(y.at(tl.programId(0)), 0)) as any,
        ),
      );
    } catch (error) {
      return (error as TileScriptError).diagnostics[0]!.message;
    }
    return "built";
  };

  test.each([
    [() => ({ x: ids([0, "ROWS"]) }), "k: the range of x names ROWS, which is not a size of a tensor; those are N"],
    [() => ({ x: ids([3, 1]) }), "tensor: nothing lies in the range from 3 to 1; write the lowest value first"],
    [() => ({ x: ids([0]) }), 'tensor: a range is its lowest value and its end, as in { range: [0, "N"] }'],
    [() => ({ x: ids([0, Infinity]) }), "tensor: a range is its lowest value and its end"],
    [() => ({ p: scalar(tl.float32, { range: [0, 1] }) }) as any, "scalar: the range of a float32 is not checked"],
    [() => ({ p: scalar(tl.int32, { rnage: [0, 1] } as any) }), "scalar: there is no option rnage; write range"],
    [() => ({ x: tensor(tl.int32, ["N"], { partition: "ROWS" }) }), "k: x is a partition of ROWS, which is not a size"],
    [() => ({ x: tensor(tl.int8, ["N"], { partition: "N" }) }), "tensor: a partition of N holds offsets of rows"],
    [
      () => ({ x: tensor(tl.int32, ["N"], { partition: { ends: "N", first: 0 } as any }) }),
      'tensor: a partition is the size that offsets divide, { partition: "N" }, or { partition: { ends: "N" } }',
    ],
    [
      () => ({ x: tensor(tl.int32, ["N", "M"], { partition: "N" }) }),
      "tensor: a partition of N has one axis, this has 2",
    ],
  ])("%s", (params, why) => {
    expect(build(params).slice(0, why.length)).toBe(why);
  });

  test("a config's value outside the range", () => {
    expect(build(() => ({ W: constexpr.int({ range: [1, 4] }) }), { W: 4 })).toBe(
      "k: a config sets W to 4; its range is 1 up to but not including 4",
    );
  });
});

/** y[i] = p[i] + p[N - 1 - i], through a raw pointer. */
const folded = (bound: any, reach: number) =>
  kernel(
    "folded",
    {
      params: { p: pointer(tl.float32, bound), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 16 },
    },
    ({ p, y, N, BLOCK }) => {
      const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      const back = N.sub(1).sub(i);
      const [x, z] = [i, back].map((at) => tl.load(p.add(at), { mask: at.ge(0).and(at.lt(N.add(reach))), other: 0 }));
      tl.store(y.at(i), x!.add(z!));
    },
  );

describe("a raw pointer of known extent", () => {
  const at = { sizes: { N: 20 }, dtypes: {}, config: 0, seed: 1 };

  test("has memory, so its accesses are checked", () => {
    const right = compile(folded({ numel: "N" }, 0)).evaluate(at);
    expect([right.findings, right.unchecked]).toEqual([[], []]);
    const [wrong] = compile(folded({ numel: "N" }, 1)).evaluate(at).findings;
    expect(wrong!.message).toContain("p");
    expect(compile(folded({}, 0)).evaluate(at).unchecked[0]).toContain("pointer(dtype, { numel: … }) states it");
  });

  test("is checked at each call", () => {
    const { python } = compile(folded({ numel: "N" }, 0));
    expect(python).toContain("if not p.is_contiguous() or p.numel() < N:");
    expect(python).toContain("p: float32, contiguous, of at least N elements.");
    expect(python).toContain("torch.randn((N,), device=device, dtype=torch.float32)");
    const short = { p: { dtype: "float32", shape: [19], data: new Float32Array(19) } };
    expect(() => compile(folded({ numel: "N" }, 0)).evaluate(at, { inputs: short })).toThrow(
      "p needs at least 20 elements, and has 19",
    );
  });

  test("names a size of a tensor", () => {
    expect(() => compile(folded({ numel: "LENGTH" }, 0))).toThrow(
      "folded: p has LENGTH elements, which is not a size of a tensor; those are N",
    );
  });
});
