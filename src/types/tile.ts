/** The author's types of tiles and state. At run time they are the handles of tracing. */
import type { NEEDS_VECTOR } from "../diagnostics/catalog/operand-codes.js";
import { stateAsValue, addressAsValue, tensorAsValue, operandKind } from "../diagnostics/catalog/rule-codes.js";
import type { Fact, SentenceOf } from "../diagnostics/message.js";
import type { Constexpr } from "./constexpr.js";
import type { DType, Element } from "./dtype.js";
import type { ForeignCalls, foreignMethods } from "./unsupported-names.js";
import type { IsAny, Problem, RuleError } from "./rule-error.js";
import type { Shape, Show } from "./shape.js";
import type { Type } from "./types.js";

declare const $element: unique symbol;
declare const $shape: unique symbol;
/**
 * The two phantom properties of a tile, for rules. Rules index them, `T[El]`, instead of inferring them. Indexing is
 * faster, and the checker can decide it for type parameters.
 */
export interface TileLike<E = any, S = any> {
  readonly [$element]: E;
  readonly [$shape]: S;
}
/** The key of a tile's element type: `T[El]`. */
export type El = typeof $element;
/** The key of a tile's shape: `T[Sh]`. */
export type Sh = typeof $shape;

/**
 * The methods of a tile. The file of an op declares its method by module augmentation, next to the op's record.
 *
 * ```ts
 * declare module "./tile.js" {
 *   interface TileOps {
 *     sub<T extends TileLike, const O>(this: T, other: Checked<O, WhyArith<"sub", T[El], T[Sh], O>>): ArithOut<T[El],
 * T[Sh], O>;
 *   }
 * }
 * ```
 */
// oxlint-disable-next-line typescript/no-empty-interface, typescript/no-empty-object-type
export interface TileOps {}

/** A shape's dimensions as values: numbers, and constexprs for names. */
export type ShapeValues<S> = { readonly [K in keyof S]: S[K] extends number ? S[K] : Constexpr<S[K] & string> };

/** `x[:, None]`. */
export type Col<E extends Element, S> =
  IsAny<S> extends true
    ? Tile<E, any>
    : S extends readonly [infer N]
      ? Tile<E, [N, 1]>
      : Problem<`col: ${typeof NEEDS_VECTOR} ${Show<S>}; use expandDims`>;
/** `x[None, :]`. */
export type Row<E extends Element, S> =
  IsAny<S> extends true
    ? Tile<E, any>
    : S extends readonly [infer N]
      ? Tile<E, [1, N]>
      : Problem<`row: ${typeof NEEDS_VECTOR} ${Show<S>}; use expandDims`>;
/** `x.T`. */
export type Transposed<E extends Element, S> =
  IsAny<S> extends true
    ? Tile<E, any>
    : S extends readonly [infer M, infer N]
      ? Tile<E, [N, M]>
      : Problem<`T: needs a tile of rank 2, this is ${Show<S>}; use tl.trans or permute`>;

/** Values with one dtype and shape. A scalar is a tile of shape []. */
export interface Tile<in out E extends Element, in out S extends Shape>
  extends TileLike<E, S>, TileOps, ForeignCalls<typeof foreignMethods, "this tile"> {
  readonly dtype: DType<E>;
  readonly shape: NoInfer<ShapeValues<S>>;
  /** As a column: `x[:, None]`. */
  readonly col: Col<E, S>;
  /** As a row: `x[None, :]`. */
  readonly row: Row<E, S>;
  /** Rows and columns swapped. */
  readonly T: Transposed<E, S>;
  /** Never present. Makes the checker reject a tile in `if`, `&&` and `?:`, as the build does. */
  readonly then: NotACondition;
}
/** A type that resembles a promise: the checker reports only promises and functions as conditions. */
export type NotACondition = (useWhenOrWhere: (value: never) => void) => void;

/** A tile of rank 0. */
export type Scalar<E extends Element> = Tile<E, []>;

/** JavaScript's booleans, if the element type is int1. */
export type TruthOf<E> = E extends "int1" ? boolean : never;

// ---- state ----------------------------------------------------------------------------------------------------------

declare const $state: unique symbol;
/** State of any kind. Rules recognize it, for the message "read it with .value". */
export interface StateLike {
  readonly [$state]: true;
}

export const stateMethod = <Name extends Fact>(name: Name) =>
  stateAsValue(`${name}: this is state`, `read it with .value, as in acc.value.${name}`);

/** Tile methods on state. Calling one is an error whose message suggests `.value`. */
type MethodsOfValue = {
  readonly [Name in Exclude<keyof TileOps, symbol>]: (this: SentenceOf<typeof stateMethod<Name>>, ...args: any) => any;
};

/**
 * A mutable variable, for loops and branches. `value` reads the current value or assigns a new one, which must have the
 * dtype and shape of the initial value. JavaScript numbers are also accepted, as are booleans for int1.
 */
export interface Mut<in out E extends Element, in out S extends Shape> extends StateLike, MethodsOfValue {
  get value(): Tile<E, S>;
  set value(next: Tile<E, S> | number | TruthOf<E>);
  readonly then: NotACondition;
}
/**
 * State with a number as its initial value. The type of `value` includes the remedy, for messages about other dtypes.
 */
export interface MutOfNumber<in out E extends Element> extends Mut<E, []> {
  get value(): Tile<E, []>;
  set value(next: Tile<E, []> | number | TruthOf<E> | BeganAsNumber);
}
type BeganAsNumber =
  "value: a number began it; begin it with the dtype, tl.mut(tl.full([], 0, tl.float32)), or the shape, tl.mut(tl.zeros([BLOCK], tl.float32))";

// Types that rules recognize in place of a tile, and the messages for them.

declare const $target: unique symbol;
declare const $place: unique symbol;
declare const $access: unique symbol;
/** The phantom properties of an address, for rules: elements of dtype E in shape S, with access A. */
export interface AddressLike<E = any, S = any, A = any> {
  readonly [$target]: E;
  readonly [$place]: S;
  readonly [$access]: A;
}
/** Keys of an address's element type, shape and access: `A[AddressElement]`, `A[Pl]`, `A[Ac]`. */
export type AddressElement = typeof $target;
export type Pl = typeof $place;
export type Ac = typeof $access;

declare const $dims: unique symbol;
/** A whole tensor. Rules recognize it, for the message "load a tile of it first". */
export interface TensorLike<Ds = any> {
  readonly [$dims]: Ds;
}

const addressOperand = <Op extends Fact>(op: Op) =>
  addressAsValue(`${op}: this is an address`, "load it first, tl.load(…)");
const tensorOperand = <Op extends Fact>(op: Op) =>
  tensorAsValue(`${op}: this is a whole tensor`, "load a tile of it first, tl.load(x.at(…))");
export const stateOperand = <Op extends Fact>(op: Op) => stateAsValue(`${op}: this is state`, "read it with .value");
export const noTile = <Op extends Fact>(op: Op) => operandKind(`${op}: needs a tile`);

/** The message for an X that is not a tile. */
export type NotATile<Op extends string, X> = X extends AddressLike
  ? SentenceOf<typeof addressOperand<Op>>
  : X extends TensorLike
    ? SentenceOf<typeof tensorOperand<Op>>
    : X extends StateLike
      ? SentenceOf<typeof stateOperand<Op>>
      : SentenceOf<typeof noTile<Op>>;
export function notATile(op: string, type: Type): RuleError {
  if (type.kind === "view" || type.kind === "pointer") return addressOperand(op);
  return type.kind === "tensor" ? tensorOperand(op) : noTile(op);
}

export const noOperand = <Op extends Fact>(op: Op) => operandKind(`${op}: needs a tile, a constexpr or a number`);

/** The message for an X that is not an operand of an operator. */
export type NotAnOperand<Op extends string, X> = X extends AddressLike | TensorLike | StateLike
  ? NotATile<Op, X>
  : SentenceOf<typeof noOperand<Op>>;
export function notAnOperand(op: string, type: Type): RuleError {
  return type.kind === "view" || type.kind === "pointer" || type.kind === "tensor" ? notATile(op, type) : noOperand(op);
}
