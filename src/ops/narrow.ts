/** Narrowing of dtype variables in a branch: `x.as(dtype)` and `T.is(dtype)`. */
import { noDType } from "../types/dtype-text.js";
import type { ConstBool } from "../types/constexpr.js";
import { dtypeDisplayName, type Dt, type DType, type DTypeName, onMembership } from "../types/dtype.js";
import { activeBuilder } from "../ir/builder.js";
import type { Validate } from "../types/rule-error.js";
import { inferAs, type WhyAs } from "../rules/narrow-rules.js";
import { constexprType } from "../types/types.js";
import type { Sh, Tile, TileLike } from "../types/tile.js";
import { defineOp } from "./define.js";

declare module "../types/tile.js" {
  interface TileOps {
    /** The same tile, in a branch in which the dtype variable is known: `x.as(tl.int8)` if `T.is(tl.int8)`. */
    as<T extends TileLike, D extends DType<any>>(this: T, dtype: Validate<D, WhyAs<T, D>>): Tile<D[Dt], T[Sh]>;
  }
}

/**
 * Narrows the dtype variable of a tile to the dtype that a branch tests for: `tl.when(T.is(tl.int8), () => …
 * x.as(tl.int8) …)`. To narrow it to several dtypes, write `x.as(T.only(tl.float16, tl.bfloat16))`. The build checks
 * every dtype that reaches the call. `as` emits no Python.
 */
export const as = defineOp<
  <X, D extends DType<any>>(x: X, dtype: Validate<D, WhyAs<X, D>>) => Tile<D[Dt], X extends TileLike ? X[Sh] : any>
>()({
  name: "as",
  operands: { x: "value", dtype: "dtype" },
  method: true,
  effect: "pure",
  spelling: { form: "same" },
  infer: ({ x, dtype }) => inferAs(x.type, dtype.dtype),
  evaluate: ({ x }) => x,
  facts: { lanewise: true, rounds: false, nonNegative: ([x]) => x === true, keepsClaims: true, isIdentity: true },
});

/** `T.is(tl.int8)`, decided at compile time: `x_ptr.dtype.element_ty == tl.int8`. */
const is = defineOp<(dtype: DType<any>, member: DType<any>) => ConstBool<string>>()({
  name: "is",
  operands: { dtype: "dtype", other: "dtype" },
  effect: "pure",
  spelling: { form: "infix", operator: "==" },
  infer: ({ dtype, other }) =>
    dtype.dtype && other.dtype
      ? constexprType("bool", `${dtypeDisplayName(dtype.dtype)}.is.${dtypeDisplayName(other.dtype)}`)
      : noDType("is", "tl.int8"),
  fold: (dtype, member) => (dtype as DTypeName) === (member as DTypeName),
});

onMembership((dtype, member) => (activeBuilder() ? is(dtype, member) : undefined));
