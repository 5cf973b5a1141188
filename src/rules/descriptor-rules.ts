/** Rules of tensor descriptors and of their methods, as types and functions. */
import { type ConstLike, type DimsOf, type ShapeArg, whyDims } from "../types/constexpr.js";
import type { Bl, De, Descriptor, DescriptorLike, Us } from "./descriptor-types.js";
import {
  dtypeDisplayName,
  type Call,
  type DTypeName,
  type Elem,
  type Element,
  type IntName,
  isInt,
  members,
  type Members,
  sameElem,
  dtypeSourceText,
  type Token,
} from "../types/dtype.js";
import type { Ac, AddressLike, Pl, AddressElement, Tensor, TensorLike, View } from "./tensor-types.js";
import type { Agree, FirstError, Validate, IsAny } from "../types/rule-error.js";
import { whyWhole, type WhyWhole } from "../types/promote.js";
import { type AsShape, type Dim, sameShape, type SameShape, type Shape, type Show, showShape } from "../types/shape.js";
import type { El, Sh, StateLike, Tile, TileLike } from "../types/tile.js";
import { type DescriptorType, literalValue, type Type, type Typed } from "../types/types.js";

// ---- creation -------------------------------------------------------------------------------------------------------

type Make = "makeTensorDescriptor";
const MAKE = "makeTensorDescriptor";

type WhyHeld<E> = "int1" extends Members<E> ? `${Make}: does not hold int1; declare the tensor tl.int8` : "";
const whyHeld = (elem: Elem): string =>
  members(elem).includes("int1") ? `${MAKE}: does not hold int1; declare the tensor tl.int8` : "";

type RankUpTo5 = 1 | 2 | 3 | 4 | 5;
type WhyRank<N> = number extends N
  ? ""
  : N extends RankUpTo5
    ? ""
    : `${Make}: a descriptor has 1 to 5 axes, not ${N & number}`;
const whyRank = (rank: number): string =>
  rank >= 1 && rank <= 5 ? "" : `${MAKE}: a descriptor has 1 to 5 axes, not ${rank}`;

type WhyBlockRank<Ds extends Shape, X extends readonly unknown[]> = number extends Ds["length"] | X["length"]
  ? ""
  : X["length"] extends Ds["length"]
    ? WhyRank<X["length"]>
    : `${Make}: ${Show<Ds>} needs one block dimension an axis, ${X["length"]} given`;

/** The rule of the tensor of a descriptor. */
export type WhyDescribed<T> =
  IsAny<T> extends true
    ? ""
    : T extends Tensor<infer E, any, any>
      ? WhyHeld<E>
      : T extends AddressLike
        ? `${Make}: a pointer also needs its shape and strides, one an axis`
        : `${Make}: needs a tensor, or a pointer with its shape and strides`;
/** The rule of the block shape of a descriptor. */
export type WhyBlock<T, X extends readonly unknown[]> =
  T extends TensorLike<infer Ds extends Shape> ? WhyBlockRank<Ds, X> : "";
export type DescriptorFor<T, X> =
  IsAny<T> extends true
    ? Descriptor<any, DimsOf<X>, any>
    : T extends Tensor<infer E, any, infer A>
      ? Descriptor<E, DimsOf<X>, A>
      : any;

/** The rule of the base address of a descriptor. */
export type WhyBase<P> =
  IsAny<P> extends true
    ? ""
    : P extends TensorLike
      ? `${Make}: a tensor knows its shape and strides; give the block only`
      : P extends View<any, any, any>
        ? `${Make}: this is a view; give the tensor, or x.ptr`
        : P extends AddressLike
          ? P[Pl] extends readonly []
            ? WhyHeld<P[AddressElement]>
            : `${Make}: the base is one address, this is ${Show<P[Pl]>}`
          : `${Make}: needs a tensor, or a pointer with its shape and strides`;
type WhyExtent<O> = O extends number
  ? WhyWhole<Make, O>
  : O extends ConstLike<any, "int">
    ? ""
    : O extends TileLike<"int32" | "int64" | "uint32", readonly []>
      ? ""
      : `${Make}: a size or stride is an integer scalar, a constexpr or a number`;
function whyExtent(type: Type): string {
  if (type.kind === "constexpr" && (type.of === "int" || literalValue(type) !== undefined))
    return type.of === "int" ? "" : whyWhole(MAKE, type.text);
  const isIntegerScalar = type.kind === "tile" && type.shape.length === 0 && EXTENTS.has(type.dtype);
  return isIntegerScalar ? "" : `${MAKE}: a size or stride is an integer scalar, a constexpr or a number`;
}
const EXTENTS: ReadonlySet<Elem> = new Set(["int32", "int64", "uint32"]);
export type Extents<X> = { readonly [K in keyof X]: Validate<X[K], WhyExtent<X[K]>> };
export type WhyStrides<S extends readonly unknown[], R extends readonly unknown[]> = number extends
  S["length"] | R["length"]
  ? ""
  : R["length"] extends S["length"]
    ? R extends readonly [...unknown[], 1]
      ? ""
      : `${Make}: the last stride must be 1; let the axis whose elements lie side by side be the last`
    : `${Make}: ${R["length"]} strides for ${S["length"]} axes`;
export type WhyBlockOf<S extends readonly unknown[], X extends readonly unknown[]> = number extends
  S["length"] | X["length"]
  ? ""
  : X["length"] extends S["length"]
    ? WhyRank<X["length"]>
    : `${Make}: ${X["length"]} block dimensions for ${S["length"]} axes`;
export type DescriptorAt<P, X> =
  IsAny<P> extends true
    ? Descriptor<any, DimsOf<X>, any>
    : P extends AddressLike
      ? Descriptor<P[AddressElement], DimsOf<X>, P[Ac]>
      : any;

type Nan<E> =
  IsAny<E> extends true
    ? "nan"
    : Members<E> extends IntName
      ? `${Make}: integers have no NaN; they are padded with 0`
      : "nan";
export interface DescriptorOptions<E> {
  /** The value of elements outside the tensor: 0, or NaN. */
  paddingOption?: "zero" | Nan<E> | undefined;
}
type ElementOf<T> = T extends Tensor<infer E, any, any> ? E : T extends AddressLike ? T[AddressElement] : any;

/** A call of `tl.makeTensorDescriptor`. */
export interface MakeTensorDescriptor {
  <T, const X extends readonly unknown[]>(
    tensor: Validate<T, WhyDescribed<T>>,
    blockShape: Validate<ShapeArg<Make, X>, WhyBlock<T, X>>,
    options?: DescriptorOptions<ElementOf<T>>,
  ): DescriptorFor<T, X>;
  <P, const S extends readonly unknown[], const R extends readonly unknown[], const X extends readonly unknown[]>(
    base: Validate<P, WhyBase<P>>,
    shape: Extents<S>,
    strides: Validate<Extents<R>, WhyStrides<S, R>>,
    blockShape: Validate<ShapeArg<Make, X>, WhyBlockOf<S, X>>,
    options?: DescriptorOptions<ElementOf<P>>,
  ): DescriptorAt<P, X>;
}

/** The descriptor's type, or a message. */
export function inferDescriptor(args: Readonly<Record<string, Typed | undefined>>): DescriptorType | string {
  const { base, shape, strides, blockShape, paddingOption } = args;
  const block = (blockShape!.items ?? []).map(({ type }) => type);
  const type = base!.type;
  const typesOf = (list: Typed | undefined) => (list?.items ?? []).map((item) => item.type);
  const why = shape ? whyExplicit(type, typesOf(shape), typesOf(strides), block) : whyDescribed(type, block);
  if (why || !("to" in type)) return why;
  const { to, access } = type;
  const paddingError = whyPadding(to, paddingOption?.literal);
  if (paddingError) return paddingError;
  const dimsError = whyDims(MAKE, block);
  if (dimsError) return dimsError;
  const dims = block.map((dim) => (dim.kind === "constexpr" ? (literalValue(dim) ?? dim.text) : 1));
  return { kind: "descriptor", to, shape: dims, access };
}

function whyDescribed(type: Type, block: readonly Type[]): string {
  if (type.kind === "pointer") return `${MAKE}: a pointer also needs its shape and strides, one an axis`;
  if (type.kind !== "tensor") return `${MAKE}: needs a tensor, or a pointer with its shape and strides`;
  if (block.length !== type.dims.length)
    return `${MAKE}: ${showShape(type.dims)} needs one block dimension an axis, ${block.length} given`;
  return whyHeld(type.to) || whyRank(block.length);
}

function whyExplicit(base: Type, shape: readonly Type[], strides: readonly Type[], block: readonly Type[]): string {
  if (base.kind === "tensor") return `${MAKE}: a tensor knows its shape and strides; give the block only`;
  if (base.kind === "view") return `${MAKE}: this is a view; give the tensor, or x.ptr`;
  if (base.kind !== "pointer") return `${MAKE}: needs a tensor, or a pointer with its shape and strides`;
  if (base.shape.length > 0) return `${MAKE}: the base is one address, this is ${showShape(base.shape)}`;
  const invalid = [...shape, ...strides].map(whyExtent).find((why) => why !== "");
  if (invalid !== undefined) return invalid;
  if (strides.length !== shape.length) return `${MAKE}: ${strides.length} strides for ${shape.length} axes`;
  const last = strides.at(-1);
  if (last?.kind !== "constexpr" || literalValue(last) !== 1)
    return `${MAKE}: the last stride must be 1; let the axis whose elements lie side by side be the last`;
  if (block.length !== shape.length) return `${MAKE}: ${block.length} block dimensions for ${shape.length} axes`;
  return whyHeld(base.to) || whyRank(block.length);
}

export function whyPadding(elem: Elem, padding: Typed["literal"]): string {
  if (padding !== undefined && padding !== "zero" && padding !== "nan")
    return `${MAKE}: paddingOption is zero or nan, this is ${String(padding)}`;
  return padding === "nan" && members(elem).some(isInt) ? `${MAKE}: integers have no NaN; they are padded with 0` : "";
}

// ---- offsets --------------------------------------------------------------------------------------------------------

/** The rule of the offset of a block on an axis. */
export type WhyBlockOffset<Op extends string, O> = O extends number
  ? WhyWhole<Op, O>
  : O extends ConstLike<any, "int">
    ? ""
    : O extends TileLike
      ? [O[Sh]] extends [readonly []]
        ? [O[El]] extends ["int32" | "uint32"]
          ? ""
          : `${Op}: an offset is int32, this is ${Call<O[El]>}; cast with .to(tl.int32)`
        : `${Op}: an offset is one number, this is ${Show<O[Sh]>}`
      : O extends StateLike
        ? `${Op}: this is state; read it with .value`
        : `${Op}: an offset is an int32 scalar, a constexpr or a number`;
export function whyBlockOffset(op: string, type: Type): string {
  if (type.kind === "constexpr" && (type.of === "int" || literalValue(type) !== undefined))
    return type.of === "int" ? "" : whyWhole(op, type.text);
  if (type.kind !== "tile") return `${op}: an offset is an int32 scalar, a constexpr or a number`;
  if (type.shape.length > 0) return `${op}: an offset is one number, this is ${showShape(type.shape)}`;
  return type.dtype === "int32" || type.dtype === "uint32"
    ? ""
    : `${op}: an offset is int32, this is ${dtypeDisplayName(type.dtype)}; cast with .to(tl.int32)`;
}
export type BlockOffsets<Op extends string, I> = { readonly [K in keyof I]: Validate<I[K], WhyBlockOffset<Op, I[K]>> };

export type WhyOffsetCount<Op extends string, B, I extends readonly unknown[]> = B extends Shape
  ? number extends B["length"] | I["length"]
    ? ""
    : I["length"] extends B["length"]
      ? ""
      : `${Op}: a block ${Show<B>} needs one offset an axis, ${I["length"]} given`
  : "";
/** Checks the number of offsets, and each offset. */
export function whyBlockOffsets(op: string, block: readonly Dim[], offsets: readonly Type[]): string {
  if (offsets.length !== block.length)
    return `${op}: a block ${showShape(block)} needs one offset an axis, ${offsets.length} given`;
  return offsets.map((offset) => whyBlockOffset(op, offset)).find((why) => why !== "") ?? "";
}

// ---- values and access ----------------------------------------------------------------------------------------------

export type WhyBlockWrite<Op extends string, A> = A extends "in"
  ? `${Op}: this descriptor is of an input; declare that .out(...) or .inout(...)`
  : "";
export function whyBlockWrite(op: string, { access }: DescriptorType): string {
  return access === "in" ? `${op}: this descriptor is of an input; declare that .out(...) or .inout(...)` : "";
}

/** The rule of the value to store: it must have the block's shape and dtype. */
export type WhyBlockValue<Op extends string, E, B extends Shape, V> = V extends TileLike
  ? Agree<E, V[El]> extends true
    ? SameShape<B, AsShape<V[Sh]>> extends true
      ? ""
      : `${Op}: the block is ${Show<B>}, the value is ${Show<V[Sh]>}; nothing is spread here`
    : `${Op}: the descriptor holds ${Call<E>}, the value is ${Call<V[El]>}; cast with .to(${Token<E>})`
  : V extends StateLike
    ? `${Op}: this is state; read it with .value`
    : `${Op}: needs a tile ${Show<B>}; of a number, tl.full(${Show<B>}, …, ${Token<E>})`;
export function whyBlockValue(op: string, to: Elem, block: readonly Dim[], value: Type): string {
  const shapeText = showShape(block);
  if (value.kind !== "tile")
    return `${op}: needs a tile ${shapeText}; of a number, tl.full(${shapeText}, …, ${dtypeSourceText(to)})`;
  if (!sameElem(to, value.dtype))
    return `${op}: the descriptor holds ${dtypeDisplayName(to)}, the value is ${dtypeDisplayName(value.dtype)}; cast with .to(${dtypeSourceText(to)})`;
  return sameShape(block, value.shape)
    ? ""
    : `${op}: the block is ${shapeText}, the value is ${showShape(value.shape)}; nothing is spread here`;
}

// ---- rows -----------------------------------------------------------------------------------------------------------

/** The rule of row indices, for a descriptor whose block is one row. */
export type WhyRows<Op extends string, B, R> =
  IsAny<B> extends true
    ? ""
    : B extends readonly [1, any]
      ? R extends TileLike
        ? [R[El]] extends ["int32" | "int16"]
          ? IsAny<R[Sh]> extends true
            ? ""
            : R[Sh] extends readonly [any]
              ? ""
              : `${Op}: rows are a tile of rank 1, this is ${Show<R[Sh]>}`
          : `${Op}: rows are int32 or int16, this is ${Call<R[El]>}; cast with .to(tl.int32)`
        : `${Op}: rows are a tile of rank 1`
      : `${Op}: needs a descriptor with blocks [1, N], this has ${Show<B>}`;
export function whyRows(op: string, { shape }: DescriptorType, rows: Type): string {
  if (shape.length !== 2 || shape[0] !== 1)
    return `${op}: needs a descriptor with blocks [1, N], this has ${showShape(shape)}`;
  if (rows.kind !== "tile") return `${op}: rows are a tile of rank 1`;
  if (rows.dtype !== "int32" && rows.dtype !== "int16")
    return `${op}: rows are int32 or int16, this is ${dtypeDisplayName(rows.dtype)}; cast with .to(tl.int32)`;
  return rows.shape.length === 1 ? "" : `${op}: rows are a tile of rank 1, this is ${showShape(rows.shape)}`;
}
/** The shape of gathered rows: each has the length of the block. */
export type RowsShape<B, R> = B extends readonly [any, infer N]
  ? R extends TileLike
    ? IsAny<R[Sh]> extends true
      ? any
      : R[Sh] extends readonly [infer M]
        ? [M, N]
        : any
    : any
  : any;
export const rowsShape = ({ shape }: DescriptorType, rows: Type): Dim[] => [
  rows.kind === "tile" ? rows.shape[0]! : 1,
  shape[1]!,
];

// ---- reductions into memory -----------------------------------------------------------------------------------------

const WIDE_INTEGERS = ["int32", "uint32", "int64", "uint64"] as const;
/** The dtypes that each kind of reduction supports, and their description in messages. */
export const reduceKinds = {
  add: {
    dtypes: ["int32", "uint32", "uint64", "float16", "bfloat16", "float32"],
    words: "int32, uint32, uint64, float16, bfloat16 and float32",
  },
  extreme: {
    dtypes: [...WIDE_INTEGERS, "float16", "bfloat16"],
    words: "32-bit and 64-bit integers, float16 and bfloat16",
  },
  bits: { dtypes: WIDE_INTEGERS, words: "32-bit and 64-bit integers" },
} as const satisfies Readonly<Record<string, { readonly dtypes: readonly DTypeName[]; readonly words: string }>>;
export type ReduceKind = keyof typeof reduceKinds;

type WhyReduced<Op extends string, K extends ReduceKind, E> =
  IsAny<E> extends true
    ? ""
    : [Exclude<Members<E>, (typeof reduceKinds)[K]["dtypes"][number]>] extends [never]
      ? ""
      : `${Op}: a descriptor does not do this on ${Call<E>}, but on ${(typeof reduceKinds)[K]["words"]}`;
export function whyReduced(op: string, kind: ReduceKind, elem: Elem): string {
  const { dtypes, words }: { readonly dtypes: readonly string[]; readonly words: string } = reduceKinds[kind];
  return members(elem).every((name) => dtypes.includes(name))
    ? ""
    : `${op}: a descriptor does not do this on ${dtypeDisplayName(elem)}, but on ${words}`;
}

/** `desc.atomicAdd(offsets, value)` and similar methods. */
export type Reduce<Op extends string, K extends ReduceKind, E extends Element, B extends Shape, A> = <
  const I extends readonly unknown[],
  const V,
>(
  offsets: Validate<
    BlockOffsets<Op, I>,
    FirstError<FirstError<WhyBlockWrite<Op, A>, WhyReduced<Op, K, E>>, WhyOffsetCount<Op, B, I>>
  >,
  value: Validate<V, WhyBlockValue<Op, E, B, V>>,
) => void;

// ---- the function forms ---------------------------------------------------------------------------------------------

export type WhyDescriptor<Op extends string, D> = D extends DescriptorLike
  ? ""
  : `${Op}: needs a descriptor, such as tl.makeTensorDescriptor(x, [BLOCK])`;
export function whyDescriptor(op: string, type: Type): string {
  return type.kind === "descriptor" ? "" : `${op}: needs a descriptor, such as tl.makeTensorDescriptor(x, [BLOCK])`;
}

/** A call of `tl.loadTensorDescriptor`. */
export type LoadTensorDescriptor = <D, const I extends readonly unknown[]>(
  desc: Validate<D, WhyDescriptor<"load", D>>,
  offsets: Validate<BlockOffsets<"load", I>, D extends DescriptorLike ? WhyOffsetCount<"load", D[Bl], I> : "">,
) => D extends DescriptorLike ? Tile<D[De], D[Bl]> : Tile<any, any>;
/** A call of `tl.storeTensorDescriptor`. */
export type StoreTensorDescriptor = <D, const I extends readonly unknown[], const V>(
  desc: Validate<D, D extends DescriptorLike ? WhyBlockWrite<"store", D[Us]> : WhyDescriptor<"store", D>>,
  offsets: Validate<BlockOffsets<"store", I>, D extends DescriptorLike ? WhyOffsetCount<"store", D[Bl], I> : "">,
  value: Validate<V, D extends DescriptorLike ? WhyBlockValue<"store", D[De], AsShape<D[Bl]>, V> : "">,
) => void;
