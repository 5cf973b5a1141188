/** Ops that join, split and reorder tiles. */
import { difference, minTerm, product, quotient, remainder, sum, type Term } from "../symbolic/term.js";
import type { Typed } from "../types/types.js";
import { gatherIndex } from "../diagnostics/catalog/finding-codes.js";
import {
  broadcastShapes,
  broadcastTo,
  flip as flipArray,
  reshape,
  slice,
  stack,
  stridesOf,
  take,
  type TileArray,
  tileArray,
  cast,
} from "../numerics/array.js";
import { atAxis, checkedAxis, type WhyAxis } from "../types/dims.js";
import { map2 } from "../numerics/array-map.js";
import type { FirstError, Validate } from "../types/rule-error.js";
import type { Context, Constant } from "../values/runtime-values.js";
import {
  type CatOut,
  type GatherOut,
  inferCat,
  inferGather,
  inferInterleave,
  inferJoin,
  inferSplit,
  type InterleaveOut,
  type JoinOut,
  type SplitOut,
  type WhyCat,
  type WhyGatherAxis,
  type WhyGatherIndex,
  type WhyJoin,
  type WhySplit,
} from "../rules/create-rules.js";
import { inferFlip, inferSwizzle, type Swizzled, type WhyFlip, type WhySwizzle } from "../rules/reduce-rules.js";
import type { Plain, WhyTile } from "../rules/math-rules.js";
import type { Sh, TileLike } from "../types/tile.js";
import { defineOp } from "./define.js";
import { tileOf } from "../values/operands.js";
import type { RuntimeArguments } from "../ir/op.js";

declare module "../types/tile.js" {
  interface TileOps {
    /** Splits the last axis, of size 2, into two tiles: `tl.split(x)`. */
    split<T extends TileLike>(this: Validate<T, WhySplit<T>>): SplitOut<T>;
    /** Reverses an axis, by default the last: `tl.flip(x, 0)`. */
    flip<T extends TileLike, const Ax extends number = -1>(
      this: Validate<T, WhyFlip<T, -1>>,
      dim?: Validate<Ax, WhyFlip<T, Ax>>,
    ): Plain<T>;
    /** Gathers elements along an axis by an index tile: `tl.gather(x, index, 0)`. */
    gather<T extends TileLike, I, const Ax extends number>(
      this: T,
      index: Validate<I, WhyGatherIndex<T, I, Ax>>,
      axis: Validate<Ax, WhyGatherAxis<T, Ax>>,
    ): GatherOut<T, I>;
  }
}

const pair = { x: "tile", y: "tile" } as const;

/** Stacks the broadcast tiles along a new last axis. */
function stackPair({ x, y }: RuntimeArguments<typeof pair>): TileArray {
  const shape = broadcastShapes(x.shape, y.shape);
  return stack([broadcastTo(x, shape), broadcastTo(y, shape)], shape.length);
}

/** Joins two tiles along a new last axis of size 2: `tl.join(x, y)`. */
export const join = defineOp<
  <X, Y>(x: Validate<X, WhyTile<"join", X>>, y: Validate<Y, WhyJoin<"join", X, Y>>) => JoinOut<X, Y>
>()({
  name: "join",
  operands: pair,
  effect: "pure",
  spelling: { form: "call", name: "tl.join" },
  infer: ({ x, y }) => inferJoin(x.type, y.type),
  evaluate: stackPair,
  facts: { nonNegative: (signs) => signs.every(Boolean), needsTensor: ["x", "y"], preservesLeadingAxes: true },
  proof: { moves: true },
});

/** Splits the last axis, of size 2, into two tiles: `x, y = tl.split(z)`. */
export const split = defineOp<<X>(x: Validate<X, WhySplit<X>>) => SplitOut<X>>()({
  name: "split",
  operands: { x: "tile" },
  method: true,
  effect: "pure",
  spelling: { form: "call", name: "tl.split" },
  infer: ({ x }) => inferSplit(x.type),
  evaluate: ({ x }) => [0, 1].map((position) => slice(x, x.shape.length - 1, position)),
  facts: { nonNegative: (signs) => signs.every(Boolean), preservesLeadingAxes: true },
  proof: { moves: true },
});

/** Interleaves the elements of two tiles along the last axis: `tl.interleave(x, y)`. */
export const interleave = defineOp<
  <X, Y>(x: Validate<X, WhyTile<"interleave", X>>, y: Validate<Y, WhyJoin<"interleave", X, Y>>) => InterleaveOut<X, Y>
>()({
  name: "interleave",
  operands: pair,
  effect: "pure",
  spelling: { form: "call", name: "tl.interleave" },
  infer: ({ x, y }) => inferInterleave(x.type, y.type),
  evaluate: (args, { result }) => reshape(stackPair(args), result.shape),
  facts: { nonNegative: (signs) => signs.every(Boolean), needsTensor: ["x", "y"] },
  proof: { moves: true },
});

const dimOf = ({ dim }: { readonly dim: Typed | undefined }, fallback: number) =>
  dim === undefined ? fallback : Number(dim.literal);

/** Concatenates two tiles of one shape along an axis: `tl.cat(x, y, dim=0)`. Needs Triton 3.9. */
export const cat = defineOp<
  <X, Y, const Ax extends number = 0>(
    x: Validate<X, WhyTile<"cat", X>>,
    y: Validate<Y, WhyCat<X, Y>>,
    options?: { dim?: X extends TileLike ? Validate<Ax, WhyAxis<"cat", X[Sh], Ax>> : Ax },
  ) => CatOut<X, Ax>
>()({
  name: "cat",
  operands: pair,
  options: { dim: "constant?" },
  effect: "pure",
  spelling: { form: "call", name: "tl.cat" },
  infer: (args) => inferCat(args.x.type, args.y.type, dimOf(args, 0)),
  evaluate: ({ x, y, dim = 0 }, { result }) =>
    reshape(stack([x, y], checkedAxis(x.shape.length, Number(dim))), result.shape),
  facts: { nonNegative: (signs) => signs.every(Boolean) },
  proof: { moves: true },
  needs: {
    // 3.6 does not preserve the order of elements.
    needsTriton39: () => true,
  },
});

/** Reverses an axis, by default the last: `tl.flip(x, dim=1)`. An axis counted from the end needs Triton 3.9. */
export const flip = defineOp<
  <X, const Ax extends number = -1>(
    x: Validate<X, FirstError<WhyTile<"flip", X>, WhyFlip<X, -1>>>,
    dim?: Validate<Ax, WhyFlip<X, Ax>>,
  ) => Plain<X>
>()({
  name: "flip",
  operands: { x: "tile", dim: "constant?" },
  method: true,
  effect: "pure",
  spelling: {
    form: "call",
    name: "tl.flip",
    keywords: ["dim"], // 3.6 has no default.
    pinned: ({ x, dim }): Readonly<Record<string, number>> =>
      dim === undefined && x.type.kind === "tile" ? { dim: x.type.shape.length - 1 } : {},
  },
  infer: (args) => inferFlip(args.x.type, dimOf(args, -1)),
  evaluate: ({ x, dim = -1 }) => flipArray(x, checkedAxis(x.shape.length, Number(dim))),
  facts: { nonNegative: ([x]) => x === true },
  proof: { moves: true },
  needs: { needsTriton39: (args) => args.dim !== undefined && dimOf(args, 0) < 0 },
});

const gatherOperands = { x: "tile", index: "tile", axis: "constant" } as const;

/** Gathers elements along an axis by an index tile: `tl.gather(x, index, 0)`. */
export const gather = defineOp<
  <X, I, const Ax extends number>(
    x: Validate<X, WhyTile<"gather", X>>,
    index: Validate<I, WhyGatherIndex<X, I, Ax>>,
    axis: Validate<Ax, WhyGatherAxis<X, Ax>>,
  ) => GatherOut<X, I>
>()({
  name: "gather",
  operands: gatherOperands,
  effect: "pure",
  spelling: { form: "call", name: "tl.gather" },
  infer: ({ x, index, axis }) => inferGather(x.type, index.type, Number(axis.literal)),
  evaluate: gatherLanes,
  facts: { nonNegative: ([x]) => x === true },
  proof: { moves: true },
});

function gatherLanes({ x: tile, index, axis }: RuntimeArguments<typeof gatherOperands>, context: Context): TileArray {
  const indices = cast(index, "int32");
  const gatherAxis = checkedAxis(tile.shape.length, Number(axis));
  const size = atAxis(tile.shape, gatherAxis);
  const indexStrides = stridesOf(indices.shape);
  const axes = stridesOf(tile.shape).map((stride, i) => ({
    stride,
    isGathered: i === gatherAxis,
    indexStride: atAxis(indexStrides, i),
    indexSize: atAxis(indices.shape, i),
  }));
  const outOfBounds = new Uint8Array(indices.data.length);
  const offsets = Int32Array.from(indices.data as Int32Array, (element, i) => {
    if (element < 0 || element >= size) outOfBounds[i] = 1;
    const clampedIndex = outOfBounds[i] ? 0 : element;
    return axes.reduce((sum, { stride, isGathered, indexStride, indexSize }) => {
      const coordinate = Math.floor(i / indexStride) % indexSize;
      return sum + stride * (isGathered ? clampedIndex : coordinate);
    }, 0);
  });
  const { poison } = indices;
  const reportedLanes = poison ? outOfBounds.map((lane, i) => (poison[i] ? 0 : lane)) : outOfBounds;
  context.report(gatherIndex(size), indices.shape, reportedLanes);
  const result = take(tile, indices.shape, offsets);
  if (!poison) return result;
  return { ...result, poison: poison.map((lane, i) => lane | (result.poison?.[i] ?? 0)) };
}

const swizzleOperands = { i: "value", j: "value", sizeI: "value", sizeJ: "value", sizeG: "value" } as const;

/**
 * Maps the indices (i, j) of a row-major `sizeI × sizeJ` grid to another order, which visits each group of `sizeG` rows
 * column by column: `i, j = tl.swizzle2d(i, j, size_i, size_j, GROUP)`.
 */
export const swizzle2d = defineOp<
  <I, const J, const SI, const SJ, const SG>(
    i: I,
    j: J,
    sizeI: SI,
    sizeJ: SJ,
    sizeG: Validate<SG, WhySwizzle<I, J, SI, SJ, SG>>,
  ) => Swizzled<I, J, SI, SJ, SG>
>()({
  name: "swizzle2d",
  operands: swizzleOperands,
  effect: "pure",
  spelling: { form: "call", name: "tl.swizzle2d" },
  infer: ({ i, j, sizeI, sizeJ, sizeG }) => inferSwizzle(i.type, j.type, sizeI.type, sizeJ.type, sizeG.type),
  evaluate: swizzleLanes,
  facts: { nonNegative: (signs) => signs.every(Boolean) },
  proof: { term: swizzleTerms },
});

function swizzleTerms({
  i,
  j,
  sizeI,
  sizeJ,
  sizeG,
}: Readonly<Record<keyof typeof swizzleOperands, Term>>): readonly Term[] {
  const position = sum(product(i, sizeJ), j);
  const group = product(sizeG, sizeJ);
  const first = product(quotient(position, group), sizeG);
  const rows = minTerm(difference(sizeI, first), sizeG);
  const inGroup = remainder(position, group);
  return [sum(first, remainder(inGroup, rows)), quotient(inGroup, rows)];
}

function swizzleLanes(
  args: RuntimeArguments<typeof swizzleOperands>,
  { results, result: { dtype, shape } }: Context,
): TileArray[] {
  const operand = (x: TileArray | Constant) => {
    const { data } = broadcastTo(cast(tileOf(x, dtype), "float64"), shape);
    return tileArray("float64", shape, data);
  };
  const combine = (f: (x: number, y: number) => number) => (x: TileArray, y: TileArray) => map2(x, y, "float64", f);
  const [plus, minus, times] = [combine((x, y) => x + y), combine((x, y) => x - y), combine((x, y) => x * y)];
  const [divided, modulo, least] = [combine((x, y) => Math.trunc(x / y)), combine((x, y) => x % y), combine(Math.min)];
  const [sizeI, sizeJ, sizeG] = [operand(args.sizeI), operand(args.sizeJ), operand(args.sizeG)];
  const position = plus(times(operand(args.i), sizeJ), operand(args.j));
  const group = times(sizeG, sizeJ);
  const first = times(divided(position, group), sizeG);
  const rows = least(minus(sizeI, first), sizeG);
  const inGroup = modulo(position, group);
  const [row, column] = [plus(first, modulo(inGroup, rows)), divided(inGroup, rows)];
  return results.map((type, k) => cast(k === 0 ? row : column, type.dtype));
}
