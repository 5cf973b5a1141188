/** The author's types of tensor descriptors. Their rules are in `descriptor-rules.ts`. */
import type { DType, Element } from "../types/dtype.js";
import type { Validate } from "../types/rule-error.js";
import type { Shape } from "../types/shape.js";
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
import type { NotACondition, ShapeValues, Tile } from "../types/tile.js";
import type { Access } from "../types/types.js";

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
