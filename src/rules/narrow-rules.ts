/** The rule of `x.as(dtype)`, which narrows the dtype of a tile. */
import { noDType } from "../types/dtype-text.js";
import type { Fact, SentenceOf } from "../diagnostics/message.js";
import { dtypeMismatch } from "../diagnostics/catalog/rule-codes.js";
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
import type { IsAny, RuleError } from "../types/rule-error.js";
import type { El, TileLike } from "../types/tile.js";
import { tileType, type Type } from "../types/types.js";

export type WhyAs<X, D extends DType<any>> = X extends TileLike ? WhyNarrow<X[El], D[Dt]> : NotATile<"as", X>;

const narrowToMember = <DType extends Fact, Members extends Fact, Variable extends Fact, Cast extends Fact>(
  dtype: DType,
  members: Members,
  variable: Variable,
  cast: Cast,
) => dtypeMismatch(`as: ${dtype} is none of ${members}, which ${variable} may be`, `cast with .to(${cast})`);
const narrowDType = <From extends Fact, To extends Fact, DType extends Fact>(from: From, to: To, dtype: DType) =>
  dtypeMismatch(
    `as: this is ${from}, not ${to}`,
    `cast with .to(${dtype}), or write it in an arm of tl.when(T.is(${dtype}), …)`,
  );

type WhyNarrow<E, F> =
  IsAny<E> extends true
    ? ""
    : [Exclude<Members<F>, Members<E>>] extends [never]
      ? ""
      : E extends OneOf<infer Name, infer M>
        ? SentenceOf<typeof narrowToMember<Call<F>, Choices<M>, Name, Token<F>>>
        : SentenceOf<typeof narrowDType<Call<E>, Call<F>, Token<F>>>;

/** The narrowed type, or a message. If dtype variables are bound, the concrete dtype must be one of the members. */
export function inferAs(x: Type, dtype: Elem | undefined): Type | RuleError {
  if (x.kind !== "tile") return notATile("as", x);
  if (dtype === undefined) return noDType("as", "tl.int8");
  const from = members(x.dtype);
  if (members(dtype).every((name) => from.includes(name))) return tileType(dtype, x.shape);
  return typeof x.dtype === "string"
    ? narrowDType(x.dtype, dtypeDisplayName(dtype), dtypeSourceText(dtype))
    : narrowToMember(dtypeDisplayName(dtype), choices(from), x.dtype.name, dtypeSourceText(dtype));
}
