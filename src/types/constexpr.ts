/** Constexprs, the values that are known when Triton compiles the kernel: block sizes, flags, choices. */
import type { Fact, SentenceOf } from "../diagnostics/message.js";
import {
  operandKind,
  wrongCondition,
  wrongAxis,
  wrongTileSize,
  needsConstexpr,
} from "../diagnostics/catalog/rule-codes.js";
import { MAX_NUMEL } from "./limits.js";
import type {
  AddText,
  CallText,
  CompareText,
  DivText,
  FloorDivText,
  ModText,
  MulText,
  SubText,
} from "./constexpr-text.js";
import { dtypeDisplayName, type Call, type DType, type Element } from "./dtype.js";
import type { FirstError, Validate, RuleError } from "./rule-error.js";
import {
  whyWhole,
  type Divide,
  type Modulo,
  type WhyInt,
  type WhyNoResult,
  type WhyWeak,
  type WhyWhole,
} from "./promote.js";
import { isPowerOfTwo, type PowerOfTwo } from "./dims.js";
import { showShape, type Dim } from "./shape.js";
import { constexprType, literalValue, type ConstexprType, type Type } from "./types.js";
import type { El, NotACondition, Sh, Tile, TileLike, NotAnOperand } from "./tile.js";

declare const $text: unique symbol;
declare const $kind: unique symbol;
/** The phantom properties of a constexpr, for rules. */
export interface ConstLike<Text = any, Kind = any> {
  readonly [$text]: Text;
  readonly [$kind]: Kind;
}

/** The text of a number or a constexpr. */
export type TextOf<O> = O extends number | boolean ? `${O}` : O extends ConstLike ? O[typeof $text] & string : string;

// ---- arithmetic -----------------------------------------------------------------------------------------------------

/**
 * The rule of an operand of a constexpr: a number, a constexpr, or a tile, for which the constexpr is a weak literal.
 */
export type WhyConst<Op extends string, O, Kind> = O extends number
  ? ""
  : O extends ConstLike<any, "int" | "float">
    ? ""
    : O extends TileLike
      ? WhyWeak<Op, O[El], Kind>
      : NotAnOperand<Op, O>;
/** The same for `%`. */
export type WhyConstMod<Op extends string, O> = O extends TileLike
  ? FirstError<WhyWeak<Op, O[El], "int">, WhyNoResult<Op, O[El], O[El]>>
  : WhyConstInt<Op, O>;

export const notAnInteger = <Op extends Fact>(op: Op) => operandKind(`${op}: needs an integer, a constexpr or a tile`);

/** The same for `//` and bit operations. */
export type WhyConstInt<Op extends string, O> = O extends number
  ? WhyWhole<Op, O>
  : O extends ConstLike<any, "int">
    ? ""
    : O extends TileLike
      ? FirstError<WhyInt<Op, O[El]>, WhyWeak<Op, O[El], "int">>
      : O extends ConstLike | boolean | string
        ? SentenceOf<typeof notAnInteger<Op>>
        : NotAnOperand<Op, O>;

/** The kind of a number or a constexpr: "float" or "int". */
type IsFloat<X> =
  X extends ConstLike<any, infer K>
    ? K
    : X extends number
      ? `${X}` extends `${string}.${string}` | `${string}e-${string}`
        ? "float"
        : "int"
      : "int";
/** The result of two constexprs: an integer, unless one is a float. */
export type ConstPair<X, Y, Text extends string> = "float" extends IsFloat<X> | IsFloat<Y>
  ? ConstFloat<Text>
  : Constexpr<Text>;

/** The result of an integer constexpr and O. With a tile, it is a tile of the same dtype; with a float, a float. */
type ConstOut<O, Text extends string> = O extends TileLike
  ? Tile<O[El], O[Sh]>
  : O extends ConstLike<any, "float">
    ? ConstFloat<Text>
    : O extends number
      ? `${O}` extends `${string}.${string}` | `${string}e-${string}`
        ? ConstFloat<Text>
        : Constexpr<Text>
      : Constexpr<Text>;
type FloatOut<O, Text extends string> = O extends TileLike ? Tile<O[El], O[Sh]> : ConstFloat<Text>;
type RemainderOut<O, Text extends string> = O extends TileLike ? Tile<Modulo<O[El], O[El]>, O[Sh]> : Constexpr<Text>;
type QuotientOut<O, Text extends string> = O extends TileLike ? Tile<Divide<O[El], O[El]>, O[Sh]> : ConstFloat<Text>;

/** The result of several operands: a constexpr with the combined text, or a tile like the first tile. */
type Sum<A extends string, O> = O extends readonly [infer H, ...infer R]
  ? H extends TileLike
    ? Tile<H[El], H[Sh]>
    : R extends []
      ? ConstOut<H, AddText<A, TextOf<H>>>
      : Sum<AddText<A, TextOf<H>>, R>
  : Constexpr<A>;
type Product<A extends string, O> = O extends readonly [infer H, ...infer R]
  ? H extends TileLike
    ? Tile<H[El], H[Sh]>
    : R extends []
      ? ConstOut<H, MulText<A, TextOf<H>>>
      : Product<MulText<A, TextOf<H>>, R>
  : Constexpr<A>;
type Operands<Op extends string, O> = { readonly [K in keyof O]: Validate<O[K], WhyConst<Op, O[K], "int">> };
/** At least one operand. */
export type AtLeastOne = readonly [unknown, ...unknown[]];

/** The methods of an integer constexpr. Ops may declare more by module augmentation, as for `TileOps`. */
export interface ConstexprOps<Name extends string> {
  add<const O extends AtLeastOne>(...others: Operands<"add", O>): Sum<Name, O>;
  sub<const O>(other: Validate<O, WhyConst<"sub", O, "int">>): ConstOut<O, SubText<Name, TextOf<O>>>;
  mul<const O extends AtLeastOne>(...others: Operands<"mul", O>): Product<Name, O>;
  /** `/` */
  div<const O>(other: Validate<O, WhyConst<"div", O, "int">>): QuotientOut<O, DivText<Name, TextOf<O>>>;
  /** `//`, which floors: constexprs are Python integers */
  floorDiv<const O>(other: Validate<O, WhyConstInt<"floorDiv", O>>): ConstOut<O, FloorDivText<Name, TextOf<O>>>;
  /** `%`, with the sign of the divisor */
  mod<const O>(other: Validate<O, WhyConstMod<"mod", O>>): RemainderOut<O, ModText<Name, TextOf<O>>>;
  neg(): Constexpr<`-${Name}`>;
  /** `<<` */
  shl<const O>(other: Validate<O, WhyConstInt<"shl", O>>): ConstOut<O, CallText<"shl", Name, TextOf<O>>>;
  /** `>>` */
  shr<const O>(other: Validate<O, WhyConstInt<"shr", O>>): ConstOut<O, CallText<"shr", Name, TextOf<O>>>;
}

/** The comparisons of a constexpr. With a tile, the result is a tile of int1. */
export interface ConstComparisons<Name extends string, Kind> {
  lt<const O>(other: Validate<O, WhyConst<"lt", O, Kind>>): CompareOut<Name, "<", O>;
  le<const O>(other: Validate<O, WhyConst<"le", O, Kind>>): CompareOut<Name, "<=", O>;
  gt<const O>(other: Validate<O, WhyConst<"gt", O, Kind>>): CompareOut<Name, ">", O>;
  ge<const O>(other: Validate<O, WhyConst<"ge", O, Kind>>): CompareOut<Name, ">=", O>;
  eq<const O>(other: Validate<O, WhyConst<"eq", O, Kind>>): CompareOut<Name, "==", O>;
  ne<const O>(other: Validate<O, WhyConst<"ne", O, Kind>>): CompareOut<Name, "!=", O>;
}
type CompareOut<Name extends string, Sign extends string, O> = O extends TileLike
  ? Tile<"int1", O[Sh]>
  : ConstBool<CompareText<Name, Sign, TextOf<O>>>;

/** An integer known when Triton compiles the kernel. It can be a dimension, and combines with tiles like a number. */
export interface Constexpr<Name extends string>
  extends ConstLike<Name, "int">, ConstexprOps<Name>, ConstComparisons<Name, "int"> {
  /** As a run-time scalar. */
  to<E extends Element>(dtype: DType<E>): Tile<E, []>;
  readonly then: NotACondition;
}

/** A float known when Triton compiles the kernel. */
export interface ConstFloat<Name extends string> extends ConstLike<Name, "float">, ConstComparisons<Name, "float"> {
  add<const O>(other: Validate<O, WhyConst<"add", O, "float">>): FloatOut<O, AddText<Name, TextOf<O>>>;
  sub<const O>(other: Validate<O, WhyConst<"sub", O, "float">>): FloatOut<O, SubText<Name, TextOf<O>>>;
  mul<const O>(other: Validate<O, WhyConst<"mul", O, "float">>): FloatOut<O, MulText<Name, TextOf<O>>>;
  div<const O>(other: Validate<O, WhyConst<"div", O, "float">>): QuotientOut<O, DivText<Name, TextOf<O>>>;
  neg(): ConstFloat<`-${Name}`>;
  /** As a run-time scalar. */
  to<E extends Element>(dtype: DType<E>): Tile<E, []>;
  readonly then: NotACondition;
}

/** A boolean known when Triton compiles the kernel. A `tl.when` on it is folded. */
export interface ConstBool<Name extends string> extends ConstLike<Name, "bool"> {
  not(): ConstBool<`not ${Name}`>;
  and<N extends string>(other: ConstBool<N>): ConstBool<CallText<"and", Name, N>>;
  or<N extends string>(other: ConstBool<N>): ConstBool<CallText<"or", Name, N>>;
  /** Selects one of two numbers, constexprs or booleans: `BLOCK: tl.constexpr = 64 if FLAG else 32`. */
  choose<const X, const Y>(
    then: Validate<X, WhyChosen<X>>,
    otherwise: Validate<Y, WhyChosenToo<X, Y>>,
  ): Chosen<`choose(${Name}, ${TextOf<X>}, ${TextOf<Y>})`, X, Y>;
  readonly then: NotACondition;
}

// ---- choose ---------------------------------------------------------------------------------------------------------

const choiceOfTiles = () => operandKind("choose: needs constexprs or numbers", "choose tiles with tl.when");

/** The rule of the alternatives of `choose`: two numbers or two booleans. */
export type WhyChosen<X> = X extends number | boolean | ConstLike<any, "int" | "float" | "bool">
  ? ""
  : SentenceOf<typeof choiceOfTiles>;
type IsTruth<X> = X extends boolean | ConstLike<any, "bool"> ? true : false;

const choiceOfKinds = () => operandKind("choose: one side is a truth value, the other a number");

export type WhyChosenToo<X, Y> =
  WhyChosen<Y> extends "" ? (IsTruth<X> extends IsTruth<Y> ? "" : SentenceOf<typeof choiceOfKinds>) : WhyChosen<Y>;
export type Chosen<Text extends string, X, Y> = IsTruth<X> extends true ? ConstBool<Text> : ConstPair<X, Y, Text>;
/** The type of the result of `choose`, or a message. */
export function inferChosen(condition: Type, x: Type, y: Type): Type | RuleError {
  if (condition.kind !== "constexpr" || condition.of !== "bool")
    return wrongCondition("choose: the condition is a constexpr");
  const isChoice = (side: Type) => side.kind === "constexpr" && side.of !== "string" && side.of !== "dtype";
  if (x.kind !== "constexpr" || y.kind !== "constexpr" || !isChoice(x) || !isChoice(y)) return choiceOfTiles();
  if ((x.of === "bool") !== (y.of === "bool")) return choiceOfKinds();
  const numberKind = x.of === "float" || y.of === "float" ? "float" : "int";
  return constexprType(x.of === "bool" ? "bool" : numberKind, `choose(${condition.text}, ${x.text}, ${y.text})`);
}

/** One of several strings, known when Triton compiles the kernel. */
export interface ConstString<Name extends string, Choice extends string> extends ConstLike<Name, "string"> {
  eq<const C extends Choice>(choice: C): ConstBool<`${Name} == ${C}`>;
  ne<const C extends Choice>(choice: C): ConstBool<`${Name} != ${C}`>;
  readonly then: NotACondition;
}

/** One of several functions, selected by name. A call becomes a branch that Triton decides at compile time. */
export type ConstFn<Name extends string, Choice extends string, F> = F & Pick<ConstString<Name, Choice>, "eq" | "ne">;

// ---- constexprs as dimensions ---------------------------------------------------------------------------------------

type DimOfText<N> = N extends `${infer X extends number}` ? X : N;
/** The dimension of a number or a constexpr. */
export type DimOf<X> = X extends number ? X : X extends ConstLike<infer N, "int"> ? DimOfText<N> : any;
export function dimOf(type: ConstexprType): Dim {
  return literalValue(type) ?? type.text;
}
export type DimsOf<X> = X extends readonly unknown[] ? { -readonly [K in keyof X]: DimOf<X[K]> } : any;
export function dimsOf(types: readonly Type[]): Dim[] {
  return types.map((type) => (type.kind === "constexpr" ? dimOf(type) : 1));
}

/** The remedy for a run-time size in place of a constexpr. */
const DECLARE = "declare a block size among the params, BLOCK: constexpr()";

const notADimension = <Op extends Fact, Value extends Fact>(op: Op, value: Value) =>
  wrongAxis(`${op}: ${value} is not a dimension`, "write its number, or a constexpr");
export const unevenDimension = <Op extends Fact, Value extends Fact>(op: Op, value: Value) =>
  wrongTileSize(
    `${op}: ${value} is not a power of two up to ${MAX_NUMEL}`,
    `write the next one, and mask the elements past ${value}`,
  );
const runTimeDimension = <Op extends Fact, DType extends Fact>(op: Op, dtype: DType) =>
  needsConstexpr(`${op}: a dimension must be a constexpr or a number, this is a run-time ${dtype}`, DECLARE);
export const dimensionKind = <Op extends Fact>(op: Op) =>
  needsConstexpr(`${op}: a dimension must be a constexpr or a number`);

/** The rule of a tile's dimension: a power of two, or a constexpr whose values the build checks. */
export type WhyDim<Op extends string, X> = X extends number
  ? number extends X
    ? ""
    : X extends PowerOfTwo
      ? ""
      : `${X}` extends `-${string}`
        ? SentenceOf<typeof notADimension<Op, X>>
        : SentenceOf<typeof unevenDimension<Op, X>>
  : X extends ConstLike<any, "int">
    ? ""
    : X extends TileLike
      ? SentenceOf<typeof runTimeDimension<Op, Call<X[El]>>>
      : SentenceOf<typeof dimensionKind<Op>>;
export function whyDim(op: string, type: Type): RuleError | undefined {
  if (type.kind === "tile") {
    return runTimeDimension(op, dtypeDisplayName(type.dtype));
  }
  const value = type.kind === "constexpr" ? literalValue(type) : undefined;
  if (value !== undefined && value < 0) return notADimension(op, value);
  if (value !== undefined) return isPowerOfTwo(value) ? undefined : unevenDimension(op, value);
  return type.kind === "constexpr" && type.of === "int" ? undefined : dimensionKind(op);
}

/** The shape argument of `zeros`, `full`, `reshape`. An error is reported at the invalid entry. */
export type ShapeArg<Op extends string, X> = { readonly [K in keyof X]: Validate<X[K], WhyDim<Op, X[K]>> };
/** The message for a number in place of a shape, `x.reshape(8, 8)`. */
export const notAShape = (op: string): RuleError => operandKind(`${op}: a shape is a list`, "write [BLOCK]");
/** The message for the first invalid entry of a shape argument, or for its number of elements. */
export function whyDims(op: string, types: readonly Type[]): RuleError | undefined {
  const why = types.map((type) => whyDim(op, type)).find((error) => error !== undefined);
  if (why) return why;
  const dims = dimsOf(types);
  const numbers = dims.filter((dim) => typeof dim === "number");
  return numbers.reduce((product, dim) => product * dim, 1) <= MAX_NUMEL
    ? undefined
    : wrongTileSize(`${op}: ${showShape(dims)} has more than ${MAX_NUMEL} elements`, "loop over smaller tiles");
}

// ---- arange ---------------------------------------------------------------------------------------------------------

const runTimeBound = <Op extends Fact, DType extends Fact>(op: Op, dtype: DType) =>
  needsConstexpr(`${op}: bounds must be constexprs or numbers, this is a run-time ${dtype}`, DECLARE);
const floatBound = <Op extends Fact>(op: Op) =>
  operandKind(`${op}: bounds must be integers, this constexpr is a float`, "divide integers with floorDiv");
export const boundKind = <Op extends Fact>(op: Op) =>
  needsConstexpr(`${op}: bounds must be constexprs or numbers, such as ${op}(0, BLOCK)`);

export type WhyBound<Op extends string, X> = X extends number
  ? WhyWhole<Op, X>
  : X extends ConstLike<any, "int">
    ? ""
    : X extends TileLike
      ? SentenceOf<typeof runTimeBound<Op, Call<X[El]>>>
      : X extends ConstLike<any, "float">
        ? SentenceOf<typeof floatBound<Op>>
        : SentenceOf<typeof boundKind<Op>>;
export function whyBound(op: string, type: Type): RuleError | undefined {
  if (type.kind === "constexpr" && type.of === "int") return undefined;
  if (type.kind === "constexpr" && literalValue(type) !== undefined) return whyWhole(op, type.text);
  if (type.kind === "tile") return runTimeBound(op, dtypeDisplayName(type.dtype));
  return type.kind === "constexpr" && type.of === "float" ? floatBound(op) : boundKind(op);
}

/** `hi - lo` as a dimension. */
export type Span<Lo, Hi> = Lo extends 0
  ? DimOf<Hi>
  : [Lo, Hi] extends [number, number]
    ? number
    : DimOfText<SubText<TextOf<Hi>, TextOf<Lo>>>;
export type WhySpan<Lo, Hi> =
  WhyBound<"arange", Hi> extends "" ? (Lo extends 0 ? WhyDim<"arange", Hi> : "") : WhyBound<"arange", Hi>;

/** A call on constexprs: `min(A, B)`. */
export type ConstCall<Name extends string, X, Y> = ConstPair<X, Y, CallText<Name, TextOf<X>, TextOf<Y>>>;
