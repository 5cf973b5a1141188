/** Representation of values of each dtype in the evaluator. */
import { dtypeTable, isInt, type DTypeName, type IntName } from "../types/dtype.js";

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
