/** Rules of addresses, as types and functions: pointer offsets, tensor indices, load and store. */
import type { FirstError, Agree, Validate, IsAny, IsUnknown } from "../types/rule-error.js";
import type { ConstLike, Constexpr, TextOf } from "../types/constexpr.js";
import type { DescriptorLike } from "./descriptor-types.js";
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
import type { AddressLike, Ac, Pl, AddressElement, TensorLike, View } from "./tensor-types.js";
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
} from "../types/shape.js";
import type { El, Sh, StateLike, Tile, TileLike } from "../types/tile.js";
import {
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
const whyNumberIsWhole = (op: string, { of, text }: ConstexprType): string => (of === "int" ? "" : whyWhole(op, text));

// ---- pointer offsets ------------------------------------------------------------------------------------------------

/**
 * The dtypes of offsets that may be subtracted. Triton adds the negated offset, which wraps in other dtypes: the
 * negative of a uint8 200 is 56.
 */
const NEGATABLE = ["int32", "int64", "uint64"] as const;

type WhyNegated<Op extends string, E> = Op extends "sub"
  ? IsAny<E> extends true
    ? ""
    : [Exclude<Members<E>, (typeof NEGATABLE)[number]>] extends [never]
      ? ""
      : `sub: Triton adds the negative of an offset, which wraps in ${Call<E>}; cast with .to(tl.int64)`
  : "";
function whyNegated(op: string, elem: Elem): string {
  const isNegatable = members(elem).every((name) => (NEGATABLE as readonly string[]).includes(name));
  return op !== "sub" || isNegatable
    ? ""
    : `sub: Triton adds the negative of an offset, which wraps in ${dtypeDisplayName(elem)}; cast with .to(tl.int64)`;
}

export type WhyOffset<Op extends string, S extends Shape, O> = O extends number
  ? WhyWhole<Op, O>
  : O extends ConstLike<any, "int">
    ? ""
    : O extends TileLike
      ? FirstError<WhyIndexInt<Op, O[El]>, FirstError<WhyNegated<Op, O[El]>, WhyBroadcast<Op, S, O[Sh]>>>
      : O extends AddressLike
        ? `${Op}: two pointers cannot be added; add offsets to one`
        : `${Op}: needs an integer tile, a constexpr or a number`;
export function whyOffset(op: string, pointer: PointerType, offset: Type): string {
  if (isNumber(offset)) return whyNumberIsWhole(op, offset);
  if (offset.kind === "tile")
    return (
      whyIndexInt(op, offset.dtype) || whyNegated(op, offset.dtype) || whyBroadcast(op, pointer.shape, offset.shape)
    );
  return offset.kind === "pointer" || offset.kind === "view"
    ? `${op}: two pointers cannot be added; add offsets to one`
    : `${op}: needs an integer tile, a constexpr or a number`;
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

/** The rule of `x.toPointer(dtype)`: addresses are int64. */
export type WhyPointer<X> = X extends TileLike
  ? X[El] extends "int64"
    ? ""
    : `toPointer: an address is int64, this is ${Call<X[El]>}; cast with .to(tl.int64)`
  : X extends AddressLike
    ? X extends View<any, any, any>
      ? "toPointer: this is a view; take x.ptr"
      : ""
    : "toPointer: needs addresses, a tile of int64";
export function whyPointer(x: Type): string {
  if (x.kind === "tile")
    return x.dtype === "int64"
      ? ""
      : `toPointer: an address is int64, this is ${dtypeDisplayName(x.dtype)}; cast with .to(tl.int64)`;
  if (x.kind === "view") return "toPointer: this is a view; take x.ptr";
  return x.kind === "pointer" ? "" : "toPointer: needs addresses, a tile of int64";
}

// ---- indices --------------------------------------------------------------------------------------------------------

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
              : `at: this index is ${Show<O[Sh]>}; give each axis a scalar or a tile of rank 1, as in x.at(rows, cols), which makes the grid; tiles of one shape go to x.gather(i, j)`
        >
      : O extends StateLike
        ? "at: this is state; read it with .value"
        : "at: an index is a scalar, a tile of rank 1, a constexpr or a number; for a whole axis write tl.arange(0, BLOCK)";
export function whyIndex(index: Type): string {
  if (isNumber(index)) return whyNumberIsWhole("at", index);
  if (index.kind !== "tile")
    return "at: an index is a scalar, a tile of rank 1, a constexpr or a number; for a whole axis write tl.arange(0, BLOCK)";
  const why = whyIndexInt("at", index.dtype);
  if (why || index.shape.length <= 1) return why;
  return `at: this index is ${showShape(index.shape)}; give each axis a scalar or a tile of rank 1, as in x.at(rows, cols), which makes the grid; tiles of one shape go to x.gather(i, j)`;
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

export type WhyCount<Op extends string, Ds extends Shape, I extends readonly unknown[]> = number extends
  Ds["length"] | I["length"]
  ? ""
  : I["length"] extends Ds["length"]
    ? ""
    : `${Op}: ${Show<Ds>} needs one index an axis, ${I["length"]} given; write x.${Op}(i, j), an index for each`;
export function whyCount(op: string, dims: readonly Dim[], indices: readonly Type[]): string {
  if (dims.length === indices.length) return "";
  return `${op}: ${showShape(dims)} needs one index an axis, ${indices.length} given; write x.${op}(i, j), an index for each`;
}

/** The rule of constant indices: out of bounds, the whole view would be masked. */
export function whyInside(dims: readonly Dim[], indices: readonly Type[]): string {
  for (const [axis, index] of indices.entries()) {
    const dim = dims[axis]!;
    const number = index.kind === "constexpr" ? literalValue(index) : undefined;
    if (number === undefined || (number >= 0 && (typeof dim === "string" || number < dim))) continue;
    const remedy = typeof dim === "string" ? `${dim}.sub(${-number})` : `a number from 0 to below ${dim}`;
    return `at: ${number} is no index of axis ${axis}; write ${remedy}`;
  }
  return "";
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
        ? `at: ${H} is no index of axis ${Axis["length"]}; write ${First}${Rest}`
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
type BelowDim<D> = D extends number ? `a number from 0 to below ${D}` : "";

type WhyGather<O> = O extends TileLike
  ? WhyIndexInt<"gather", O[El]>
  : O extends number
    ? WhyWhole<"gather", O>
    : O extends ConstLike<any, "int">
      ? ""
      : "gather: an index is an integer tile";
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
export function gatherShape(indices: readonly Type[]): readonly Dim[] | string {
  let shape: readonly Dim[] = [];
  for (const index of indices) {
    const whole = isNumber(index) ? whyNumberIsWhole("gather", index) : "";
    if (whole) return whole;
    if (isNumber(index)) continue;
    if (index.kind !== "tile") return "gather: an index is an integer tile";
    const why = whyIndexInt("gather", index.dtype) || whyBroadcast("gather", shape, index.shape);
    if (why) return why;
    shape = broadcast(shape, index.shape) ?? shape;
  }
  return shape;
}

/** The rule of `tl.inBounds(index)`, which declares that every lane is in bounds. */
export type WhyInBounds<X> = X extends TileLike
  ? WhyIndexInt<"inBounds", X[El]>
  : X extends number
    ? WhyWhole<"inBounds", X>
    : X extends ConstLike<any, "int">
      ? ""
      : "inBounds: needs an index: a tile of integers, a constexpr or a number";
/** The result of `tl.inBounds`. For a number, it is a constexpr. */
export type InBoundsOut<X> = X extends TileLike ? Tile<X[El], X[Sh]> : Constexpr<TextOf<X>>;
export function whyInBounds(index: Type): string {
  if (isNumber(index)) return whyNumberIsWhole("inBounds", index);
  return index.kind === "tile"
    ? whyIndexInt("inBounds", index.dtype)
    : "inBounds: needs an index: a tile of integers, a constexpr or a number";
}

// ---- load and store -------------------------------------------------------------------------------------------------

type NotAddress<Op extends string, A> = A extends TileLike
  ? `${Op}: this is a tile of values, not an address; write x.at(i, j) of a tensor x`
  : A extends TensorLike
    ? `${Op}: this is a whole tensor; say where, x.at(...)`
    : A extends DescriptorLike
      ? `${Op}: this is a descriptor; call its method, desc.${Op}(...)`
      : A extends StateLike
        ? `${Op}: this is state; read it with .value`
        : `${Op}: needs an address, such as x.at(...)`;
function notAddress(op: string, type: Type): string {
  if (type.kind === "tile") return `${op}: this is a tile of values, not an address; write x.at(i, j) of a tensor x`;
  if (type.kind === "descriptor") return `${op}: this is a descriptor; call its method, desc.${op}(...)`;
  return type.kind === "tensor"
    ? `${op}: this is a whole tensor; say where, x.at(...)`
    : `${op}: needs an address, such as x.at(...)`;
}
type AddressType = PointerType | ViewType;
const isAddress = (type: Type): type is AddressType => type.kind === "pointer" || type.kind === "view";

export type WhyLoad<A, Op extends string = "load"> = A extends AddressLike ? "" : NotAddress<Op, A>;
export function whyLoad(address: Type, op = "load"): string {
  return isAddress(address) ? "" : notAddress(op, address);
}
/** The result of a load. */
export type LoadOut<A> = A extends AddressLike ? Tile<A[AddressElement], A[Pl]> : Tile<any, any>;
export function loadOut(address: AddressType): TileType {
  return tileType(address.to, address.shape);
}

export type WhyWrite<Op extends string, A> = A extends AddressLike
  ? A[Ac] extends "in"
    ? `${Op}: this tensor is an input; declare it tensor.out(...) or tensor.inout(...)`
    : ""
  : NotAddress<Op, A>;
export function whyWrite(op: string, address: Type): string {
  if (!isAddress(address)) return notAddress(op, address);
  return address.access === "in"
    ? `${op}: this tensor is an input; declare it tensor.out(...) or tensor.inout(...)`
    : "";
}

/** Shape and element type of an address. */
export type ShapeOfAddress<A> = A extends AddressLike ? A[Pl] : any;
export type ElementOfAddress<A> = A extends AddressLike ? A[AddressElement] : any;

export type WhyMaskFor<Op extends string, A, M> = M extends boolean
  ? ""
  : M extends TileLike
    ? M[El] extends "int1"
      ? FitsIn<ShapeOfAddress<A>, M[Sh]> extends true
        ? ""
        : `${Op}: the mask is ${Show<M[Sh]>}, the address is ${Show<ShapeOfAddress<A>>}; write a mask of each axis, rows.lt(M).col.and(cols.lt(N).row)`
      : `${Op}: a mask is int1, this is ${Call<M[El]>}; compare it, .ne(0)`
    : M extends ConstLike<any, "bool">
      ? ""
      : M extends StateLike
        ? `${Op}: this is state; read it with .value`
        : `${Op}: a mask is a tile of int1`;
export function whyMaskFor(op: string, address: AddressType, mask: Type): string {
  if (mask.kind === "constexpr" && mask.of === "bool") return "";
  if (mask.kind !== "tile") return `${op}: a mask is a tile of int1`;
  if (mask.dtype !== "int1")
    return `${op}: a mask is int1, this is ${dtypeDisplayName(mask.dtype)}; compare it, .ne(0)`;
  return fitsIn(address.shape, mask.shape)
    ? ""
    : `${op}: the mask is ${showShape(mask.shape)}, the address is ${showShape(address.shape)}; write a mask of each axis, rows.lt(M).col.and(cols.lt(N).row)`;
}

/** The rule of a value for elements of E in shape S: a scalar, or a tile with the address's shape. */
export type WhyValue<Op extends string, E, S extends Shape, V> = V extends number
  ? WhyLiteral<Op, E, V>
  : V extends TileLike
    ? Agree<E, V[El]> extends true
      ? V[Sh] extends readonly []
        ? ""
        : FitsIn<S, V[Sh]> extends true
          ? ""
          : `${Op}: the address is ${Show<S>}, the value is ${Show<V[Sh]>}; give both one shape, with an index of tl.arange(0, BLOCK) for each axis of the value, value.T or tl.sum(value, axis)`
      : `${Op}: the tensor holds ${Call<E>}, the value is ${Call<V[El]>}; cast with .to(${Token<E>})`
    : V extends ConstLike<any, infer K>
      ? K extends "bool"
        ? E extends "int1"
          ? ""
          : WhyWeak<Op, E, K>
        : WhyWeak<Op, E, K>
      : V extends boolean
        ? E extends "int1"
          ? ""
          : `${Op}: needs a tile, a constexpr or a number`
        : V extends StateLike
          ? `${Op}: this is state; read it with .value`
          : `${Op}: needs a tile, a constexpr or a number`;
export function whyValue(op: string, elem: Elem, shape: readonly Dim[], value: Type): string {
  if (value.kind === "tile") {
    if (!sameElem(elem, value.dtype)) {
      return `${op}: the tensor holds ${dtypeDisplayName(elem)}, the value is ${dtypeDisplayName(value.dtype)}; cast with .to(${dtypeSourceText(elem)})`;
    }
    return fitsIn(shape, value.shape)
      ? ""
      : `${op}: the address is ${showShape(shape)}, the value is ${showShape(value.shape)}; give both one shape, with an index of tl.arange(0, BLOCK) for each axis of the value, value.T or tl.sum(value, axis)`;
  }
  if (value.kind !== "constexpr") return `${op}: needs a tile, a constexpr or a number`;
  const number = literalValue(value);
  if (number !== undefined) return whyLiteral(op, elem, number);
  if (value.of === "bool" && elem === "int1") return "";
  if (value.text === "true" || value.text === "false") return `${op}: needs a tile, a constexpr or a number`;
  return whyWeak(op, elem, value.of);
}

/** The rule of `other` of a load. A raw pointer needs an explicit mask; a view is always masked. */
export type WhyOther<A, M, V> =
  A extends View<any, any, any>
    ? WhyValue<"load: other", ElementOfAddress<A>, ShapeOfAddress<A>, V>
    : IsUnknown<M> extends true
      ? "load: other needs a mask"
      : WhyValue<"load: other", ElementOfAddress<A>, ShapeOfAddress<A>, V>;
export function whyOther(address: AddressType, hasMask: boolean, value: Type): string {
  if (address.kind === "pointer" && !hasMask) return "load: other needs a mask";
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
export type ByName<
  Op extends string,
  Options extends string,
> = `${Op}: a mask goes by name, ${Options}, and so does what follows`;

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
