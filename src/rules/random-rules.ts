/** Signatures of the random number generators: a seed, and a counter for each lane. */
import { type Fact, type SentenceOf, Message } from "../diagnostics/message.js";
import { operandKind, dtypeMismatch } from "../diagnostics/catalog/rule-codes.js";
import type { ConstLike } from "../types/constexpr.js";
import { dtypeDisplayName, members, type Call, type Elem, type Members } from "../types/dtype.js";
import type { FirstError, IsAny, IsUnion, RuleError } from "../types/rule-error.js";
import { whyInt, whyWhole, type WhyInt, type WhyWhole } from "../types/promote.js";
import {
  broadcast,
  showShape,
  whyBroadcast,
  type Broadcast,
  type Show,
  type WhyBroadcast,
  inferBroadcast,
} from "../types/shape.js";
import { notATile, type NotATile } from "../types/operand.js";
import { whyWideInt, type WhyWideInt, unsupportedDType } from "./elementwise-rules.js";
import type { ShapeOf } from "./math-rules.js";
import type { El, Sh, Tile, TileLike } from "../types/tile.js";
import { literalValue, type TileType, tileType, type Type } from "../types/types.js";
import { whyDefaultDType } from "../types/casts.js";

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
