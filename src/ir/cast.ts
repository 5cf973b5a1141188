/** Casts, and the dtypes that reductions give. */
import {
  call,
  dtypeTable,
  isFp8,
  isInt,
  members,
  type Call,
  type dtypeTable as Table,
  type DTypeName,
  type Elem,
  type Fp8Name,
  type IntName,
  type Members,
} from "./dtype.js";
import type { IsAny } from "./problem.js";
import { unify, type Unify } from "./promote.js";

type Half = "float16" | "bfloat16" | "float32";

/**
 * `.to(dtype)`. Everything goes but integers to and from 8-bit floats, and 8-bit floats to float64, which LLVM
 * refuses. The first test is a union of tuples so that it is decided when either side is a type parameter.
 */
export type WhyCast<From, To> = [From, To] extends [Half, any] | [any, Half]
  ? ""
  : IsAny<From> extends true
    ? ""
    : IsAny<To> extends true
      ? ""
      : [CastClash<Members<From>, Members<To>>] extends [never]
        ? ""
        : `to: ${Call<From>} cannot be cast to ${Call<To>} directly; go through tl.float32`;
/** A pair of members that does not cast, or never. */
type CastClash<F, T> = F extends IntName
  ? Extract<T, Fp8Name>
  : F extends Fp8Name
    ? Extract<T, IntName | "float64">
    : never;
export function whyCast(from: Elem, to: Elem): string {
  const clash = members(from).some((f) =>
    members(to).some((t) => (isInt(f) && isFp8(t)) || (isFp8(f) && (isInt(t) || t === "float64"))),
  );
  return clash ? `to: ${call(from)} cannot be cast to ${call(to)} directly; go through tl.float32` : "";
}

/** Bits of every member. */
type Bits<E> = Members<E> extends infer M extends DTypeName ? (typeof Table)[M]["bits"] : never;
/** `.to(dtype, { bitcast: true })`: the widths must be equal. */
export type WhyBitcast<From, To> =
  IsAny<From> extends true
    ? ""
    : IsAny<To> extends true
      ? ""
      : [Bits<From>, Bits<To>] extends [Bits<To>, Bits<From>]
        ? ""
        : `to: ${Call<From>} and ${Call<To>} differ in width; a bitcast keeps the bits`;
export function whyBitcast(from: Elem, to: Elem): string {
  const widths = (elem: Elem) => [...new Set(members(elem).map((name) => dtypeTable[name].bits))].sort().join();
  return widths(from) === widths(to)
    ? ""
    : `to: ${call(from)} and ${call(to)} differ in width; a bitcast keeps the bits`;
}

// ---- reductions -----------------------------------------------------------------------------------------------------

type SumOne<M> = M extends "int8" | "int16" ? "int32" : M extends "int1" | "uint8" | "uint16" ? "uint32" : M;
const sumOne = (name: DTypeName): DTypeName =>
  !isInt(name) || dtypeTable[name].bits >= 32 ? name : dtypeTable[name].signed ? "int32" : "uint32";

/** What sum and cumsum give: small integers widen to 32 bits, floats stay. */
export type SumElement<E> = IsAny<E> extends true ? any : Unify<E, SumOne<Members<E>>>;
export function sumElement(elem: Elem): Elem | undefined {
  return unify(elem, sumOne);
}

type MaxOne<M> = M extends "float16" | "bfloat16" | Fp8Name
  ? "float32"
  : M extends "int1" | "int8" | "int16" | "uint8" | "uint16"
    ? "int32"
    : M;
const maxOne = (name: DTypeName): DTypeName => (dtypeTable[name].bits >= 32 ? name : isInt(name) ? "int32" : "float32");

/** What max and min give: everything widens to 32 bits. */
export type MaxElement<E> = IsAny<E> extends true ? any : Unify<E, MaxOne<Members<E>>>;
export function maxElement(elem: Elem): Elem | undefined {
  return unify(elem, maxOne);
}

/** Members of a variable must agree on what a reduction gives, or its result has no dtype. */
export type WhyReduceElement<Op extends string, E, R> =
  IsAny<E> extends true
    ? ""
    : IsAny<R> extends true
      ? `${Op}: the members of ${Call<E>} give different dtypes; cast with .to(tl.float32)`
      : "";
export function whyReduceElement(op: string, elem: Elem, result: Elem | undefined): string {
  return result === undefined
    ? `${op}: the members of ${call(elem)} give different dtypes; cast with .to(tl.float32)`
    : "";
}
