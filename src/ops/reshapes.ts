/** Reshaping and broadcasting. */
import { product, quotient, remainder, sum, type Term } from "../symbolic/term.js";
import { atAxis } from "../types/axis.js";
import { broadcastTo as broadcastArray } from "../numerics/array.js";
import type { DimsOf, ShapeArg } from "../types/constexpr.js";
import type { Validate } from "../types/rule-error.js";
import type { WhyTile } from "../rules/math-rules.js";
import {
  inferBroadcastTo,
  inferRavel,
  inferReshape,
  inferTogether,
  type RavelOut,
  type Reshaped,
  type Together,
  type WhyBroadcastArg,
  type WhyRavel,
  type WhyReshaped,
  type WhyTogether,
} from "../rules/shape-rules.js";
import type { TileLike } from "../types/tile.js";
import type { LaneContext } from "../ir/op.js";
import type { Typed } from "../types/types.js";
import { defineOp } from "./define.js";
import { isFirstNonNegative, tileOf, toResult } from "../values/operands.js";

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
