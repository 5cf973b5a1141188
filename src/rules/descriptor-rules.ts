/** Rules of tensor descriptors and of their methods, as types and functions. */
import { atAxis } from "../types/dims.js";
import { WIDE_WORDS } from "./memory-rules.js";
import {
  truthValue,
  wrongAxis,
  operandKind,
  needsAddress,
  addressAsValue,
  optionValue,
  dtypeUnsupported,
  readOnly,
  shapeMismatch,
  dtypeMismatch,
} from "../diagnostics/catalog/rule-codes.js";
import type { SentenceOf, Fact } from "../diagnostics/message.js";
import { type ConstLike, type DimsOf, type ShapeArg, whyDims } from "../types/constexpr.js";
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
import type {
  Ac,
  AddressLike,
  Pl,
  AddressElement,
  Tensor,
  TensorLike,
  View,
  Bl,
  De,
  Descriptor,
  DescriptorLike,
  Us,
} from "./tensor-types.js";
import type { Agree, FirstError, Validate, IsAny, RuleError } from "../types/rule-error.js";
import { whyWhole, type WhyWhole } from "../types/promote.js";
import { type AsShape, type Dim, sameShape, type SameShape, type Shape, type Show, showShape } from "../types/shape.js";
import { type El, type Sh, type StateLike, type Tile, type TileLike, stateOperand } from "../types/tile.js";
import { type DescriptorType, literalValue, type Type, type Typed } from "../types/types.js";

// ---- creation -------------------------------------------------------------------------------------------------------

type Make = "makeTensorDescriptor";
const MAKE = "makeTensorDescriptor";

const maskDescriptor = () => truthValue(`${MAKE}: does not hold int1`, "declare the tensor tl.int8");

type WhyHeld<E> = "int1" extends Members<E> ? SentenceOf<typeof maskDescriptor> : "";
const whyHeld = (elem: Elem): RuleError | undefined => (members(elem).includes("int1") ? maskDescriptor() : undefined);

type RankUpTo5 = 1 | 2 | 3 | 4 | 5;

const descriptorRank = <Rank extends Fact>(rank: Rank) =>
  wrongAxis(`${MAKE}: a descriptor has 1 to 5 axes, not ${rank}`);

type WhyRank<N> = number extends N ? "" : N extends RankUpTo5 ? "" : SentenceOf<typeof descriptorRank<N & number>>;
const whyRank = (rank: number): RuleError | undefined => (rank >= 1 && rank <= 5 ? undefined : descriptorRank(rank));

const blockPerAxis = <Shape extends Fact, Count extends Fact>(shape: Shape, count: Count) =>
  wrongAxis(`${MAKE}: ${shape} needs one block dimension an axis, ${count} given`);

type WhyBlockRank<Ds extends Shape, X extends readonly unknown[]> = number extends Ds["length"] | X["length"]
  ? ""
  : X["length"] extends Ds["length"]
    ? WhyRank<X["length"]>
    : SentenceOf<typeof blockPerAxis<Show<Ds>, X["length"]>>;

const pointerExtent = () => operandKind(`${MAKE}: a pointer also needs its shape and strides, one an axis`);
const baseKind = () => needsAddress(`${MAKE}: needs a tensor, or a pointer with its shape and strides`);

/** The rule of the tensor of a descriptor. */
export type WhyDescribed<T> =
  IsAny<T> extends true
    ? ""
    : T extends Tensor<infer E, any, any>
      ? WhyHeld<E>
      : T extends AddressLike
        ? SentenceOf<typeof pointerExtent>
        : SentenceOf<typeof baseKind>;
/** The rule of the block shape of a descriptor. */
export type WhyBlock<T, X extends readonly unknown[]> =
  T extends TensorLike<infer Ds extends Shape> ? WhyBlockRank<Ds, X> : "";
export type DescriptorFor<T, X> =
  IsAny<T> extends true
    ? Descriptor<any, DimsOf<X>, any>
    : T extends Tensor<infer E, any, infer A>
      ? Descriptor<E, DimsOf<X>, A>
      : any;

const tensorExtent = () => operandKind(`${MAKE}: a tensor knows its shape and strides`, "give the block only");
const viewBase = () => addressAsValue(`${MAKE}: this is a view`, "give the tensor, or x.ptr");
const baseShape = <Shape extends Fact>(shape: Shape) =>
  operandKind(`${MAKE}: the base is one address, this is ${shape}`);

/** The rule of the base address of a descriptor. */
export type WhyBase<P> =
  IsAny<P> extends true
    ? ""
    : P extends TensorLike
      ? SentenceOf<typeof tensorExtent>
      : P extends View<any, any, any>
        ? SentenceOf<typeof viewBase>
        : P extends AddressLike
          ? P[Pl] extends readonly []
            ? WhyHeld<P[AddressElement]>
            : SentenceOf<typeof baseShape<Show<P[Pl]>>>
          : SentenceOf<typeof baseKind>;

const extentKind = () => operandKind(`${MAKE}: a size or stride is an integer scalar, a constexpr or a number`);

type WhyExtent<O> = O extends number
  ? WhyWhole<Make, O>
  : O extends ConstLike<any, "int">
    ? ""
    : O extends TileLike<"int32" | "int64" | "uint32", readonly []>
      ? ""
      : SentenceOf<typeof extentKind>;
function whyExtent(type: Type): RuleError | undefined {
  if (type.kind === "constexpr" && (type.of === "int" || literalValue(type) !== undefined))
    return type.of === "int" ? undefined : whyWhole(MAKE, type.text);
  const isIntegerScalar = type.kind === "tile" && type.shape.length === 0 && EXTENTS.has(type.dtype);
  return isIntegerScalar ? undefined : extentKind();
}
const EXTENTS: ReadonlySet<Elem> = new Set(["int32", "int64", "uint32"]);
export type Extents<X> = { readonly [K in keyof X]: Validate<X[K], WhyExtent<X[K]>> };

const lastStride = () =>
  operandKind(`${MAKE}: the last stride must be 1`, "let the axis whose elements lie side by side be the last");
const strideCount = <Strides extends Fact, Axes extends Fact>(strides: Strides, axes: Axes) =>
  wrongAxis(`${MAKE}: ${strides} strides for ${axes} axes`);

export type WhyStrides<S extends readonly unknown[], R extends readonly unknown[]> = number extends
  S["length"] | R["length"]
  ? ""
  : R["length"] extends S["length"]
    ? R extends readonly [...unknown[], 1]
      ? ""
      : SentenceOf<typeof lastStride>
    : SentenceOf<typeof strideCount<R["length"], S["length"]>>;

const blockCount = <Block extends Fact, Axes extends Fact>(block: Block, axes: Axes) =>
  wrongAxis(`${MAKE}: ${block} block dimensions for ${axes} axes`);

export type WhyBlockOf<S extends readonly unknown[], X extends readonly unknown[]> = number extends
  S["length"] | X["length"]
  ? ""
  : X["length"] extends S["length"]
    ? WhyRank<X["length"]>
    : SentenceOf<typeof blockCount<X["length"], S["length"]>>;
export type DescriptorAt<P, X> =
  IsAny<P> extends true
    ? Descriptor<any, DimsOf<X>, any>
    : P extends AddressLike
      ? Descriptor<P[AddressElement], DimsOf<X>, P[Ac]>
      : any;

const integerPadding = <Op extends Fact>(op: Op) => optionValue(`${op}: integers have no NaN; they are padded with 0`);

type Nan<E> =
  IsAny<E> extends true ? "nan" : Members<E> extends IntName ? SentenceOf<typeof integerPadding<Make>> : "nan";
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

type DescriptorArguments = Readonly<
  Record<"base" | "blockShape", Typed> & Partial<Record<"shape" | "strides" | "paddingOption", Typed | undefined>>
>;

/** The descriptor's type, or a message. */
export function inferDescriptor({
  base: { type },
  shape,
  strides,
  blockShape,
  paddingOption,
}: DescriptorArguments): DescriptorType | RuleError {
  const block = (blockShape.items ?? []).map((item) => item.type);
  const typesOf = (list: Typed | undefined) => (list?.items ?? []).map((item) => item.type);
  const why = shape ? whyExplicit(type, typesOf(shape), typesOf(strides), block) : whyDescribed(type, block);
  if (why) return why;
  if (!("to" in type)) return baseKind();
  const { to, access } = type;
  const paddingError = whyPadding(MAKE, to, paddingOption?.literal);
  if (paddingError) return paddingError;
  const dimsError = whyDims(MAKE, block);
  if (dimsError) return dimsError;
  const dims = block.map((dim) => (dim.kind === "constexpr" ? (literalValue(dim) ?? dim.text) : 1));
  return { kind: "descriptor", to, shape: dims, access };
}

function whyDescribed(type: Type, block: readonly Type[]): RuleError | undefined {
  if (type.kind === "pointer") return pointerExtent();
  if (type.kind !== "tensor") return baseKind();
  if (block.length !== type.dims.length) return blockPerAxis(showShape(type.dims), block.length);
  return whyHeld(type.to) || whyRank(block.length);
}

function whyExplicit(
  base: Type,
  shape: readonly Type[],
  strides: readonly Type[],
  block: readonly Type[],
): RuleError | undefined {
  if (base.kind === "tensor") return tensorExtent();
  if (base.kind === "view") return viewBase();
  if (base.kind !== "pointer") return baseKind();
  if (base.shape.length > 0) return baseShape(showShape(base.shape));
  const invalid = [...shape, ...strides].map(whyExtent).find((why) => why);
  if (invalid !== undefined) return invalid;
  if (strides.length !== shape.length) return strideCount(strides.length, shape.length);
  const last = strides.at(-1);
  if (last?.kind !== "constexpr" || literalValue(last) !== 1) return lastStride();
  if (block.length !== shape.length) return blockCount(block.length, shape.length);
  return whyHeld(base.to) || whyRank(block.length);
}

export function whyPadding(op: string, elem: Elem, padding: Typed["literal"]): RuleError | undefined {
  if (padding !== undefined && padding !== "zero" && padding !== "nan")
    return optionValue(`${op}: paddingOption is zero or nan, this is ${String(padding)}`);
  return padding === "nan" && members(elem).some(isInt) ? integerPadding(op) : undefined;
}

// ---- offsets --------------------------------------------------------------------------------------------------------

const offsetDType = <Op extends Fact, DType extends Fact>(op: Op, dtype: DType) =>
  dtypeUnsupported(`${op}: an offset is int32, this is ${dtype}`, "cast with .to(tl.int32)");
const offsetShape = <Op extends Fact, Shape extends Fact>(op: Op, shape: Shape) =>
  operandKind(`${op}: an offset is one number, this is ${shape}`);
const offsetKind = <Op extends Fact>(op: Op) =>
  operandKind(`${op}: an offset is an int32 scalar, a constexpr or a number`);

/** The rule of the offset of a block on an axis. */
export type WhyBlockOffset<Op extends string, O> = O extends number
  ? WhyWhole<Op, O>
  : O extends ConstLike<any, "int">
    ? ""
    : O extends TileLike
      ? [O[Sh]] extends [readonly []]
        ? [O[El]] extends ["int32" | "uint32"]
          ? ""
          : SentenceOf<typeof offsetDType<Op, Call<O[El]>>>
        : SentenceOf<typeof offsetShape<Op, Show<O[Sh]>>>
      : O extends StateLike
        ? SentenceOf<typeof stateOperand<Op>>
        : SentenceOf<typeof offsetKind<Op>>;
export function whyBlockOffset(op: string, type: Type): RuleError | undefined {
  if (type.kind === "constexpr" && (type.of === "int" || literalValue(type) !== undefined))
    return type.of === "int" ? undefined : whyWhole(op, type.text);
  if (type.kind !== "tile") return offsetKind(op);
  if (type.shape.length > 0) return offsetShape(op, showShape(type.shape));
  return type.dtype === "int32" || type.dtype === "uint32" ? undefined : offsetDType(op, dtypeDisplayName(type.dtype));
}
export type BlockOffsets<Op extends string, I> = { readonly [K in keyof I]: Validate<I[K], WhyBlockOffset<Op, I[K]>> };

const offsetCount = <Op extends Fact, Block extends Fact, Count extends Fact>(op: Op, block: Block, count: Count) =>
  wrongAxis(`${op}: a block ${block} needs one offset an axis, ${count} given`);

export type WhyOffsetCount<Op extends string, B, I extends readonly unknown[]> = B extends Shape
  ? number extends B["length"] | I["length"]
    ? ""
    : I["length"] extends B["length"]
      ? ""
      : SentenceOf<typeof offsetCount<Op, Show<B>, I["length"]>>
  : "";
/** Checks the number of offsets, and each offset. */
export function whyBlockOffsets(op: string, block: readonly Dim[], offsets: readonly Type[]): RuleError | undefined {
  if (offsets.length !== block.length) return offsetCount(op, showShape(block), offsets.length);
  return offsets.map((offset) => whyBlockOffset(op, offset)).find((why) => why !== undefined);
}

// ---- values and access ----------------------------------------------------------------------------------------------

const inputDescriptor = <Op extends Fact>(op: Op) =>
  readOnly(`${op}: this descriptor is of an input`, "declare that .out(...) or .inout(...)");

export type WhyBlockWrite<Op extends string, A> = A extends "in" ? SentenceOf<typeof inputDescriptor<Op>> : "";
export function whyBlockWrite(op: string, { access }: DescriptorType): RuleError | undefined {
  return access === "in" ? inputDescriptor(op) : undefined;
}

const blockValueShape = <Op extends Fact, Block extends Fact, Value extends Fact>(op: Op, block: Block, value: Value) =>
  shapeMismatch(`${op}: the block is ${block}, the value is ${value}; nothing is spread here`);
const blockValueDType = <Op extends Fact, Descriptor extends Fact, Value extends Fact, Cast extends Fact>(
  op: Op,
  descriptor: Descriptor,
  value: Value,
  cast: Cast,
) => dtypeMismatch(`${op}: the descriptor holds ${descriptor}, the value is ${value}`, `cast with .to(${cast})`);
const blockValueKind = <Op extends Fact, Block extends Fact, DType extends Fact>(op: Op, block: Block, dtype: DType) =>
  operandKind(`${op}: needs a tile ${block}`, `of a number, tl.full(${block}, …, ${dtype})`);

/** The rule of the value to store: it must have the block's shape and dtype. */
export type WhyBlockValue<Op extends string, E, B extends Shape, V> = V extends TileLike
  ? Agree<E, V[El]> extends true
    ? SameShape<B, AsShape<V[Sh]>> extends true
      ? ""
      : SentenceOf<typeof blockValueShape<Op, Show<B>, Show<V[Sh]>>>
    : SentenceOf<typeof blockValueDType<Op, Call<E>, Call<V[El]>, Token<E>>>
  : V extends StateLike
    ? SentenceOf<typeof stateOperand<Op>>
    : SentenceOf<typeof blockValueKind<Op, Show<B>, Token<E>>>;
export function whyBlockValue(op: string, to: Elem, block: readonly Dim[], value: Type): RuleError | undefined {
  const shapeText = showShape(block);
  if (value.kind !== "tile") return blockValueKind(op, shapeText, dtypeSourceText(to));
  if (!sameElem(to, value.dtype))
    return blockValueDType(op, dtypeDisplayName(to), dtypeDisplayName(value.dtype), dtypeSourceText(to));
  return sameShape(block, value.shape) ? undefined : blockValueShape(op, shapeText, showShape(value.shape));
}

// ---- rows -----------------------------------------------------------------------------------------------------------

const rowsRank = <Op extends Fact, Shape extends Fact>(op: Op, shape: Shape) =>
  wrongAxis(`${op}: rows are a tile of rank 1, this is ${shape}`);
const rowsDType = <Op extends Fact, DType extends Fact>(op: Op, dtype: DType) =>
  dtypeUnsupported(`${op}: rows are int32 or int16, this is ${dtype}`, "cast with .to(tl.int32)");
const rowsKind = <Op extends Fact>(op: Op) => wrongAxis(`${op}: rows are a tile of rank 1`);
const rowsBlock = <Op extends Fact, Block extends Fact>(op: Op, block: Block) =>
  needsAddress(`${op}: needs a descriptor with blocks [1, N], this has ${block}`);

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
              : SentenceOf<typeof rowsRank<Op, Show<R[Sh]>>>
          : SentenceOf<typeof rowsDType<Op, Call<R[El]>>>
        : SentenceOf<typeof rowsKind<Op>>
      : SentenceOf<typeof rowsBlock<Op, Show<B>>>;
export function whyRows(op: string, { shape }: DescriptorType, rows: Type): RuleError | undefined {
  if (shape.length !== 2 || shape[0] !== 1) return rowsBlock(op, showShape(shape));
  if (rows.kind !== "tile") return rowsKind(op);
  if (rows.dtype !== "int32" && rows.dtype !== "int16") return rowsDType(op, dtypeDisplayName(rows.dtype));
  return rows.shape.length === 1 ? undefined : rowsRank(op, showShape(rows.shape));
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
  rows.kind === "tile" ? atAxis(rows.shape, 0) : 1,
  atAxis(shape, 1),
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
  bits: { dtypes: WIDE_INTEGERS, words: WIDE_WORDS },
} as const satisfies Readonly<Record<string, { readonly dtypes: readonly DTypeName[]; readonly words: string }>>;
export type ReduceKind = keyof typeof reduceKinds;

const reducedDType = <Op extends Fact, DType extends Fact, Supported extends Fact>(
  op: Op,
  dtype: DType,
  supported: Supported,
) => dtypeUnsupported(`${op}: a descriptor does not do this on ${dtype}, but on ${supported}`);

type WhyReduced<Op extends string, K extends ReduceKind, E> =
  IsAny<E> extends true
    ? ""
    : [Exclude<Members<E>, (typeof reduceKinds)[K]["dtypes"][number]>] extends [never]
      ? ""
      : SentenceOf<typeof reducedDType<Op, Call<E>, (typeof reduceKinds)[K]["words"]>>;
export function whyReduced(op: string, kind: ReduceKind, elem: Elem): RuleError | undefined {
  const { dtypes, words }: { readonly dtypes: readonly string[]; readonly words: string } = reduceKinds[kind];
  return members(elem).every((name) => dtypes.includes(name))
    ? undefined
    : reducedDType(op, dtypeDisplayName(elem), words);
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

export const noDescriptor = <Op extends Fact>(op: Op) =>
  needsAddress(`${op}: needs a descriptor, such as tl.makeTensorDescriptor(x, [BLOCK])`);

export type WhyDescriptor<Op extends string, D> = D extends DescriptorLike ? "" : SentenceOf<typeof noDescriptor<Op>>;
export function whyDescriptor(op: string, type: Type): RuleError | undefined {
  return type.kind === "descriptor" ? undefined : noDescriptor(op);
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
