/** Rules of atomics, as types and functions: the dtypes that the hardware supports, and the operands. */
import type { Fact, SentenceOf } from "../diagnostics/message.js";
import { dtypeUnsupported, shapeMismatch, truthValue, numberType } from "../diagnostics/catalog/rule-codes.js";
import type { Agree, FirstError, Validate, IsAny, RuleError } from "../types/rule-error.js";
import {
  dtypeDisplayName,
  type Call,
  type DTypeName,
  type Elem,
  members,
  type Members,
  sameElem,
  type Token,
  dtypeSourceText,
} from "../types/dtype.js";
import type { AddressLike, Pl, AddressElement } from "./tensor-types.js";
import {
  fitsIn,
  type FitsIn,
  sameShape,
  type SameShape,
  type Dim,
  type Shape,
  type Show,
  showShape,
} from "../types/shape.js";
import {
  type ByName,
  type ShapeOfAddress,
  type ElementOfAddress,
  whyLoad,
  type WhyLoad,
  whyMaskFor,
  type WhyMaskFor,
  whyValue,
  type WhyValue,
  whyWrite,
  type WhyWrite,
  valueDType,
  maskKind,
  WIDE_WORDS,
} from "./memory-rules.js";
import type { El, Sh, Tile, TileLike } from "../types/tile.js";
import type { PointerType, Type, ViewType } from "../types/types.js";

// ---- dtypes ---------------------------------------------------------------------------------------------------------

const WIDE_INTEGERS = ["int32", "uint32", "int64", "uint64"] as const;
const FLOATS = ["float32", "float64"] as const;

const WIDE_NUMBERS = "32-bit and 64-bit integers, float32 and float64";

/** The dtypes that each kind of atomic supports, and their description in messages. */
export const atomicKinds = {
  add: {
    dtypes: [...WIDE_INTEGERS, "float16", "bfloat16", ...FLOATS],
    words: "32-bit and 64-bit integers, float16, bfloat16, float32 and float64",
  },
  extreme: { dtypes: [...WIDE_INTEGERS, ...FLOATS], words: WIDE_NUMBERS },
  bits: { dtypes: WIDE_INTEGERS, words: WIDE_WORDS },
  exchange: { dtypes: [...WIDE_INTEGERS, ...FLOATS], words: WIDE_NUMBERS },
  compare: {
    dtypes: ["int16", "uint16", ...WIDE_INTEGERS, "float16", "bfloat16", ...FLOATS],
    words: "dtypes of 16, 32 and 64 bits",
  },
  poll: { dtypes: ["int16", "uint16", ...WIDE_INTEGERS], words: "integers of 16, 32 and 64 bits" },
  any: {
    dtypes: ["int1", "int8", "uint8", "int16", "uint16", ...WIDE_INTEGERS, "float16", "bfloat16", ...FLOATS],
    words: "integers, float16, bfloat16, float32 and float64",
  },
} as const satisfies Readonly<Record<string, { readonly dtypes: readonly DTypeName[]; readonly words: string }>>;

type Kinds = typeof atomicKinds;
export type AtomicKind = keyof Kinds;
type Unsupported<K extends AtomicKind, E> = Exclude<Members<E>, Kinds[K]["dtypes"][number]>;

const atomicDType = <Op extends Fact, DType extends Fact, Supported extends Fact>(
  op: Op,
  dtype: DType,
  supported: Supported,
) => dtypeUnsupported(`${op}: does not work on ${dtype}`, `it takes ${supported}`);

export type WhyAtomicElement<Op extends string, K extends AtomicKind, E> =
  IsAny<E> extends true
    ? ""
    : [Unsupported<K, E>] extends [never]
      ? ""
      : SentenceOf<typeof atomicDType<Op, Call<E>, Kinds[K]["words"]>>;
function whyAtomicElement(op: string, kind: AtomicKind, elem: Elem): RuleError | undefined {
  const { dtypes, words }: { readonly dtypes: readonly string[]; readonly words: string } = atomicKinds[kind];
  return members(elem).every((name) => dtypes.includes(name))
    ? undefined
    : atomicDType(op, dtypeDisplayName(elem), words);
}

type Address = PointerType | ViewType;

/** The rule of the address of an atomic that writes memory. */
export type WhyAtomic<Op extends string, K extends AtomicKind, A> = FirstError<
  WhyWrite<Op, A>,
  A extends AddressLike ? WhyAtomicElement<Op, K, A[AddressElement]> : ""
>;
export function whyAtomic(op: string, kind: AtomicKind, address: Type): RuleError | undefined {
  return whyWrite(op, address) || whyAtomicElement(op, kind, (address as Address).to);
}
/** The rule of the address of an atomic that only reads. */
export type WhyAtomicRead<Op extends string, K extends AtomicKind, A> = FirstError<
  WhyLoad<A, Op>,
  A extends AddressLike ? WhyAtomicElement<Op, K, A[AddressElement]> : ""
>;
export function whyAtomicRead(op: string, kind: AtomicKind, address: Type): RuleError | undefined {
  return whyLoad(address, op) || whyAtomicElement(op, kind, (address as Address).to);
}

// ---- operands -------------------------------------------------------------------------------------------------------

/** Triton 3.6 does not add axes to an atomic's mask and value, so the rules require equal rank for every version. */
type SameRank<A extends Shape, B extends Shape> = number extends A["length"] | B["length"]
  ? true
  : B extends readonly []
    ? true
    : A["length"] extends B["length"]
      ? true
      : false;
const sameRank = (a: readonly Dim[], b: readonly Dim[]): boolean => b.length === 0 || a.length === b.length;

const atomicRank = <Op extends Fact, Address extends Fact, Operand extends Fact, Shape extends Fact>(
  op: Op,
  address: Address,
  operand: Operand,
  shape: Shape,
) =>
  shapeMismatch(
    `${op}: the address is ${address}, the ${operand} is ${shape}`,
    "give it the same rank with .row or expandDims",
  );

type WhyRank<Op extends string, What extends string, S extends Shape, X> = X extends TileLike
  ? FitsIn<S, X[Sh]> extends true
    ? SameRank<S, X[Sh]> extends true
      ? ""
      : SentenceOf<typeof atomicRank<Op, Show<S>, What, Show<X[Sh]>>>
    : ""
  : "";
function whyRank(op: string, operandName: string, shape: readonly Dim[], x: Type): RuleError | undefined {
  if (x.kind !== "tile" || !fitsIn(shape, x.shape) || sameRank(shape, x.shape)) return undefined;
  return atomicRank(op, showShape(shape), operandName, showShape(x.shape));
}

/** The rule of the value to add, exchange and so on: a number, a scalar, or a tile with the address's shape. */
export type WhyAtomicValue<Op extends string, A, V> = FirstError<
  WhyValue<Op, ElementOfAddress<A>, ShapeOfAddress<A>, V>,
  WhyRank<Op, "value", ShapeOfAddress<A>, V>
>;
export function whyAtomicValue(op: string, { to, shape }: Address, value: Type): RuleError | undefined {
  return whyValue(op, to, shape, value) || whyRank(op, "value", shape, value);
}

const atomicMask = <Op extends Fact>(op: Op) =>
  truthValue(maskKind(op).problem, "leave it out, or leave the atomic out");

/** The rule of a mask. Unlike loads, atomics do not accept Python's True. */
export type WhyAtomicMask<Op extends string, A, M> = M extends TileLike
  ? FirstError<WhyMaskFor<Op, A, M>, WhyRank<Op, "mask", ShapeOfAddress<A>, M>>
  : M extends boolean
    ? SentenceOf<typeof atomicMask<Op>>
    : WhyMaskFor<Op, A, M>;
export function whyAtomicMask(op: string, address: Address, mask: Type): RuleError | undefined {
  if (mask.kind === "constexpr" && (mask.text === "true" || mask.text === "false")) return atomicMask(op);
  return whyMaskFor(op, address, mask) || whyRank(op, "mask", address.shape, mask);
}

/** Triton converts number operands of compare-and-swap to int32 and float32 scalars, without a cast or a broadcast. */
type Exact = "int32" | "uint32" | "float32";
const EXACT: ReadonlySet<Elem> = new Set(["int32", "uint32", "float32"]);

const uncastNumber = <Op extends Fact, DType extends Fact>(op: Op, dtype: DType) =>
  numberType(`${op}: a number is not cast here`, `write tl.full([], …, ${dtype})`);
const numberForTile = <Op extends Fact, Shape extends Fact, DType extends Fact>(op: Op, shape: Shape, dtype: DType) =>
  numberType(`${op}: a number is not spread here`, `write tl.full(${shape}, …, ${dtype})`);
const unspreadValue = <Op extends Fact, Address extends Fact, Value extends Fact>(
  op: Op,
  address: Address,
  value: Value,
) => shapeMismatch(`${op}: the address is ${address}, the value is ${value}; nothing is spread here`);
const noTileOfAddress = <Op extends Fact>(op: Op) => shapeMismatch(`${op}: needs a tile in the address's shape`);

/** The rule of an operand of compare-and-swap: it must have the address's dtype and shape. */
export type WhySwap<Op extends string, A, V> = V extends number | bigint
  ? ShapeOfAddress<A> extends readonly []
    ? ElementOfAddress<A> extends Exact
      ? WhyValue<Op, ElementOfAddress<A>, [], V>
      : SentenceOf<typeof uncastNumber<Op, Token<ElementOfAddress<A>>>>
    : SentenceOf<typeof numberForTile<Op, Show<ShapeOfAddress<A>>, Token<ElementOfAddress<A>>>>
  : V extends TileLike
    ? Agree<ElementOfAddress<A>, V[El]> extends true
      ? SameShape<ShapeOfAddress<A>, V[Sh]> extends true
        ? ""
        : SentenceOf<typeof unspreadValue<Op, Show<ShapeOfAddress<A>>, Show<V[Sh]>>>
      : SentenceOf<typeof valueDType<Op, Call<ElementOfAddress<A>>, Call<V[El]>, Token<ElementOfAddress<A>>>>
    : SentenceOf<typeof noTileOfAddress<Op>>;
export function whySwap(op: string, { to, shape }: Address, value: Type): RuleError | undefined {
  if (value.kind === "constexpr" && !Number.isNaN(Number(value.text)) && value.of !== "string") {
    if (shape.length > 0) return numberForTile(op, showShape(shape), dtypeSourceText(to));
    return EXACT.has(to) ? whyValue(op, to, [], value) : uncastNumber(op, dtypeSourceText(to));
  }
  if (value.kind !== "tile") return noTileOfAddress(op);
  if (!sameElem(to, value.dtype))
    return valueDType(op, dtypeDisplayName(to), dtypeDisplayName(value.dtype), dtypeSourceText(to));
  return sameShape(shape, value.shape) ? undefined : unspreadValue(op, showShape(shape), showShape(value.shape));
}

// ---- signatures -----------------------------------------------------------------------------------------------------

export type Semantics = "acquire" | "release" | "acq_rel" | "relaxed";
export type Scope = "gpu" | "cta" | "sys";

interface Ordering<S extends Semantics> {
  /**
   * The memory order: earlier accesses stay before it (`release`), later ones after it (`acquire`), both, or neither.
   */
  sem?: S | undefined;
  /** The scope of the memory order: this program, this GPU, or all GPUs and the CPU. */
  scope?: Scope | undefined;
}
export interface AtomicOptions<Op extends string, A, M, S extends Semantics = Semantics> extends Ordering<S> {
  /** The active lanes, in addition to the bounds of the tensor. The result of masked lanes is undefined. */
  mask?: Validate<M, WhyAtomicMask<Op, A, M>> | undefined;
}

/** The result of an atomic: the value before it. */
export type AtomicOut<A> = A extends AddressLike ? Tile<A[AddressElement], A[Pl]> : Tile<any, any>;

/** A call of `tl.atomicAdd` and similar atomics. */
export type Atomic<Op extends string, K extends AtomicKind> = <A, const V, const M = unknown>(
  address: Validate<A, WhyAtomic<Op, K, A>>,
  value: Validate<V, WhyAtomicValue<Op, A, V>>,
  options?: AtomicOptions<Op, A, M> | ByName<Op, "{ mask }">,
  ...more: readonly ByName<Op, "{ mask }">[]
) => AtomicOut<A>;
/** A call of `tl.atomicCas`. */
export type AtomicCas = <A, const C, const V>(
  address: Validate<A, WhyAtomic<"atomicCas", "compare", A>>,
  compare: Validate<C, WhySwap<"atomicCas", A, C>>,
  value: Validate<V, WhySwap<"atomicCas", A, V>>,
  options?: Ordering<Semantics>,
) => AtomicOut<A>;
/** A call of `tl.atomicLoad`. */
export type AtomicLoad = <A, const M = unknown>(
  address: Validate<A, WhyAtomicRead<"atomicLoad", "any", A>>,
  options?: AtomicOptions<"atomicLoad", A, M, "acquire" | "relaxed">,
) => AtomicOut<A>;
/** A call of `tl.atomicStore`. */
export type AtomicStore = <A, const V, const M = unknown>(
  address: Validate<A, WhyAtomic<"atomicStore", "any", A>>,
  value: Validate<V, WhyAtomicValue<"atomicStore", A, V>>,
  options?: AtomicOptions<"atomicStore", A, M, "release" | "relaxed">,
) => void;
interface PollOptions extends Ordering<"acquire" | "relaxed"> {
  /** The timeout in nanoseconds, for all lanes together. By default there is none. */
  timeoutNs?: number | undefined;
}
/** A call of `tl.atomicPoll`. */
export type AtomicPoll = <A, const V>(
  address: Validate<A, WhyAtomicRead<"atomicPoll", "poll", A>>,
  expected: Validate<V, WhyAtomicValue<"atomicPoll", A, V>>,
  options?: PollOptions,
) => A extends AddressLike ? Tile<"int1", A[Pl]> : Tile<"int1", any>;
