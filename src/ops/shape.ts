/** Axes: adding them, swapping them, casting what they hold. */
import { expandDims as expandArray, permute } from "../ir/array.js";
import { cast } from "../ir/array-cast.js";
import { type Expand, expandShape, whyExpand, type WhyExpand } from "../ir/axis.js";
import { whyCast, type WhyCast } from "../ir/cast.js";
import type { DType, Dt } from "../ir/dtype.js";
import type { Checked } from "../ir/problem.js";
import { type Trans, transShape, whyTrans, type WhyTrans } from "../ir/reshape.js";
import type { AsShape } from "../ir/shape.js";
import { type NotATile, notATile } from "../ir/signatures-arith.js";
import type { El, Sh, Tile, TileLike } from "../ir/tile.js";
import { tileType } from "../ir/types.js";
import { defineOp } from "./define.js";
import { isAddresses, tileOf } from "./evaluate.js";
import { permuteAddresses } from "./view-addresses.js";
import type { TileArray } from "../ir/array.js";

type WhyTo<F, D> = D extends DType<infer E> ? WhyCast<F, E> : "to: needs a dtype, such as tl.float32";
type ToOut<D, S> = D extends DType<any> ? Tile<D[Dt], AsShape<S>> : Tile<any, AsShape<S>>;

declare module "../ir/tile.js" {
  interface TileOps {
    /** `x.to(tl.float16)`: the nearest value of the dtype, ties to even; floats to integers truncate. */
    to<T extends TileLike, const D>(this: T, dtype: Checked<D, WhyTo<T[El], D>>): ToOut<D, T[Sh]>;
    /** A new axis of size 1: `x[:, None]` for axis 1 of a rank-1 tile. */
    expandDims<T extends TileLike, const Ax extends number>(
      this: T,
      axis: Checked<Ax, WhyExpand<T[Sh], Ax>>,
    ): Tile<T[El], Expand<T[Sh], Ax>>;
  }
}

/** `x.to(tl.float16)`; a constexpr becomes a run-time scalar. */
export const to = defineOp<<T extends TileLike, const D>(x: T, dtype: Checked<D, WhyTo<T[El], D>>) => ToOut<D, T[Sh]>>({
  name: "to",
  operands: { x: "value", dtype: "dtype" },
  method: true,
  effect: "pure",
  spelling: { form: "method", name: "to" },
  infer: ({ x, dtype }) => {
    if (!dtype?.dtype) return "to: needs a dtype, such as tl.float32";
    if (x!.type.kind === "constexpr") return tileType(dtype.dtype, []);
    if (x!.type.kind !== "tile") return notATile("to", x!.type);
    return whyCast(x!.type.dtype, dtype.dtype) || tileType(dtype.dtype, x!.type.shape);
  },
  evaluate: ({ x }, { results: [result] }) => cast(tileOf(x, result!.dtype), result!.dtype),
  nonNegative: ([x]) => x === true,
});

/** A new axis of size 1: `x[:, None]`. */
export const expandDims = defineOp<
  <T extends TileLike, const Ax extends number>(
    x: T,
    axis: Checked<Ax, WhyExpand<T[Sh], Ax>>,
  ) => Tile<T[El], Expand<T[Sh], Ax>>
>({
  name: "expandDims",
  operands: { x: "value", axis: "constant" },
  method: true,
  effect: "pure",
  spelling: { form: "expand" },
  infer: ({ x, axis }) => {
    const { type } = x!;
    if (type.kind !== "tile" && type.kind !== "pointer") return notATile("expandDims", type);
    const at = Number(axis!.literal);
    return whyExpand(type.shape, at) || { ...type, shape: expandShape(type.shape, at) };
  },
  evaluate: ({ x, axis }) => {
    if (!isAddresses(x)) return expandArray(x as TileArray, Number(axis));
    const at = Number(axis) < 0 ? Number(axis) + x.shape.length + 1 : Number(axis);
    return { ...x, shape: x.shape.toSpliced(at, 0, 1) };
  },
  nonNegative: ([x]) => x === true,
});

type WhyTranspose<X> = X extends TileLike ? WhyTrans<X[Sh]> : NotATile<"trans", X>;

/** The last two axes swapped: `tl.trans(x)`. */
export const trans = defineOp<
  <X>(x: Checked<X, WhyTranspose<X>>) => X extends TileLike ? Tile<X[El], AsShape<Trans<X[Sh]>>> : Tile<any, any>
>({
  name: "trans",
  operands: { x: "value" },
  effect: "pure",
  spelling: { form: "call", name: "tl.trans" },
  infer: ({ x }) => {
    const { type } = x!;
    if (type.kind !== "tile" && type.kind !== "view") return notATile("trans", type);
    return whyTrans(type.shape) || { ...type, shape: transShape(type.shape) };
  },
  evaluate: ({ x }) => {
    const order = lastTwoSwapped((x as TileArray).shape.length);
    return isAddresses(x) ? permuteAddresses(x, order) : permute(x as TileArray, order);
  },
  nonNegative: ([x]) => x === true,
});

function lastTwoSwapped(rank: number): number[] {
  return Array.from({ length: rank }, (_, axis) => (axis < rank - 2 ? axis : 2 * rank - 3 - axis));
}
