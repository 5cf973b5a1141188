/** Signatures of elementwise functions with restricted dtypes or three operands: fdiv, umulhi, clamp, fma. */
import { type Fact, type SentenceOf, Message } from "../diagnostics/message.js";
import { dtypeUnsupported } from "../diagnostics/catalog/rule-codes.js";
import type { ConstLike } from "../types/constexpr.js";
import {
  dtypeDisplayName,
  isInt,
  members,
  type Call,
  type DTypeName,
  type Elem,
  type IntName,
  type Members,
} from "../types/dtype.js";
import type { FirstError, IsAny, RuleError } from "../types/rule-error.js";
import { notATile, type NotATile } from "../types/operand.js";
import {
  type ArithOut,
  type DivideOut,
  inferArith,
  inferDivide,
  type WhyArith,
  type WhyQuotient,
} from "./arithmetic-rules.js";
import { defaultDType, type DefaultDType, whyDefaultDType } from "../types/casts.js";
import type { Promote } from "../types/promote.js";
import type { El, Scalar, Sh, Tile, TileLike } from "../types/tile.js";
import { type ConstexprType, tileType, type TileType, type Type } from "../types/types.js";

// ---- dtypes ---------------------------------------------------------------------------------------------------------

export const unsupportedDType = <Op extends Fact, Supported extends Fact, DType extends Fact>(
  op: Op,
  supported: Supported,
  dtype: DType,
) => dtypeUnsupported(`${op}: needs ${supported}, got ${dtype}`);

type WhyDTypes<Op extends string, E, Wanted, Words extends string> =
  IsAny<E> extends true
    ? ""
    : [Exclude<Members<E>, Wanted>] extends [never]
      ? ""
      : SentenceOf<typeof unsupportedDType<Op, Words, Call<E>>>;
const whyDTypes = (
  op: string,
  elem: Elem,
  isSupported: (name: DTypeName) => boolean,
  description: string,
): RuleError | undefined =>
  members(elem).every(isSupported) ? undefined : unsupportedDType(op, description, dtypeDisplayName(elem));

/** float32 only. */
export type WhySingle<Op extends string, E> = WhyDTypes<Op, E, "float32", "float32">;
const whySingle = (op: string, elem: Elem): RuleError | undefined =>
  whyDTypes(op, elem, (name) => name === "float32", "float32");
/** Integers of 32 or 64 bits. */
type WideInt = "int32" | "uint32" | "int64" | "uint64";
const wideInts: readonly DTypeName[] = ["int32", "uint32", "int64", "uint64"];
export type WhyWideInt<Op extends string, E> = WhyDTypes<Op, E, WideInt, "integers of 32 or 64 bits">;
export const whyWideInt = (op: string, elem: Elem): RuleError | undefined =>
  whyDTypes(op, elem, (name) => wideInts.includes(name), "integers of 32 or 64 bits");
/** Integers of 32 bits. */
export type WhyInt32<Op extends string, E> = WhyDTypes<Op, E, "int32" | "uint32", "int32 or uint32">;
export const whyInt32 = (op: string, elem: Elem): RuleError | undefined =>
  whyDTypes(op, elem, (name) => name === "int32" || name === "uint32", "int32 or uint32");
/** Floats of any width. */
export type WhyFloats<Op extends string, E> = WhyDTypes<Op, E, Exclude<DTypeName, IntName>, "floats">;
const whyFloats = (op: string, elem: Elem): RuleError | undefined =>
  whyDTypes(op, elem, (name) => !isInt(name), "floats");

// ---- one operand ----------------------------------------------------------------------------------------------------

/** The rule of sqrtRn: float32, or a number. */
export type WhySingleOf<Op extends string, X> = X extends TileLike
  ? WhySingle<Op, X[El]>
  : X extends number | ConstLike<any, "int" | "float">
    ? ""
    : NotATile<Op, X>;
export function inferSingle(op: string, x: Type): Type | RuleError {
  if (x.kind === "tile") return whySingle(op, x.dtype) || x;
  return x.kind === "constexpr" && (x.of === "int" || x.of === "float") ? tileType("float32", []) : notATile(op, x);
}

// ---- two operands ---------------------------------------------------------------------------------------------------

/** The rule of two operands, at least one of which is a tile. A number adopts the tile's dtype. */
type WhyTwo<Op extends string, X, Y> = X extends TileLike
  ? WhyArith<Op, X[El], X[Sh], Y>
  : Y extends TileLike
    ? WhyArith<Op, Y[El], Y[Sh], X>
    : NotATile<Op, X>;
/** The first tile of two operands; undefined if there is none. */
const firstTile = (x: Type, y: Type): TileType | undefined => [x, y].find((operand) => operand.kind === "tile");

/** The rule of divRn: float32 tiles, or a float32 tile and a number. */
export type WhySingleSecond<Op extends string, X, Y> = FirstError<
  X extends TileLike ? WhySingle<Op, X[El]> : "",
  FirstError<Y extends TileLike ? WhySingle<Op, Y[El]> : "", WhyTwo<Op, X, Y>>
>;
export function inferSinglePair(op: string, x: Type, y: Type): Type | RuleError {
  return whyPair(op, x, y, whySingle) || inferArith(op, x, y, () => "");
}
/** Applies a dtype rule to each tile of two operands. At least one must be a tile. */
function whyPair(
  op: string,
  x: Type,
  y: Type,
  rule: (op: string, elem: Elem) => RuleError | undefined,
): RuleError | undefined {
  if (!firstTile(x, y)) return notATile(op, x);
  return (x.kind === "tile" ? rule(op, x.dtype) : undefined) || (y.kind === "tile" ? rule(op, y.dtype) : undefined);
}

/** The rule of fdiv: that of `/`, for floats only. */
export type WhyFdiv<X, Y> = FirstError<
  X extends TileLike ? WhyFloats<"fdiv", X[El]> : "",
  FirstError<
    Y extends TileLike ? WhyFloats<"fdiv", Y[El]> : "",
    X extends TileLike
      ? WhyQuotient<"fdiv", X[El], X[Sh], Y>
      : Y extends TileLike
        ? WhyQuotient<"fdiv", Y[El], Y[Sh], X>
        : NotATile<"fdiv", X>
  >
>;
export type FdivOut<X, Y> = X extends TileLike
  ? DivideOut<X[El], X[Sh], Y>
  : Y extends TileLike
    ? DivideOut<Y[El], Y[Sh], X>
    : Tile<any, any>;
export function inferFdiv(x: Type, y: Type, option?: "ieeeRounding" | "approx"): Type | RuleError {
  const type = inferQuotient(x, y);
  return option && !(type instanceof Message) && type.kind === "tile" && type.dtype !== "float32"
    ? dtypeUnsupported(`fdiv: ${option} is for float32, the result is ${dtypeDisplayName(type.dtype)}`)
    : type;
}
function inferQuotient(x: Type, y: Type): Type | RuleError {
  return whyPair("fdiv", x, y, whyFloats) || inferDivide("fdiv", x, y, () => "");
}

/** The rule of umulhi. */
export type WhyUmulhi<X, Y> = FirstError<
  X extends TileLike ? WhyWideInt<"umulhi", X[El]> : "",
  FirstError<Y extends TileLike ? WhyWideInt<"umulhi", Y[El]> : "", WhyTwo<"umulhi", X, Y>>
>;
export function inferUmulhi(x: Type, y: Type): Type | RuleError {
  return whyPair("umulhi", x, y, whyWideInt) || inferArith("umulhi", x, y, () => "");
}
/** The result of a tile and another operand, in either order. */
export type PairOf<X, Y> = X extends TileLike
  ? ArithOut<X[El], X[Sh], Y>
  : Y extends TileLike
    ? Tile<Y[El], Y[Sh]>
    : Tile<any, any>;

// ---- three operands -------------------------------------------------------------------------------------------------

/** The rule of the first of three operands: a tile with a supported dtype, or a number. */
type WhyFirst<Op extends string, X> = X extends TileLike ? WhyTripled<Op, X[El]> : WhyNumber<Op, X>;
type WhyNumber<Op extends string, X> = X extends number | ConstLike<any, "int" | "float"> ? "" : NotATile<Op, X>;
export type WhyClamped<Op extends string, X> = WhyFirst<Op, X>;
export type WhyFused<X> = WhyFirst<"fma", X>;

const clampedDouble = <Op extends Fact>(op: Op) =>
  dtypeUnsupported(`${op}: float64 does not compile`, "write tl.minimum(tl.maximum(x, min), max)");

/** The dtypes of fma are floats. Triton's front end accepts clamp of float64, but LLVM's PTX backend does not. */
type WhyTripled<Op extends string, E> = Op extends "fma"
  ? WhyFloats<Op, E>
  : IsAny<E> extends true
    ? ""
    : "float64" extends Members<E>
      ? SentenceOf<typeof clampedDouble<Op>>
      : "";
/** The rule of the second operand of clamp and fma, checked against the first. */
export type WhySecond<Op extends string, X, Y> = X extends TileLike
  ? WhyArith<Op, X[El], X[Sh], Y>
  : Y extends TileLike
    ? FirstError<WhyTripled<Op, Y[El]>, WhyArith<Op, Y[El], Y[Sh], X>>
    : WhyNumber<Op, Y>;
/** The rule of the third operand, checked against the result of the first two, or against each if both are numbers. */
export type WhyThird<Op extends string, X, Y, Z> = [X] extends [TileLike]
  ? WhySecond<Op, PairOf<X, Y>, Z>
  : [Y] extends [TileLike]
    ? WhySecond<Op, PairOf<X, Y>, Z>
    : Z extends TileLike
      ? FirstError<WhyTripled<Op, Z[El]>, FirstError<WhyArith<Op, Z[El], Z[Sh], X>, WhyArith<Op, Z[El], Z[Sh], Y>>>
      : FirstError<WhyNumber<Op, Z>, WhyTripled<Op, LoneTriple<X, Y, Z>>>;
/** The dtype of three numbers: the promotion of their default dtypes. */
type LoneTriple<X, Y, Z> = Promote<Promote<DefaultDType<X>, DefaultDType<Y>>, DefaultDType<Z>>;
export type TripleOut<X, Y, Z> = [X] extends [TileLike]
  ? PairOf<PairOf<X, Y>, Z>
  : [Y] extends [TileLike]
    ? PairOf<PairOf<X, Y>, Z>
    : [Z] extends [TileLike]
      ? PairOf<Z, X>
      : Scalar<LoneTriple<X, Y, Z>>;
export function inferTriple(op: string, x: Type, y: Type, z: Type): Type | RuleError {
  // inferArith checks the operands that are combined with a tile.
  const leading = x.kind === "tile" ? [] : [x, y];
  const invalid = leading.find((type) => type.kind !== "tile" && !isNumber(type));
  if (invalid) return notATile(op, invalid);
  const all = [x, y, z];
  if (all.every(isNumber)) return inferNumbers(op, all);
  const [tile, ...numbers] = x.kind === "tile" || y.kind === "tile" ? [inferArith(op, x, y, () => ""), z] : [z, x, y];
  if (tile instanceof Message) return tile;
  if (tile?.kind !== "tile") return notATile(op, z);
  let type: Type | RuleError = tile;
  for (const operand of numbers) if (!(type instanceof Message)) type = inferArith(op, type, operand, () => "");
  return type;
}
const isNumber = (type: Type): type is ConstexprType =>
  type.kind === "constexpr" && (type.of === "int" || type.of === "float");
/** The type that Triton infers for numbers only. */
function inferNumbers(op: string, numbers: readonly ConstexprType[]): Type | RuleError {
  const why = numbers.map((each) => whyDefaultDType(op, each)).find((each) => each);
  const isFloat = numbers.some((each) => defaultDType(each) === "float32");
  return why ?? tileType(isFloat ? "float32" : "int32", []);
}

export function inferClamp(x: Type, min: Type, max: Type): Type | RuleError {
  const isDouble = (type: Type | RuleError | undefined): boolean =>
    !(type instanceof Message) && type?.kind === "tile" && members(type.dtype).includes("float64");
  const why = clampedDouble("clamp");
  if (isDouble([x, min, max].find((type) => type.kind === "tile"))) return why;
  const triple = inferTriple("clamp", x, min, max);
  return isDouble(triple) ? why : triple;
}
export function inferFma(x: Type, y: Type, z: Type): Type | RuleError {
  const first = [x, y, z].find((type) => type.kind === "tile");
  const why = first?.kind === "tile" ? whyFloats("fma", first.dtype) : undefined;
  if (why) return why;
  const triple = inferTriple("fma", x, y, z);
  return triple instanceof Message || triple.kind !== "tile" ? triple : whyFloats("fma", triple.dtype) || triple;
}
