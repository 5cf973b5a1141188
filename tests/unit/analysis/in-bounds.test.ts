/**
 * Which indices a view compares with the size of their axis: those that loops, the grid and requirements do not keep below
 * it. Each kernel runs at many sizes as it is emitted, and where a comparison is kept, one size shows that it is needed.
 */
import { describe, expect, test } from "vitest";
import { compile } from "../../../src/pipeline/compile-kernel.js";
import { constexpr, kernel, scalar, tensor, tl } from "tilescript";
import { definitionOf } from "../../../src/dsl/definition.js";
import { trace } from "../../../src/dsl/trace.js";
import { evaluateCase } from "../../../src/eval/evaluate-case.js";
import { signatureOf } from "../../../src/codegen/module/signature.js";
import { lowerViews } from "../../../src/lower/views.js";
import { valueOf } from "../../../src/ir/handle.js";
import type { KernelIR } from "../../../src/ir/nodes.js";
import { withoutUpperBounds } from "../../kernels/lower/rewrite.js";

type Args = any;

interface Setting {
  readonly requires?: (given: Args) => readonly unknown[];
  readonly grid?: (given: Args) => readonly unknown[];
  readonly params?: object;
  readonly configs?: readonly object[];
  readonly config?: object;
  readonly dims?: object;
  readonly scalars?: Readonly<Record<string, number>>;
}

/** A kernel that adds up what it loads of `x`, of size K, at the indices that the body names. */
function summing(
  body: (args: Args, at: (index: any, mask?: any) => void) => void,
  { configs, scalars, ...given }: Setting,
) {
  const params = { x: tensor(tl.float32, ["K"]), y: tensor.out(tl.float32, [1], { zeroed: true }), BLOCK: constexpr() };
  const spec = {
    grid: () => [1],
    ...(configs ? { autotune: { key: ["K"], configs } } : { config: { BLOCK: 4 } }),
    ...given,
    params: { ...params, ...given.params },
  };
  const made = kernel(
    "summing",
    spec as never,
    ((args: Args) =>
      body(args, (index, mask) => {
        const loaded: any =
          mask === undefined ? tl.load(args.x.at(index)) : tl.load(args.x.at(index), { mask, other: 0 });
        const total = isScalar(index) ? loaded : tl.sum(loaded, 0);
        tl.atomicAdd(args.y.at(0), total);
      })) as never,
  );
  return { made, scalars };
}

function isScalar(index: any): boolean {
  if (typeof index === "number") return true;
  const { type } = valueOf(index);
  return type.kind !== "tile" || type.shape.length === 0;
}

const SIZES = Array.from({ length: 26 }, (_, K) => K);

/** The sizes K at which the kernel may be launched and has a finding, in this form. */
function wrongSizes(ir: KernelIR, lowered: KernelIR, refuse: (K: number) => boolean, scalars: Setting["scalars"]) {
  return SIZES.filter((K) => {
    if (refuse(K)) return false;
    const at = { sizes: { K }, dtypes: {}, config: 0, seed: 1, ...(scalars && { scalars }) };
    return evaluateCase(ir, signatureOf(ir), at, undefined, { lowered }).findings.length > 0;
  });
}

function verdict({ made, scalars }: ReturnType<typeof summing>) {
  const compiled = compile(made);
  const ir = trace(definitionOf(made));
  const lowered = lowerViews(ir);
  const refuse = (K: number) => {
    const at = { sizes: { K }, dtypes: {}, config: 0, seed: 1, ...(scalars && { scalars }) };
    return compiled.refusal(at) !== undefined;
  };
  const text = compiled.python.slice(compiled.python.indexOf("@triton.jit"), compiled.python.indexOf("def summing("));
  return {
    compares: /< K\b/.test(text),
    launches: SIZES.filter((K) => !refuse(K)).length,
    wrong: wrongSizes(ir, lowered, refuse, scalars),
    wrongWithout: wrongSizes(ir, withoutUpperBounds(lowered), refuse, scalars),
  };
}

type Body = Parameters<typeof summing>[0];
const lanes = (base: any, { BLOCK }: Args) => base.add(tl.arange(0, BLOCK));
const blocks = (start: any, step?: any) => (args: Args, at: (index: any) => void) => {
  for (const k of tl.range(start, args.K, step ?? args.BLOCK) as Iterable<any>) at(lanes(k, args));
};
/** Groups of 3 lanes, in blocks of 4. */
const grouped =
  (group: (args: Args) => any, limit: (args: Args) => any = ({ GROUP }) => GROUP): Body =>
  (args, at) => {
    const lanes: any = tl.arange(0, args.BLOCK);
    const mask = lanes.lt(limit(args));
    at(group(args).mul(args.GROUP).add(lanes), mask);
  };
const groups = {
  config: { BLOCK: 4, GROUP: 3 },
  params: { GROUP: constexpr() },
};
const isMultiple = { requires: ({ K, BLOCK }: Args) => [K.mod(BLOCK).eq(0)] };

describe("no comparison", () => {
  test.each<[string, Body, Setting?]>([
    ["blocks of a multiple", blocks(0), isMultiple],
    ["required as a product", blocks(0), { requires: ({ K, BLOCK }) => [tl.cdiv(K, BLOCK).mul(BLOCK).eq(K)] }],
    ["required with another condition", blocks(0), { requires: ({ K, BLOCK }) => [K.ge(4).and(K.mod(BLOCK).eq(0))] }],
    ["of a multiple of two blocks", blocks(0), { requires: ({ K, BLOCK }) => [K.mod(BLOCK.mul(2)).eq(0)] }],
    [
      "of a number that every config divides",
      blocks(0),
      { requires: ({ K }) => [K.mod(8).eq(0)], configs: [{ BLOCK: 4 }, { BLOCK: 8 }] },
    ],
    ["from a block on", blocks(8), { requires: ({ K }) => [K.mod(8).eq(0)] }],
    [
      "from the program's block on",
      (args, at) => blocks(tl.programId(0).mul(args.BLOCK), args.BLOCK.mul(2))(args, at),
      { ...isMultiple, grid: () => [2] },
    ],
    [
      "a block for each program",
      (args, at) => at(lanes(tl.programId(0).mul(args.BLOCK), args)),
      { ...isMultiple, grid: ({ K, BLOCK }) => [tl.cdiv(K, BLOCK)] },
    ],
    [
      "of whole blocks",
      (args, at) => {
        for (const i of tl.range(0, args.K.floorDiv(args.BLOCK)) as Iterable<any>) at(lanes(i.mul(args.BLOCK), args));
      },
    ],
    [
      "up to the smaller of two ends",
      (args, at) => {
        for (const k of tl.range(0, tl.minimum(args.K, tl.programId(0).add(9)) as any, args.BLOCK) as Iterable<any>)
          at(lanes(k, args));
      },
      isMultiple,
    ],
    [
      "a loop over all",
      (args, at) => {
        for (const k of tl.range(0, args.K) as Iterable<any>) at(k);
      },
    ],
    [
      "a loop over as many as required at most",
      (args, at) => {
        for (const k of tl.range(0, args.n) as Iterable<any>) at(k);
      },
      { params: { n: scalar(tl.int32) }, requires: ({ n, K }) => [n.le(K)], scalars: { n: 3 } },
    ],
    [
      "the lanes of a group that the author's mask leaves",
      grouped(() => tl.programId(0)),
      { ...groups, requires: ({ K, GROUP }) => [K.mod(GROUP).eq(0)], grid: ({ K, GROUP }) => [tl.cdiv(K, GROUP)] },
    ],
    [
      "groups of a row, of two axes",
      grouped(({ K, GROUP }) => tl.programId(0).mod(K.floorDiv(GROUP))),
      { ...groups, grid: ({ K, GROUP }) => [K.floorDiv(GROUP).mul(2)] },
    ],
    [
      "as many groups as are required to fit",
      grouped(() => tl.programId(0)),
      {
        ...groups,
        params: { ...groups.params, n: scalar(tl.int32) },
        requires: ({ K, n, GROUP }) => [n.mul(GROUP).le(K)],
        grid: ({ n }) => [n],
        scalars: { n: 2 },
      },
    ],
    [
      "an author's limit that is required to be at most the size",
      (args, at) => {
        const lanes: any = tl.programId(0).mul(args.BLOCK).add(tl.arange(0, args.BLOCK));
        const mask = lanes.lt(args.n);
        at(lanes, mask);
      },
      { params: { n: scalar(tl.int32) }, requires: ({ n, K }) => [n.le(K)], grid: () => [3], scalars: { n: 6 } },
    ],
    ["a program for each", (_, at) => at(tl.programId(0)), { grid: ({ K }) => [K] }],
    [
      "the row of a program, of two axes",
      ({ BLOCK }, at) => at(tl.programId(0).floorDiv(BLOCK)),
      { grid: ({ K, BLOCK }) => [K.mul(BLOCK)] },
    ],
    [
      "the column of a program, of two axes",
      ({ K }, at) => at(tl.programId(0).mod(K)),
      { grid: ({ K }) => [K.mul(3)] },
    ],
    [
      "lanes that wrap",
      (args, at) => at(lanes(tl.programId(0).mul(args.BLOCK), args).mod(args.K)),
      { grid: ({ K, BLOCK }) => [tl.cdiv(K, BLOCK)] },
    ],
    ["the first, where there is one", (_, at) => at(0), { requires: ({ K }) => [K.ge(1)] }],
    ["the last, where there is one", ({ K }, at) => at(K.sub(1)), { requires: ({ K }) => [K.gt(0)] }],
    [
      "lanes of which there are enough",
      (args, at) => at(tl.arange(0, args.BLOCK)),
      { requires: ({ K, BLOCK }) => [K.ge(BLOCK)] },
    ],
    [
      "a launch constexpr's blocks",
      (args, at) => {
        for (const i of tl.range(0, args.N) as Iterable<any>) at(lanes(i.mul(args.BLOCK), args));
      },
      { ...isMultiple, params: { N: constexpr.launch((({ K, BLOCK }: Args) => tl.cdiv(K, BLOCK)) as never) } },
    ],
  ])("%s", (_, body, setting = {}) => {
    const { compares, launches, wrong } = verdict(summing(body, setting));
    expect({ compares, wrong }).toEqual({ compares: false, wrong: [] });
    expect(launches).toBeGreaterThan(1);
  });
});

describe("a comparison", () => {
  test.each<[string, Body, Setting?]>([
    ["nothing is required", blocks(0)],
    ["a multiple of less", blocks(0), { requires: ({ K }) => [K.mod(2).eq(0)] }],
    [
      "a multiple of what one config does not divide",
      blocks(0),
      { requires: ({ K }) => [K.mod(8).eq(0)], configs: [{ BLOCK: 16 }, { BLOCK: 8 }] },
    ],
    ["another remainder", blocks(0), { requires: ({ K, BLOCK }) => [K.mod(BLOCK).eq(1)] }],
    ["either of two conditions", blocks(0), { requires: ({ K, BLOCK }) => [K.mod(BLOCK).eq(0).or(K.gt(2))] }],
    ["no multiple", blocks(0), { requires: ({ K, BLOCK }) => [K.mod(BLOCK).ne(0)] }],
    [
      "the block is a multiple of another number",
      blocks(0),
      { requires: ({ K, BLOCK }) => [BLOCK.mod(K.add(1)).eq(0)] },
    ],
    [
      "another size",
      blocks(0),
      {
        params: { z: tensor(tl.float32, ["M"]).optional() },
        dims: { M: ({ K }: Args) => K.mul(4) },
        requires: ({ M, BLOCK }) => [M.mod(BLOCK).eq(0)],
      },
    ],
    ["a start between two blocks", blocks(1), isMultiple],
    ["steps between two blocks", blocks(0, 2), isMultiple],
    [
      "an end behind the axis",
      (args, at) => {
        for (const k of tl.range(0, args.K.add(4), args.BLOCK) as Iterable<any>) at(lanes(k, args));
      },
      isMultiple,
    ],
    [
      "lanes that start at one",
      (args, at) => {
        for (const k of tl.range(0, args.K, args.BLOCK) as Iterable<any>) at(k.add(tl.arange(1, args.BLOCK.add(1))));
      },
      isMultiple,
    ],
    [
      "lanes of two blocks",
      (args, at) => {
        for (const k of tl.range(0, args.K, args.BLOCK) as Iterable<any>) at(k.add(tl.arange(0, args.BLOCK.mul(2))));
      },
      isMultiple,
    ],
    [
      "more programs than blocks",
      (args, at) => at(lanes(tl.programId(0).mul(args.BLOCK), args)),
      { ...isMultiple, grid: ({ K, BLOCK }) => [tl.cdiv(K, BLOCK).add(1)] },
    ],
    [
      "the program of another axis",
      (args, at) => at(lanes(tl.programId(1).mul(args.BLOCK), args)),
      { ...isMultiple, grid: ({ K, BLOCK }) => [tl.cdiv(K, BLOCK), 2] },
    ],
    [
      "groups that need not divide the size",
      grouped(() => tl.programId(0)),
      { ...groups, grid: ({ K, GROUP }) => [tl.cdiv(K, GROUP)] },
    ],
    [
      "more programs than groups",
      grouped(() => tl.programId(0)),
      {
        ...groups,
        requires: ({ K, GROUP }) => [K.mod(GROUP).eq(0)],
        grid: ({ K, GROUP }) => [tl.cdiv(K, GROUP).add(1)],
      },
    ],
    [
      "groups whose lanes the author's mask does not end",
      grouped(
        () => tl.programId(0),
        ({ GROUP }) => GROUP.add(1),
      ),
      { ...groups, requires: ({ K, GROUP }) => [K.mod(GROUP).eq(0)], grid: ({ K, GROUP }) => [tl.cdiv(K, GROUP)] },
    ],
    [
      "groups whose other lanes the author's mask ends",
      (args, at) => {
        const lanes: any = tl.arange(0, args.BLOCK);
        const mask = tl.arange(1, args.BLOCK.add(1)).lt(args.GROUP);
        at(tl.programId(0).mul(args.GROUP).add(lanes.mul(2)), mask);
      },
      { ...groups, requires: ({ K, GROUP }) => [K.mod(GROUP).eq(0)], grid: ({ K, GROUP }) => [tl.cdiv(K, GROUP)] },
    ],
    [
      "groups whose lanes the author's mask ends or not",
      (args, at) => {
        const lanes: any = tl.arange(0, args.BLOCK);
        const mask = lanes.lt(args.GROUP).or(args.K.gt(5));
        at(tl.programId(0).mul(args.GROUP).add(lanes), mask);
      },
      { ...groups, requires: ({ K, GROUP }) => [K.mod(GROUP).eq(0)], grid: ({ K, GROUP }) => [tl.cdiv(K, GROUP)] },
    ],
    [
      "as many groups as are required at least",
      grouped(() => tl.programId(0)),
      {
        ...groups,
        params: { ...groups.params, n: scalar(tl.int32) },
        requires: ({ K, n, GROUP }) => [n.mul(GROUP).ge(K)],
        grid: ({ n }) => [n],
        scalars: { n: 9 },
      },
    ],
    [
      "an author's limit that may be above the size",
      (args, at) => {
        const lanes: any = tl.programId(0).mul(args.BLOCK).add(tl.arange(0, args.BLOCK));
        const mask = lanes.lt(args.n);
        at(lanes, mask);
      },
      { params: { n: scalar(tl.int32) }, requires: ({ n, K }) => [n.ge(K)], grid: () => [3], scalars: { n: 9 } },
    ],
    ["a program for each, and one more", (_, at) => at(tl.programId(0)), { grid: ({ K }) => [K.add(1)] }],
    [
      "the row of a program, of one axis more",
      ({ BLOCK }, at) => at(tl.programId(0).floorDiv(BLOCK)),
      { grid: ({ K, BLOCK }) => [K.mul(BLOCK).add(BLOCK)] },
    ],
    [
      "a remainder by what is larger",
      ({ K }, at) => at(tl.programId(0).mod(K.add(1))),
      { grid: ({ K }) => [K.mul(3)] },
    ],
    [
      "a loop that counts down from the end",
      (args, at) => {
        for (const k of tl.range(args.K, 0, -1) as Iterable<any>) at(k);
      },
    ],
    [
      "a loop that counts down to the end",
      (args, at) => {
        for (const k of tl.range(args.K.add(3), args.K, -1) as Iterable<any>) at(k);
      },
    ],
    [
      "a start one past the program's block",
      (args, at) => blocks(tl.programId(0).mul(args.BLOCK).add(1))(args, at),
      isMultiple,
    ],
    [
      "the size less what may be 0",
      ({ K, n }, at) => at(K.sub(n)),
      { params: { n: scalar(tl.int32) }, requires: ({ n, K }) => [n.ge(0), n.le(K)], scalars: { n: 0 } },
    ],
    ["the first", (_, at) => at(0)],
    ["the first, where there may be none", (_, at) => at(0), isMultiple],
    ["lanes of a multiple that may be 0", (args, at) => at(tl.arange(0, args.BLOCK)), isMultiple],
    ["the second, where there is one", (_, at) => at(1), { requires: ({ K }) => [K.ge(1)] }],
    ["the end", ({ K }, at) => at(K)],
    [
      "blocks of what rounds up",
      (args, at) => {
        for (const i of tl.range(0, tl.cdiv(args.K, args.BLOCK)) as Iterable<any>) at(lanes(i.mul(args.BLOCK), args));
      },
    ],
    [
      "whole blocks and one more",
      (args, at) => {
        for (const i of tl.range(0, args.K.floorDiv(args.BLOCK).add(1)) as Iterable<any>)
          at(lanes(i.mul(args.BLOCK), args));
      },
    ],
    [
      "as many as required at least",
      (args, at) => {
        for (const k of tl.range(0, args.n) as Iterable<any>) at(k);
      },
      { params: { n: scalar(tl.int32) }, requires: ({ n, K }) => [n.ge(K)], scalars: { n: 9 } },
    ],
  ])("%s", (_, body, setting = {}) => {
    const { compares, wrong, wrongWithout } = verdict(summing(body, setting));
    expect({ compares, wrong }).toEqual({ compares: true, wrong: [] });
    expect(wrongWithout).not.toEqual([]);
  });
});

// The evaluator finds the author's mistake there; a GPU would not.
describe("a comparison in spite of what nothing checks", () => {
  test.each<[string, Body, Setting?]>([
    [
      "only assumed",
      (args, at) => {
        tl.assume(args.K.mod(args.BLOCK).eq(0));
        blocks(0)(args, at);
      },
    ],
    [
      "only hinted",
      (args, at) => {
        for (const k of tl.range(0, tl.multipleOf(args.K, 4) as any, args.BLOCK) as Iterable<any>) at(lanes(k, args));
      },
    ],
    [
      "a remainder by a size that may be 0",
      ({ K }, at) => at(tl.full([], 7, tl.int32).mod(K)),
      { requires: ({ K }) => [K.ge(0)] },
    ],
  ])("%s", (_, body, setting = {}) => expect(verdict(summing(body, setting)).compares).toBe(true));
});
