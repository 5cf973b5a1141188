/** Integer arithmetic as in compiled code: wrapping, C division, PTX's shifts. */
import { type IntName, isSigned, dtypeTable, isInt, type DTypeName } from "../types/dtype.js";

// Representation of values of each dtype in the evaluator.

/** Every dtype of arithmetic values. */
export type NumericDType = DTypeName;
export type FloatDType = Exclude<NumericDType, IntName>;
/** The dtypes whose values are JavaScript bigints. All others are numbers. */
export type BigDType = "int64" | "uint64";
/** The integers whose values are JavaScript numbers. */
export type SmallIntDType = Exclude<IntName, BigDType>;

export type NumberData = Float32Array | Float64Array | Int32Array | Uint32Array | Uint8Array;
export type BigData = BigInt64Array | BigUint64Array;
export type TileData = NumberData | BigData;

/** Width of a value in bits. (In memory, an `int1` takes a byte.) */
export const bitsOf = (dtype: NumericDType): number => dtypeTable[dtype].bits;

export function isFloat(dtype: NumericDType): dtype is FloatDType {
  return !isInt(dtype);
}

/** The dtype for computing without rounding: float64 for every float. */
export function unroundedDType(dtype: NumericDType): NumericDType {
  return isFloat(dtype) ? "float64" : dtype;
}

/** True if values are represented as bigints. */
export function isBig(dtype: NumericDType): dtype is BigDType {
  return dtype === "int64" || dtype === "uint64";
}

/**
 * The kind of array that stores values of a dtype.
 *
 * Small integers are stored in an Int32Array and small floats in a Float32Array, instead of arrays of their width. V8
 * compiles a keyed access inline for up to four kinds of array; a fifth kind makes it about six times slower (measured,
 * Node 20). With these four kinds for numbers, and bytes for `int1`, loops stay below the limit.
 */
export function arrayOf(dtype: NumericDType): new (length: number) => TileData {
  if (dtype === "int64") return BigInt64Array;
  if (dtype === "uint64") return BigUint64Array;
  if (dtype === "int1") return Uint8Array;
  if (dtype === "uint32") return Uint32Array;
  if (dtype === "float64") return Float64Array;
  return isFloat(dtype) ? Float32Array : Int32Array;
}

/** Creates a function once per dtype, so that each has its own compiled loop. */
function memoizeByDType<F>(make: (dtype: SmallIntDType) => F): (dtype: SmallIntDType) => F {
  const cache = new Map<SmallIntDType, F>();
  return (dtype) => {
    let cachedFunction = cache.get(dtype);
    if (cachedFunction === undefined) cache.set(dtype, (cachedFunction = make(dtype)));
    return cachedFunction;
  };
}

/** Wraps an integer to a dtype by dropping high bits. The number must represent the integer exactly. */
export const wrap: (dtype: SmallIntDType) => (x: number) => number = memoizeByDType((dtype) => {
  if (dtype === "int1") return (x) => x & 1;
  if (dtype === "uint32") return (x) => x >>> 0;
  const unused = 32 - bitsOf(dtype);
  if (isSigned(dtype)) return (x) => (x << unused) >> unused;
  const mask = 0xffffffff >>> unused;
  return (x) => x & mask;
});

/** {@link wrap} for 64 bits. */
export function wrapBig(dtype: BigDType): (x: bigint) => bigint {
  return dtype === "int64" ? (x) => BigInt.asIntN(64, x) : (x) => BigInt.asUintN(64, x);
}

/** {@link wrap} for every dtype, of exact integers or bigints. */
export function wrapInteger(dtype: IntName): (x: number | bigint) => number | bigint {
  if (isBig(dtype)) {
    const wrapValue = wrapBig(dtype);
    return (x) => wrapValue(BigInt(x));
  }
  const wrapValue = wrap(dtype);
  return (x) => wrapValue(typeof x === "bigint" ? Number(BigInt.asIntN(32, x)) : x);
}

/*
 * Results of these functions may lie outside the dtype (`multiply` of uint32, -2^31 / -1); callers must wrap them.
 * MLIR's arith.divsi leaves division by zero undefined; here it gives 0, and callers report it.
 */

/** The low 32 bits of a product. */
export const multiply: (x: number, y: number) => number = Math.imul;

/** Division that truncates toward zero (arith.divsi, arith.divui). Quotients of 32-bit integers are exact. */
export const divide = (x: number, y: number): number => (y === 0 ? 0 : Math.trunc(x / y) + 0);
export const divideBig = (x: bigint, y: bigint): bigint => (y === 0n ? 0n : x / y);

/** The remainder with the dividend's sign (arith.remsi, arith.remui). */
export const remainder = (x: number, y: number): number => (y === 0 ? 0 : (x % y) + 0);
export const remainderBig = (x: bigint, y: bigint): bigint => (y === 0n ? 0n : x % y);

/**
 * True if a shift count is negative, or at least the operand's width. The result is undefined in MLIR; callers report
 * it.
 */
export const isShiftTooFar = (bits: number, count: number | bigint): boolean => count < 0 || count >= bits;

/*
 * These shifts follow PTX: "shift amounts greater than the register width N are clamped to N", with unsigned amounts.
 * The result is therefore 0, or copies of the sign.
 */

type Shift = (x: number, count: number) => number;

/** `x << count`. */
export const shiftLeft: (dtype: SmallIntDType) => Shift = memoizeByDType((dtype) => {
  const bits = bitsOf(dtype);
  return (x, count) => (isShiftTooFar(bits, count) ? 0 : x << count);
});

/** `x >> count`: arithmetic for signed dtypes, logical for others. */
export const shiftRight: (dtype: SmallIntDType) => Shift = memoizeByDType((dtype) => {
  const bits = bitsOf(dtype);
  if (isSigned(dtype)) return (x, count) => x >> (isShiftTooFar(bits, count) ? 31 : count);
  return (x, count) => (isShiftTooFar(bits, count) ? 0 : x >>> count);
});

export const shiftLeftBig = (x: bigint, count: bigint): bigint => (isShiftTooFar(64, count) ? 0n : x << count);

/** `x >> count`: logical for uint64, whose values are never negative, and arithmetic for int64. */
export const shiftRightBig = (x: bigint, count: bigint): bigint => x >> (isShiftTooFar(64, count) ? 64n : count);

/** The high half of the product of two 32-bit integers as unsigned, as in compiled `tl.umulhi`. */
export function umulhi(x: number, y: number): number {
  // The product and the difference are off by at most 2^10, so the quotient is off by at most 2^-21.
  const difference = (x >>> 0) * (y >>> 0) - (Math.imul(x, y) >>> 0);
  return (difference * 2 ** -32 + 0.5) >>> 0;
}

/** {@link umulhi} of 64-bit integers. */
export const umulhiBig = (x: bigint, y: bigint): bigint => (BigInt.asUintN(64, x) * BigInt.asUintN(64, y)) >> 64n;

/** Python's arithmetic on the host and on constexprs, with integers of arbitrary precision. */

type PythonValue = number | bigint | boolean | string;

/** True if a float64 represents the integer exactly. */
const isSafe = (x: number): boolean => Math.abs(x) <= Number.MAX_SAFE_INTEGER;

const isInteger = (x: PythonValue): boolean =>
  typeof x !== "string" && (typeof x === "bigint" || Number.isInteger(Number(x)));

/** The integer as a number, if that is exact. */
function normalizeInteger(x: bigint): number | bigint {
  const number = Number(x);
  return isSafe(number) ? number : x;
}

/** Normalizes an integer to the form in which equal integers are equal JavaScript values. */
export const toExact = (x: PythonValue): PythonValue =>
  typeof x === "number" && Number.isInteger(x) && !isSafe(x) ? BigInt(x) : x;

/** Arithmetic of two numbers: in float64 if that is exact or an operand is not an integer, else with bigints. */
export function pythonArithmetic(
  floats: (x: number, y: number) => number,
  integers: (x: bigint, y: bigint) => bigint,
): (x: PythonValue, y: PythonValue) => number | bigint {
  return (x, y) => {
    const [a, b] = [Number(x), Number(y)];
    const result = floats(a, b);
    if (isSafe(result) && isSafe(a) && isSafe(b)) return result;
    return isInteger(x) && isInteger(y) ? normalizeInteger(integers(BigInt(x), BigInt(y))) : result;
  };
}

/**
 * {@link pythonArithmetic} for a division. Division by 0, where Python raises an error, returns a non-finite number.
 */
export function pythonDivision(floats: (x: number, y: number) => number, integers: (x: bigint, y: bigint) => bigint) {
  const divide = pythonArithmetic(floats, integers);
  return (x: PythonValue, y: PythonValue): number | bigint => (Number(y) === 0 ? floats(Number(x), 0) : divide(x, y));
}

/** {@link pythonArithmetic} for ops that are exact only in 32 bits, such as JavaScript's bitwise operators. */
export function pythonBitwise(
  int32Operation: (x: number, y: number) => number,
  integers: (x: bigint, y: bigint) => bigint,
): (x: PythonValue, y: PythonValue) => number | bigint {
  const isInt32 = (x: number): boolean => (x | 0) === x;
  return (x, y) => {
    const [a, b] = [Number(x), Number(y)];
    const isExact = (isInt32(a) && isInt32(b)) || !isInteger(x) || !isInteger(y);
    return isExact ? int32Operation(a, b) : normalizeInteger(integers(BigInt(x), BigInt(y)));
  };
}

/** `x // y`, which rounds down, for a nonzero divisor. */
export function floorDivide(x: bigint, y: bigint): bigint {
  const quotient = x / y;
  return quotient * y !== x && x < 0n !== y < 0n ? quotient - 1n : quotient;
}
