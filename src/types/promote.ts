/**
 * Type promotion, and the rules for pairs of dtypes. The functions implement Triton's algorithm (that of 3.9 if
 * versions differ); the types use a table. A test compares all cells.
 */
import type { Fact, SentenceOf } from "../diagnostics/message.js";
import {
  dtypeUnsupported,
  truthValue,
  dtypeMismatch,
  numberType,
  operandKind,
} from "../diagnostics/catalog/rule-codes.js";
import {
  dtypeDisplayName,
  choices,
  dtypeTable,
  isFp8,
  isInt,
  isSigned,
  isUnsigned,
  members,
  sameElem,
  dtypeSourceText,
  type Call,
  type Choices,
  type DTypeName,
  type Elem,
  type Fp8Name,
  type IntName,
  type Members,
  type OneOf,
  type SignedName,
  type Token,
  type UnsignedName,
} from "./dtype.js";
import type { FirstError, IsAny, IsUnion, Same, RuleError } from "./rule-error.js";

// ---- the table ------------------------------------------------------------------------------------------------------

// prettier-ignore
interface Column {
  int1: 0; int8: 1; uint8: 2; int16: 3; uint16: 4; int32: 5; uint32: 6; int64: 7; uint64: 8; float16: 9; bfloat16: 10; float32: 11; float64: 12;
}
/** Result of `+ - *`: one row per left operand, one column per right operand. 8-bit floats have no arithmetic. */
// prettier-ignore
export interface PromoteTable {
  int1:     ["int1",    "int8",    "uint8",   "int16",   "uint16",  "int32",   "uint32",  "int64",   "uint64",  "float16", "float32",  "float32", "float64"];
  int8:     ["int8",    "int8",    "uint8",   "int16",   "uint16",  "int32",   "uint32",  "int64",   "uint64",  "float16", "float32",  "float32", "float64"];
  uint8:    ["uint8",   "uint8",   "uint8",   "int16",   "uint16",  "int32",   "uint32",  "int64",   "uint64",  "float16", "float32",  "float32", "float64"];
  int16:    ["int16",   "int16",   "int16",   "int16",   "uint16",  "int32",   "uint32",  "int64",   "uint64",  "float16", "float32",  "float32", "float64"];
  uint16:   ["uint16",  "uint16",  "uint16",  "uint16",  "uint16",  "int32",   "uint32",  "int64",   "uint64",  "float16", "float32",  "float32", "float64"];
  int32:    ["int32",   "int32",   "int32",   "int32",   "int32",   "int32",   "uint32",  "int64",   "uint64",  "float16", "float32",  "float32", "float64"];
  uint32:   ["uint32",  "uint32",  "uint32",  "uint32",  "uint32",  "uint32",  "uint32",  "int64",   "uint64",  "float16", "float32",  "float32", "float64"];
  int64:    ["int64",   "int64",   "int64",   "int64",   "int64",   "int64",   "int64",   "int64",   "uint64",  "float16", "float32",  "float32", "float64"];
  uint64:   ["uint64",  "uint64",  "uint64",  "uint64",  "uint64",  "uint64",  "uint64",  "uint64",  "uint64",  "float16", "float32",  "float32", "float64"];
  float16:  ["float16", "float16", "float16", "float16", "float16", "float16", "float16", "float16", "float16", "float16", "float16",  "float32", "float64"];
  bfloat16: ["float32", "float32", "float32", "float32", "float32", "float32", "float32", "float32", "float32", "float16", "bfloat16", "float32", "float64"];
  float32:  ["float32", "float32", "float32", "float32", "float32", "float32", "float32", "float32", "float32", "float32", "float32",  "float32", "float64"];
  float64:  ["float64", "float64", "float64", "float64", "float64", "float64", "float64", "float64", "float64", "float64", "float64",  "float64", "float64"];
}

/** The result of `+ - *` and `where`. Two different dtypes promote by Triton's table. */
export type Promote<A, B> =
  Same<A, B> extends true
    ? A
    : A extends keyof PromoteTable
      ? B extends keyof Column
        ? PromoteTable[A][Column[B]]
        : any
      : any;

/** Triton's algorithm (`computation_type_impl` in its `semantic.py`). Undefined if `whyPromote` returns a message. */
export function promote(a: Elem, b: Elem): Elem | undefined {
  if (sameElem(a, b)) return a;
  if (typeof a !== "string" || typeof b !== "string" || isFp8(a) || isFp8(b)) return undefined;
  const isEither = (name: DTypeName) => a === name || b === name;
  if (isEither("float64")) return "float64";
  if (isEither("float32")) return "float32";
  if (isEither("float16")) return "float16";
  if (isEither("bfloat16")) return "float32"; // the other is an integer: bfloat16 cannot hold it
  const [bitsA, bitsB] = [dtypeTable[a].bits, dtypeTable[b].bits];
  if (dtypeTable[a].signed === dtypeTable[b].signed) return bitsA >= bitsB ? a : b;
  const [unsigned, signed] = dtypeTable[a].signed ? [b, a] : [a, b];
  return dtypeTable[unsigned].bits >= dtypeTable[signed].bits ? unsigned : signed;
}

// ---- single dtypes --------------------------------------------------------------------------------------------------

export type HasAny<E, Kind> =
  IsAny<E> extends true ? false : [Extract<Members<E>, Kind>] extends [never] ? false : true;
export const hasAny = (elem: Elem, test: (name: DTypeName) => boolean): boolean => members(elem).some(test);

const noArithmetic = <Op extends Fact, DType extends Fact>(op: Op, dtype: DType) =>
  dtypeUnsupported(`${op}: ${dtype} has no arithmetic`, "cast with .to(tl.float16) or .to(tl.float32)");

/** "" unless a member of E is an 8-bit float. Triton's front end accepts 8-bit floats, but LLVM does not. */
export type WhyNoArithmetic<Op extends string, E> =
  HasAny<E, Fp8Name> extends true ? SentenceOf<typeof noArithmetic<Op, Call<E>>> : "";
export function whyNoArithmetic(op: string, elem: Elem): RuleError | undefined {
  return hasAny(elem, isFp8) ? noArithmetic(op, dtypeDisplayName(elem)) : undefined;
}

const maskArithmetic = <Op extends Fact>(op: Op) =>
  truthValue(`${op}: int1 is a truth value`, "combine masks with and, or, not, or cast with .to(tl.int32)");

/** "" unless a member of E is int1, which Triton would add modulo 2. */
export type WhyMask<Op extends string, E> = HasAny<E, "int1"> extends true ? SentenceOf<typeof maskArithmetic<Op>> : "";
export function whyMask(op: string, elem: Elem): RuleError | undefined {
  const isMask = hasAny(elem, (name) => name === "int1");
  return isMask ? maskArithmetic(op) : undefined;
}

const noIntegers = <Op extends Fact, DType extends Fact>(op: Op, dtype: DType) =>
  dtypeUnsupported(`${op}: needs integers, got ${dtype}`, "cast with .to(tl.int32)");

/** "" if every member is an integer. */
export type WhyInt<Op extends string, E> =
  IsAny<E> extends true
    ? ""
    : [Exclude<Members<E>, IntName>] extends [never]
      ? ""
      : SentenceOf<typeof noIntegers<Op, Call<E>>>;
export function whyInt(op: string, elem: Elem): RuleError | undefined {
  return members(elem).every(isInt) ? undefined : noIntegers(op, dtypeDisplayName(elem));
}

const flooredFloats = <Op extends Fact, DType extends Fact>(op: Op, dtype: DType) =>
  dtypeUnsupported(`${op}: needs integers, got ${dtype}`, "divide integers with floorDiv, or cast with .to(tl.int32)");

/** The same for an index, an offset or a bound. A float there is often the result of a division. */
export type WhyIndexInt<Op extends string, E> =
  IsAny<E> extends true
    ? ""
    : [Exclude<Members<E>, IntName>] extends [never]
      ? ""
      : SentenceOf<typeof flooredFloats<Op, Call<E>>>;
export function whyIndexInt(op: string, elem: Elem): RuleError | undefined {
  return members(elem).every(isInt) ? undefined : flooredFloats(op, dtypeDisplayName(elem));
}

const narrowFloats = <Op extends Fact, DType extends Fact>(op: Op, dtype: DType) =>
  dtypeUnsupported(`${op}: works on float32 and float64, not on ${dtype}`, "cast with .to(tl.float32)");

/** "" if every member is float32 or float64, as exp and similar functions require. */
export type WhyFloat32<Op extends string, E> =
  IsAny<E> extends true
    ? ""
    : [Exclude<Members<E>, "float32" | "float64">] extends [never]
      ? ""
      : SentenceOf<typeof narrowFloats<Op, Call<E>>>;
export function whyFloat32(op: string, elem: Elem): RuleError | undefined {
  const isSupported = members(elem).every((name) => name === "float32" || name === "float64");
  return isSupported ? undefined : narrowFloats(op, dtypeDisplayName(elem));
}

// ---- two tiles ------------------------------------------------------------------------------------------------------

const mixedWithVariable = <
  Op extends Fact,
  Variable extends Fact,
  Members extends Fact,
  Side extends Fact,
  DType extends Fact,
  Cast extends Fact,
>(
  op: Op,
  variable: Variable,
  members: Members,
  side: Side,
  dtype: DType,
  cast: Cast,
) =>
  dtypeMismatch(
    `${op}: ${variable} may be ${members}, ${side} is ${dtype}`,
    `cast one side, .to(${cast}) or .to(${variable})`,
  );

/** A dtype variable mixes only with itself and with numbers: the checker checks the kernel once for all members. */
export type WhyMixed<Op extends string, A, B> =
  IsAny<A> extends true
    ? ""
    : IsAny<B> extends true
      ? ""
      : A extends OneOf<infer Name, infer M>
        ? SentenceOf<typeof mixedWithVariable<Op, Name, Choices<M>, "the other side", Call<B>, Token<B>>>
        : B extends OneOf<infer Name, infer M>
          ? SentenceOf<typeof mixedWithVariable<Op, Name, Choices<M>, "this side", Call<A>, Token<A>>>
          : "";
function whyMixed(op: string, a: Elem, b: Elem): RuleError | undefined {
  const message = (variable: Elem, side: string, otherElem: Elem) =>
    mixedWithVariable(
      op,
      dtypeDisplayName(variable),
      choices(members(variable)),
      side,
      dtypeDisplayName(otherElem),
      dtypeSourceText(otherElem),
    );
  if (typeof a !== "string") return message(a, "the other side", b);
  if (typeof b !== "string") return message(b, "this side", a);
  return undefined;
}

/** The rule of `+ - *`, minimum and maximum. */
export type WhyPromote<Op extends string, A, B> =
  Same<A, B> extends true
    ? FirstError<WhyNoArithmetic<Op, A>, WhyMask<Op, A>>
    : FirstError<WhyMixed<Op, A, B>, FirstError<WhyNoArithmetic<Op, A>, WhyNoArithmetic<Op, B>>>;
export function whyPromote(op: string, a: Elem, b: Elem): RuleError | undefined {
  if (sameElem(a, b)) return whyNoArithmetic(op, a) || whyMask(op, a);
  return whyMixed(op, a, b) || whyNoArithmetic(op, a) || whyNoArithmetic(op, b);
}

/** The rule of comparisons. Two int1 operands may be compared. */
export type WhyCompare<Op extends string, A, B> =
  Same<A, B> extends true
    ? WhyNoArithmetic<Op, A>
    : FirstError<WhyMixed<Op, A, B>, FirstError<WhyNoArithmetic<Op, A>, WhyNoArithmetic<Op, B>>>;
export function whyCompare(op: string, a: Elem, b: Elem): RuleError | undefined {
  return sameElem(a, b) ? whyNoArithmetic(op, a) : whyPromote(op, a, b);
}

/** The rule of `where`: equal dtypes of any kind, or two dtypes that promote. */
export type WhySelect<Op extends string, A, B> = Same<A, B> extends true ? "" : WhyPromote<Op, A, B>;
export function whySelect(op: string, a: Elem, b: Elem): RuleError | undefined {
  return sameElem(a, b) ? undefined : whyPromote(op, a, b);
}

// ---- / // % ---------------------------------------------------------------------------------------------------------

type SignsDiffer<A, B> = A extends SignedName
  ? B extends "int1" | UnsignedName
    ? true
    : false
  : A extends "int1" | UnsignedName
    ? B extends SignedName
      ? true
      : false
    : false;

const otherSign = <Op extends Fact, A extends Fact, B extends Fact, Cast extends Fact>(
  op: Op,
  a: A,
  b: B,
  cast: Cast,
) => dtypeMismatch(`${op}: ${a} and ${b} differ in sign`, `cast one side with .to(${cast})`);

type WhySigns<Op extends string, A, B> =
  SignsDiffer<A, B> extends true ? SentenceOf<typeof otherSign<Op, Call<A>, Call<B>, Token<A>>> : "";
function whySigns(op: string, a: Elem, b: Elem): RuleError | undefined {
  const hasSignMismatch =
    typeof a === "string" && typeof b === "string" && isInt(a) && isInt(b) && isSigned(a) !== isSigned(b);
  return hasSignMismatch ? otherSign(op, dtypeDisplayName(a), dtypeDisplayName(b), dtypeSourceText(a)) : undefined;
}

/** The rule of `/` and `%`: as for `+`, and integers must have the same signedness. */
export type WhyDivide<Op extends string, A, B> = FirstError<
  Same<A, B> extends true ? WhyMask<Op, A> : WhyMixed<Op, A, B>,
  FirstError<WhySigns<Op, A, B>, FirstError<WhyNoArithmetic<Op, A>, WhyNoArithmetic<Op, B>>>
>;
export function whyDivide(op: string, a: Elem, b: Elem): RuleError | undefined {
  const why = sameElem(a, b) ? whyMask(op, a) : whyMixed(op, a, b);
  return why || whySigns(op, a, b) || whyNoArithmetic(op, a) || whyNoArithmetic(op, b);
}

/** The rule of `//`: integers only. */
export type WhyFloorDivide<Op extends string, A, B> = FirstError<
  WhyInt<Op, A>,
  FirstError<WhyInt<Op, B>, WhyDivide<Op, A, B>>
>;
export function whyFloorDivide(op: string, a: Elem, b: Elem): RuleError | undefined {
  return whyInt(op, a) || whyInt(op, b) || whyDivide(op, a, b);
}

type To32<M> = M extends "float64" ? "float64" : "float32";
const to32 = (name: DTypeName): DTypeName => (name === "float64" ? "float64" : "float32");

/** The common result dtype of all members, or the variable itself if each member maps to itself. */
export type Unify<E, R> =
  Same<R, Members<E>> extends true ? E : [R] extends [DTypeName] ? (IsUnion<R> extends true ? any : R) : any;
export function unify(elem: Elem, rule: (name: DTypeName) => DTypeName): Elem | undefined {
  const from = members(elem);
  const results = new Set(from.map(rule));
  if (results.size === from.length && from.every((name) => results.has(name))) return elem;
  const [result] = results;
  return results.size === 1 ? result : undefined;
}

/** The result of `/`: float32, or float64 if an operand is float64. */
export type Divide<A, B> =
  IsAny<A> extends true ? any : A extends "float64" ? A : B extends "float64" ? B : Unify<A, To32<Members<A>>>;
export function divide(a: Elem, b: Elem): Elem | undefined {
  return b === "float64" ? b : unify(a, to32);
}

type Remainder<M> = M extends IntName ? M : To32<M>;
/** The result of `%`: integers promote, floats become float32 or float64. */
export type Modulo<A, B> =
  IsAny<A> extends true
    ? any
    : Same<A, B> extends true
      ? Unify<A, Remainder<Members<A>>>
      : A extends IntName
        ? B extends IntName
          ? Promote<A, B>
          : To32<B>
        : B extends "float64"
          ? B
          : To32<A>;
export function modulo(a: Elem, b: Elem): Elem | undefined {
  if (sameElem(a, b)) return unify(a, (name) => (isInt(name) ? name : to32(name)));
  if (typeof a !== "string" || typeof b !== "string") return undefined;
  if (isInt(a) && isInt(b)) return promote(a, b);
  return a === "float64" || b === "float64" ? "float64" : "float32";
}

export const noResult = <Op extends Fact, A extends Fact, B extends Fact>(op: Op, a: A, b: B) =>
  dtypeMismatch(`${op}: ${a} and ${b} have no result`);

/** The message if the members of a variable have different result dtypes. */
export type WhyNoResult<Op extends string, A, B> =
  IsAny<A> extends true
    ? ""
    : IsAny<B> extends true
      ? ""
      : IsAny<Modulo<A, B>> extends true
        ? SentenceOf<typeof noResult<Op, Call<A>, Call<B>>>
        : "";

// ---- numbers --------------------------------------------------------------------------------------------------------

/** JavaScript's notations of a number with a fraction. */
export type Fraction = `${string}.${string}` | `${string}e-${string}`;

const notWhole = <Op extends Fact, Value extends Fact>(op: Op, value: Value) =>
  numberType(`${op}: ${value} is not a whole number`, "give an integer");

/** The rule of a literal that must be an integer: an index, a bound, an offset. */
export type WhyWhole<Op extends string, L extends number> = `${L}` extends Fraction
  ? SentenceOf<typeof notWhole<Op, L>>
  : "";
/** The same for the text of a literal. */
export function whyWhole(op: string, literal: string): RuleError | undefined {
  return Number.isInteger(Number(literal)) ? undefined : notWhole(op, literal);
}

const fractionForIntegers = <Op extends Fact, Value extends Fact, DType extends Fact>(
  op: Op,
  value: Value,
  dtype: DType,
) => numberType(`${op}: ${value} is not a whole number and the tile is ${dtype}`, "cast it first, .to(tl.float32)");
const negativeForUnsigned = <Op extends Fact, Value extends Fact, DType extends Fact>(
  op: Op,
  value: Value,
  dtype: DType,
) => numberType(`${op}: ${value} is negative and the tile is ${dtype}`, "cast it first, .to(tl.int32)");

/** The rule that E can represent a number or a bigint of JavaScript, for `full`, `store` and `other`. */
export type WhyLiteral<Op extends string, E, L extends number | bigint> = `${L}` extends Fraction
  ? HasAny<E, IntName> extends true
    ? SentenceOf<typeof fractionForIntegers<Op, L, Call<E>>>
    : ""
  : `${L}` extends `-${string}`
    ? HasAny<E, UnsignedName> extends true
      ? SentenceOf<typeof negativeForUnsigned<Op, L, Call<E>>>
      : ""
    : "";
/** The same, including ranges: only the build reports a value that is out of range. */
export function whyLiteral(op: string, elem: Elem, value: number | bigint): RuleError | undefined {
  if (typeof value === "number" && !Number.isInteger(value)) {
    return hasAny(elem, isInt) ? fractionForIntegers(op, value, dtypeDisplayName(elem)) : undefined;
  }
  if (value < 0 && hasAny(elem, isUnsigned)) {
    return negativeForUnsigned(op, value, dtypeDisplayName(elem));
  }
  return whyRange(op, elem, value);
}

/** A JavaScript number is a weak literal: it adopts the tile's dtype, which must be able to represent it. */
export type WhyNumber<Op extends string, E, L extends number | bigint> = FirstError<
  WhyNoArithmetic<Op, E>,
  FirstError<WhyMask<Op, E>, WhyLiteral<Op, E, L>>
>;
export function whyNumber(op: string, elem: Elem, value: number | bigint): RuleError | undefined {
  return whyNoArithmetic(op, elem) || whyMask(op, elem) || whyLiteral(op, elem, value);
}

/** The range check of an integer for every member. Floats accept any number. */
function whyRange(op: string, elem: Elem, value: number | bigint): RuleError | undefined {
  const overflowing = members(elem).find((name) => {
    if (!isInt(name)) return false;
    const bits = dtypeTable[name].bits - (isSigned(name) ? 1 : 0);
    return BigInt(value) >= 1n << BigInt(bits) || BigInt(value) < (isSigned(name) ? -(1n << BigInt(bits)) : 0n);
  });
  if (!overflowing) return undefined;
  const problem = `${op}: ${value} is out of range for ${overflowing}`;
  return dtypeTable[overflowing].bits < 64
    ? numberType(problem, "cast the tile to a wider dtype first")
    : numberType(problem, "write a number beyond 2⁵³, which JavaScript rounds, as a bigint: 9223372036854775807n");
}

const truthForNumbers = <Op extends Fact, DType extends Fact>(op: Op, dtype: DType) =>
  truthValue(`${op}: true and false combine with int1 only, this tile is ${dtype}`);

/** The rule of a boolean and a tile. */
export type WhyTruth<Op extends string, E> =
  IsAny<E> extends true ? "" : E extends "int1" ? "" : SentenceOf<typeof truthForNumbers<Op, Call<E>>>;
export function whyTruth(op: string, elem: Elem): RuleError | undefined {
  return elem === "int1" ? undefined : truthForNumbers(op, dtypeDisplayName(elem));
}

const floatForIntegers = <Op extends Fact, DType extends Fact>(op: Op, dtype: DType) =>
  numberType(`${op}: this constexpr is a float and the tile is ${dtype}`, "cast the tile first, .to(tl.float32)");
const constexprKind = <Op extends Fact, Kind extends Fact>(op: Op, kind: Kind) =>
  operandKind(`${op}: needs a number, not a ${kind} constexpr`);

/** The rule of a constexpr of kind K and a tile of E. An integer constexpr is assumed to be in range. */
export type WhyWeak<Op extends string, E, K> = K extends "int"
  ? FirstError<WhyNoArithmetic<Op, E>, WhyMask<Op, E>>
  : K extends "float"
    ? HasAny<E, IntName> extends true
      ? SentenceOf<typeof floatForIntegers<Op, Call<E>>>
      : WhyNoArithmetic<Op, E>
    : SentenceOf<typeof constexprKind<Op, K & string>>;
export function whyWeak(op: string, elem: Elem, kind: string): RuleError | undefined {
  if (kind === "int") return whyNoArithmetic(op, elem) || whyMask(op, elem);
  if (kind !== "float") return constexprKind(op, kind);
  return hasAny(elem, isInt) ? floatForIntegers(op, dtypeDisplayName(elem)) : whyNoArithmetic(op, elem);
}
