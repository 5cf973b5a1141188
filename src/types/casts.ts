/** Rules of casts, and the result dtypes of reductions. */
import type { Fact, SentenceOf } from "../diagnostics/message.js";
import { dtypeUnsupported, dtypeMismatch, numberType, operandKind } from "../diagnostics/catalog/rule-codes.js";
import {
  dtypeDisplayName,
  dtypeTable,
  isFp8,
  isInt,
  members,
  sameElem,
  type Call,
  type dtypeTable as Table,
  type DTypeName,
  type Elem,
  type Fp8Name,
  type IntName,
  type Members,
  dtypeNames,
} from "./dtype.js";
import type { IsAny, Same, RuleError } from "./rule-error.js";
import { unify, type Unify, type Fraction } from "./promote.js";
import type { ConstLike } from "./constexpr.js";
import { LIMITS } from "./limits.js";
import { literalValue, type ConstexprType, type Type } from "./types.js";
import { foreignConstants } from "./unsupported-names.js";

type Common = "float16" | "float32";

const uncastable = <From extends Fact, To extends Fact>(from: From, to: To) =>
  dtypeUnsupported(`to: ${from} cannot be cast to ${to} directly`, "go through tl.float32");

/**
 * The rule of `.to(dtype)`. Triton does not implement casts of 8-bit floats to and from dtypes other than float16,
 * bfloat16 and float32, nor casts between float8e4b15 and bfloat16. The first test is a union of tuples, so that the
 * checker can decide it if either side is a type parameter.
 */
export type WhyCast<From, To> = [From, To] extends [Common, any] | [any, Common]
  ? ""
  : IsAny<From> extends true
    ? ""
    : IsAny<To> extends true
      ? ""
      : Same<From, To> extends true
        ? ""
        : [CastClash<Members<From>, Members<To>>] extends [never]
          ? ""
          : SentenceOf<typeof uncastable<Call<From>, Call<To>>>;
/** A pair of members without a cast, or never. */
type CastClash<F, T> = F extends IntName | "float64"
  ? Extract<T, Fp8Name>
  : F extends Fp8Name
    ? Exclude<Extract<T, IntName | Fp8Name | "float64" | (F extends "float8e4b15" ? "bfloat16" : never)>, F>
    : F extends "bfloat16"
      ? Extract<T, "float8e4b15">
      : never;
const isUncastable = (from: DTypeName, to: DTypeName): boolean =>
  from !== to &&
  (((isInt(from) || from === "float64") && isFp8(to)) ||
    (isFp8(from) && (isInt(to) || isFp8(to) || to === "float64")) ||
    (from === "float8e4b15" && to === "bfloat16") ||
    (from === "bfloat16" && to === "float8e4b15"));
export function whyCast(from: Elem, to: Elem): RuleError | undefined {
  const hasClash = !sameElem(from, to) && members(from).some((f) => members(to).some((t) => isUncastable(f, t)));
  return hasClash ? uncastable(dtypeDisplayName(from), dtypeDisplayName(to)) : undefined;
}

/** The width of every member in bits. */
type Bits<E> = Members<E> extends infer M extends DTypeName ? (typeof Table)[M]["bits"] : never;

const otherWidth = <From extends Fact, To extends Fact>(from: From, to: To) =>
  dtypeMismatch(`to: ${from} and ${to} differ in width; a bitcast keeps the bits`);

/** The rule of `.to(dtype, { bitcast: true })`: the widths must be equal. */
export type WhyBitcast<From, To> =
  IsAny<From> extends true
    ? ""
    : IsAny<To> extends true
      ? ""
      : [Bits<From>, Bits<To>] extends [Bits<To>, Bits<From>]
        ? ""
        : SentenceOf<typeof otherWidth<Call<From>, Call<To>>>;
export function whyBitcast(from: Elem, to: Elem): RuleError | undefined {
  const widths = (elem: Elem) => [...new Set(members(elem).map((name) => dtypeTable[name].bits))].sort().join();
  return widths(from) === widths(to) ? undefined : otherWidth(dtypeDisplayName(from), dtypeDisplayName(to));
}

// ---- reductions -----------------------------------------------------------------------------------------------------

type SumOne<M> = M extends "int8" | "int16" ? "int32" : M extends "int1" | "uint8" | "uint16" ? "uint32" : M;
function sumOne(name: DTypeName): DTypeName {
  if (!isInt(name) || dtypeTable[name].bits >= 32) return name;
  return dtypeTable[name].signed ? "int32" : "uint32";
}

/** The result of sum and cumsum: small integers widen to 32 bits, floats keep their dtype. */
export type SumElement<E> = IsAny<E> extends true ? any : Unify<E, SumOne<Members<E>>>;
export function sumElement(elem: Elem): Elem | undefined {
  return unify(elem, sumOne);
}

type MaxOne<M> = M extends "float16" | "bfloat16" | Fp8Name
  ? "float32"
  : M extends "int1" | "int8" | "int16" | "uint8" | "uint16"
    ? "int32"
    : M;
function maxOne(name: DTypeName): DTypeName {
  if (dtypeTable[name].bits >= 32) return name;
  return isInt(name) ? "int32" : "float32";
}

/** The result of max and min: everything widens to 32 bits. */
export type MaxElement<E> = IsAny<E> extends true ? any : Unify<E, MaxOne<Members<E>>>;
export function maxElement(elem: Elem): Elem | undefined {
  return unify(elem, maxOne);
}

export const mixedResults = <Op extends Fact, DType extends Fact>(op: Op, dtype: DType) =>
  dtypeMismatch(`${op}: the members of ${dtype} give different dtypes`, "cast with .to(tl.float32)");

/** The rule that all members of a dtype variable have the same result dtype. */
export type WhyReduceElement<Op extends string, E, R> =
  IsAny<E> extends true ? "" : IsAny<R> extends true ? SentenceOf<typeof mixedResults<Op, Call<E>>> : "";

// The dtype that Triton infers for a number without a tile operand, as measured: `tl.where(mask, 1, 0)`, `count = 0`.

/** A number, a boolean, or a constexpr of either. */
export type UntypedNumber = number | boolean | ConstLike<any, "int" | "float" | "bool">;

/**
 * int32, float32 for a fraction, int1 for a boolean. JavaScript does not distinguish 1.0 from 1, so a whole number is
 * an integer. The result is `any` for a number of type `number`, such as Infinity.
 */
export type DefaultDType<X> =
  IsAny<X> extends true
    ? any
    : X extends boolean | ConstLike<any, "bool">
      ? "int1"
      : X extends ConstLike<any, "float">
        ? "float32"
        : X extends number
          ? number extends X
            ? any
            : `${X}` extends Fraction
              ? "float32"
              : "int32"
          : "int32";

/** The same at run time. Undefined if the type is not that of a number. */
export function defaultDType(type: Type): DTypeName | undefined {
  return type.kind === "constexpr" ? DEFAULT_DTYPES[type.of] : undefined;
}
const DEFAULT_DTYPES: Readonly<Partial<Record<ConstexprType["of"], DTypeName>>> = {
  bool: "int1",
  float: "float32",
  int: "int32",
};

/** Checks the range of the default dtype. Triton would choose a wider one for a large literal, so the author must. */
export function whyDefaultDType(op: string, type: ConstexprType): RuleError | undefined {
  const value = literalValue(type);
  if (value === undefined || !Number.isFinite(value) || value === 0) return undefined;
  if (type.of === "int") {
    const isInRange = value >= -LIMITS.int32End && value < LIMITS.int32End;
    return isInRange
      ? undefined
      : numberType(`${op}: ${type.text} does not fit int32`, `write tl.full([], ${type.text}, tl.int64)`);
  }
  const magnitude = Math.abs(value);
  const isInRange = magnitude >= MIN_NORMAL_FLOAT32 && magnitude <= MAX_FLOAT32;
  return isInRange
    ? undefined
    : numberType(`${op}: ${type.text} does not fit float32`, `write tl.full([], ${type.text}, tl.float64)`);
}

/** The range of normal numbers of float32. */
const MIN_NORMAL_FLOAT32 = 2 ** -126;
const MAX_FLOAT32 = (2 - 2 ** -23) * 2 ** 127;

// Remedies for strings that are passed as dtypes, as PyTorch and Triton allow.

const concreteNames = new Set<string>(dtypeNames);

/** The dtype with this name in Triton or PyTorch: `"float32"`, `"fp16"`, `"torch.int"`. */
export function dtypeOfText(text: unknown): string | undefined {
  if (typeof text !== "string") return undefined;
  const name = text.replace(/^(?:torch|tl)\./, "");
  if (concreteNames.has(name)) return `tl.${name}`;
  const alias = Object.hasOwn(foreignConstants, name) ? foreignConstants[name as keyof typeof foreignConstants] : "";
  return concreteNames.has(alias.replace("tl.", "")) ? alias : undefined;
}

const textAsDType = <Op extends Fact, DType extends Fact>(op: Op, dtype: DType) =>
  operandKind(`${op}: a dtype is not text`, `write ${dtype}`);
export const noDType = <Op extends Fact, Example extends Fact>(op: Op, example: Example) =>
  operandKind(`${op}: needs a dtype, such as ${example}`);

/** The message for a value that is not a dtype. For the name of a dtype, it suggests that dtype. */
export function notADType(op: string, value: unknown, example = "tl.float32"): RuleError {
  const dtype = dtypeOfText(value);
  return dtype === undefined ? noDType(op, example) : textAsDType(op, dtype);
}
/** The same at type level, for TileScript's names of dtypes. */
export type NotADType<Op extends string, D> = D extends DTypeName
  ? SentenceOf<typeof textAsDType<Op, `tl.${D}`>>
  : SentenceOf<typeof noDType<Op, "tl.float32">>;
