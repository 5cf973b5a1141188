/** Signatures of ops that create, cast, join or split tiles: arange, full, zeros, to, join, split, cat, gather, … */
import { NEEDS_VECTOR } from "../diagnostics/catalog/operand-codes.js";
import type { Fact, SentenceOf } from "../diagnostics/message.js";
import {
  operandKind,
  wrongTileSize,
  dtypeUnsupported,
  dtypeMismatch,
  wrongAxis,
  shapeMismatch,
} from "../diagnostics/catalog/rule-codes.js";
import { whyBitcast, whyCast, type WhyBitcast, type WhyCast, type NotADType, noDType } from "../types/casts.js";
import {
  boundKind,
  unevenDimension,
  dimensionKind,
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
  choices,
  type Choices,
  members,
  type Members,
  type OneOf,
  dtypeSourceText,
  type Token,
} from "../types/dtype.js";
import type { Agree, FirstError, Validate, RuleError, IsAny } from "../types/rule-error.js";
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
import {
  double,
  doubleAt,
  isPowerOfTwo,
  type DoubleAt,
  type DoubleLast,
  type DropLast,
  axisOf,
  type Axis,
  type DropAt,
  type WhyAxis,
  whyAxis,
  type WhyScalar,
} from "../types/dims.js";
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
  otherShape,
} from "../types/shape.js";
import { whyInt32, type WhyInt32 } from "./elementwise-rules.js";
import type { ElementIn, ShapeOf, WhyCond, WhyTile } from "./math-rules.js";
import { type El, type Sh, type Tile, type TileLike, noTile, notATile, type NotATile } from "../types/tile.js";
import { exactLiteral, literalValue, tileType, type Type } from "../types/types.js";

// ---- arange, full ---------------------------------------------------------------------------------------------------

/** `tl.arange(0, BLOCK)`: the signature of the op. */
export type ArangeCall = <const Lo, const Hi>(
  start: Validate<Lo, WhyBound<"arange", Lo>>,
  end: Validate<Hi, WhySpan<Lo, Hi>>,
) => Tile<"int32", [Span<Lo, Hi>]>;
export function inferArange(start: Type, end: Type): Type | RuleError {
  const why = whyBound("arange", start) || whyBound("arange", end);
  if (why) return why;
  if (start.kind !== "constexpr" || end.kind !== "constexpr") return boundKind("arange");
  const [lo, hi] = [literalValue(start), literalValue(end)];
  if (lo !== undefined && lo < 0) return operandKind(`arange: it starts at ${lo}`, "start at 0 and subtract");
  if (lo === 0) return whyDim("arange", end) || tileType("int32", [dimOf(end)]);
  if (lo !== undefined && hi !== undefined) {
    return isPowerOfTwo(hi - lo)
      ? tileType("int32", [hi - lo])
      : wrongTileSize(
          unevenDimension("arange", `${hi} - ${lo}`).problem,
          "write the next one, and mask the elements past it",
        );
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

const narrowFill = <DType extends Fact>(dtype: DType) =>
  dtypeUnsupported(
    `full: Triton fills no ${dtype} with a number but 0`,
    "write tl.full(shape, value, tl.float32).to(dtype)",
  );

/**
 * The rule of a nonzero value of an 8-bit float dtype. Triton has no such constants (measured: 3.6 and 3.9 fail to
 * compile).
 */
type WhyFilled<E> = HasAny<E, Fp8Name> extends true ? SentenceOf<typeof narrowFill<Call<E>>> : "";
const whyFilled = (elem: Elem): RuleError | undefined =>
  hasAny(elem, isFp8) ? narrowFill(dtypeDisplayName(elem)) : undefined;

const fillShape = <Shape extends Fact>(shape: Shape) => operandKind(`full: the value is a scalar, this is ${shape}`);
const fillKind = () => operandKind("full: the value is a scalar");

/** The rule of the value of `full`: a number in the dtype's range, a constexpr, or a scalar. */
export type WhyFill<V, E> = V extends number | bigint
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
        : SentenceOf<typeof fillShape<Show<V[Sh]>>>
      : V extends boolean
        ? E extends "int1"
          ? ""
          : SentenceOf<typeof fillKind>
        : SentenceOf<typeof fillKind>;
export function whyFill(value: Type, elem: Elem): RuleError | undefined {
  if (value.kind === "tile") {
    return value.shape.length === 0 ? undefined : fillShape(showShape(value.shape));
  }
  if (value.kind !== "constexpr") return fillKind();
  const number = exactLiteral(value);
  if (number !== undefined) return (number !== 0 && whyFilled(elem)) || whyLiteral("full", elem, number);
  if (value.text === "true" || value.text === "false") return elem === "int1" ? undefined : fillKind();
  if (value.of === "string") return fillKind();
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
export function inferTo(x: Type, elem: Elem, bitcast = false): Type | RuleError {
  if (x.kind === "constexpr" && (x.of === "int" || x.of === "float" || x.of === "bool")) return tileType(elem, []);
  if (x.kind === "pointer") return elem === "int64" ? tileType("int64", x.shape) : { ...x, to: elem };
  if (x.kind !== "tile") return notATile("to", x);
  return (bitcast ? whyBitcast(x.dtype, elem) : whyCast(x.dtype, elem)) || tileType(elem, x.shape);
}

// ---- join, split, cat, interleave -----------------------------------------------------------------------------------

const otherDType = <Op extends Fact, A extends Fact, B extends Fact>(op: Op, a: A, b: B) =>
  dtypeMismatch(`${op}: the tiles must have one dtype, got ${a} and ${b}`);

export type WhyJoin<Op extends string, X, Y> = X extends TileLike
  ? Y extends TileLike
    ? Agree<X[El], Y[El]> extends true
      ? WhyBroadcast<Op, X[Sh], Y[Sh]>
      : SentenceOf<typeof otherDType<Op, Call<X[El]>, Call<Y[El]>>>
    : NotATile<Op, Y>
  : "";
function whyJoin(op: string, x: Type, y: Type): RuleError | undefined {
  if (x.kind !== "tile") return notATile(op, x);
  if (y.kind !== "tile") return notATile(op, y);
  return sameElem(x.dtype, y.dtype)
    ? whyBroadcast(op, x.shape, y.shape)
    : otherDType(op, dtypeDisplayName(x.dtype), dtypeDisplayName(y.dtype));
}
export type JoinOut<X, Y> = Tile<ElementIn<X>, [...Broadcast<ShapeOf<X>, ShapeOf<Y>>, 2]>;
export function inferJoin(x: Type, y: Type): Type | RuleError {
  const why = whyJoin("join", x, y);
  if (why) return why;
  if (x.kind !== "tile" || y.kind !== "tile") return noTile("join");
  return tileType(x.dtype, [...(broadcast(x.shape, y.shape) ?? []), 2]);
}
export type InterleaveOut<X, Y> = Tile<ElementIn<X>, DoubleLast<Broadcast<ShapeOf<X>, ShapeOf<Y>>>>;
export function inferInterleave(x: Type, y: Type): Type | RuleError {
  const why = whyJoin("interleave", x, y);
  if (why) return why;
  if (x.kind !== "tile" || y.kind !== "tile") return noTile("interleave");
  const shape = broadcast(x.shape, y.shape) ?? [];
  if (shape.length === 0) return tileType(x.dtype, [2]);
  return tileType(x.dtype, [...shape.slice(0, -1), double(shape.at(-1) ?? 1)]);
}

const splitShape = <Shape extends Fact>(shape: Shape) =>
  wrongAxis(`split: the last dimension must be 2, the tile is ${shape}`);

export type WhySplit<X> = X extends TileLike
  ? X[Sh] extends readonly [...any, 2]
    ? ""
    : number extends X[Sh]["length"]
      ? ""
      : SentenceOf<typeof splitShape<Show<X[Sh]>>>
  : NotATile<"split", X>;
export type SplitOut<X> = [Tile<ElementIn<X>, DropLast<ShapeOf<X>>>, Tile<ElementIn<X>, DropLast<ShapeOf<X>>>];
export function inferSplit(x: Type): readonly Type[] | RuleError {
  if (x.kind !== "tile") return notATile("split", x);
  if (x.shape.at(-1) !== 2) return splitShape(showShape(x.shape));
  const half = tileType(x.dtype, x.shape.slice(0, -1));
  return [half, half];
}

export type WhyCat<X, Y> = FirstError<
  WhyTile<"cat", Y>,
  SameShape<ShapeOf<X>, ShapeOf<Y>> extends true
    ? FirstError<WhyJoin<"cat", X, Y>, WhyScalar<"cat", ShapeOf<X>>>
    : SentenceOf<typeof otherShape<"cat", Show<ShapeOf<X>>, Show<ShapeOf<Y>>>>
>;
export type CatOut<X, Ax> = Tile<ElementIn<X>, DoubleAt<ShapeOf<X>, Axis<ShapeOf<X>["length"], Ax>>>;
export function inferCat(x: Type, y: Type, axis: number): Type | RuleError {
  if (x.kind !== "tile") return notATile("cat", x);
  if (y.kind !== "tile") return notATile("cat", y);
  if (!sameShape(x.shape, y.shape)) {
    return otherShape("cat", showShape(x.shape), showShape(y.shape));
  }
  return whyJoin("cat", x, y) || whyAxis("cat", x.shape, axis) || tileType(x.dtype, doubleAt(x.shape, axis));
}

// ---- gather, histogram ----------------------------------------------------------------------------------------------

export type WhyGatherIndex<X, I, Ax> = X extends TileLike
  ? I extends TileLike
    ? FirstError<WhyInt<"gather", I[El]>, WhyGatherShape<X[Sh], I[Sh], Ax>>
    : NotATile<"gather", I>
  : "";

const gatherShapes = <Shape extends Fact, Index extends Fact, Axis extends Fact>(
  shape: Shape,
  index: Index,
  axis: Axis,
) => shapeMismatch(`gather: ${shape} and the index ${index} may differ on axis ${axis} only`);
const gatherRanks = <Shape extends Fact, Index extends Fact>(shape: Shape, index: Index) =>
  shapeMismatch(`gather: ${shape} and the index ${index} differ in rank`);

type WhyGatherShape<S extends Shape, I extends Shape, Ax> = I["length"] extends S["length"]
  ? SameShape<DropAt<S, Axis<S["length"], Ax>>, DropAt<I, Axis<S["length"], Ax>>> extends true
    ? ""
    : SentenceOf<typeof gatherShapes<Show<S>, Show<I>, Ax & number>>
  : SentenceOf<typeof gatherRanks<Show<S>, Show<I>>>;
export type GatherOut<X, I> = Tile<ElementIn<X>, ShapeOf<I>>;
export type WhyGatherAxis<X, Ax> = X extends TileLike ? WhyAxis<"gather", X[Sh], Ax> : "";
export function inferGather(x: Type, index: Type, axis: number): Type | RuleError {
  if (x.kind !== "tile") return notATile("gather", x);
  if (index.kind !== "tile") return notATile("gather", index);
  const why = whyInt("gather", index.dtype);
  if (why) return why;
  const shapes = [showShape(x.shape), showShape(index.shape)] as const;
  if (x.shape.length !== index.shape.length) return gatherRanks(...shapes);
  const axisError = whyAxis("gather", x.shape, axis);
  if (axisError) return axisError;
  const axisIndex = axisOf(x.shape.length, axis);
  const withoutAxis = (shape: readonly Dim[]) => shape.filter((_, i) => i !== axisIndex);
  return sameShape(withoutAxis(x.shape), withoutAxis(index.shape))
    ? tileType(x.dtype, index.shape)
    : gatherShapes(...shapes, axis);
}

const histogramRank = <Shape extends Fact>(shape: Shape) => wrongAxis(`histogram: ${NEEDS_VECTOR} ${shape}`);

/** The rule of the operand of histogram: 32-bit integers of rank 1. */
export type WhyHistogram<X> = X extends TileLike
  ? FirstError<
      WhyInt32<"histogram", X[El]>,
      X[Sh] extends readonly [any] ? "" : SentenceOf<typeof histogramRank<Show<X[Sh]>>>
    >
  : NotATile<"histogram", X>;

const histogramMask = <Mask extends Fact, Shape extends Fact>(mask: Mask, shape: Shape) =>
  shapeMismatch(`histogram: the mask is ${mask}, the tile ${shape}`);

/** The rule of the mask of histogram: a scalar, or one lane per element. */
export type WhyHistogramMask<X, M> = M extends TileLike
  ? FirstError<
      WhyCond<"histogram", M>,
      X extends TileLike
        ? M[Sh] extends readonly []
          ? ""
          : SameShape<M[Sh], X[Sh]> extends true
            ? ""
            : SentenceOf<typeof histogramMask<Show<M[Sh]>, Show<X[Sh]>>>
        : ""
    >
  : WhyCond<"histogram", M>;
export type HistogramOut<Bins> = Tile<"int32", [DimOf<Bins>]>;
export function inferHistogram(x: Type, bins: Type, mask?: Type): Type | RuleError {
  if (x.kind !== "tile") return notATile("histogram", x);
  if (mask?.kind === "tile" && mask.shape.length > 0 && !sameShape(mask.shape, x.shape))
    return histogramMask(showShape(mask.shape), showShape(x.shape));
  const why = whyInt32("histogram", x.dtype);
  if (why) return why;
  if (x.shape.length !== 1) return histogramRank(showShape(x.shape));
  const binsError = whyDim("histogram", bins);
  if (binsError) return binsError;
  return bins.kind === "constexpr" ? tileType("int32", [dimOf(bins)]) : dimensionKind("histogram");
}

// The rule of `x.as(dtype)`, which narrows the dtype of a tile.

export type WhyAs<X, D extends DType<any>> = X extends TileLike ? WhyNarrow<X[El], D[Dt]> : NotATile<"as", X>;

const narrowToMember = <DType extends Fact, Members extends Fact, Variable extends Fact, Cast extends Fact>(
  dtype: DType,
  members: Members,
  variable: Variable,
  cast: Cast,
) => dtypeMismatch(`as: ${dtype} is none of ${members}, which ${variable} may be`, `cast with .to(${cast})`);
const narrowDType = <From extends Fact, To extends Fact, DType extends Fact>(from: From, to: To, dtype: DType) =>
  dtypeMismatch(
    `as: this is ${from}, not ${to}`,
    `cast with .to(${dtype}), or write it in an arm of tl.when(T.is(${dtype}), …)`,
  );

type WhyNarrow<E, F> =
  IsAny<E> extends true
    ? ""
    : [Exclude<Members<F>, Members<E>>] extends [never]
      ? ""
      : E extends OneOf<infer Name, infer M>
        ? SentenceOf<typeof narrowToMember<Call<F>, Choices<M>, Name, Token<F>>>
        : SentenceOf<typeof narrowDType<Call<E>, Call<F>, Token<F>>>;

/** The narrowed type, or a message. If dtype variables are bound, the concrete dtype must be one of the members. */
export function inferAs(x: Type, dtype: Elem | undefined): Type | RuleError {
  if (x.kind !== "tile") return notATile("as", x);
  if (dtype === undefined) return noDType("as", "tl.int8");
  const from = members(x.dtype);
  if (members(dtype).every((name) => from.includes(name))) return tileType(dtype, x.shape);
  return typeof x.dtype === "string"
    ? narrowDType(x.dtype, dtypeDisplayName(dtype), dtypeSourceText(dtype))
    : narrowToMember(dtypeDisplayName(dtype), choices(from), x.dtype.name, dtypeSourceText(dtype));
}
