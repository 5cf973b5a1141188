/** Signatures of hints: multipleOf, maxContiguous, maxConstancy, assume, trusted and expectZero. */
import { type Fact, type SentenceOf, Message } from "../diagnostics/message.js";
import { operandKind, wrongAxis } from "../diagnostics/catalog/rule-codes.js";
import {
  isInt,
  members,
  type Element,
  type IntName,
  type Members,
  type DType,
  type Dt,
  type Elem,
} from "../types/dtype.js";
import type { WhyWhole } from "../types/promote.js";
import type { AddressLike, Pl, Pointer, View } from "./tensor-types.js";
import type { FirstError, RuleError } from "../types/rule-error.js";
import {
  showShape,
  type Shape,
  type Show,
  type WhyBroadcast,
  type AsShape,
  type Broadcast,
  type Dim,
  inferBroadcast,
} from "../types/shape.js";
import type { WhyCond, ShapeOf } from "./math-rules.js";
import { type El, type Sh, type TileLike, type Tile, notATile, type NotATile } from "../types/tile.js";
import { type Type, type Typed, none, tileType } from "../types/types.js";
import { dimsOf, whyDims } from "../types/constexpr.js";

/** The rule of the operand of a hint: integers or pointers. */
export type WhyHintOf<Op extends string, X> = X extends TileLike
  ? WhyHinted<Op, X[El]>
  : X extends Pointer<any, any, any>
    ? ""
    : NotATile<Op, X>;

const hintOperand = <Op extends Fact>(op: Op) => operandKind(`${op}: hints are about integers and pointers`);

type WhyHinted<Op extends string, E extends Element> = [Exclude<Members<E>, IntName>] extends [never]
  ? ""
  : SentenceOf<typeof hintOperand<Op>>;

/** The rule of the values of a hint: one per axis. multipleOf also accepts a scalar, with one value. */
export type WhyHint<Op extends string, X, V> = X extends TileLike
  ? WhyCount<Op, X[Sh], V>
  : X extends AddressLike
    ? WhyCount<Op, X[Pl], V>
    : "";

const hintOfScalar = <Op extends Fact>(op: Op) =>
  operandKind(`${op}: a scalar has no elements in a row`, "give it a tile");

type WhyCount<Op extends string, S extends Shape, V> = number extends S["length"]
  ? ""
  : S extends readonly []
    ? Op extends "multipleOf"
      ? WhyValues<Op, S, 1, V>
      : SentenceOf<typeof hintOfScalar<Op>>
    : WhyValues<Op, S, S["length"], V>;

const hintCount = <Op extends Fact, Shape extends Fact>(op: Op, shape: Shape) =>
  wrongAxis(`${op}: give one value for each axis of ${shape}`);

type WhyValues<Op extends string, S extends Shape, Count, V> = V extends readonly unknown[]
  ? number extends V["length"]
    ? ""
    : V["length"] extends Count
      ? ""
      : SentenceOf<typeof hintCount<Op, Show<S>>>
  : Count extends 1
    ? V extends number
      ? WhyWhole<Op, V>
      : ""
    : SentenceOf<typeof hintCount<Op, Show<S>>>;

export function inferHint(op: string, x: Type, values: readonly number[]): Type | RuleError {
  if (x.kind !== "tile" && x.kind !== "pointer") return notATile(op, x);
  if (x.kind === "tile" && !members(x.dtype).every(isInt)) return hintOperand(op);
  if (x.shape.length === 0 && op !== "multipleOf") return hintOfScalar(op);
  return values.length === Math.max(x.shape.length, 1) ? x : hintCount(op, showShape(x.shape));
}

const trustedOperand = () => operandKind("trusted: needs a tile, or a view of a tensor, such as y.at(rows)");

/** The rule of the operand of `tl.trusted`: a tile, or a view of a tensor. */
export type WhyTrusted<X> = X extends TileLike
  ? ""
  : X extends View<any, any, any>
    ? ""
    : SentenceOf<typeof trustedOperand>;

const trustedReason = () => operandKind("trusted: say why it is right");

/** The rule of the reason of `tl.trusted`: a nonempty string. */
export type WhyReason<R> = R extends "" ? SentenceOf<typeof trustedReason> : "";

export function inferTrusted(x: Type, reason: Typed): Type | RuleError {
  if (x.kind !== "tile" && x.kind !== "view") return trustedOperand();
  return typeof reason.literal === "string" && reason.literal !== "" ? x : trustedReason();
}

/** The rule of the mask of `tl.expectZero`. */
export type WhyZeroed<X, M> = FirstError<
  WhyCond<"expectZero", M>,
  X extends TileLike ? (M extends TileLike ? WhyBroadcast<"expectZero", X[Sh], M[Sh]> : "") : ""
>;

export const assumedTile = <Shape extends Fact>(shape: Shape) =>
  operandKind(`assume: needs a scalar, this is ${shape}`, "reduce it first, as in tl.min(x, 0).gt(0)");

/** The rule of the operand of `tl.assume`: a scalar of int1, or a boolean. */
export type WhyAssumed<C> = C extends TileLike
  ? C[Sh] extends readonly []
    ? WhyCond<"assume", C>
    : SentenceOf<typeof assumedTile<Show<C[Sh]>>>
  : WhyCond<"assume", C>;

// Signatures of raw Python and inline assembly, which are not modeled: the author declares the results.

/** The result of `tl.raw`: the declared tile, or none. */
export function inferRaw(
  code: string,
  count: number,
  dtype: Elem | undefined,
  shape: readonly Type[] | undefined,
): Type | RuleError {
  for (const [placeholder, index] of code.matchAll(/\{(\d+)\}/g))
    if (Number(index) >= count)
      return operandKind(
        `raw: ${placeholder} has no operand`,
        `give ${Number(index) + 1} operands, or write {{ for a brace`,
      );
  if (dtype === undefined) return shape ? operandKind("raw: a shape needs a dtype", "add dtype: tl.float32") : none;
  const why = shape ? whyDims("raw", shape) : undefined;
  return why || tileType(dtype, shape ? dimsOf(shape) : []);
}

type FirstWrong<A, S extends Shape = []> = A extends readonly [infer H, ...infer R]
  ? H extends TileLike
    ? FirstError<WhyBroadcast<"inlineAsmElementwise", S, H[Sh]>, FirstWrong<R, AsShape<Broadcast<S, H[Sh]>>>>
    : NotATile<"inlineAsmElementwise", H>
  : "";
/** The rule of the operands of `tl.inlineAsmElementwise`. */
export type WhyAsmArgs<A> = FirstWrong<A>;

type AllShapes<A, S extends Shape = []> = A extends readonly [infer H, ...infer R]
  ? AllShapes<R, AsShape<Broadcast<S, AsShape<ShapeOf<H>>>>>
  : S;
type AsmTile<D, S extends Shape> = D extends DType<any> ? Tile<D[Dt], S> : never;
export type AsmOut<A, D> = D extends readonly unknown[]
  ? { -readonly [K in keyof D]: AsmTile<D[K], AllShapes<A>> }
  : AsmTile<D, AllShapes<A>>;
export function inferAsm(args: readonly Type[], dtypes: readonly (Elem | undefined)[]): readonly Type[] | RuleError {
  let shape: readonly Dim[] = [];
  for (const arg of args) {
    if (arg.kind !== "tile") return notATile("inlineAsmElementwise", arg);
    const common = inferBroadcast("inlineAsmElementwise", shape, arg.shape);
    if (common instanceof Message) return common;
    shape = common;
  }
  const outs = dtypes.filter((dtype) => dtype !== undefined);
  return outs.length === dtypes.length
    ? outs.map((dtype) => tileType(dtype, shape))
    : operandKind("inlineAsmElementwise: needs the dtype of the result, such as tl.float32, or a list of dtypes");
}
