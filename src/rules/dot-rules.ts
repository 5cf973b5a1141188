/** Signature of `tl.dot(a, b, acc?, options)`. */
import { atAxis } from "../types/dims.js";
import type { Fact, SentenceOf } from "../diagnostics/message.js";
import { dotOperands } from "../diagnostics/catalog/rule-codes.js";
import type { ConstLike, ConstString } from "../types/constexpr.js";
import type { MinimumDim } from "../types/limits.js";
import {
  dtypeDisplayName,
  dtypeTable,
  isFp8,
  members,
  sameElem,
  dtypeSourceText,
  type Call,
  type DType,
  type Elem,
  type Element,
  type Fp8Name,
  type Members,
  type Token,
  type DTypeName,
} from "../types/dtype.js";
import type { Agree, FirstError, Validate, IsAny, IsUnion, Same, RuleError } from "../types/rule-error.js";
import {
  sameShape,
  showShape,
  type AsShape,
  type Dim,
  type SameShape,
  type Shape,
  type Show,
  sameDim,
} from "../types/shape.js";
import type { ElementIn, ShapeOf } from "./math-rules.js";
import { type El, type Sh, type Tile, type TileLike, noTile, notATile, type NotATile } from "../types/tile.js";
import { tileType, type Type } from "../types/types.js";

export const accumulatorShape = <Op extends Fact, Product extends Fact, Accumulator extends Fact>(
  op: Op,
  product: Product,
  accumulator: Accumulator,
) => dotOperands(`${op}: the product is ${product}, the accumulator ${accumulator}`);
const dotDTypes = ["int8", "float16", "bfloat16", "float32", "float64"] as const;

type DotDType = (typeof dotDTypes)[number] | Fp8Name;

const dotDType = <DType extends Fact>(dtype: DType) =>
  dotOperands(`dot: ${dtype} is not supported`, "int8, float16, bfloat16, float32, float64 and the 8-bit floats are");
export const NEEDS_RANK = "needs tiles of rank 2 or 3, this is";
const dotRank = <Shape extends Fact>(shape: Shape) =>
  dotOperands(`dot: ${NEEDS_RANK} ${shape}`, "of two vectors, tl.sum(a.mul(b))");

/** The rule of the first operand: its dtype and rank. */
export type WhyDotFirst<A> = A extends TileLike
  ? FirstError<
      IsAny<A[El]> extends true
        ? ""
        : [Exclude<Members<A[El]>, DotDType>] extends [never]
          ? ""
          : SentenceOf<typeof dotDType<Call<A[El]>>>,
      A[Sh] extends readonly [any, any] | readonly [any, any, any]
        ? ""
        : number extends A[Sh]["length"]
          ? ""
          : SentenceOf<typeof dotRank<Show<A[Sh]>>>
    >
  : NotATile<"dot", A>;
function whyDotFirst(a: Type): RuleError | undefined {
  if (a.kind !== "tile") return notATile("dot", a);
  if (!members(a.dtype).every((name) => isFp8(name) || (dotDTypes as readonly string[]).includes(name))) {
    return dotDType(dtypeDisplayName(a.dtype));
  }
  const hasSupportedRank = a.shape.length === 2 || a.shape.length === 3;
  return hasSupportedRank ? undefined : dotRank(showShape(a.shape));
}

const dotOperandDTypes = <A extends Fact, B extends Fact, Cast extends Fact>(a: A, b: B, cast: Cast) =>
  dotOperands(`dot: the operands must have one dtype, got ${a} and ${b}`, `cast with .to(${cast})`);

type WhyDotTypes<E, F> =
  Agree<E, F> extends true
    ? ""
    : [E, F] extends [Fp8Name, Fp8Name]
      ? ""
      : SentenceOf<typeof dotOperandDTypes<Call<E>, Call<F>, Token<E>>>;
function whyDotTypes(a: Elem, b: Elem): RuleError | undefined {
  if (sameElem(a, b) || (typeof a === "string" && typeof b === "string" && isFp8(a) && isFp8(b))) return undefined;
  return dotOperandDTypes(dtypeDisplayName(a), dtypeDisplayName(b), dtypeSourceText(a));
}

const dotRanks = <A extends Fact, B extends Fact>(a: A, b: B) =>
  dotOperands(`dot: ranks differ, ${a} x ${b}`, "add a batch dimension with expandDims");

type WhyInner<A extends Shape, B extends Shape> = number extends A["length"] | B["length"]
  ? ""
  : Same<A["length"], B["length"]> extends true
    ? WhyInnerOfOneRank<A, B>
    : SentenceOf<typeof dotRanks<Show<A>, Show<B>>>;

const dotBatches = <A extends Fact, B extends Fact>(a: A, b: B) =>
  dotOperands(`dot: batch dimensions differ, ${a} x ${b}`);
const dotInner = <A extends Fact, B extends Fact, Remedy extends string>(a: A, b: B, remedy: Remedy) =>
  dotOperands(`dot: inner dimensions differ, ${a} x ${b}`, remedy);

type WhyInnerOfOneRank<A extends Shape, B extends Shape> = [A, B] extends [
  readonly [...infer P, any, infer K],
  readonly [...infer Q, infer L, any],
]
  ? SameShape<[K], [L]> extends true
    ? SameShape<P, Q> extends true
      ? ""
      : SentenceOf<typeof dotBatches<Show<A>, Show<B>>>
    : SentenceOf<typeof dotInner<Show<A>, Show<B>, Swap<K, B>>>
  : "";
const SWAP = "transpose the second, tl.trans";
type Swap<K, B> = B extends readonly [...any, any, infer N] ? (Same<K, N> extends true ? typeof SWAP : "") : "";
function whyInner(a: readonly Dim[], b: readonly Dim[]): RuleError | undefined {
  const shapes = [showShape(a), showShape(b)] as const;
  if (a.length !== b.length) return dotRanks(...shapes);
  if (!sameDim(a.at(-1), b.at(-2))) return dotInner(...shapes, a.at(-1) === b.at(-1) ? SWAP : "");
  return sameShape(a.slice(0, -2), b.slice(0, -2)) ? undefined : dotBatches(...shapes);
}

/** The rule of the second operand, checked against the first. */
export type WhyDotSecond<A, B> = A extends TileLike
  ? B extends TileLike
    ? FirstError<FirstError<WhyDotTypes<A[El], B[El]>, WhyInner<A[Sh], B[Sh]>>, WhyMixed<A[El]>>
    : NotATile<"dot", B>
  : "";

const dotMembers = <DType extends Fact>(dtype: DType) =>
  dotOperands(`dot: the members of ${dtype} add up in different dtypes`, "cast with .to(tl.float16)");

/** The members of a dtype variable must accumulate in one dtype. */
type WhyMixed<E extends Element> = IsUnion<DotAcc<E>> extends true ? SentenceOf<typeof dotMembers<Call<E>>> : "";

type DotElement<M> = M extends "int8" ? "int32" : M extends "float64" ? "float64" : "float32";
/** The default accumulator dtype of products of E. */
export type DotAcc<E> = IsAny<E> extends true ? any : DotElement<Members<E>>;
/** The element type of the option `outDtype`. Undefined without it. */
type OutDTypeOf<O> = O extends { readonly outDtype: DType<infer D> } ? D : undefined;
type AccumulatorElement<E, D> = D extends undefined ? DotAcc<E> : D;
/** The dtypes whose products may also accumulate in float16. */
type Halves = "float16" | Fp8Name;

const outDTypeOf = <DType extends Fact, Supported extends Fact, Asked extends Fact>(
  dtype: DType,
  supported: Supported,
  asked: Asked,
) => dotOperands(`dot: outDtype of ${dtype} is ${supported}, not ${asked}`);

type WhyAsked<E, D> = D extends undefined
  ? ""
  : Agree<D, DotAcc<E>> extends true
    ? ""
    : [Exclude<Members<E>, Halves>] extends [never]
      ? D extends "float16"
        ? ""
        : SentenceOf<typeof outDTypeOf<Call<E>, "float32 or float16", Call<D>>>
      : SentenceOf<typeof outDTypeOf<Call<E>, Call<DotAcc<E>>, Call<D>>>;
function whyAsked(elem: Elem, acc: Elem, outDType: Elem): RuleError | undefined {
  if (sameElem(acc, outDType)) return undefined;
  const isHalf = canAccumulateInHalf(elem);
  if (isHalf && outDType === "float16") return undefined;
  return outDTypeOf(
    dtypeDisplayName(elem),
    isHalf ? "float32 or float16" : dtypeDisplayName(acc),
    dtypeDisplayName(outDType),
  );
}
const canAccumulateInHalf = (elem: Elem): boolean => members(elem).every((name) => name === "float16" || isFp8(name));

/** The accumulators other than float32. */
const ACCUMULATORS: Partial<Record<DTypeName, Elem>> = { int8: "int32", float64: "float64" };
/** The default accumulator dtype. Undefined if it differs between the members of a variable. */
export function dotAcc(elem: Elem): Elem | undefined {
  const results = new Set(members(elem).map((name): Elem => ACCUMULATORS[name] ?? "float32"));
  const [result] = results;
  return results.size === 1 ? result : undefined;
}

type DotDims<A extends Shape, B extends Shape> = number extends A["length"] | B["length"]
  ? any
  : [A, B] extends [readonly [...infer P, infer M, any], readonly [...any, any, infer N]]
    ? [...P, M, N]
    : any;
export type DotShape<A extends Shape, B extends Shape> = AsShape<DotDims<A, B>>;

const otherAccumulator = <Product extends Fact, Accumulator extends Fact, Cast extends Fact, Alternative extends Fact>(
  product: Product,
  accumulator: Accumulator,
  cast: Cast,
  alternative: Alternative,
) =>
  dotOperands(
    `dot: accumulates in ${product}, the accumulator is ${accumulator}`,
    `cast it with .to(${cast})${alternative}`,
  );

type WhyAcc<E, S extends Shape, C, Half = ""> = C extends TileLike
  ? Agree<E, C[El]> extends true
    ? SameShape<S, C[Sh]> extends true
      ? ""
      : SentenceOf<typeof accumulatorShape<"dot", Show<S>, Show<C[Sh]>>>
    : SentenceOf<typeof otherAccumulator<Call<E>, Call<C[El]>, Token<E>, OutDTypeHint<C[El], Half>>>
  : "";
/** The alternative remedy for a float16 accumulator. */
const OUT_DTYPE = ", or give { outDtype: tl.float16 }";
type OutDTypeHint<F, Half> = F extends "float16" ? (Half extends true ? typeof OUT_DTYPE : "") : "";
type IsHalf<E> = [Exclude<Members<E>, Halves>] extends [never] ? true : false;
/** The rule of the accumulator, given the options. If `outDtype` is invalid, only that is reported. */
export type WhyDotAcc<A, B, C, O = undefined> = C extends TileLike
  ? WhyAsked<ElementIn<A>, OutDTypeOf<O>> extends ""
    ? WhyAcc<AccumulatorElement<ElementIn<A>, OutDTypeOf<O>>, DotShape<ShapeOf<A>, ShapeOf<B>>, C, IsHalf<ElementIn<A>>>
    : ""
  : C extends undefined
    ? ""
    : NotATile<"dot", C> extends SentenceOf<typeof noTile<"dot">>
      ? WhyNoAcc<C>
      : NotATile<"dot", C>;
type WhyNoAcc<C> = C extends { readonly acc: any }
  ? "dot: acc goes by position, not by name; write tl.dot(a, b, acc, { inputPrecision, maxNumImpreciseAcc, outDtype })"
  : C extends object
    ? "dot: needs a tile here, or options, which are inputPrecision, maxNumImpreciseAcc and outDtype"
    : SentenceOf<typeof noTile<"dot">>;
/** The result type. It is `any` if the accumulator is invalid, so that one mistake is reported once. */
export type DotOut<A, B, C, O = undefined> = DotOutOf<
  AccumulatorElement<ElementIn<A>, C extends TileLike | undefined ? OutDTypeOf<O> : OutDTypeOf<C>>,
  DotShape<ShapeOf<A>, ShapeOf<B>>,
  C
>;
type DotOutOf<E extends Element, S extends Shape, C> = WhyAcc<E, S, C> extends "" ? Tile<E, S> : Tile<any, any>;

/** The third argument: the accumulator, or the options. */
export type AccOrOptions<A, B, C, O> = C extends undefined
  ? undefined
  : [keyof C] extends [keyof DotOptions]
    ? OptionsFor<A, C>
    : Validate<C, WhyDotAcc<A, B, C, O>>;

/** The options of a product of A. The first branch is never selected; the checker infers O from it. */
export type OptionsFor<A, O> = [O] extends [never]
  ? O
  : O extends undefined
    ? undefined
    : WhyAsked<ElementIn<A>, OutDTypeOf<O>> extends ""
      ? DotOptions
      : { outDtype: WhyAsked<ElementIn<A>, OutDTypeOf<O>> };

export interface DotOptions {
  inputPrecision?: "tf32" | "tf32x3" | "ieee" | "bf16x3" | "bf16x6" | ConstString<any, any> | undefined;
  maxNumImpreciseAcc?: number | ConstLike<any, "int"> | undefined;
  /**
   * The dtype of the accumulator and the result. Products of float16 and 8-bit floats accumulate in float32 by default.
   * `tl.float16` is faster on some GPUs, but has less precision and range.
   */
  outDtype?: DType<any> | undefined;
}

/** A matrix instruction of CUDA takes K in steps of 256 bits. */
const DOT_BITS = 256;

/** The minimum inner dimension, by the narrowest dtype that the first operand may have. */
export function minimumInnerDims(op: string, a: Type): readonly MinimumDim[] {
  if (a.kind !== "tile") return [];
  const narrowest = Math.min(...members(a.dtype).map((name) => dtypeTable[name].bits));
  const minimum = Math.max(DOT_BITS / narrowest, 1);
  return [
    {
      subject: `${op}: the inner dimension`,
      dim: atAxis(a.shape, a.shape.length - 1),
      consumers: `${narrowest}-bit operands`,
      minimum,
    },
  ];
}

/** The type of a product, or a message. */
export function inferDot(a: Type, b: Type, acc?: Type, outDType?: Elem): Type | RuleError {
  const why = whyDotFirst(a);
  if (why) return why;
  if (a.kind !== "tile") return notATile("dot", a);
  if (b.kind !== "tile") return notATile("dot", b);
  const operandError = whyDotTypes(a.dtype, b.dtype) || whyInner(a.shape, b.shape);
  if (operandError) return operandError;
  const accumulatorDType = dotAcc(a.dtype);
  if (accumulatorDType === undefined) return dotMembers(dtypeDisplayName(a.dtype));
  const outDTypeError = outDType === undefined ? undefined : whyAsked(a.dtype, accumulatorDType, outDType);
  if (outDTypeError) return outDTypeError;
  const elem = outDType ?? accumulatorDType;
  const shape = [...a.shape.slice(0, -1), b.shape.at(-1) ?? 1];
  if (acc === undefined) return tileType(elem, shape);
  if (acc.kind !== "tile") return notATile("dot", acc);
  if (!sameElem(elem, acc.dtype)) {
    const alternative = acc.dtype === "float16" && canAccumulateInHalf(a.dtype) ? OUT_DTYPE : "";
    return otherAccumulator(dtypeDisplayName(elem), dtypeDisplayName(acc.dtype), dtypeSourceText(elem), alternative);
  }
  return sameShape(shape, acc.shape)
    ? tileType(elem, shape)
    : accumulatorShape("dot", showShape(shape), showShape(acc.shape));
}
