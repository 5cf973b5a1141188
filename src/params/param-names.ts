/** The names of a kernel's params of each kind. */
import type { DType } from "../types/dtype.js";
import type { $param, ConstexprParam, DimNames, DTypeChoice, Param } from "./param-types.js";

/** The named dims of all tensors: sizes, constexprs and derived sizes. */
export type DimsOfParams<P> = {
  [K in keyof P]: P[K] extends {
    readonly [$param]: ["tensor" | "optional" | "descriptor", any, infer Ds extends DimNames, any];
  }
    ? Extract<Ds[number], string>
    : never;
}[keyof P];
export type NamesWhere<P, Tag> = { [K in keyof P]: P[K] extends { readonly [$param]: Tag } ? K : never }[keyof P] &
  string;
export type ScalarNames<P> = NamesWhere<P, ["scalar", any]>;
/** Constexprs. Invalid params count as constexprs, so that the invalid param causes only one error. */
export type ConstNames<P> = {
  [K in keyof P]: P[K] extends { readonly [$param]: ["constexpr", any] } ? K : P[K] extends Param ? never : K;
}[keyof P] &
  string;
export type TensorNames<P, A = any> = NamesWhere<P, ["tensor" | "optional" | "descriptor", any, any, A]>;
/** Outputs that are computed only if a call requests them. */
export type OptionalOutputNames<P> = NamesWhere<P, ["optional", any, any, "out"]>;
/** Tensors that the autotuner can set to zero: not descriptors. */
export type ResetNames<P, A> = NamesWhere<P, ["tensor", any, any, A]>;
/** Tensors that the autotuner can restore. The caller passes a tensor for a raw pointer, too. */
export type RestoreNames<P> = ResetNames<P, "inout"> | NamesWhere<P, ["pointer", any]>;
/** Constexprs that each config must set: those that no tensor's shape determines. */
export type SizeNames<P> = Exclude<NamesWhere<P, ["constexpr", "size"]>, DimsOfParams<P>>;
/** Constexprs that a caller or a config sets: flags and choices. */
export type FlagNames<P> = Exclude<
  ConstNames<P>,
  { [K in keyof P]: P[K] extends ConstexprParam<NonFlagKind> ? K : never }[keyof P] & string
>;
type NonFlagKind = "size" | "launch" | "launch bool" | DTypeChoice<any> | DType<any>;
export type DTypeNames<P> = {
  [K in keyof P]: P[K] extends ConstexprParam<DTypeChoice<any> | DType<any>> ? K : never;
}[keyof P] &
  string;
/** Sizes that the shapes of the arguments determine. */
export type FreeSizes<P, Derived extends string> = Exclude<DimsOfParams<P>, Derived>;
