/** Signatures of ops that create, cast, join or split tiles: arange, full, zeros, to, join, split, cat, gather, … */
import { MAX_NUMEL } from "../types/limits.js";
import { axisOf, type Axis, type DropAt, type WhyAxis, whyAxis, type WhyScalar } from "../types/axis.js";
import { whyBitcast, whyCast, type WhyBitcast, type WhyCast } from "../types/casts.js";
import {
  dimOf,
  whyBound,
  whyDim,
  type ConstLike,
  type DimOf,
  type DimsOf,
  type ShapeArg,
  type Span,
  type WhyBound,
  type WhySpan,
} from "../types/constexpr.js";
import { subText } from "../types/constexpr-text.js";
import {
  dtypeDisplayName,
  isFp8,
  sameElem,
  type Call,
  type DType,
  type Dt,
  type Elem,
  type Fp8Name,
} from "../types/dtype.js";
import type { NotADType } from "../types/dtype-text.js";
import type { Agree, FirstError, Validate } from "../types/rule-error.js";
import {
  hasAny,
  whyInt,
  whyLiteral,
  whyWeak,
  type HasAny,
  type WhyInt,
  type WhyLiteral,
  type WhyWeak,
} from "../types/promote.js";
import { double, doubleAt, isPowerOfTwo, type DoubleAt, type DoubleLast, type DropLast } from "../types/dims.js";
import {
  broadcast,
  sameShape,
  showShape,
  whyBroadcast,
  type Broadcast,
  type Dim,
  type SameShape,
  type Shape,
  type Show,
  type WhyBroadcast,
} from "../types/shape.js";
import { notATile, type NotATile } from "../types/operand.js";
import { whyInt32, type WhyInt32 } from "./elementwise-rules.js";
import type { ElementIn, ShapeOf, WhyCond, WhyTile } from "./math-rules.js";
import type { El, Sh, Tile, TileLike } from "../types/tile.js";
import { literalValue, tileType, type Type } from "../types/types.js";

// ---- arange, full ---------------------------------------------------------------------------------------------------

/** `tl.arange(0, BLOCK)`: the signature of the op. */
export type ArangeCall = <const Lo, const Hi>(
  start: Validate<Lo, WhyBound<"arange", Lo>>,
  end: Validate<Hi, WhySpan<Lo, Hi>>,
) => Tile<"int32", [Span<Lo, Hi>]>;
export function inferArange(start: Type, end: Type): Type | string {
  const why = whyBound("arange", start) || whyBound("arange", end);
  if (why || start.kind !== "constexpr" || end.kind !== "constexpr") return why;
  const [lo, hi] = [literalValue(start), literalValue(end)];
  if (lo !== undefined && lo < 0) return `arange: it starts at ${lo}; start at 0 and subtract`;
  if (lo === 0) return whyDim("arange", end) || tileType("int32", [dimOf(end)]);
  if (lo !== undefined && hi !== undefined) {
    return isPowerOfTwo(hi - lo)
      ? tileType("int32", [hi - lo])
      : `arange: ${hi} - ${lo} is not a power of two up to ${MAX_NUMEL}; write the next one, and mask what is past it`;
  }
  const text = subText(end.text, start.text);
  return tileType("int32", [/^\d+$/.test(text) ? Number(text) : text]);
}

/** The rule of the dtype of `zeros` and `full`. It is a positional argument, not an option as in Python. */
export type WhyDType<Op extends string, Call extends string, D> =
  D extends DType<any>
    ? ""
    : [keyof D] extends ["dtype"]
      ? `${Op}: the dtype goes by position, tl.${Op}(${Call})`
      : NotADType<Op, D>;
export type FillElement<D> = D extends DType<any> ? D[Dt] : any;

/**
 * The rule of a nonzero value of an 8-bit float dtype. Triton has no such constants (measured: 3.6 and 3.9 fail to
 * compile).
 */
type WhyFilled<E> =
  HasAny<E, Fp8Name> extends true
    ? `full: Triton fills no ${Call<E>} with a number but 0; write tl.full(shape, value, tl.float32).to(dtype)`
    : "";
const whyFilled = (elem: Elem): string =>
  hasAny(elem, isFp8)
    ? `full: Triton fills no ${dtypeDisplayName(elem)} with a number but 0; write tl.full(shape, value, tl.float32).to(dtype)`
    : "";

/** The rule of the value of `full`: a number in the dtype's range, a constexpr, or a scalar. */
export type WhyFill<V, E> = V extends number
  ? V extends 0
    ? WhyLiteral<"full", E, V>
    : FirstError<WhyFilled<E>, WhyLiteral<"full", E, V>>
  : V extends ConstLike<any, "int" | "float" | "bool">
    ? V extends ConstLike<any, infer K>
      ? FirstError<WhyFilled<E>, WhyWeak<"full", E, K>>
      : ""
    : V extends TileLike
      ? V[Sh] extends readonly []
        ? ""
        : `full: the value is a scalar, this is ${Show<V[Sh]>}`
      : V extends boolean
        ? E extends "int1"
          ? ""
          : "full: the value is a scalar"
        : "full: the value is a scalar";
export function whyFill(value: Type, elem: Elem): string {
  if (value.kind === "tile") {
    return value.shape.length === 0 ? "" : `full: the value is a scalar, this is ${showShape(value.shape)}`;
  }
  if (value.kind !== "constexpr") return "full: the value is a scalar";
  const number = literalValue(value);
  if (number !== undefined) return (number !== 0 && whyFilled(elem)) || whyLiteral("full", elem, number);
  if (value.text === "true" || value.text === "false") return elem === "int1" ? "" : "full: the value is a scalar";
  if (value.of === "string") return "full: the value is a scalar";
  return whyFilled(elem) || whyWeak("full", elem, value.of);
}
export type { DimsOf, ShapeArg };

// ---- to -------------------------------------------------------------------------------------------------------------

/**
 * The rule of a cast. `E` is the tile's dtype instead of the tile. Narrowed by a conditional type, `T[El]` would have the
 * constraint `any`. The checker would then evaluate the first test of `WhyCast` at the declaration of this alias.
 */
export type WhyTo<E, D, Bitcast = false> =
  D extends DType<infer F> ? (Bitcast extends true ? WhyBitcast<E, F> : WhyCast<E, F>) : NotADType<"to", D>;
export type ToOut<T, D> = T extends TileLike
  ? D extends DType<any>
    ? Tile<D[Dt], T[Sh]>
    : Tile<any, T[Sh]>
  : Tile<any, any>;
/** A constexpr becomes a run-time scalar. */
export function inferTo(x: Type, elem: Elem, bitcast = false): Type | string {
  if (x.kind === "constexpr" && (x.of === "int" || x.of === "float" || x.of === "bool")) return tileType(elem, []);
  if (x.kind === "pointer") return elem === "int64" ? tileType("int64", x.shape) : { ...x, to: elem };
  if (x.kind !== "tile") return notATile("to", x);
  return (bitcast ? whyBitcast(x.dtype, elem) : whyCast(x.dtype, elem)) || tileType(elem, x.shape);
}

// ---- join, split, cat, interleave -----------------------------------------------------------------------------------

export type WhyJoin<Op extends string, X, Y> = X extends TileLike
  ? Y extends TileLike
    ? Agree<X[El], Y[El]> extends true
      ? WhyBroadcast<Op, X[Sh], Y[Sh]>
      : `${Op}: the tiles must have one dtype, got ${Call<X[El]>} and ${Call<Y[El]>}`
    : NotATile<Op, Y>
  : "";
function whyJoin(op: string, x: Type, y: Type): string {
  if (x.kind !== "tile") return notATile(op, x);
  if (y.kind !== "tile") return notATile(op, y);
  return sameElem(x.dtype, y.dtype)
    ? whyBroadcast(op, x.shape, y.shape)
    : `${op}: the tiles must have one dtype, got ${dtypeDisplayName(x.dtype)} and ${dtypeDisplayName(y.dtype)}`;
}
export type JoinOut<X, Y> = Tile<ElementIn<X>, [...Broadcast<ShapeOf<X>, ShapeOf<Y>>, 2]>;
export function inferJoin(x: Type, y: Type): Type | string {
  const why = whyJoin("join", x, y);
  if (why || x.kind !== "tile" || y.kind !== "tile") return why;
  return tileType(x.dtype, [...(broadcast(x.shape, y.shape) ?? []), 2]);
}
export type InterleaveOut<X, Y> = Tile<ElementIn<X>, DoubleLast<Broadcast<ShapeOf<X>, ShapeOf<Y>>>>;
export function inferInterleave(x: Type, y: Type): Type | string {
  const why = whyJoin("interleave", x, y);
  if (why || x.kind !== "tile" || y.kind !== "tile") return why;
  const shape = broadcast(x.shape, y.shape) ?? [];
  if (shape.length === 0) return tileType(x.dtype, [2]);
  return tileType(x.dtype, [...shape.slice(0, -1), double(shape.at(-1) ?? 1)]);
}

export type WhySplit<X> = X extends TileLike
  ? X[Sh] extends readonly [...any, 2]
    ? ""
    : number extends X[Sh]["length"]
      ? ""
      : `split: the last dimension must be 2, the tile is ${Show<X[Sh]>}`
  : NotATile<"split", X>;
export type SplitOut<X> = [Tile<ElementIn<X>, DropLast<ShapeOf<X>>>, Tile<ElementIn<X>, DropLast<ShapeOf<X>>>];
export function inferSplit(x: Type): readonly Type[] | string {
  if (x.kind !== "tile") return notATile("split", x);
  if (x.shape.at(-1) !== 2) return `split: the last dimension must be 2, the tile is ${showShape(x.shape)}`;
  const half = tileType(x.dtype, x.shape.slice(0, -1));
  return [half, half];
}

export type WhyCat<X, Y> = FirstError<
  WhyTile<"cat", Y>,
  SameShape<ShapeOf<X>, ShapeOf<Y>> extends true
    ? FirstError<WhyJoin<"cat", X, Y>, WhyScalar<"cat", ShapeOf<X>>>
    : `cat: the tiles must have one shape, got ${Show<ShapeOf<X>>} and ${Show<ShapeOf<Y>>}`
>;
export type CatOut<X, Ax> = Tile<ElementIn<X>, DoubleAt<ShapeOf<X>, Axis<ShapeOf<X>["length"], Ax>>>;
export function inferCat(x: Type, y: Type, axis: number): Type | string {
  if (x.kind !== "tile") return notATile("cat", x);
  if (y.kind !== "tile") return notATile("cat", y);
  if (!sameShape(x.shape, y.shape)) {
    return `cat: the tiles must have one shape, got ${showShape(x.shape)} and ${showShape(y.shape)}`;
  }
  return whyJoin("cat", x, y) || whyAxis("cat", x.shape, axis) || tileType(x.dtype, doubleAt(x.shape, axis));
}

// ---- gather, histogram ----------------------------------------------------------------------------------------------

export type WhyGatherIndex<X, I, Ax> = X extends TileLike
  ? I extends TileLike
    ? FirstError<WhyInt<"gather", I[El]>, WhyGatherShape<X[Sh], I[Sh], Ax>>
    : NotATile<"gather", I>
  : "";
type WhyGatherShape<S extends Shape, I extends Shape, Ax> = I["length"] extends S["length"]
  ? SameShape<DropAt<S, Axis<S["length"], Ax>>, DropAt<I, Axis<S["length"], Ax>>> extends true
    ? ""
    : `gather: ${Show<S>} and the index ${Show<I>} may differ on axis ${Ax & number} only`
  : `gather: ${Show<S>} and the index ${Show<I>} differ in rank`;
export type GatherOut<X, I> = Tile<ElementIn<X>, ShapeOf<I>>;
export type WhyGatherAxis<X, Ax> = X extends TileLike ? WhyAxis<"gather", X[Sh], Ax> : "";
export function inferGather(x: Type, index: Type, axis: number): Type | string {
  if (x.kind !== "tile") return notATile("gather", x);
  if (index.kind !== "tile") return notATile("gather", index);
  const why = whyInt("gather", index.dtype);
  if (why) return why;
  const shapes = `${showShape(x.shape)} and the index ${showShape(index.shape)}`;
  if (x.shape.length !== index.shape.length) return `gather: ${shapes} differ in rank`;
  const axisError = whyAxis("gather", x.shape, axis);
  if (axisError) return axisError;
  const axisIndex = axisOf(x.shape.length, axis);
  const withoutAxis = (shape: readonly Dim[]) => shape.filter((_, i) => i !== axisIndex);
  return sameShape(withoutAxis(x.shape), withoutAxis(index.shape))
    ? tileType(x.dtype, index.shape)
    : `gather: ${shapes} may differ on axis ${axis} only`;
}

/** The rule of the operand of histogram: 32-bit integers of rank 1. */
export type WhyHistogram<X> = X extends TileLike
  ? FirstError<
      WhyInt32<"histogram", X[El]>,
      X[Sh] extends readonly [any] ? "" : `histogram: needs a tile of rank 1, this is ${Show<X[Sh]>}`
    >
  : NotATile<"histogram", X>;
/** The rule of the mask of histogram: a scalar, or one lane per element. */
export type WhyHistogramMask<X, M> = M extends TileLike
  ? FirstError<
      WhyCond<"histogram", M>,
      X extends TileLike
        ? M[Sh] extends readonly []
          ? ""
          : SameShape<M[Sh], X[Sh]> extends true
            ? ""
            : `histogram: the mask is ${Show<M[Sh]>}, the tile ${Show<X[Sh]>}`
        : ""
    >
  : WhyCond<"histogram", M>;
export type HistogramOut<Bins> = Tile<"int32", [DimOf<Bins>]>;
export function inferHistogram(x: Type, bins: Type, mask?: Type): Type | string {
  if (x.kind !== "tile") return notATile("histogram", x);
  if (mask?.kind === "tile" && mask.shape.length > 0 && !sameShape(mask.shape, x.shape))
    return `histogram: the mask is ${showShape(mask.shape)}, the tile ${showShape(x.shape)}`;
  const why = whyInt32("histogram", x.dtype);
  if (why) return why;
  if (x.shape.length !== 1) return `histogram: needs a tile of rank 1, this is ${showShape(x.shape)}`;
  return whyDim("histogram", bins) || (bins.kind === "constexpr" ? tileType("int32", [dimOf(bins)]) : "");
}
