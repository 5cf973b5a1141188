import type { NEEDS_MATRIX } from "../diagnostics/catalog/operand-codes.js";
import type { SentenceOf } from "../diagnostics/message.js";
import { operandKind } from "../diagnostics/catalog/rule-codes.js";
import type { ConstBool, DimsOf, ShapeArg, AtLeastOne } from "../types/constexpr.js";
import type { DType, Element } from "../types/dtype.js";
import type { Axis, Expand, WhyExpand } from "../types/axis.js";
import type {
  ForeignCalls,
  ForeignFacts,
  foreignTensorFacts,
  foreignToPointers,
  foreignToTensors,
  foreignToViews,
} from "../types/unsupported-names.js";
import type { FirstError, Validate, IsAny, Problem } from "../types/rule-error.js";
import type { Permute, WhyPermute } from "../types/dims.js";
import type { Shape, Show, WhyBroadcastTo } from "../types/shape.js";
import type {
  GatherArgs,
  GatherShape,
  IndexArgs,
  OffsetArgs,
  OffsetOperand,
  OffsetsShape,
  IndexedShape,
  WhyCount,
  WhyInside,
  WhyOffset,
} from "./memory-rules.js";
import type { NotACondition, Scalar, StateLike, Tile } from "../types/tile.js";
import type { AddressLike, TensorLike } from "../types/operand.js";
import type { Access } from "../types/types.js";

export type { Access } from "../types/types.js";

export type { Ac, AddressLike, Pl, AddressElement, TensorLike } from "../types/operand.js";

// ---- raw pointers ---------------------------------------------------------------------------------------------------

/** The methods of a pointer. Ops may declare more by module augmentation, as for `TileOps`. */
// oxlint-disable-next-line typescript/no-empty-interface, typescript/no-empty-object-type
export interface PointerOps {}

export const pointerCast = () =>
  operandKind("to: a pointer casts to tl.int64 only", "to point to another dtype, .toPointer(dtype)");

/** A raw pointer, as in Triton. Accesses are masked only by explicit masks. */
export interface Pointer<in out E extends Element, in out S extends Shape, in out A extends Access = "inout">
  extends AddressLike<E, S, A>, PointerOps, ForeignCalls<typeof foreignToPointers, "this pointer"> {
  /** The dtype of the elements. */
  readonly dtype: DType<E>;
  add<const O extends AtLeastOne>(...offsets: OffsetArgs<S, O>): Pointer<E, OffsetsShape<S, O>, A>;
  sub<const O>(offset: Validate<O, WhyOffset<"sub", S, O>>): Pointer<E, OffsetOperand<S, O>, A>;
  expandDims<const Ax extends number>(axis: Validate<Ax, WhyExpand<S, Ax>>): Pointer<E, Expand<S, Ax>, A>;
  broadcastTo<const X extends readonly unknown[]>(
    shape: Validate<ShapeArg<"broadcastTo", X>, WhyBroadcastTo<S, DimsOf<X>>>,
  ): Pointer<E, DimsOf<X>, A>;
  /** Converts the pointers to integers: `ptr.to(tl.int64)`. */
  to<const D>(dtype: Validate<D, D extends DType<"int64"> ? "" : SentenceOf<typeof pointerCast>>): Tile<"int64", S>;
  /** As a pointer to elements of another dtype. */
  toPointer<F extends Element>(dtype: DType<F>): Pointer<F, S, A>;
  readonly then: NotACondition;
}

/** A raw pointer that the caller may omit. Use it only if `given` is true. */
export interface OptionalPointer<in out E extends Element, out Name extends string = string> extends Pointer<
  E,
  [],
  "inout"
> {
  /** True if the caller passed it, as a constexpr. */
  readonly given: ConstBool<`${Name}.given`>;
}

/** A mutable pointer, for loops and branches. */
export interface MutPointer<
  in out E extends Element,
  in out S extends Shape,
  in out A extends Access = "inout",
> extends StateLike {
  get value(): Pointer<E, S, A>;
  set value(next: Pointer<E, S, A>);
  readonly then: NotACondition;
}

// ---- tensors --------------------------------------------------------------------------------------------------------

/** A rectangle or a gather of a tensor, masked on every axis on which it may be out of bounds. */
export interface View<in out E extends Element, in out S extends Shape, in out A extends Access>
  extends AddressLike<E, S, A>, ForeignCalls<typeof foreignToViews, "this view"> {
  readonly dtype: DType<E>;
  /** Rows and columns swapped. */
  readonly T: IsAny<S> extends true
    ? View<E, any, A>
    : S extends readonly [infer M, infer N]
      ? View<E, [N, M], A>
      : Problem<`T: needs an address of rank 2, this is ${Show<S>}; use permute`>;
  permute<const P extends readonly number[]>(order: Validate<P, WhyPermute<S, P>>): View<E, Permute<S, P>, A>;
  readonly then: NotACondition;
}

/** A tensor argument inside the kernel. */
export interface Tensor<in out E extends Element, in out Ds extends Shape, in out A extends Access>
  extends
    TensorLike<Ds>,
    ForeignCalls<typeof foreignToTensors, "this tensor">,
    ForeignFacts<typeof foreignTensorFacts, "this tensor"> {
  readonly dtype: DType<E>;
  /** Address of its first element. */
  readonly ptr: Pointer<E, [], A>;
  /** A view with one index per axis. A scalar drops its axis; a tile of rank 1 becomes an axis of the view. */
  at<const I extends readonly unknown[]>(
    this: Validate<Tensor<E, Ds, A>, FirstError<WhyCount<"at", Ds, I>, WhyInside<Ds, I>>>,
    ...indices: IndexArgs<I>
  ): View<E, IndexedShape<I>, A>;
  /** A view with one index tile per axis, which are broadcast to one shape. */
  gather<const I extends readonly unknown[]>(
    this: Validate<Tensor<E, Ds, A>, WhyCount<"gather", Ds, I>>,
    ...indices: GatherArgs<I>
  ): View<E, GatherShape<I>, A>;
  /** Rows and columns swapped. */
  readonly T: IsAny<Ds> extends true
    ? Tensor<E, any, A>
    : Ds extends readonly [infer M, infer N]
      ? Tensor<E, [N, M], A>
      : Problem<`${typeof NEEDS_MATRIX} ${Show<Ds>}; use permute`>;
  permute<const P extends readonly number[]>(order: Validate<P, WhyPermute<Ds, P>>): Tensor<E, Permute<Ds, P>, A>;
  /** The stride of an axis in elements. It is int32, because Triton passes integers in that range as int32. */
  stride<const Ax extends number>(
    axis: Validate<Ax, Axis<Ds["length"], Ax> extends "none" ? `stride: there is no axis ${Ax}` : "">,
  ): Scalar<"int32">;
  readonly then: NotACondition;
}

/** A tensor that the caller may omit. Use it only if `given` is true. */
export interface OptionalTensor<
  in out E extends Element,
  in out Ds extends Shape,
  in out A extends Access,
  out Name extends string = string,
> extends Tensor<E, Ds, A> {
  /** True if the caller passed it, as a constexpr. */
  readonly given: ConstBool<`${Name}.given`>;
}
