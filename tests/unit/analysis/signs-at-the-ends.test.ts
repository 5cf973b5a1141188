/**
 * What the rules about signs say at the ends of each dtype. A view leaves `index >= 0` out where an op's rule says that its
 * result is not negative. Where it is negative all the same, because integers wrap, the evaluator reports the op, so that no
 * author is left with an access before the start that only the emitted form has.
 */
import { expect, test } from "vitest";
import { kernel, tensor, tl } from "tilescript";
import * as ops from "../../../src/ops/index.js";
import { opOf } from "../../../src/ops/define.js";
import { compile } from "../../../src/pipeline/compile-kernel.js";
import { TileScriptError } from "../../../src/diagnostics/diagnostic.js";
import { type DTypeName, dtypeTable } from "../../../src/types/dtype.js";

const LANES = 8;
const ROWS = 16;

type Index = (given: { readonly x: any; readonly y: any }) => any;

/** An index by each op that has a rule about signs. */
const INDICES: Readonly<Record<string, Index>> = {
  add: ({ x, y }) => x.add(y),
  mul: ({ x, y }) => x.mul(y),
  floorDiv: ({ x, y }) => x.floorDiv(tl.maximum(y, 1)),
  mod: ({ x, y }) => x.mod(tl.maximum(y, 1)),
  cdiv: ({ x, y }) => tl.cdiv(x, tl.maximum(y, 1)),
  shl: ({ x }) => x.shl(1),
  shr: ({ x }) => x.shr(1),
  and: ({ x, y }) => x.and(y),
  or: ({ x, y }) => x.or(y),
  xor: ({ x, y }) => x.xor(y),
  minimum: ({ x, y }) => tl.minimum(x, y),
  maximum: ({ x, y }) => tl.maximum(x, y.sub(1)),
  where: ({ x, y }) => tl.where(x.gt(y), x, y),
  clamp: ({ x, y }) => tl.clamp(x.sub(1), y, y),
  abs: ({ x, y }) => tl.abs(x.sub(y).sub(1)),
  sum: ({ x }) => tl.sum(x, 0).add(tl.arange(0, LANES)),
  max: ({ x }) => tl.max(x, 0).add(tl.zeros([LANES], tl.int32)),
  min: ({ x }) => tl.min(x, 0).add(tl.zeros([LANES], tl.int32)),
  argmax: ({ x }) => tl.argmax(x, 0).add(tl.arange(0, LANES)),
  argmin: ({ x }) => tl.argmin(x, 0).add(tl.arange(0, LANES)),
  xorSum: ({ x }) => tl.xorSum(x, 0).add(tl.zeros([LANES], tl.int32)),
  reduceOr: ({ x }) => tl.reduceOr(x, 0).add(tl.zeros([LANES], tl.int32)),
  cumsum: ({ x }) => tl.cumsum(x, 0),
  cumprod: ({ x }) => tl.cumprod(x, 0),
  sort: ({ x }) => tl.sort(x),
  bitonicMerge: ({ x }) => tl.bitonicMerge(x),
  topk: ({ x }) => tl.topk(x, LANES),
  histogram: ({ x }) => tl.histogram(x.to(tl.int32), LANES),
  flip: ({ x }) => tl.flip(x),
  gather: ({ x }) => tl.gather(x, tl.arange(0, LANES), 0),
  join: ({ x, y }) => tl.max(tl.join(x, y), 1),
  item: ({ x }) => tl.item(x.reshape([LANES, 1]).sum(0)).add(tl.arange(0, LANES)),
  split: ({ x, y }) => tl.split(tl.join(x, y))[0],
  interleave: ({ x, y }) => tl.max(tl.interleave(x, y).reshape([LANES, 2] as never), 1),
  cat: ({ x, y }) => tl.max(tl.cat(x, y).reshape([LANES, 2] as never), 1),
  swizzle2d: ({ x, y }) => tl.swizzle2d(x, y, ROWS, ROWS, 4)[0],
  to: ({ x }) => x.to(tl.int8),
  cast: ({ x }) => tl.cast(x, tl.int16),
  full: ({ x }) => tl.full([LANES], tl.max(x, 0), tl.int8),
  inBounds: ({ x }) => x,
  multipleOf: ({ x }) => tl.multipleOf(x, 1),
  maxContiguous: ({ x }) => tl.maxContiguous(x, 1),
  maxConstancy: ({ x }) => tl.maxConstancy(x, 1),
  trusted: ({ x }) => tl.trusted(x, "each number is what it is"),
  expectZero: ({ x }) => tl.expectZero(x, x.lt(0)),
  as: ({ x }) => x,
  expandDims: ({ x }) => tl.sum(x.expandDims(1), 1),
  broadcastTo: ({ x }) => tl.max(tl.broadcastTo(x.expandDims(1), [LANES, 2]), 1),
  broadcast: ({ x, y }) => tl.broadcast(x, y)[0],
  trans: ({ x }) => tl.max(tl.trans(x.expandDims(1)), 0),
  permute: ({ x }) => tl.max(x.expandDims(1).permute([1, 0]), 0),
  reshape: ({ x }) => tl.max(x.reshape([LANES, 1]), 1),
  view: ({ x }) => tl.max(tl.view(x, [LANES, 1]), 1),
  ravel: ({ x }) => tl.ravel(x),
  squeeze: ({ x }) => tl.squeeze(x.expandDims(1), 1),
  unsqueeze: ({ x }) => tl.max(tl.unsqueeze(x, 1), 1),
  arange: () => tl.arange(0, LANES),
  zeros: ({ x }) => tl.zeros([LANES], tl.int8).add(x),
  zerosLike: ({ x }) => tl.zerosLike(x),
  programId: ({ x }) => tl.programId(0).add(x),
  numPrograms: ({ x }) => tl.numPrograms(0).add(x),
  randint: ({ x }) => tl.randint(1, x.to(tl.int32)).to(tl.int32),
  randint4x: ({ x }) => tl.randint4x(1, x.to(tl.int32))[0].to(tl.int32),
};
/** Ops of the host, of truth values and of floats: no number of theirs wraps. */
const OTHERS = new Set(
  "smid hipSmid numWarps numThreads hipNumWarps hipNumThreads nextPowerOf2 bitLength bits isFloating isInteger isSigned choose softmax rand rand4x randn randn4x uintToUniformFloat".split(
    " ",
  ),
);

const named = Object.values(ops).flatMap((each) => {
  try {
    const op = opOf(each as never);
    return op?.facts?.nonNegative ? [op.name] : [];
  } catch {
    return [];
  }
});

test("each op with a rule about signs stands here", () => {
  expect(named.filter((name) => !(name in INDICES) && !OTHERS.has(name))).toEqual([]);
});

const ENDS: readonly DTypeName[] = ["int8", "int16", "int32", "uint8"];

test.each(Object.entries(INDICES))("%s", (_, index) => {
  let evaluated = 0;
  for (const name of ENDS) {
    const { bits, signed } = dtypeTable[name];
    const most = 2 ** (signed ? bits - 1 : bits) - 1;
    const given = (...values: number[]) => ({ dtype: name, shape: [LANES], data: Int32Array.from(values) });
    const T = tl[name as "int32"];
    const range = { range: [0, most + 1] } as const;
    const signs = kernel(
      "signs",
      {
        params: {
          x: tensor(T, [LANES], range),
          y: tensor(T, [LANES], range),
          from: tensor(tl.float32, ["N"]),
          out: tensor.out(tl.float32, [LANES]),
        },
        grid: () => [1],
      } as never,
      (({ x, y, from, out }: any) => {
        const lanes = tl.arange(0, LANES);
        const of = index({ x: tl.load(x.at(lanes)), y: tl.load(y.at(lanes)) });
        tl.store(out.at(lanes), tl.load(from.at(of)));
      }) as never,
    );
    let compiled;
    try {
      compiled = compile(signs);
    } catch (error) {
      if (error instanceof TileScriptError) continue;
      throw error;
    }
    const inputs = {
      x: given(3, 1, most, most >> 1, (most >> 1) + 1, 2, most - 1, 0),
      y: given(0, most, most, 1, (most >> 1) + 1, 7, 2, 100),
    };
    const at = { sizes: { N: ROWS }, dtypes: {}, config: 0, seed: 1 };
    evaluated++;
    const authored = compiled.evaluate(at, { inputs }).findings;
    const emitted = compiled.evaluate(at, { inputs, lowered: true }).findings;
    // What the author's form reports hides the other; alone, the emitted form may not find more.
    expect({ name, findings: emitted.map(({ message }) => message) }).toEqual({
      name,
      findings: authored.map(({ message }) => message),
    });
  }
  expect(evaluated).toBeGreaterThan(0);
});
