/** Signatures of the random number generators: a seed, and a counter for each lane. */
import type { ConstLike } from "../types/constexpr.js";
import { dtypeDisplayName, members, type Call, type Elem, type Members } from "../types/dtype.js";
import type { FirstError, IsAny, IsUnion } from "../types/rule-error.js";
import { whyInt, whyWhole, type WhyInt, type WhyWhole } from "../types/promote.js";
import {
  broadcast,
  showShape,
  whyBroadcast,
  type Broadcast,
  type Dim,
  type Show,
  type WhyBroadcast,
} from "../types/shape.js";
import { notATile, type NotATile } from "../types/operand.js";
import { whyWideInt, type WhyWideInt } from "./elementwise-rules.js";
import type { ShapeOf } from "./math-rules.js";
import type { El, Sh, Tile, TileLike } from "../types/tile.js";
import { literalValue, type TileType, tileType, type Type } from "../types/types.js";
import { whyDefaultDType } from "../types/default-dtype.js";

/** The rule of a seed: one integer. */
export type WhySeed<Op extends string, X> = X extends TileLike
  ? X[Sh] extends readonly []
    ? WhyInt<Op, X[El]>
    : `${Op}: the seed is a scalar, this is ${Show<X[Sh]>}`
  : X extends number
    ? WhyWhole<Op, X>
    : X extends ConstLike<any, "int">
      ? ""
      : NotATile<Op, X>;
function whySeed(op: string, seed: Type): string {
  if (seed.kind === "constexpr" && literalValue(seed) !== undefined) return whyWhole(op, seed.text);
  if (seed.kind === "constexpr") return seed.of === "int" ? "" : notATile(op, seed);
  if (seed.kind !== "tile") return notATile(op, seed);
  return seed.shape.length === 0
    ? whyInt(op, seed.dtype)
    : `${op}: the seed is a scalar, this is ${showShape(seed.shape)}`;
}

/** The rule of offsets: integers. */
export type WhyOffsets<Op extends string, X> = X extends TileLike ? WhyInt<Op, X[El]> : NotATile<Op, X>;
export function inferRandom(op: string, seed: Type, offset: Type, dtype: "float32" | "uint32"): Type | string {
  const why = whySeed(op, seed) || (offset.kind === "tile" ? whyInt(op, offset.dtype) : notATile(op, offset));
  return why || (offset.kind === "tile" ? tileType(dtype, offset.shape) : notATile(op, offset));
}

// ---- philox ---------------------------------------------------------------------------------------------------------

type WideName<M> = M extends "int32" | "uint32" ? "uint32" : M extends "int64" | "uint64" ? "uint64" : any;
type Wide<E> = IsAny<E> extends true ? any : WideName<Members<E>>;
const wideDType = (elem: Elem): Elem =>
  members(elem).every((name) => name === "int32" || name === "uint32") ? "uint32" : "uint64";
/** The rule that all members of a dtype variable have the same width. */
type WhyWidth<E> =
  IsUnion<Wide<E>> extends true ? `philox: the members of ${Call<E>} differ in width; cast with .to(tl.int32)` : "";
function whyWidth(elem: Elem): string {
  return new Set(members(elem).map(wideDType)).size > 1
    ? `philox: the members of ${dtypeDisplayName(elem)} differ in width; cast with .to(tl.int32)`
    : "";
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
type WhyOneWidth<X, C> = X extends undefined
  ? ""
  : Wide<CounterEl<X>> extends Wide<CounterEl<C>>
    ? ""
    : `philox: the counters must have one width, got ${Call<CounterEl<X>>} and ${Call<CounterEl<C>>}`;
type WhyRank<E, S> = E extends "int64" | "uint64"
  ? S extends readonly []
    ? "philox: counters of 64 bits are tiles, not scalars"
    : ""
  : "";
type Two<A, B> = Tile<any, Broadcast<ShapeOf<A>, ShapeOf<B>>>;
export type PhiloxOut<A, B, C, D> = Quad<Tile<Wide<CounterEl<A>>, Broadcast<ShapeOf<Two<A, B>>, ShapeOf<Two<C, D>>>>>;
export type Quad<T> = [T, T, T, T];
export function inferPhilox(seed: Type, counters: readonly Type[]): readonly Type[] | string {
  const why = whySeed("philox", seed);
  if (why) return why;
  let shape: readonly Dim[] = [];
  let dtype: Elem | undefined;
  for (const counter of counters) {
    const type = counterType(counter);
    if (typeof type === "string") return type;
    if (dtype !== undefined && wideDType(dtype) !== wideDType(type.dtype))
      return `philox: the counters must have one width, got ${dtypeDisplayName(dtype)} and ${dtypeDisplayName(type.dtype)}`;
    const clash = whyBroadcast("philox", shape, type.shape);
    if (clash) return clash;
    dtype ??= type.dtype;
    shape = broadcast(shape, type.shape) ?? shape;
  }
  const result = tileType(wideDType(dtype!), shape);
  return [result, result, result, result];
}

/** The type of a counter as a tile, or a message. */
function counterType(counter: Type): TileType | string {
  if (counter.kind === "constexpr" && counter.of === "int")
    return whyDefaultDType("philox", counter) || tileType("int32", []);
  if (counter.kind === "constexpr" && literalValue(counter) !== undefined) return whyWhole("philox", counter.text);
  if (counter.kind !== "tile") return notATile("philox", counter);
  const width = whyWideInt("philox", counter.dtype) || whyWidth(counter.dtype);
  if (width) return width;
  if (wideDType(counter.dtype) === "uint64" && counter.shape.length === 0)
    return "philox: counters of 64 bits are tiles, not scalars";
  return counter;
}

// ---- words to floats ------------------------------------------------------------------------------------------------

export type WhyWords<X> = X extends TileLike
  ? WhyWideInt<"uintToUniformFloat", X[El]>
  : NotATile<"uintToUniformFloat", X>;
export function inferUniform(x: Type): Type | string {
  if (x.kind !== "tile") return notATile("uintToUniformFloat", x);
  return whyWideInt("uintToUniformFloat", x.dtype) || tileType("float32", x.shape);
}

/** The rule of the operands of pairUniformToNormal. */
export type WhyUniform<X> = X extends TileLike
  ? IsAny<X[El]> extends true
    ? ""
    : [Exclude<Members<X[El]>, "float32">] extends [never]
      ? ""
      : `pairUniformToNormal: needs float32, got ${Call<X[El]>}`
  : NotATile<"pairUniformToNormal", X>;
export type WhyUniformPair<X, Y> = FirstError<
  WhyUniform<Y>,
  X extends TileLike ? (Y extends TileLike ? WhyBroadcast<"pairUniformToNormal", X[Sh], Y[Sh]> : "") : ""
>;
type Normal<X, Y> = Tile<"float32", Broadcast<ShapeOf<X>, ShapeOf<Y>>>;
export type NormalPair<X, Y> = [Normal<X, Y>, Normal<X, Y>];
export function inferNormals(x: Type, y: Type): readonly Type[] | string {
  for (const side of [x, y]) {
    if (side.kind !== "tile") return notATile("pairUniformToNormal", side);
    if (side.dtype !== "float32") return `pairUniformToNormal: needs float32, got ${dtypeDisplayName(side.dtype)}`;
  }
  if (x.kind !== "tile" || y.kind !== "tile") return "";
  const why = whyBroadcast("pairUniformToNormal", x.shape, y.shape);
  const normal = tileType("float32", broadcast(x.shape, y.shape) ?? []);
  return why || [normal, normal];
}
