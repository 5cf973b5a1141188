/** The combine functions of atomics, exactly as Triton compiles them. */
import { float64Bits } from "./float64-words.js";
import { toBits } from "./numeric-bits.js";
import { isBig, isFloat, type NumericDType } from "./numeric.js";
import { round } from "./numeric-float.js";
import { wrap, wrapBig } from "./numeric-int.js";

export type Scalar = number | bigint;
type Combine = (old: Scalar, value: Scalar) => Scalar;
/** The combine function for elements of a dtype. */
export type Change = (dtype: NumericDType) => Combine;

const combineBigs =
  (f: (x: bigint, y: bigint) => bigint): Combine =>
  (x, y) =>
    f(x as bigint, y as bigint);
const combineNumbers =
  (f: (x: number, y: number) => number): Combine =>
  (x, y) =>
    f(x as number, y as number);

export const sum: Change = (dtype) => {
  if (isBig(dtype)) {
    const toDType = wrapBig(dtype);
    return combineBigs((x, y) => toDType(x + y));
  }
  const toDType = isFloat(dtype) ? round(dtype) : wrap(dtype);
  return combineNumbers((x, y) => toDType(x + y));
};

export const exchange: Change = () => (_, value) => value;

export const bitwise =
  (operator: "and" | "or" | "xor"): Change =>
  (dtype) => {
    if (isBig(dtype)) {
      const toDType = wrapBig(dtype);
      const f = {
        and: (x: bigint, y: bigint) => x & y,
        or: (x: bigint, y: bigint) => x | y,
        xor: (x: bigint, y: bigint) => x ^ y,
      };
      return combineBigs((x, y) => toDType(f[operator](x, y)));
    }
    const toDType = wrap(dtype as Parameters<typeof wrap>[0]);
    const f = {
      and: (x: number, y: number) => x & y,
      or: (x: number, y: number) => x | y,
      xor: (x: number, y: number) => x ^ y,
    };
    return combineNumbers((x, y) => toDType(f[operator](x, y)));
  };

/**
 * Compares floats by their bits: as signed integers if the operand's sign bit is clear, else as unsigned integers in
 * reverse order. Therefore -0 is less than 0, and a NaN is beyond the infinity of its sign.
 */
const extremum =
  (isGreatest: boolean): Change =>
  (dtype) => {
    if (!isFloat(dtype)) return (x, y) => (isGreatest === y > x ? y : x);
    const bits = floatBits(dtype);
    return combineNumbers((x, y) => {
      const [old, value] = [bits(x), bits(y)];
      const isNegative = value < 0n;
      const unsigned = (b: bigint): bigint => (isNegative ? BigInt.asUintN(64, b) : b);
      const isGreater = unsigned(value) > unsigned(old);
      return (isGreatest !== isNegative) === isGreater ? y : x;
    });
  };
export const greatest: Change = extremum(true);
export const least: Change = extremum(false);

/** The bits of a float as a signed integer. */
function floatBits(dtype: NumericDType): (x: number) => bigint {
  if (dtype === "float64") return float64Bits;
  const encode = toBits(dtype as Parameters<typeof toBits>[0]);
  return (x) => BigInt(encode(x) | 0);
}
