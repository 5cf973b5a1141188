import type { NEEDS_MATRIX } from "../diagnostics/catalog/operand-codes.js";
import type { SentenceOf } from "../diagnostics/message.js";
import { operandKind } from "../diagnostics/catalog/rule-codes.js";
import type { ConstBool, DimsOf, ShapeArg, AtLeastOne } from "../types/constexpr.js";
import type { DType, Element } from "../types/dtype.js";
import type {
  ForeignCalls,
  ForeignFacts,
  foreignTensorFacts,
  foreignToPointers,
  foreignToTensors,
  foreignToViews,
} from "../types/unsupported-names.js";
import type { FirstError, Validate, IsAny, Problem } from "../types/rule-error.js";
import type { Permute, WhyPermute, Axis, Expand, WhyExpand } from "../types/dims.js";
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
import type { NotACondition, Scalar, StateLike, Tile, ShapeValues, AddressLike, TensorLike } from "../types/tile.js";
import type { Access } from "../types/types.js";
import type {
  BlockOffsets,
  Reduce,
  RowsShape,
  WhyBlockOffset,
  WhyBlockValue,
  WhyBlockWrite,
  WhyOffsetCount,
  WhyRows,
} from "./descriptor-rules.js";

export type { Access } from "../types/types.js";

export type { Ac, AddressLike, Pl, AddressElement, TensorLike } from "../types/tile.js";

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

// The author's types of tensor descriptors. Their rules are in `descriptor-rules.ts`.

declare const $element: unique symbol;
declare const $block: unique symbol;
declare const $access: unique symbol;
/** The phantom properties of a descriptor, for rules: elements of dtype E, blocks of shape B, access A. */
export interface DescriptorLike<E = any, B = any, A = any> {
  readonly [$element]: E;
  readonly [$block]: B;
  readonly [$access]: A;
}
/** Keys of a descriptor's element type, block shape and access: `D[De]`, `D[Bl]`, `D[Us]`. */
export type De = typeof $element;
export type Bl = typeof $block;
export type Us = typeof $access;

/**
 * A tensor that is loaded and stored in blocks, by TMA if the GPU supports it. Loads return padding for elements
 * outside the tensor and stores skip them, so there are no masks. Offsets are in elements; the last one must be a
 * multiple of 16 bytes.
 */
export interface Descriptor<
  in out E extends Element,
  in out B extends Shape,
  in out A extends Access,
> extends DescriptorLike<E, B, A> {
  readonly dtype: DType<E>;
  readonly shape: NoInfer<ShapeValues<B>>;
  /** The block that starts at these offsets, one per axis: `a_desc.load([i, k])`. */
  load<const I extends readonly unknown[]>(
    offsets: Validate<BlockOffsets<"load", I>, WhyOffsetCount<"load", B, I>>,
  ): Tile<E, B>;
  /** Writes a block: `c_desc.store([i, j], acc)`. */
  store<const I extends readonly unknown[], const V>(
    this: Validate<Descriptor<E, B, A>, WhyBlockWrite<"store", A>>,
    offsets: Validate<BlockOffsets<"store", I>, WhyOffsetCount<"store", B, I>>,
    value: Validate<V, WhyBlockValue<"store", E, B, V>>,
  ): void;
  /** Loads rows by index, starting at column `j`, if blocks have the shape [1, N]: `x_desc.gather(rows, j)`. */
  gather<const R, const C>(
    rows: Validate<R, WhyRows<"gather", B, R>>,
    column: Validate<C, WhyBlockOffset<"gather", C>>,
  ): Tile<E, RowsShape<B, R>>;
  /** Writes rows by index: `x_desc.scatter(value, rows, j)`. */
  scatter<const V, const R, const C>(
    this: Validate<Descriptor<E, B, A>, WhyBlockWrite<"scatter", A>>,
    value: Validate<V, WhyBlockValue<"scatter", E, RowsShape<B, R>, V>>,
    rows: Validate<R, WhyRows<"scatter", B, R>>,
    column: Validate<C, WhyBlockOffset<"scatter", C>>,
  ): void;
  /** Adds a block to memory, each element atomically: `c_desc.atomic_add([i, j], x)`. */
  atomicAdd: Reduce<"atomicAdd", "add", E, B, A>;
  /** Atomic maximum. Floats need sm_90 or later. */
  atomicMax: Reduce<"atomicMax", "extreme", E, B, A>;
  /** Atomic minimum. Floats need sm_90 or later. */
  atomicMin: Reduce<"atomicMin", "extreme", E, B, A>;
  /** Bitwise and. */
  atomicAnd: Reduce<"atomicAnd", "bits", E, B, A>;
  /** Bitwise or. */
  atomicOr: Reduce<"atomicOr", "bits", E, B, A>;
  /** Bitwise exclusive or. */
  atomicXor: Reduce<"atomicXor", "bits", E, B, A>;
  readonly then: NotACondition;
}
