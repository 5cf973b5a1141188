/** Signatures of reductions and scans: `tl.sum(x, axis, { keepDims, dtype })`. */
import type { FOLD_ONE } from "../diagnostics/catalog/operand-codes.js";
import { wrongHelperResult, operandKind, wrongAxis, dtypeUnsupported } from "../diagnostics/catalog/rule-codes.js";
import { type SentenceOf, Message, type Fact } from "../diagnostics/message.js";
import {
  reduceShape,
  whyAxis,
  whyNoAxis,
  type Reduce,
  type WhyAxis,
  type WhyScalar,
  axisOf,
  type SetAt,
  type Axis,
  scalarWithoutAxis,
} from "../types/dims.js";
import {
  maxElement,
  mixedResults,
  sumElement,
  type MaxElement,
  type SumElement,
  type WhyReduceElement,
} from "../types/casts.js";
import { dtypeDisplayName, type DType, type Dt, type Elem, type Element } from "../types/dtype.js";
import type { FirstError, Validate, IsAny, RuleError, Same } from "../types/rule-error.js";
import {
  whyFloat32,
  whyInt,
  whyNoArithmetic,
  type WhyFloat32,
  type WhyInt,
  type WhyNoArithmetic,
} from "../types/promote.js";
import {
  sameShape,
  showShape,
  type AsShape,
  type Broadcast,
  type Dim,
  type SameShape,
  type Shape,
  type Show,
  otherShape,
  inferBroadcast,
} from "../types/shape.js";
import { type ElementIn, type Plain, type ShapeOf, type WhyTile, whyInts, type WhyInts } from "./math-rules.js";
import {
  type El,
  type Scalar,
  type Sh,
  type Tile,
  type TileLike,
  notATile,
  type NotATile,
  noTile,
} from "../types/tile.js";
import { showType, tileType, type Type, type Typed, sameTypes, literalValue } from "../types/types.js";
import { dimensionKind, dimOf, whyDim, type DimOf, type WhyDim } from "../types/constexpr.js";
import { inferArith, inferFloorDivide, type WhyFloor } from "./arithmetic-rules.js";
import type { PairOf, WhySecond } from "./elementwise-rules.js";

/** A reduction's rule of the operand's dtype, and the dtype of the result. */
interface ReduceRule {
  why(op: string, elem: Elem): RuleError | undefined;
  out(elem: Elem): Elem | undefined;
}
const identity = (elem: Elem): Elem => elem;
/** sum, cumsum: small integers widen. */
const summing: ReduceRule = { why: whyNoArithmetic, out: sumElement };
/** max, min: everything widens to 32 bits. */
const comparing: ReduceRule = { why: () => undefined, out: maxElement };
/** argmax, argmin: elements are compared without widening. */
const indexing: ReduceRule = { why: whyNoArithmetic, out: () => "int32" };
/** max, min with indices. */
const picking: ReduceRule = { why: whyNoArithmetic, out: identity };
/** xorSum, reduceOr. */
const combining: ReduceRule = { why: whyInt, out: identity };
/** `tl.reduce`: the combine function decides the dtype. */
const folding: ReduceRule = { why: () => undefined, out: identity };
/** sigmoid, softmax. */
const normalizing: ReduceRule = { why: whyFloat32, out: identity };
export const reduceRules = { summing, comparing, indexing, combining, folding, normalizing } as const;

export type WhySum<Op extends string, X, D = undefined> = X extends TileLike
  ? FirstError<
      FirstError<
        WhyNoArithmetic<Op, X[El]>,
        D extends DType<any> ? "" : WhyReduceElement<Op, X[El], SumElement<X[El]>>
      >,
      WhyScalar<Op, X[Sh]>
    >
  : NotATile<Op, X>;
export type WhyMax<Op extends string, X> = X extends TileLike
  ? FirstError<WhyReduceElement<Op, X[El], MaxElement<X[El]>>, WhyScalar<Op, X[Sh]>>
  : NotATile<Op, X>;
export type WhyCombine<Op extends string, X> = X extends TileLike
  ? FirstError<WhyInt<Op, X[El]>, WhyScalar<Op, X[Sh]>>
  : NotATile<Op, X>;
export type WhyNormalize<Op extends string, X> = X extends TileLike ? WhyFloat32<Op, X[El]> : NotATile<Op, X>;

/** The rule of the axis. Undefined means all axes. */
export type WhyReduceAxis<Op extends string, X, Ax> = X extends TileLike
  ? [Ax] extends [undefined]
    ? ""
    : WhyAxis<Op, X[Sh], Ax>
  : "";

/** The value of the axis argument: undefined if it is missing, NaN if it is not a number. */
export function axisNumber(axis: Typed | undefined): number | undefined {
  return axis && (typeof axis.literal === "number" ? axis.literal : Number.NaN);
}

/** A tile of E with the axis removed, or kept as 1. */
export type ReduceOut<X, E extends Element, Ax, Keep> = X extends TileLike
  ? Tile<E, AsShape<Reduce<X[Sh], Ax, Keep>>>
  : Tile<E, any>;
export type SumOf<X, D = undefined> = D extends DType<any> ? D[Dt] : X extends TileLike ? SumElement<X[El]> : any;
export type MaxOf<X> = X extends TileLike ? MaxElement<X[El]> : any;

/** The type of a reduction, or a message. `dtype` is the option of `sum`. */
export function inferReduce(
  rule: ReduceRule,
  op: string,
  x: Type,
  axis: number | undefined,
  keepDims = false,
  dtype?: Elem,
): Type | RuleError {
  if (x.kind !== "tile") return notATile(op, x);
  const why = rule.why(op, x.dtype);
  if (why) return why;
  const elem = dtype ?? rule.out(x.dtype);
  if (elem === undefined) return mixedResults(op, dtypeDisplayName(x.dtype));
  if (x.shape.length === 0) return whyNoAxis(op);
  const axisError = axis === undefined ? undefined : whyAxis(op, x.shape, axis);
  return axisError || tileType(elem, reduceShape(x.shape, axis, keepDims));
}
/** The rule of reductions that return the index of an extremum. */
export type WhyIndexed<Op extends string, X> = X extends TileLike
  ? FirstError<WhyNoArithmetic<Op, X[El]>, WhyScalar<Op, X[Sh]>>
  : NotATile<Op, X>;
/** The rule of max and min. With indices, the value keeps its dtype. */
export type WhyExtremum<Op extends string, X, Ret> = Ret extends true ? WhyIndexed<Op, X> : WhyMax<Op, X>;
export type ExtremumOut<X, Ax, Keep, Ret> = Ret extends true
  ? [ReduceOut<X, ElementIn<X>, Ax, Keep>, ReduceOut<X, "int32", Ax, Keep>]
  : ReduceOut<X, MaxOf<X>, Ax, Keep>;
export function inferReduceIndexed(
  op: string,
  x: Type,
  axis: number | undefined,
  keepDims: boolean,
): readonly Type[] | RuleError {
  const value = inferReduce(picking, op, x, axis, keepDims);
  if (value instanceof Message) return value;
  if (value.kind !== "tile") return notATile(op, value);
  return [value, tileType("int32", value.shape)];
}

/** The type of a scan, which keeps the shape. */
export function inferScan(rule: ReduceRule, op: string, x: Type, axis: number, dtype?: Elem): Type | RuleError {
  const reduced = inferReduce(rule, op, x, axis, false, dtype);
  return reduced instanceof Message || reduced.kind !== "tile" || x.kind !== "tile"
    ? reduced
    : tileType(reduced.dtype, x.shape);
}

// ---- with a combine function ----------------------------------------------------------------------------------------

/** The signature of a combine function: scalars of the tiles' dtypes. */
export type Lanes<X> = X extends readonly unknown[]
  ? { -readonly [K in keyof X]: Scalar<ElementIn<X[K]>> }
  : Scalar<ElementIn<X>>;
export type Combine<X> =
  IsAny<X> extends true ? (left: any, right: any) => any : (left: Lanes<X>, right: Lanes<X>) => Combined<X>;
/** The result of a combine function. For several tiles, it is a list, which may be `as const`. */
type Combined<X> = X extends readonly unknown[]
  ? { readonly [K in keyof X]: Scalar<ElementIn<X[K]>> }
  : Scalar<ElementIn<X>>;
export type ReduceAll<X, Ax, Keep> = X extends readonly unknown[]
  ? { -readonly [K in keyof X]: ReduceOut<X[K], ElementIn<X[K]>, Ax, Keep> }
  : ReduceOut<X, ElementIn<X>, Ax, Keep>;
export type ScanAll<X> = X extends readonly unknown[] ? { -readonly [K in keyof X]: Plain<X[K]> } : Plain<X>;
export type FirstOf<X> = X extends readonly [infer H, ...unknown[]] ? H : X;

/** The rule of the operands: one tile, or several of one shape. */
export type WhyTiles<Op extends string, X> = X extends readonly [infer H, ...infer R]
  ? FirstError<WhyTile<Op, H>, WhyOneShape<Op, H, R>>
  : WhyTile<Op, X>;
type WhyOneShape<Op extends string, H, R> = R extends readonly [infer B, ...infer Q]
  ? FirstError<
      WhyTile<Op, B>,
      SameShape<ShapeOf<H>, ShapeOf<B>> extends true
        ? WhyOneShape<Op, H, Q>
        : SentenceOf<typeof otherShape<Op, Show<ShapeOf<H>>, Show<ShapeOf<B>>>>
    >
  : "";
export function whyTiles(op: string, tiles: readonly Type[]): RuleError | undefined {
  const [first, ...others] = tiles;
  if (first?.kind !== "tile") return first ? notATile(op, first) : noTile(op);
  for (const tile of others) {
    if (tile.kind !== "tile") return notATile(op, tile);
    if (!sameShape(first.shape, tile.shape)) {
      return otherShape(op, showShape(first.shape), showShape(tile.shape));
    }
  }
  return undefined;
}

/** A call of `tl.sum`. Other reductions have similar signatures. */
export type SumCall = <X, const Ax = undefined, const Keep = false, D = undefined>(
  x: Validate<X, WhySum<"sum", X, D>>,
  axis?: Validate<Ax, WhyReduceAxis<"sum", X, Ax>>,
  options?: { keepDims?: Keep; dtype?: D },
) => ReduceOut<X, SumOf<X, D>, Ax, Keep>;

/** The rule of the axis of `tl.reduce` and `tl.associativeScan`: exactly one. */
export type WhyFoldAxis<Op extends string, X, Ax> = [Ax] extends [number]
  ? WhyReduceAxis<Op, X, Ax>
  : `${Op}: needs an axis; ${typeof FOLD_ONE}, tl.${Op}(x, 0, …)`;

/** The signature of a helper function. */
interface Signature {
  readonly params: readonly Type[];
  readonly results: readonly Type[];
}

/** The types of a fold with a combine function, which must return scalars with the tiles' dtypes. */
export function inferFold(
  op: string,
  tiles: readonly Type[],
  axis: number,
  combine: Signature,
  { keepDims = false, scan = false }: { readonly keepDims?: boolean; readonly scan?: boolean },
): readonly Type[] | RuleError {
  const why = whyTiles(op, tiles);
  if (why) return why;
  const scalars = tiles.map((tile) => (tile.kind === "tile" ? tileType(tile.dtype, []) : tile));
  if (!sameTypes(scalars, combine.results)) {
    const resultText = combine.results.length === 0 ? "nothing" : combine.results.map(showType).join(", ");
    return wrongHelperResult(
      `${op}: the function must give ${scalars.map(showType).join(", ")}, as it gets, but gives ${resultText}`,
      "cast with .to(…)",
    );
  }
  const types: Type[] = [];
  for (const tile of tiles) {
    const type = inferReduce(folding, op, tile, axis, keepDims);
    if (type instanceof Message) return type;
    types.push(type);
  }
  return scan ? tiles : types;
}

// ---- element by element ---------------------------------------------------------------------------------------------

type Scalars<A> = { -readonly [K in keyof A]: Scalar<ElementIn<A[K]>> };
/** The function of `tl.mapElementwise`. */
export type MapFunction<A extends readonly unknown[], R> = (...scalars: Scalars<A>) => R;
type ShapeOfAll<A, S extends Shape = []> = A extends readonly [infer H, ...infer R]
  ? ShapeOfAll<R, AsShape<Broadcast<S, AsShape<ShapeOf<H>>>>>
  : S;
/** The results of `tl.mapElementwise`: one tile per scalar that the function returns. */
export type MapOut<A, R> = R extends readonly unknown[]
  ? { -readonly [K in keyof R]: Tile<ElementIn<R[K]>, ShapeOfAll<A>> }
  : Tile<ElementIn<R>, ShapeOfAll<A>>;
export function inferMap(args: readonly Type[], { results }: Signature): readonly Type[] | RuleError {
  let shape: readonly Dim[] = [];
  for (const arg of args) {
    if (arg.kind !== "tile") return notATile("mapElementwise", arg);
    const common = inferBroadcast("mapElementwise", shape, arg.shape);
    if (common instanceof Message) return common;
    shape = common;
  }
  const invalid = results.find((type) => type.kind !== "tile" || type.shape.length > 0);
  if (invalid ?? results.length === 0)
    return wrongHelperResult(
      `mapElementwise: the function gives scalars, this is ${invalid ? showType(invalid) : "nothing"}`,
      "return its result",
    );
  return results.map((type) => (type.kind === "tile" ? tileType(type.dtype, shape) : type));
}

// Signatures of flip, sort, topk and swizzle2d.

// ---- flip, sort -----------------------------------------------------------------------------------------------------

const flippedElement = () => operandKind("flip: Triton does not take a tile of one element", "leave it as it is");

export type WhyFlip<X, Ax, One = [1]> = X extends TileLike
  ? Same<X[Sh], One> extends true
    ? SentenceOf<typeof flippedElement>
    : WhyAxis<"flip", X[Sh], Ax>
  : "";
export function inferFlip(x: Type, dim: number): Type | RuleError {
  if (x.kind !== "tile") return notATile("flip", x);
  return x.shape.length === 1 && x.shape[0] === 1 ? flippedElement() : whyAxis("flip", x.shape, dim) || x;
}

const sortedElement = <Op extends Fact>(op: Op) => wrongAxis(`${op}: the last axis has one element, which is in order`);

/** The rule of the operand of sort, topk and bitonicMerge, which work along the last axis. */
export type WhySort<Op extends string, X> = X extends TileLike
  ? X[Sh] extends readonly []
    ? SentenceOf<typeof scalarWithoutAxis<Op, "">>
    : FirstError<
        WhyNoArithmetic<Op, X[El]>,
        X[Sh] extends readonly [...any, 1] ? SentenceOf<typeof sortedElement<Op>> : ""
      >
  : NotATile<Op, X>;

const axisFromFront = <Op extends Fact>(op: Op) => wrongAxis(`${op}: count the axis from the front`);
const lastAxis = <Op extends Fact, Shape extends Fact>(op: Op, shape: Shape) =>
  wrongAxis(`${op}: sorts along the last axis only, the tile is ${shape}`, "leave the axis out");

/** The rule of the axis. Triton accepts only axes counted from the front. */
export type WhySortDim<Op extends string, X, Ax> = X extends TileLike
  ? number extends X[Sh]["length"]
    ? ""
    : Axis<X[Sh]["length"], Ax> extends Axis<X[Sh]["length"], -1>
      ? `${Ax & number}` extends `-${string}`
        ? SentenceOf<typeof axisFromFront<Op>>
        : ""
      : SentenceOf<typeof lastAxis<Op, Show<X[Sh]>>>
  : "";
export function inferSort(op: string, x: Type, dim: number | undefined): Type | RuleError {
  if (x.kind !== "tile") return notATile(op, x);
  if (x.shape.length === 0) return scalarWithoutAxis(op, "");
  const why = whyNoArithmetic(op, x.dtype);
  if (why) return why;
  if (x.shape.at(-1) === 1) return sortedElement(op);
  if (dim === undefined) return x;
  if (axisOf(x.shape.length, dim) !== x.shape.length - 1) return lastAxis(op, showShape(x.shape));
  return dim < 0 ? axisFromFront(op) : x;
}

// ---- topk -----------------------------------------------------------------------------------------------------------

/** True if k is the size of the axis. The result then keeps its dtype. */
type TakesAll<S extends Shape, K> = S extends readonly [...any, infer D] ? Same<D, DimOf<K>> : false;
type TopElement<X, K> = X extends TileLike ? (TakesAll<X[Sh], K> extends true ? X[El] : MaxElement<X[El]>) : any;
export type TopOut<X, K> = Tile<TopElement<X, K>, AsShape<SetAt<ShapeOf<X>, Axis<ShapeOf<X>["length"], -1>, DimOf<K>>>>;
export type WhyTop<X, K> = X extends TileLike
  ? FirstError<
      WhyDim<"topk", K>,
      TakesAll<X[Sh], K> extends true ? "" : WhyReduceElement<"topk", X[El], MaxElement<X[El]>>
    >
  : "";
export function inferTop(x: Type, k: Type, dim: number | undefined): Type | RuleError {
  const sorted = inferSort("topk", x, dim);
  if (sorted instanceof Message || sorted.kind !== "tile") return sorted;
  const why = whyDim("topk", k);
  if (why) return why;
  if (k.kind !== "constexpr") return dimensionKind("topk");
  const [size, axisSize] = [dimOf(k), sorted.shape.at(-1)];
  if (typeof size === "number" && typeof axisSize === "number" && size > axisSize)
    return wrongAxis(`topk: the last axis has ${axisSize} elements, not ${size}`);
  const shape: readonly Dim[] = [...sorted.shape.slice(0, -1), size];
  const isWholeAxis = size === axisSize && literalValue(k) !== 1;
  const elem = isWholeAxis ? sorted.dtype : maxElement(sorted.dtype);
  return elem === undefined ? mixedResults("topk", dtypeDisplayName(sorted.dtype)) : tileType(elem, shape);
}

// ---- swizzle2d ------------------------------------------------------------------------------------------------------

type Cell<I, J, SJ> = PairOf<PairOf<I, SJ>, J>;
/** The complete rule, reported at the last operand. The first operand is a tile or a scalar. */
export type WhySwizzle<I, J, SI, SJ, SG> = I extends TileLike
  ? FirstError<
      FirstError<WhyInts<"swizzle2d", I>, WhyInts<"swizzle2d", J>>,
      FirstError<
        FirstError<WhyInts<"swizzle2d", SI>, WhyInts<"swizzle2d", SJ>>,
        FirstError<
          FirstError<
            WhyInts<"swizzle2d", SG>,
            WhyMixes<DtypeOf<I> | DtypeOf<J> | DtypeOf<SI> | DtypeOf<SJ> | DtypeOf<SG>>
          >,
          FirstError<
            WhyOf<I, SJ>,
            FirstError<WhyOf<PairOf<I, SJ>, J>, FirstError<WhyOf<Cell<I, J, SJ>, SG>, WhyOf<Cell<I, J, SJ>, SI>>>
          >
        >
      >
    >
  : NotATile<"swizzle2d", I>;
/** The rule of the dtypes. Triton adds int32 values internally, so only int32 and int64 keep their dtype. */
type WhyMixes<X> = [Exclude<X, "int32" | "int64">] extends [never] ? "" : SentenceOf<typeof swizzleDType>;
type DtypeOf<X> = X extends TileLike ? (IsAny<X[El]> extends true ? never : X[El]) : never;

const swizzleDType = () => dtypeUnsupported("swizzle2d: works on int32 and int64", "cast with .to(tl.int32)");

type WhyOf<X, Y> = X extends TileLike
  ? FirstError<WhySecond<"swizzle2d", X, Y>, WhyFloor<"swizzle2d", X[El], X[Sh], Y>>
  : "";
type Position<I, J, SI, SJ, SG> = Plain<PairOf<PairOf<Cell<I, J, SJ>, SG>, SI>>;
export type Swizzled<I, J, SI, SJ, SG> = [Position<I, J, SI, SJ, SG>, Position<I, J, SI, SJ, SG>];
export function inferSwizzle(i: Type, j: Type, sizeI: Type, sizeJ: Type, sizeG: Type): readonly Type[] | RuleError {
  if (i.kind !== "tile") return notATile("swizzle2d", i);
  const why = [i, j, sizeI, sizeJ, sizeG]
    .map((type) => whyInts("swizzle2d", type))
    .find((error) => error !== undefined);
  if (why) return why;
  const isSupported = (type: Type) => type.kind !== "tile" || type.dtype === "int32" || type.dtype === "int64";
  if (![i, j, sizeI, sizeJ, sizeG].every(isSupported)) return swizzleDType();
  const combine = (x: Type | RuleError, y: Type) => {
    if (x instanceof Message) return x;
    const floor = inferFloorDivide("swizzle2d", x, y, () => "");
    return floor instanceof Message ? floor : inferArith("swizzle2d", x, y, () => "");
  };
  const position = combine(combine(combine(combine(i, sizeJ), j), sizeG), sizeI);
  return position instanceof Message ? position : [position, position];
}
