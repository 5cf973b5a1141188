/** Types that rules recognize in place of a tile, and the messages for them. */
import type { StateLike } from "./tile.js";
import type { Type } from "./types.js";

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

/** The message for an X that is not a tile. */
export type NotATile<Op extends string, X> = X extends AddressLike
  ? `${Op}: this is an address; load it first, tl.load(…)`
  : X extends TensorLike
    ? `${Op}: this is a whole tensor; load a tile of it first, tl.load(x.at(…))`
    : X extends StateLike
      ? `${Op}: this is state; read it with .value`
      : `${Op}: needs a tile`;
export function notATile(op: string, type: Type): string {
  if (type.kind === "view" || type.kind === "pointer") return `${op}: this is an address; load it first, tl.load(…)`;
  return type.kind === "tensor"
    ? `${op}: this is a whole tensor; load a tile of it first, tl.load(x.at(…))`
    : `${op}: needs a tile`;
}

/** The message for an X that is not an operand of an operator. */
export type NotAnOperand<Op extends string, X> = X extends AddressLike | TensorLike | StateLike
  ? NotATile<Op, X>
  : `${Op}: needs a tile, a constexpr or a number`;
export function notAnOperand(op: string, type: Type): string {
  return type.kind === "view" || type.kind === "pointer" || type.kind === "tensor"
    ? notATile(op, type)
    : `${op}: needs a tile, a constexpr or a number`;
}
