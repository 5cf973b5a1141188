/** The rule of `x.as(dtype)`, which narrows the dtype of a tile. */
import {
  dtypeDisplayName,
  choices,
  type Call,
  type Choices,
  type DType,
  type Dt,
  type Elem,
  members,
  type Members,
  type OneOf,
  dtypeSourceText,
  type Token,
} from "../types/dtype.js";
import { notATile, type NotATile } from "../types/operand.js";
import type { IsAny } from "../types/rule-error.js";
import type { El, TileLike } from "../types/tile.js";
import { tileType, type Type } from "../types/types.js";

export type WhyAs<X, D extends DType<any>> = X extends TileLike ? WhyNarrow<X[El], D[Dt]> : NotATile<"as", X>;
type WhyNarrow<E, F> =
  IsAny<E> extends true
    ? ""
    : [Exclude<Members<F>, Members<E>>] extends [never]
      ? ""
      : E extends OneOf<infer Name, infer M>
        ? `as: ${Call<F>} is none of ${Choices<M>}, which ${Name} may be; cast with .to(${Token<F>})`
        : `as: this is ${Call<E>}, not ${Call<F>}; cast with .to(${Token<F>}), or write it in an arm of tl.when(T.is(${Token<F>}), …)`;

/** The narrowed type, or a message. If dtype variables are bound, the concrete dtype must be one of the members. */
export function inferAs(x: Type, dtype: Elem | undefined): Type | string {
  if (x.kind !== "tile") return notATile("as", x);
  if (dtype === undefined) return "as: needs a dtype, such as tl.int8";
  const from = members(x.dtype);
  if (members(dtype).every((name) => from.includes(name))) return tileType(dtype, x.shape);
  return typeof x.dtype === "string"
    ? `as: this is ${x.dtype}, not ${dtypeDisplayName(dtype)}; cast with .to(${dtypeSourceText(dtype)}), or write it in an arm of tl.when(T.is(${dtypeSourceText(dtype)}), …)`
    : `as: ${dtypeDisplayName(dtype)} is none of ${choices(from)}, which ${x.dtype.name} may be; cast with .to(${dtypeSourceText(dtype)})`;
}
