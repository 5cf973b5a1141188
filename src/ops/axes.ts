/** Ops that add, remove and reorder axes. */
import { number, type Term } from "../symbolic/term.js";
import type { Typed } from "../types/types.js";
import { expandDims as expandArray, permute as permuteArray } from "../numerics/array.js";
import { type Expand, unpermuteAxes, type WhyExpand } from "../types/axis.js";
import type { Validate } from "../types/rule-error.js";
import type { Permute } from "../types/dims.js";
import type { Addresses } from "../values/runtime-values.js";
import { whyTile } from "../rules/math-rules.js";
import {
  inferExpand,
  inferItem,
  inferPermute,
  inferSqueeze,
  inferTrans,
  type Axes,
  type ExpandAll,
  type Reshaped,
  type Squeeze,
  type TransOut,
  type WhyExpandAll,
  type WhyItem,
  type WhyPermuted,
  type WhySqueeze,
  type WhyTransposed,
} from "../rules/shape-rules.js";
import type { El, Scalar, Sh, Tile, TileLike } from "../types/tile.js";
import { defineOp } from "./define.js";
import { isAddresses, isFirstNonNegative, toResult, listOf } from "../values/operands.js";
import { permuteAddresses } from "../values/view-addresses.js";

declare module "../types/tile.js" {
  interface TileOps {
    /** Adds axes of size 1 at these positions of the result: `x[:, None]` for axis 1 of a rank-1 tile. */
    expandDims<T extends TileLike, const Ax extends Axes>(
      this: T,
      axis: Validate<Ax, WhyExpandAll<T[Sh], Ax>>,
    ): Tile<T[El], ExpandAll<T[Sh], Ax>>;
    /** Permutes the axes: `x.permute([2, 0, 1])` emits `tl.permute(x, [2, 0, 1])`. */
    permute<T extends TileLike, const P extends readonly number[]>(
      this: T,
      order: Validate<P, WhyPermuted<T, P>>,
    ): Reshaped<T, Permute<T[Sh], P>>;
    /** Swaps the last two axes, or permutes all: `tl.trans(x)`. */
    trans<T extends TileLike, const P extends readonly number[] | undefined = undefined>(
      this: Validate<T, WhyTransposed<T, P>>,
      order?: P,
    ): TransOut<T, P>;
    /** The element of a tile with one element, as a scalar: `x.item()`. */
    item<T extends TileLike>(this: Validate<T, WhyItem<T>>): Scalar<T[El]>;
  }
}

const numbers = (operand: Typed | undefined) =>
  operand?.items?.map((item) => Number(item.literal)) ?? (operand ? [Number(operand.literal)] : []);

/** Adds axes of size 1 at these positions of the result: `x[:, None]`, `x[None, :, None]`. */
export const expandDims = defineOp<
  <T extends TileLike, const Ax extends Axes>(
    x: T,
    axis: Validate<Ax, WhyExpandAll<T[Sh], Ax>>,
  ) => Tile<T[El], ExpandAll<T[Sh], Ax>>
>()({
  name: "expandDims",
  operands: { x: "tileOrPointer", axis: "constants" },
  method: true,
  effect: "pure",
  spelling: { form: "expand" },
  infer: ({ x, axis }) => inferExpand(x.type, numbers(axis), axis.items !== undefined),
  evaluate: ({ x, axis }) => {
    const axes = listOf(axis).map(Number);
    if (!isAddresses(x)) return axes.reduce(expandArray, x);
    return axes.reduce((addresses: Addresses, insertedAxis) => {
      const position = insertedAxis < 0 ? insertedAxis + addresses.shape.length + 1 : insertedAxis;
      return { ...addresses, shape: addresses.shape.toSpliced(position, 0, 1) };
    }, x);
  },
  facts: { needsTensor: ["x"], nonNegative: isFirstNonNegative, keepsClaims: true },
  proof: { lane: (lane, { args }) => withoutAxes(lane, numbers(args.axis)), anyWidth: true },
});

/** Adds an axis of size 1: `tl.unsqueeze(x, 0)`. Needs Triton 3.9; `expandDims` does not. */
export const unsqueeze = defineOp<
  <T extends TileLike, const Ax extends number>(
    x: T,
    dim: Validate<Ax, WhyExpand<T[Sh], Ax>>,
  ) => Tile<T[El], Expand<T[Sh], Ax>>
>()({
  name: "unsqueeze",
  operands: { x: "value", dim: "constant" },
  effect: "pure",
  spelling: { form: "call", name: "tl.unsqueeze" },
  infer: ({ x, dim }) => whyTile("unsqueeze", x.type) || inferExpand(x.type, numbers(dim), false),
  evaluate: toResult,
  facts: { nonNegative: isFirstNonNegative },
  proof: { lane: (lane, { args }) => withoutAxes(lane, numbers(args.dim)), anyWidth: true },
  needs: { needsTriton39: () => true },
});

/** Removes an axis of size 1: `tl.squeeze(x, 0)`. Needs Triton 3.9; `reshape` does not. */
export const squeeze = defineOp<
  <T extends TileLike, const Ax extends number>(
    x: T,
    dim: Validate<Ax, WhySqueeze<T[Sh], Ax>>,
  ) => Reshaped<T, Squeeze<T[Sh], Ax>>
>()({
  name: "squeeze",
  operands: { x: "value", dim: "constant" },
  effect: "pure",
  spelling: { form: "call", name: "tl.squeeze" },
  infer: ({ x, dim }) => inferSqueeze(x.type, Number(dim.literal)),
  evaluate: toResult,
  facts: { nonNegative: isFirstNonNegative },
  proof: {
    lane: (lane, { args, from }) => {
      const axis = Number(args.dim.literal);
      return lane.toSpliced(axis < 0 ? axis + from.length : axis, 0, number(0));
    },
    anyWidth: true,
  },
  needs: { needsTriton39: () => true },
});

/** The element of a tile with one element, as a scalar: `x.item()`. */
export const item = defineOp<<X>(x: Validate<X, WhyItem<X>>) => Reshaped<X, []>>()({
  name: "item",
  operands: { x: "value" },
  method: true,
  effect: "pure",
  spelling: { form: "method", name: "item" },
  infer: ({ x }) => inferItem(x.type),
  evaluate: toResult,
  facts: { nonNegative: isFirstNonNegative },
  proof: { lane: (_, { from }) => from.map(() => number(0)), anyWidth: true },
});

/** Permutes the axes: `tl.permute(x, [2, 0, 1])`. */
export const permute = defineOp<
  <X, const P extends readonly number[]>(
    x: X,
    order: Validate<P, WhyPermuted<X, P>>,
  ) => X extends TileLike ? Reshaped<X, Permute<X[Sh], P>> : Tile<any, any>
>()({
  name: "permute",
  operands: { x: "tile", order: "constants" },
  method: true,
  effect: "pure",
  spelling: { form: "call", name: "tl.permute" },
  infer: ({ x, order }) => inferPermute(x.type, numbers(order)),
  evaluate: ({ x, order }) => permuteArray(x, listOf(order).map(Number)),
  facts: { nonNegative: isFirstNonNegative },
  proof: { lane: (lane, { args }) => unpermuteAxes(lane, numbers(args.order)), anyWidth: true },
});

/** Swaps the last two axes: `tl.trans(x)`; or permutes all: `tl.trans(x, [2, 0, 1])`. */
export const trans = defineOp<
  <X, const P extends readonly number[] | undefined = undefined>(
    x: Validate<X, WhyTransposed<X, P>>,
    order?: P,
  ) => TransOut<X, P>
>()({
  name: "trans",
  operands: { x: "tileOrPointer", order: "constants?" },
  method: true,
  effect: "pure",
  spelling: { form: "call", name: "tl.trans" },
  lowering: { permutes: (_, rank) => swapLastTwo(rank) },
  infer: ({ x, order }) => inferTrans(x.type, order && numbers(order)),
  evaluate: ({ x, order }) => {
    if (isAddresses(x)) return permuteAddresses(x, swapLastTwo(x.shape.length));
    return permuteArray(x, order === undefined ? swapLastTwo(x.shape.length) : listOf(order).map(Number));
  },
  facts: { nonNegative: isFirstNonNegative },
  proof: {
    lane: (lane, { args }) => unpermuteAxes(lane, args.order ? numbers(args.order) : swapLastTwo(lane.length)),
    anyWidth: true,
  },
});

/** Maps a lane of the result to the lane of the operand, by removing the added axes. */
function withoutAxes(lane: readonly Term[], axes: readonly number[]): readonly Term[] {
  return axes.reduceRight(
    (remaining, axis) => remaining.toSpliced(axis < 0 ? axis + remaining.length : axis, 1),
    lane as Term[],
  );
}

function swapLastTwo(rank: number): number[] {
  return Array.from({ length: rank }, (_, axis) => (axis < rank - 2 ? axis : 2 * rank - 3 - axis));
}
