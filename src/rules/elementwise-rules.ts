/** Signatures of elementwise functions with restricted dtypes or three operands: fdiv, umulhi, clamp, fma. */
import { type Fact, type SentenceOf, Message } from "../diagnostics/message.js";
import { dtypeUnsupported, operandKind, dtypeMismatch } from "../diagnostics/catalog/rule-codes.js";
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
import type { FirstError, IsAny, RuleError, IsUnion } from "../types/rule-error.js";
import {
  type ArithOut,
  type DivideOut,
  inferArith,
  inferDivide,
  type WhyArith,
  type WhyQuotient,
} from "./arithmetic-rules.js";
import { defaultDType, type DefaultDType, whyDefaultDType } from "../types/casts.js";
import { type Promote, whyInt, whyWhole, type WhyInt, type WhyWhole } from "../types/promote.js";
import { type El, type Scalar, type Sh, type Tile, type TileLike, notATile, type NotATile } from "../types/tile.js";
import { type ConstexprType, tileType, type TileType, type Type, literalValue } from "../types/types.js";
import {
  broadcast,
  showShape,
  whyBroadcast,
  type Broadcast,
  type Show,
  type WhyBroadcast,
  inferBroadcast,
} from "../types/shape.js";
import type { ShapeOf } from "./math-rules.js";

// ---- dtypes ---------------------------------------------------------------------------------------------------------

const unsupportedDType = <Op extends Fact, Supported extends Fact, DType extends Fact>(
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
type WhyWideInt<Op extends string, E> = WhyDTypes<Op, E, WideInt, "integers of 32 or 64 bits">;
const whyWideInt = (op: string, elem: Elem): RuleError | undefined =>
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

// Signatures of the random number generators: a seed, and a counter for each lane.

const seedShape = <Op extends Fact, Shape extends Fact>(op: Op, shape: Shape) =>
  operandKind(`${op}: the seed is a scalar, this is ${shape}`);

/** The rule of a seed: one integer. */
export type WhySeed<Op extends string, X> = X extends TileLike
  ? X[Sh] extends readonly []
    ? WhyInt<Op, X[El]>
    : SentenceOf<typeof seedShape<Op, Show<X[Sh]>>>
  : X extends number
    ? WhyWhole<Op, X>
    : X extends ConstLike<any, "int">
      ? ""
      : NotATile<Op, X>;
function whySeed(op: string, seed: Type): RuleError | undefined {
  if (seed.kind === "constexpr" && literalValue(seed) !== undefined) return whyWhole(op, seed.text);
  if (seed.kind === "constexpr") return seed.of === "int" ? undefined : notATile(op, seed);
  if (seed.kind !== "tile") return notATile(op, seed);
  return seed.shape.length === 0 ? whyInt(op, seed.dtype) : seedShape(op, showShape(seed.shape));
}

/** The rule of offsets: integers. */
export type WhyOffsets<Op extends string, X> = X extends TileLike ? WhyInt<Op, X[El]> : NotATile<Op, X>;
export function inferRandom(op: string, seed: Type, offset: Type, dtype: "float32" | "uint32"): Type | RuleError {
  const why = whySeed(op, seed) || (offset.kind === "tile" ? whyInt(op, offset.dtype) : notATile(op, offset));
  return why || (offset.kind === "tile" ? tileType(dtype, offset.shape) : notATile(op, offset));
}

// ---- philox ---------------------------------------------------------------------------------------------------------

type WideName<M> = M extends "int32" | "uint32" ? "uint32" : M extends "int64" | "uint64" ? "uint64" : any;
type Wide<E> = IsAny<E> extends true ? any : WideName<Members<E>>;
const wideDType = (elem: Elem): Elem =>
  members(elem).every((name) => name === "int32" || name === "uint32") ? "uint32" : "uint64";

const counterMembers = <DType extends Fact>(dtype: DType) =>
  dtypeMismatch(`philox: the members of ${dtype} differ in width`, "cast with .to(tl.int32)");

/** The rule that all members of a dtype variable have the same width. */
type WhyWidth<E> = IsUnion<Wide<E>> extends true ? SentenceOf<typeof counterMembers<Call<E>>> : "";
function whyWidth(elem: Elem): RuleError | undefined {
  return new Set(members(elem).map(wideDType)).size > 1 ? counterMembers(dtypeDisplayName(elem)) : undefined;
}
/** The dtype of a counter. A number is int32, as in Triton. */
type CounterEl<C> = C extends TileLike ? C[El] : C extends number | ConstLike<any, "int"> ? "int32" : any;
/**
 * The rule of counters: equal width. 64-bit counters cannot be scalars, because Triton's key then has the shape [1].
 */
export type WhyCounter<X, C> = C extends TileLike
  ? FirstError<
      FirstError<FirstError<WhyWideInt<"philox", C[El]>, WhyWidth<C[El]>>, WhyRank<C[El], C[Sh]>>,
      FirstError<WhyOneWidth<X, C>, X extends TileLike ? WhyBroadcast<"philox", X[Sh], C[Sh]> : "">
    >
  : C extends number
    ? FirstError<WhyWhole<"philox", C>, WhyOneWidth<X, C>>
    : C extends ConstLike<any, "int">
      ? WhyOneWidth<X, C>
      : NotATile<"philox", C>;

const counterWidths = <A extends Fact, B extends Fact>(a: A, b: B) =>
  dtypeMismatch(`philox: the counters must have one width, got ${a} and ${b}`);

type WhyOneWidth<X, C> = X extends undefined
  ? ""
  : Wide<CounterEl<X>> extends Wide<CounterEl<C>>
    ? ""
    : SentenceOf<typeof counterWidths<Call<CounterEl<X>>, Call<CounterEl<C>>>>;

const wideScalars = () => operandKind("philox: counters of 64 bits are tiles, not scalars");

type WhyRank<E, S> = E extends "int64" | "uint64" ? (S extends readonly [] ? SentenceOf<typeof wideScalars> : "") : "";
type Two<A, B> = Tile<any, Broadcast<ShapeOf<A>, ShapeOf<B>>>;
export type PhiloxOut<A, B, C, D> = Quad<Tile<Wide<CounterEl<A>>, Broadcast<ShapeOf<Two<A, B>>, ShapeOf<Two<C, D>>>>>;
export type Quad<T> = [T, T, T, T];
export function inferPhilox(
  seed: Type,
  [firstCounter, ...otherCounters]: readonly [Type, ...Type[]],
): readonly Type[] | RuleError {
  const why = whySeed("philox", seed);
  if (why) return why;
  const first = counterType(firstCounter);
  if (first instanceof Message) return first;
  let { shape } = first;
  for (const counter of otherCounters) {
    const type = counterType(counter);
    if (type instanceof Message) return type;
    if (wideDType(first.dtype) !== wideDType(type.dtype))
      return counterWidths(dtypeDisplayName(first.dtype), dtypeDisplayName(type.dtype));
    const common = inferBroadcast("philox", shape, type.shape);
    if (common instanceof Message) return common;
    shape = common;
  }
  const result = tileType(wideDType(first.dtype), shape);
  return [result, result, result, result];
}

/** The type of a counter as a tile, or a message. */
function counterType(counter: Type): TileType | RuleError {
  if (counter.kind === "constexpr" && counter.of === "int")
    return whyDefaultDType("philox", counter) || tileType("int32", []);
  if (counter.kind !== "tile") {
    const isFraction = counter.kind === "constexpr" && literalValue(counter) !== undefined;
    return (isFraction ? whyWhole("philox", counter.text) : undefined) ?? notATile("philox", counter);
  }
  const width = whyWideInt("philox", counter.dtype) || whyWidth(counter.dtype);
  if (width) return width;
  if (wideDType(counter.dtype) === "uint64" && counter.shape.length === 0) return wideScalars();
  return counter;
}

// ---- words to floats ------------------------------------------------------------------------------------------------

export type WhyWords<X> = X extends TileLike
  ? WhyWideInt<"uintToUniformFloat", X[El]>
  : NotATile<"uintToUniformFloat", X>;
export function inferUniform(x: Type): Type | RuleError {
  if (x.kind !== "tile") return notATile("uintToUniformFloat", x);
  return whyWideInt("uintToUniformFloat", x.dtype) || tileType("float32", x.shape);
}

/** The rule of the operands of pairUniformToNormal. */
export type WhyUniform<X> = X extends TileLike
  ? IsAny<X[El]> extends true
    ? ""
    : [Exclude<Members<X[El]>, "float32">] extends [never]
      ? ""
      : SentenceOf<typeof unsupportedDType<"pairUniformToNormal", "float32", Call<X[El]>>>
  : NotATile<"pairUniformToNormal", X>;
export type WhyUniformPair<X, Y> = FirstError<
  WhyUniform<Y>,
  X extends TileLike ? (Y extends TileLike ? WhyBroadcast<"pairUniformToNormal", X[Sh], Y[Sh]> : "") : ""
>;
type Normal<X, Y> = Tile<"float32", Broadcast<ShapeOf<X>, ShapeOf<Y>>>;
export type NormalPair<X, Y> = [Normal<X, Y>, Normal<X, Y>];
export function inferNormals(x: Type, y: Type): readonly Type[] | RuleError {
  if (x.kind !== "tile") return notATile("pairUniformToNormal", x);
  if (y.kind !== "tile") return notATile("pairUniformToNormal", y);
  const other = [x.dtype, y.dtype].find((dtype) => dtype !== "float32");
  if (other !== undefined) return unsupportedDType("pairUniformToNormal", "float32", dtypeDisplayName(other));
  const why = whyBroadcast("pairUniformToNormal", x.shape, y.shape);
  const normal = tileType("float32", broadcast(x.shape, y.shape) ?? []);
  return why || [normal, normal];
}
