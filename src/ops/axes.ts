/** Ops that add, remove, reorder and reshape axes. */
import { number, type Term, product, quotient, remainder, sum } from "../symbolic/term.js";
import type { Typed } from "../types/types.js";
import {
  expandDims as expandArray,
  permute as permuteArray,
  broadcastTo as broadcastArray,
} from "../numerics/array.js";
import type { Validate } from "../types/rule-error.js";
import { type Permute, type Expand, unpermuteAxes, type WhyExpand, atAxis } from "../types/dims.js";
import type { Addresses } from "../values/runtime-values.js";
import { whyTile, type WhyTile } from "../rules/math-rules.js";
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
  inferBroadcastTo,
  inferRavel,
  inferReshape,
  inferTogether,
  type RavelOut,
  type Together,
  type WhyBroadcastArg,
  type WhyRavel,
  type WhyReshaped,
  type WhyTogether,
} from "../rules/shape-rules.js";
import type { El, Scalar, Sh, Tile, TileLike } from "../types/tile.js";
import { defineOp } from "./define.js";
import { isAddresses, isFirstNonNegative, toResult, listOf, tileOf } from "../values/operands.js";
import { permuteAddresses } from "../values/addresses.js";
import type { DimsOf, ShapeArg } from "../types/constexpr.js";
import type { LaneContext } from "../ir/op.js";

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

// Reshaping and broadcasting.

/** The type of a shape argument. Errors in an entry are reported at the entry, a mismatch with the tile at the list. */
type NewShape<Op extends string, X, D> = WhyReshaped<Op, X, D> extends "" ? ShapeArg<Op, D> : WhyReshaped<Op, X, D>;
type ReorderOption = { canReorder?: boolean };

declare module "../types/tile.js" {
  interface TileOps {
    /** Reshapes a tile and preserves the order of elements: `tl.reshape(x, [BLOCK, 2])`. */
    reshape<T extends TileLike, const D extends readonly unknown[]>(
      this: T,
      shape: NewShape<"reshape", T, D>,
      options?: ReorderOption,
    ): Reshaped<T, DimsOf<D>>;
    /** Reshapes a tile; Triton chooses the order of its elements: `tl.view(x, [BLOCK, 2])`. */
    view<T extends TileLike, const D extends readonly unknown[]>(
      this: T,
      shape: NewShape<"view", T, D>,
    ): Reshaped<T, DimsOf<D>>;
    /** Flattens a tile: `tl.ravel(x)`. */
    ravel<T extends TileLike>(this: Validate<T, WhyRavel<T>>, options?: ReorderOption): RavelOut<T>;
    /** Broadcasts axes of size 1, or a scalar, to a shape: `tl.broadcast_to(x, [M, N])`. */
    broadcastTo<T extends TileLike, const D extends readonly unknown[]>(
      this: T,
      shape: WhyBroadcastArg<T, D> extends "" ? ShapeArg<"broadcastTo", D> : WhyBroadcastArg<T, D>,
    ): Reshaped<T, DimsOf<D>>;
  }
}

/**
 * Reshapes a tile and preserves the order of elements: `tl.reshape(x, [BLOCK, 2])`. With `canReorder`, Triton may
 * reorder elements; the evaluator does not.
 */
export const reshape = defineOp<
  <X, const D extends readonly unknown[]>(
    x: X,
    shape: NewShape<"reshape", X, D>,
    options?: ReorderOption,
  ) => Reshaped<X, DimsOf<D>>
>()({
  name: "reshape",
  operands: { x: "value", shape: "shape" },
  options: { canReorder: "constant?" },
  method: true,
  effect: "pure",
  spelling: { form: "call", name: "tl.reshape" },
  infer: ({ x, shape }) => inferReshape("reshape", x.type, shape),
  evaluate: toResult,
  facts: { nonNegative: isFirstNonNegative, preservesLeadingAxes: true },
  proof: { lane: reshapeLane, keepsElements: true, anyWidth: true },
});

/** Reshapes a tile; Triton chooses the order of its elements: `tl.view(x, [BLOCK, 2])`. */
export const view = defineOp<
  <X, const D extends readonly unknown[]>(x: X, shape: NewShape<"view", X, D>) => Reshaped<X, DimsOf<D>>
>()({
  name: "view",
  operands: { x: "value", shape: "shape" },
  method: true,
  effect: "pure",
  spelling: { form: "call", name: "tl.view" },
  infer: ({ x, shape }) => inferReshape("view", x.type, shape),
  evaluate: toResult,
  facts: { nonNegative: isFirstNonNegative },
});

/** Flattens a tile: `tl.ravel(x)`. */
export const ravel = defineOp<<X>(x: Validate<X, WhyRavel<X>>, options?: ReorderOption) => RavelOut<X>>()({
  name: "ravel",
  operands: { x: "value" },
  options: { canReorder: "constant?" },
  method: true,
  effect: "pure",
  spelling: { form: "call", name: "tl.ravel" },
  infer: ({ x }) => inferRavel(x.type),
  evaluate: toResult,
  facts: { nonNegative: isFirstNonNegative },
  proof: { lane: reshapeLane, keepsElements: true, anyWidth: true },
});

/** Broadcasts axes of size 1, or a scalar, to a shape: `tl.broadcast_to(x, [M, N])`. */
export const broadcastTo = defineOp<
  <X, const D extends readonly unknown[]>(
    x: X,
    shape: WhyBroadcastArg<X, D> extends "" ? ShapeArg<"broadcastTo", D> : WhyBroadcastArg<X, D>,
  ) => Reshaped<X, DimsOf<D>>
>()({
  name: "broadcastTo",
  operands: { x: "value", shape: "shape" },
  method: true,
  effect: "pure",
  spelling: { form: "call", name: "tl.broadcast_to" },
  infer: ({ x, shape }) => inferBroadcastTo(x.type, shape),
  evaluate: ({ x }, { result }) => broadcastArray(tileOf(x, result.dtype), result.shape),
  facts: { nonNegative: isFirstNonNegative, needsTensor: ["x"] },
  proof: { lane: (lane, { from }) => lane.slice(lane.length - from.length), anyWidth: true },
});

/** Broadcasts two tiles to a common shape: `x, y = tl.broadcast(x, y)`. */
export const broadcast = defineOp<
  <X, Y>(x: Validate<X, WhyTile<"broadcast", X>>, y: Validate<Y, WhyTogether<X, Y>>) => Together<X, Y>
>()({
  name: "broadcast",
  operands: { x: "tile", y: "tile" },
  effect: "pure",
  spelling: { form: "call", name: "tl.broadcast" },
  infer: ({ x, y }) => inferTogether(x.type, y.type),
  evaluate: ({ x, y }, { result }) => [broadcastArray(x, result.shape), broadcastArray(y, result.shape)],
  facts: { needsTensor: ["x", "y"] },
  proof: { term: ({ x, y }) => [x, y], anyWidth: true },
});

/** The lane with the same row-major position. Undefined (unknown) if Triton may reorder elements. */
function reshapeLane(
  lane: readonly Term[],
  { args, from, to }: LaneContext<{ readonly canReorder?: Typed | undefined }>,
): readonly Term[] | undefined {
  if (args.canReorder?.literal === true) return undefined;
  const strides = (shape: readonly Term[]) => shape.map((_, axis) => product(...shape.slice(axis + 1)));
  const position = sum(...strides(to).map((stride, axis) => product(atAxis(lane, axis), stride)));
  return strides(from).map((stride, axis) => {
    const coordinate = quotient(position, stride);
    return axis === 0 ? coordinate : remainder(coordinate, atAxis(from, axis));
  });
}
