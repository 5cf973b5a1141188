/** Converts single values between dtypes. */
import { isSigned } from "../types/dtype.js";
import { bitsOf, isFloat, type BigDType, type FloatDType, type NumericDType, type SmallIntDType } from "./numeric.js";
import { round, type RoundOptions } from "./numeric-float.js";
import { wrap } from "./numeric-int.js";

/**
 * The conversion between two dtypes whose values are numbers. Floats round to nearest, and integers drop high bits.
 * Float to integer is {@link floatToInt}; anything to `int1` is `!= 0`.
 */
export function convert(
  from: Exclude<NumericDType, BigDType>,
  to: Exclude<NumericDType, BigDType>,
  options: RoundOptions = {},
): (x: number) => number {
  if (from === to) return identity;
  if (to === "int1") return isNotZero;
  if (isFloat(to)) return round(to, options);
  return isFloat(from) ? floatToInt(from, to) : wrap(to);
}

const identity = (x: number): number => x;
const isNotZero = (x: number): number => (x !== 0 ? 1 : 0);

/**
 * PTX's `cvt.rzi`: truncates, then clamps to the bounds. (MLIR's arith.fptosi leaves values out of range undefined.)
 * PTX has no `cvt` to 8-bit integers. Triton converts to 16 bits and drops the high ones, so 300.0 is 44 as int8.
 */
export function floatToInt(from: FloatDType, to: SmallIntDType): (x: number) => number {
  const bits = Math.max(bitsOf(to), 16);
  const [min, max] = isSigned(to) ? [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] : [0, 2 ** bits - 1];
  // "Zero if source is not .f64 and destination is not .s64, .u64. Otherwise 1 << (BitWidth(dst) - 1)" (PTX 9.0, cvt).
  const nanOfDouble = isSigned(to) ? min : 2 ** (bits - 1);
  const nanResult = from === "float64" ? nanOfDouble : 0;
  const toDType = wrap(to);
  return (x) => {
    if (x !== x) return toDType(nanResult);
    if (x < min) return toDType(min);
    return toDType(x > max ? max : Math.trunc(x));
  };
}

/** {@link floatToInt} for 64 bits. */
export function floatToBig(to: BigDType): (x: number) => bigint {
  const [min, max] = to === "int64" ? [-(2n ** 63n), 2n ** 63n - 1n] : [0n, 2n ** 64n - 1n];
  const [low, high] = [Number(min), Number(max)];
  const nanResult = to === "int64" ? min : 2n ** 63n;
  // As a float64, the upper bound is a power of two, which is already out of range.
  return (x) => {
    if (x !== x) return nanResult;
    if (x <= low) return min;
    return x >= high ? max : BigInt(Math.trunc(x));
  };
}

/** Converts a 64-bit integer to a float with one rounding. */
export function bigToFloat(to: FloatDType, options: RoundOptions = {}): (x: bigint) => number {
  // Number() rounds to nearest.
  if (to === "float64" && options.rounding !== "rtz") return Number;
  const toDType = round(to, options);
  return (x) => toDType(toOdd(x));
}

/** Rounds to odd: the last bit is set if anything was truncated, so that a second, narrower rounding is correct. */
function toOdd(x: bigint): number {
  const magnitude = x < 0n ? -x : x;
  if (magnitude < 2n ** 53n) return Number(x);
  const truncated = (magnitude >> 11n) | ((magnitude & 2047n) === 0n ? 0n : 1n);
  return Number(x < 0n ? -truncated : truncated) * 2048;
}
