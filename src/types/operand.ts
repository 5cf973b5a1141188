/** Types that rules recognize in place of a tile, and the messages for them. */
import type { Fact, SentenceOf } from "../diagnostics/message.js";
import { addressAsValue, tensorAsValue, stateAsValue, operandKind } from "../diagnostics/catalog/rule-codes.js";
import type { StateLike } from "./tile.js";
import type { Type } from "./types.js";
import type { RuleError } from "./rule-error.js";

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
