/** Signatures of elementwise functions that need certain dtypes, or take three operands: fdiv, umulhi, clamp, fma. */
import type { ConstLike } from "../types/constexpr.js";
import {
  call,
  isInt,
  members,
  type Call,
  type DTypeName,
  type Elem,
  type IntName,
  type Members,
} from "../types/dtype.js";
import type { Both, IsAny } from "../types/problem.js";
import { notATile, type NotATile } from "../types/operand.js";
import {
  type ArithOut,
  type DivideOut,
  inferArith,
  inferDivide,
  type WhyArith,
  type WhyQuotient,
} from "./arithmetic-rules.js";
import type { El, Sh, Tile, TileLike } from "../types/tile.js";
import { tileType, type Type } from "../types/types.js";

// ---- dtypes ---------------------------------------------------------------------------------------------------------

type Asks<Op extends string, E, Wanted, Words extends string> =
  IsAny<E> extends true
    ? ""
    : [Exclude<Members<E>, Wanted>] extends [never]
      ? ""
      : `${Op}: needs ${Words}, got ${Call<E>}`;
const asks = (op: string, elem: Elem, wanted: (name: DTypeName) => boolean, words: string): string =>
  members(elem).every(wanted) ? "" : `${op}: needs ${words}, got ${call(elem)}`;

/** float32 only. */
export type WhySingle<Op extends string, E> = Asks<Op, E, "float32", "float32">;
const whySingle = (op: string, elem: Elem): string => asks(op, elem, (name) => name === "float32", "float32");
/** Integers of 32 or 64 bits. */
type WideInt = "int32" | "uint32" | "int64" | "uint64";
const wideInts: readonly DTypeName[] = ["int32", "uint32", "int64", "uint64"];
export type WhyWideInt<Op extends string, E> = Asks<Op, E, WideInt, "integers of 32 or 64 bits">;
export const whyWideInt = (op: string, elem: Elem): string =>
  asks(op, elem, (name) => wideInts.includes(name), "integers of 32 or 64 bits");
/** Integers of 32 bits. */
export type WhyWord<Op extends string, E> = Asks<Op, E, "int32" | "uint32", "int32 or uint32">;
export const whyWord = (op: string, elem: Elem): string =>
  asks(op, elem, (name) => name === "int32" || name === "uint32", "int32 or uint32");
/** Floats of any width. */
export type WhyFloats<Op extends string, E> = Asks<Op, E, Exclude<DTypeName, IntName>, "floats">;
const whyFloats = (op: string, elem: Elem): string => asks(op, elem, (name) => !isInt(name), "floats");

// ---- one operand ----------------------------------------------------------------------------------------------------

/** sqrtRn: float32, or a number. */
export type WhySingleOf<Op extends string, X> = X extends TileLike
  ? WhySingle<Op, X[El]>
  : X extends number | ConstLike<any, "int" | "float">
    ? ""
    : NotATile<Op, X>;
export function inferSingle(op: string, x: Type): Type | string {
  if (x.kind === "tile") return whySingle(op, x.dtype) || x;
  return x.kind === "constexpr" && (x.of === "int" || x.of === "float") ? tileType("float32", []) : notATile(op, x);
}

// ---- two operands ---------------------------------------------------------------------------------------------------

/** divRn: float32 tiles, or one and a number. */
export type WhySingleSecond<Op extends string, X, Y> = X extends TileLike
  ? Both<
      WhySingle<Op, X[El]>,
      Y extends TileLike ? Both<WhySingle<Op, Y[El]>, WhyArith<Op, X[El], X[Sh], Y>> : WhyArith<Op, X[El], X[Sh], Y>
    >
  : NotATile<Op, X>;
export function inferSinglePair(op: string, x: Type, y: Type): Type | string {
  if (x.kind !== "tile") return notATile(op, x);
  const why = whySingle(op, x.dtype) || (y.kind === "tile" ? whySingle(op, y.dtype) : "");
  return why || inferArith(op, x, y, () => "");
}

/** fdiv: floats, which divide as `/` does. */
export type WhyFdiv<X, Y> = X extends TileLike
  ? Both<
      WhyFloats<"fdiv", X[El]>,
      Both<Y extends TileLike ? WhyFloats<"fdiv", Y[El]> : "", WhyQuotient<"fdiv", X[El], X[Sh], Y>>
    >
  : NotATile<"fdiv", X>;
export type FdivOut<X, Y> = X extends TileLike ? DivideOut<X[El], X[Sh], Y> : Tile<any, any>;
export function inferFdiv(x: Type, y: Type, asks?: "ieeeRounding" | "approx"): Type | string {
  const type = inferQuotient(x, y);
  return asks && typeof type === "object" && type.kind === "tile" && type.dtype !== "float32"
    ? `fdiv: ${asks} is for float32, the result is ${call(type.dtype)}`
    : type;
}
function inferQuotient(x: Type, y: Type): Type | string {
  if (x.kind !== "tile") return notATile("fdiv", x);
  const why = whyFloats("fdiv", x.dtype) || (y.kind === "tile" ? whyFloats("fdiv", y.dtype) : "");
  return why || inferDivide("fdiv", x, y, () => "");
}

/** umulhi. */
export type WhyUmulhi<X, Y> = X extends TileLike
  ? Both<
      WhyWideInt<"umulhi", X[El]>,
      Both<Y extends TileLike ? WhyWideInt<"umulhi", Y[El]> : "", WhyArith<"umulhi", X[El], X[Sh], Y>>
    >
  : NotATile<"umulhi", X>;
export function inferUmulhi(x: Type, y: Type): Type | string {
  if (x.kind !== "tile") return notATile("umulhi", x);
  const why = whyWideInt("umulhi", x.dtype) || (y.kind === "tile" ? whyWideInt("umulhi", y.dtype) : "");
  return why || inferArith("umulhi", x, y, () => "");
}
/** A tile and its other operand. */
export type PairOf<X, Y> = X extends TileLike ? ArithOut<X[El], X[Sh], Y> : Tile<any, any>;

// ---- three operands -------------------------------------------------------------------------------------------------

/** The second operand of clamp and fma, against the first. */
export type WhySecond<Op extends string, X, Y> = X extends TileLike ? WhyArith<Op, X[El], X[Sh], Y> : "";
/** The third operand, against the result of the first two. */
export type WhyThird<Op extends string, X, Y, Z> = WhySecond<Op, PairOf<X, Y>, Z>;
/** The first: a tile. fma takes floats only. */
export type WhyClamped<Op extends string, X> = X extends TileLike ? WhyNoDouble<Op, X[El]> : NotATile<Op, X>;
/** Triton's front end takes float64, LLVM's PTX does not. */
type WhyNoDouble<Op extends string, E> =
  IsAny<E> extends true
    ? ""
    : "float64" extends Members<E>
      ? `${Op}: float64 does not compile; write tl.minimum(tl.maximum(x, min), max)`
      : "";
export type WhyFused<X> = X extends TileLike ? WhyFloats<"fma", X[El]> : NotATile<"fma", X>;
export type TripleOut<X, Y, Z> = PairOf<PairOf<X, Y>, Z>;
export function inferTriple(op: string, x: Type, y: Type, z: Type): Type | string {
  if (x.kind !== "tile") return notATile(op, x);
  const pair = inferArith(op, x, y, () => "");
  return typeof pair === "string" ? pair : inferArith(op, pair, z, () => "");
}
export function inferClamp(x: Type, min: Type, max: Type): Type | string {
  const triple = inferTriple("clamp", x, min, max);
  return typeof triple === "object" && triple.kind === "tile" && members(triple.dtype).includes("float64")
    ? "clamp: float64 does not compile; write tl.minimum(tl.maximum(x, min), max)"
    : triple;
}
export function inferFma(x: Type, y: Type, z: Type): Type | string {
  const why = x.kind === "tile" ? whyFloats("fma", x.dtype) : "";
  if (why) return why;
  const triple = inferTriple("fma", x, y, z);
  return typeof triple === "string" || triple.kind !== "tile" ? triple : whyFloats("fma", triple.dtype) || triple;
}
