/** Rules of addresses, as types and functions: pointer offsets, tensor indices, load and store. */
import {
  dtypeMismatch,
  dtypeUnsupported,
  addressAsValue,
  operandKind,
  needsAddress,
  shapeMismatch,
  wrongAxis,
  tensorAsValue,
  readOnly,
  truthValue,
  optionValue,
} from "../diagnostics/catalog/rule-codes.js";
import { type SentenceOf, type Fact, Message } from "../diagnostics/message.js";
import type { FirstError, Agree, Validate, IsAny, IsUnknown, RuleError } from "../types/rule-error.js";
import type { ConstLike, Constexpr, TextOf } from "../types/constexpr.js";
import {
  dtypeDisplayName,
  members,
  sameElem,
  dtypeSourceText,
  type Call,
  type Elem,
  type Members,
  type Token,
} from "../types/dtype.js";
import type { AddressLike, Ac, Pl, AddressElement, TensorLike, View, DescriptorLike } from "./tensor-types.js";
import {
  whyIndexInt,
  whyLiteral,
  whyWeak,
  whyWhole,
  type WhyIndexInt,
  type WhyLiteral,
  type WhyWeak,
  type WhyWhole,
} from "../types/promote.js";
import {
  broadcast,
  fitsIn,
  showShape,
  whyBroadcast,
  type AsShape,
  type Broadcast,
  type Dim,
  type FitsIn,
  type Shape,
  type Show,
  type WhyBroadcast,
  inferBroadcast,
} from "../types/shape.js";
import { type El, type Sh, type StateLike, type Tile, type TileLike, stateOperand, noOperand } from "../types/tile.js";
import {
  exactLiteral,
  literalValue,
  tileType,
  type ConstexprType,
  type PointerType,
  type TileType,
  type Type,
  type ViewType,
} from "../types/types.js";

/** An integer constexpr, or any literal number. */
function isNumber(type: Type): type is ConstexprType {
  return type.kind === "constexpr" && (type.of === "int" || literalValue(type) !== undefined);
}
const whyNumberIsWhole = (op: string, { of, text }: ConstexprType): RuleError | undefined =>
  of === "int" ? undefined : whyWhole(op, text);

// ---- pointer offsets ------------------------------------------------------------------------------------------------

/**
 * The dtypes of offsets that may be subtracted. Triton adds the negated offset, which wraps in other dtypes: the
 * negative of a uint8 200 is 56.
 */
const NEGATABLE = ["int32", "int64", "uint64"] as const;

const negatedOffset = <DType extends Fact>(dtype: DType) =>
  dtypeUnsupported(`sub: Triton adds the negative of an offset, which wraps in ${dtype}`, "cast with .to(tl.int64)");

type WhyNegated<Op extends string, E> = Op extends "sub"
  ? IsAny<E> extends true
    ? ""
    : [Exclude<Members<E>, (typeof NEGATABLE)[number]>] extends [never]
      ? ""
      : SentenceOf<typeof negatedOffset<Call<E>>>
  : "";
function whyNegated(op: string, elem: Elem): RuleError | undefined {
  const isNegatable = members(elem).every((name) => (NEGATABLE as readonly string[]).includes(name));
  return op !== "sub" || isNegatable ? undefined : negatedOffset(dtypeDisplayName(elem));
}

const pointerSum = <Op extends Fact>(op: Op) =>
  addressAsValue(`${op}: two pointers cannot be added`, "add offsets to one");
const offsetOperand = <Op extends Fact>(op: Op) => operandKind(`${op}: needs an integer tile, a constexpr or a number`);

export type WhyOffset<Op extends string, S extends Shape, O> = O extends number
  ? WhyWhole<Op, O>
  : O extends ConstLike<any, "int">
    ? ""
    : O extends TileLike
      ? FirstError<WhyIndexInt<Op, O[El]>, FirstError<WhyNegated<Op, O[El]>, WhyBroadcast<Op, S, O[Sh]>>>
      : O extends AddressLike
        ? SentenceOf<typeof pointerSum<Op>>
        : SentenceOf<typeof offsetOperand<Op>>;
export function whyOffset(op: string, pointer: PointerType, offset: Type): RuleError | undefined {
  if (isNumber(offset)) return whyNumberIsWhole(op, offset);
  if (offset.kind === "tile")
    return (
      whyIndexInt(op, offset.dtype) || whyNegated(op, offset.dtype) || whyBroadcast(op, pointer.shape, offset.shape)
    );
  return offset.kind === "pointer" || offset.kind === "view" ? pointerSum(op) : offsetOperand(op);
}
/** The shape of a pointer with one offset added. */
export type OffsetOperand<S extends Shape, O> = O extends TileLike ? Broadcast<S, O[Sh]> : S;
export function offsetOut(pointer: PointerType, offset: Type): PointerType {
  if (offset.kind !== "tile") return pointer;
  return { ...pointer, shape: broadcast(pointer.shape, offset.shape) ?? pointer.shape };
}

type OffsetWhys<S extends Shape, O> = O extends readonly [infer H, ...infer R]
  ? [WhyOffset<"add", S, H>, ...OffsetWhys<OffsetOperand<S, H>, R>]
  : [];
/** Checks each offset against the pointer with the preceding ones. Each message is reported at its operand. */
export type OffsetArgs<S extends Shape, O> = {
  readonly [K in keyof O]: Validate<O[K], OffsetWhys<S, O>[K & keyof OffsetWhys<S, O>]>;
};
export type OffsetsShape<S extends Shape, O> = O extends readonly [infer H, ...infer R]
  ? OffsetsShape<OffsetOperand<S, H>, R>
  : S;

const addressDType = <DType extends Fact>(dtype: DType) =>
  dtypeUnsupported(`toPointer: an address is int64, this is ${dtype}`, "cast with .to(tl.int64)");
const viewToPointer = () => addressAsValue("toPointer: this is a view", "take x.ptr");
export const addressKind = () => needsAddress("toPointer: needs addresses, a tile of int64");

/** The rule of `x.toPointer(dtype)`: addresses are int64. */
export type WhyPointer<X> = X extends TileLike
  ? X[El] extends "int64"
    ? ""
    : SentenceOf<typeof addressDType<Call<X[El]>>>
  : X extends AddressLike
    ? X extends View<any, any, any>
      ? SentenceOf<typeof viewToPointer>
      : ""
    : SentenceOf<typeof addressKind>;
export function whyPointer(x: Type): RuleError | undefined {
  if (x.kind === "tile") return x.dtype === "int64" ? undefined : addressDType(dtypeDisplayName(x.dtype));
  if (x.kind === "view") return viewToPointer();
  return x.kind === "pointer" ? undefined : addressKind();
}

// ---- indices --------------------------------------------------------------------------------------------------------

const indexShape = <Shape extends Fact>(shape: Shape) =>
  shapeMismatch(
    `at: this index is ${shape}`,
    "give each axis a scalar or a tile of rank 1, as in x.at(rows, cols), which makes the grid; tiles of one shape go to x.gather(i, j)",
  );
const indexKind = () =>
  wrongAxis(
    "at: an index is a scalar, a tile of rank 1, a constexpr or a number",
    "for a whole axis write tl.arange(0, BLOCK)",
  );

type WhyIndex<O> = O extends number
  ? WhyWhole<"at", O>
  : O extends ConstLike<any, "int">
    ? ""
    : O extends TileLike
      ? FirstError<
          WhyIndexInt<"at", O[El]>,
          O[Sh] extends readonly [] | readonly [any]
            ? ""
            : number extends O[Sh]["length"]
              ? ""
              : SentenceOf<typeof indexShape<Show<O[Sh]>>>
        >
      : O extends StateLike
        ? SentenceOf<typeof stateOperand<"at">>
        : SentenceOf<typeof indexKind>;
export function whyIndex(index: Type): RuleError | undefined {
  if (isNumber(index)) return whyNumberIsWhole("at", index);
  if (index.kind !== "tile") return indexKind();
  const why = whyIndexInt("at", index.dtype);
  if (why || index.shape.length <= 1) return why;
  return indexShape(showShape(index.shape));
}
export type IndexArgs<I> = { readonly [K in keyof I]: Validate<I[K], WhyIndex<I[K]>> };

type SpansOf<I, Done extends unknown[] = []> = I extends readonly [infer H, ...infer R]
  ? IsAny<H> extends true
    ? any
    : H extends TileLike
      ? H[Sh] extends readonly [infer N]
        ? SpansOf<R, [...Done, N]>
        : H[Sh] extends readonly []
          ? SpansOf<R, Done>
          : any
      : SpansOf<R, Done>
  : Done;
/** The shape of `t.at(…)`: the spans of the rank-1 tiles, in order. */
export type IndexedShape<I> = AsShape<SpansOf<I>>;
export function spans(indices: readonly Type[]): Dim[] {
  return indices.flatMap((index) => (index.kind === "tile" ? index.shape : []));
}

const indexCount = <Op extends Fact, Dims extends Fact, Count extends Fact, Indices extends Fact>(
  op: Op,
  dims: Dims,
  count: Count,
  indices: Indices,
) =>
  wrongAxis(`${op}: ${dims} needs one index an axis, ${count} given`, `write x.${op}(${indices}), an index for each`);
type IndexNames<Ds extends Shape> = Ds["length"] extends 1 ? "i" : Ds["length"] extends 3 ? "i, j, k" : "i, j";
const indexNames = ({ length }: readonly Dim[]): string => ({ 1: "i", 3: "i, j, k" })[length] ?? "i, j";

export type WhyCount<Op extends string, Ds extends Shape, I extends readonly unknown[]> = number extends
  Ds["length"] | I["length"]
  ? ""
  : I["length"] extends Ds["length"]
    ? ""
    : SentenceOf<typeof indexCount<Op, Show<Ds>, I["length"], IndexNames<Ds>>>;
export function whyCount(op: string, dims: readonly Dim[], indices: readonly Type[]): RuleError | undefined {
  if (dims.length === indices.length) return undefined;
  return indexCount(op, showShape(dims), indices.length, indexNames(dims));
}

/** The rule of constant indices: out of bounds, the whole view would be masked. */
const belowDim = <Dim extends number>(dim: Dim) => `a number from 0 to below ${dim}` as const;
const indexOutside = <Index extends Fact, Axis extends Fact, Instead extends Fact>(
  index: Index,
  axis: Axis,
  instead: Instead,
) => wrongAxis(`at: ${index} is no index of axis ${axis}`, `write ${instead}`);

export function whyInside(dims: readonly Dim[], indices: readonly Type[]): RuleError | undefined {
  for (const [axis, dim] of dims.entries()) {
    const index = indices[axis];
    const number = index?.kind === "constexpr" ? literalValue(index) : undefined;
    if (number === undefined || (number >= 0 && (typeof dim === "string" || number < dim))) continue;
    const remedy = typeof dim === "string" ? `${dim}.sub(${-number})` : belowDim(dim);
    return indexOutside(number, axis, remedy);
  }
  return undefined;
}
/** The same at type level, for negative numbers and the size of the axis. */
export type WhyInside<Ds, I, Axis extends unknown[] = []> = [Ds, I] extends [
  readonly [infer D, ...infer DR],
  readonly [infer H, ...infer HR],
]
  ? true extends IsAny<H> | ([H] extends [never] ? true : false)
    ? WhyInside<DR, HR, [...Axis, 0]>
    : H extends number
      ? Outside<D, H> extends `${infer First}${infer Rest}`
        ? SentenceOf<typeof indexOutside<H, Axis["length"], `${First}${Rest}`>>
        : WhyInside<DR, HR, [...Axis, 0]>
      : WhyInside<DR, HR, [...Axis, 0]>
  : "";
/** The remedy for an index that is out of bounds, or "". */
type Outside<D, H extends number> = `${H}` extends `-${infer Positive}`
  ? D extends string
    ? `${D}.sub(${Positive})`
    : BelowDim<D>
  : [D, H] extends [H, D]
    ? BelowDim<D>
    : "";
type BelowDim<D> = D extends number ? ReturnType<typeof belowDim<D>> : "";

const gatherIndex = () => operandKind("gather: an index is an integer tile");

type WhyGather<O> = O extends TileLike
  ? WhyIndexInt<"gather", O[El]>
  : O extends number
    ? WhyWhole<"gather", O>
    : O extends ConstLike<any, "int">
      ? ""
      : SentenceOf<typeof gatherIndex>;
type GatherWhys<I, S extends Shape = []> = I extends readonly [infer H, ...infer R]
  ? H extends TileLike
    ? [FirstError<WhyGather<H>, WhyBroadcast<"gather", S, H[Sh]>>, ...GatherWhys<R, Broadcast<S, H[Sh]>>]
    : [WhyGather<H>, ...GatherWhys<R, S>]
  : [];
export type GatherArgs<I> = {
  readonly [K in keyof I]: Validate<I[K], GatherWhys<I>[K & keyof GatherWhys<I>]>;
};
/** The common shape of the index tiles. */
export type GatherShape<I, S extends Shape = []> = I extends readonly [infer H, ...infer R]
  ? IsAny<H> extends true
    ? any
    : GatherShape<R, H extends TileLike ? Broadcast<S, H[Sh]> : S>
  : S;
/** The common shape of the index tiles, or a message. */
export function gatherShape(indices: readonly Type[]): readonly Dim[] | RuleError {
  let shape: readonly Dim[] = [];
  for (const index of indices) {
    const whole = isNumber(index) ? whyNumberIsWhole("gather", index) : undefined;
    if (whole) return whole;
    if (isNumber(index)) continue;
    if (index.kind !== "tile") return gatherIndex();
    const common = whyIndexInt("gather", index.dtype) || inferBroadcast("gather", shape, index.shape);
    if (common instanceof Message) return common;
    shape = common;
  }
  return shape;
}

const boundedIndex = () => operandKind("inBounds: needs an index: a tile of integers, a constexpr or a number");

/** The rule of `tl.inBounds(index)`, which declares that every lane is in bounds. */
export type WhyInBounds<X> = X extends TileLike
  ? WhyIndexInt<"inBounds", X[El]>
  : X extends number
    ? WhyWhole<"inBounds", X>
    : X extends ConstLike<any, "int">
      ? ""
      : SentenceOf<typeof boundedIndex>;
/** The result of `tl.inBounds`. For a number, it is a constexpr. */
export type InBoundsOut<X> = X extends TileLike ? Tile<X[El], X[Sh]> : Constexpr<TextOf<X>>;
export function whyInBounds(index: Type): RuleError | undefined {
  if (isNumber(index)) return whyNumberIsWhole("inBounds", index);
  return index.kind === "tile" ? whyIndexInt("inBounds", index.dtype) : boundedIndex();
}

// ---- load and store -------------------------------------------------------------------------------------------------

const tileForAddress = <Op extends Fact>(op: Op) =>
  needsAddress(`${op}: this is a tile of values, not an address`, "write x.at(i, j) of a tensor x");
const tensorForAddress = <Op extends Fact>(op: Op) =>
  tensorAsValue(`${op}: this is a whole tensor`, "say where, x.at(...)");
const descriptorForAddress = <Op extends Fact>(op: Op) =>
  needsAddress(`${op}: this is a descriptor`, `call its method, desc.${op}(...)`);
const noAddress = <Op extends Fact>(op: Op) => needsAddress(`${op}: needs an address, such as x.at(...)`);

type NotAddress<Op extends string, A> = A extends TileLike
  ? SentenceOf<typeof tileForAddress<Op>>
  : A extends TensorLike
    ? SentenceOf<typeof tensorForAddress<Op>>
    : A extends DescriptorLike
      ? SentenceOf<typeof descriptorForAddress<Op>>
      : A extends StateLike
        ? SentenceOf<typeof stateOperand<Op>>
        : SentenceOf<typeof noAddress<Op>>;
function notAddress(op: string, type: Type): RuleError {
  if (type.kind === "tile") return tileForAddress(op);
  if (type.kind === "descriptor") return descriptorForAddress(op);
  return type.kind === "tensor" ? tensorForAddress(op) : noAddress(op);
}
type AddressType = PointerType | ViewType;
const isAddress = (type: Type): type is AddressType => type.kind === "pointer" || type.kind === "view";

export type WhyLoad<A, Op extends string = "load"> = A extends AddressLike ? "" : NotAddress<Op, A>;
export function whyLoad(address: Type, op = "load"): RuleError | undefined {
  return isAddress(address) ? undefined : notAddress(op, address);
}
/** The result of a load. */
export type LoadOut<A> = A extends AddressLike ? Tile<A[AddressElement], A[Pl]> : Tile<any, any>;
export function loadOut(address: AddressType): TileType {
  return tileType(address.to, address.shape);
}

const inputTensor = <Op extends Fact>(op: Op) =>
  readOnly(`${op}: this tensor is an input`, "declare it tensor.out(...) or tensor.inout(...)");

export type WhyWrite<Op extends string, A> = A extends AddressLike
  ? A[Ac] extends "in"
    ? SentenceOf<typeof inputTensor<Op>>
    : ""
  : NotAddress<Op, A>;
export function whyWrite(op: string, address: Type): RuleError | undefined {
  if (!isAddress(address)) return notAddress(op, address);
  return address.access === "in" ? inputTensor(op) : undefined;
}

/** Shape and element type of an address. */
export type ShapeOfAddress<A> = A extends AddressLike ? A[Pl] : any;
export type ElementOfAddress<A> = A extends AddressLike ? A[AddressElement] : any;

/** The dtypes of most atomics, in messages. */
export const WIDE_WORDS = "32-bit and 64-bit integers";

const maskShape = <Op extends Fact, Mask extends Fact, Address extends Fact>(op: Op, mask: Mask, address: Address) =>
  shapeMismatch(
    `${op}: the mask is ${mask}, the address is ${address}`,
    "write a mask of each axis, rows.lt(M).col.and(cols.lt(N).row)",
  );
const maskDType = <Op extends Fact, DType extends Fact>(op: Op, dtype: DType) =>
  truthValue(`${op}: a mask is int1, this is ${dtype}`, "compare it, .ne(0)");
export const maskKind = <Op extends Fact>(op: Op) => truthValue(`${op}: a mask is a tile of int1`);

export type WhyMaskFor<Op extends string, A, M> = M extends boolean
  ? ""
  : M extends TileLike
    ? M[El] extends "int1"
      ? FitsIn<ShapeOfAddress<A>, M[Sh]> extends true
        ? ""
        : SentenceOf<typeof maskShape<Op, Show<M[Sh]>, Show<ShapeOfAddress<A>>>>
      : SentenceOf<typeof maskDType<Op, Call<M[El]>>>
    : M extends ConstLike<any, "bool">
      ? ""
      : M extends StateLike
        ? SentenceOf<typeof stateOperand<Op>>
        : SentenceOf<typeof maskKind<Op>>;
export function whyMaskFor(op: string, address: AddressType, mask: Type): RuleError | undefined {
  if (mask.kind === "constexpr" && mask.of === "bool") return undefined;
  if (mask.kind !== "tile") return maskKind(op);
  if (mask.dtype !== "int1") return maskDType(op, dtypeDisplayName(mask.dtype));
  return fitsIn(address.shape, mask.shape) ? undefined : maskShape(op, showShape(mask.shape), showShape(address.shape));
}

export const valueDType = <Op extends Fact, Tensor extends Fact, Value extends Fact, Cast extends Fact>(
  op: Op,
  tensor: Tensor,
  value: Value,
  cast: Cast,
) => dtypeMismatch(`${op}: the tensor holds ${tensor}, the value is ${value}`, `cast with .to(${cast})`);
const valueShape = <Op extends Fact, Address extends Fact, Value extends Fact>(
  op: Op,
  address: Address,
  value: Value,
) =>
  shapeMismatch(
    `${op}: the address is ${address}, the value is ${value}`,
    "give both one shape, with an index of tl.arange(0, BLOCK) for each axis of the value, value.T or tl.sum(value, axis)",
  );

/** The rule of a value for elements of E in shape S: a scalar, or a tile with the address's shape. */
export type WhyValue<Op extends string, E, S extends Shape, V> = V extends number | bigint
  ? WhyLiteral<Op, E, V>
  : V extends TileLike
    ? Agree<E, V[El]> extends true
      ? V[Sh] extends readonly []
        ? ""
        : FitsIn<S, V[Sh]> extends true
          ? ""
          : SentenceOf<typeof valueShape<Op, Show<S>, Show<V[Sh]>>>
      : SentenceOf<typeof valueDType<Op, Call<E>, Call<V[El]>, Token<E>>>
    : V extends ConstLike<any, infer K>
      ? K extends "bool"
        ? E extends "int1"
          ? ""
          : WhyWeak<Op, E, K>
        : WhyWeak<Op, E, K>
      : V extends boolean
        ? E extends "int1"
          ? ""
          : SentenceOf<typeof noOperand<Op>>
        : V extends StateLike
          ? SentenceOf<typeof stateOperand<Op>>
          : SentenceOf<typeof noOperand<Op>>;
export function whyValue(op: string, elem: Elem, shape: readonly Dim[], value: Type): RuleError | undefined {
  if (value.kind === "tile") {
    if (!sameElem(elem, value.dtype)) {
      return valueDType(op, dtypeDisplayName(elem), dtypeDisplayName(value.dtype), dtypeSourceText(elem));
    }
    return fitsIn(shape, value.shape) ? undefined : valueShape(op, showShape(shape), showShape(value.shape));
  }
  if (value.kind !== "constexpr") return noOperand(op);
  const number = exactLiteral(value);
  if (number !== undefined) return whyLiteral(op, elem, number);
  if (value.of === "bool" && elem === "int1") return undefined;
  if (value.text === "true" || value.text === "false") return noOperand(op);
  return whyWeak(op, elem, value.of);
}

const otherWithoutMask = () => optionValue("load: other needs a mask");

/** The rule of `other` of a load. A raw pointer needs an explicit mask; a view is always masked. */
export type WhyOther<A, M, V> =
  A extends View<any, any, any>
    ? WhyValue<"load: other", ElementOfAddress<A>, ShapeOfAddress<A>, V>
    : IsUnknown<M> extends true
      ? SentenceOf<typeof otherWithoutMask>
      : WhyValue<"load: other", ElementOfAddress<A>, ShapeOfAddress<A>, V>;
export function whyOther(address: AddressType, hasMask: boolean, value: Type): RuleError | undefined {
  if (address.kind === "pointer" && !hasMask) return otherWithoutMask();
  return whyValue("load: other", address.to, address.shape, value);
}

export interface LoadOptions<A, M, V> {
  /** The active lanes, in addition to the bounds of the tensor. */
  mask?: Validate<M, WhyMaskFor<"load", A, M>> | undefined;
  /** The value of masked lanes. The default for a view is 0. */
  other?: Validate<V, WhyOther<A, M, V>> | undefined;
  /** The cache policy: `.ca` all levels, `.cg` L2 only, `.cv` none, `.cs` data that is read once (needs Triton 3.9). */
  cacheModifier?: "" | ".ca" | ".cg" | ".cv" | ".cs" | undefined;
  evictionPolicy?: "" | "evict_first" | "evict_last" | undefined;
  volatile?: boolean | undefined;
}
export interface StoreOptions<A, M> {
  /** The active lanes, in addition to the bounds of the tensor. */
  mask?: Validate<M, WhyMaskFor<"store", A, M>> | undefined;
  cacheModifier?: "" | ".wb" | ".cg" | ".cs" | ".wt" | undefined;
  evictionPolicy?: "" | "evict_first" | "evict_last" | undefined;
}

/** The type-level message for a positional mask, which Triton accepts. The build checks the number of arguments. */
export type ByName<Op extends string, Options extends string> = `${Op}: masks and later options go by name, ${Options}`;

/** A call of `tl.load`: the signature of the op. */
export type Load = <A, const M = unknown, const V = unknown>(
  address: Validate<A, WhyLoad<A>>,
  options?: LoadOptions<A, M, V> | ByName<"load", "{ mask, other }">,
  ...more: readonly ByName<"load", "{ mask, other }">[]
) => LoadOut<A>;
/** A call of `tl.store`: the signature of the op. */
export type Store = <A, const V, const M = unknown>(
  address: Validate<A, WhyWrite<"store", A>>,
  value: Validate<V, WhyValue<"store", ElementOfAddress<A>, ShapeOfAddress<A>, V>>,
  options?: StoreOptions<A, M> | ByName<"store", "{ mask }">,
  ...more: readonly ByName<"store", "{ mask }">[]
) => void;
