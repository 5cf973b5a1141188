/** How an atomic combines an element with an operand, exactly as Triton compiles it. */
import { toBits } from "./numeric-bits.js";
import { isBig, isFloat, type NumericDType } from "./numeric.js";
import { round } from "./numeric-float.js";
import { wrap, wrapBig } from "./numeric-int.js";

export type Scalar = number | bigint;
type Combine = (old: Scalar, value: Scalar) => Scalar;
/** The combination for elements of a dtype. */
export type Change = (dtype: NumericDType) => Combine;

export const changeIn = (change: Change, dtype: NumericDType): Combine => change(dtype);

const ofBigs =
  (f: (x: bigint, y: bigint) => bigint): Combine =>
  (x, y) =>
    f(x as bigint, y as bigint);
const ofNumbers =
  (f: (x: number, y: number) => number): Combine =>
  (x, y) =>
    f(x as number, y as number);

export const sum: Change = (dtype) => {
  if (isBig(dtype)) {
    const settle = wrapBig(dtype);
    return ofBigs((x, y) => settle(x + y));
  }
  const settle = isFloat(dtype) ? round(dtype) : wrap(dtype);
  return ofNumbers((x, y) => settle(x + y));
};

export const exchange: Change = () => (_, value) => value;

export const bitwise =
  (operator: "and" | "or" | "xor"): Change =>
  (dtype) => {
    if (isBig(dtype)) {
      const settle = wrapBig(dtype);
      const f = {
        and: (x: bigint, y: bigint) => x & y,
        or: (x: bigint, y: bigint) => x | y,
        xor: (x: bigint, y: bigint) => x ^ y,
      };
      return ofBigs((x, y) => settle(f[operator](x, y)));
    }
    const settle = wrap(dtype as Parameters<typeof wrap>[0]);
    const f = {
      and: (x: number, y: number) => x & y,
      or: (x: number, y: number) => x | y,
      xor: (x: number, y: number) => x ^ y,
    };
    return ofNumbers((x, y) => settle(f[operator](x, y)));
  };

/**
 * Floats are compared by their bits: as signed integers if the operand's sign bit is clear, else as unsigned integers
 * in reverse order. So -0 is less than 0, and a NaN lies beyond the infinity of its sign.
 */
const extreme =
  (isGreatest: boolean): Change =>
  (dtype) => {
    if (!isFloat(dtype)) return (x, y) => (isGreatest === y > x ? y : x);
    const bits = bitsIn(dtype);
    return ofNumbers((x, y) => {
      const [old, value] = [bits(x), bits(y)];
      const isNegative = value < 0n;
      const unsigned = (b: bigint): bigint => (isNegative ? BigInt.asUintN(64, b) : b);
      const wins = unsigned(value) > unsigned(old);
      return (isGreatest !== isNegative) === wins ? y : x;
    });
  };
export const greatest: Change = extreme(true);
export const least: Change = extreme(false);

/** The bits of a float as a signed integer. */
function bitsIn(dtype: NumericDType): (x: number) => bigint {
  if (dtype === "float64") {
    const view = new DataView(new ArrayBuffer(8));
    return (x) => {
      view.setFloat64(0, x);
      return view.getBigInt64(0);
    };
  }
  const of = toBits(dtype as Parameters<typeof toBits>[0]);
  return (x) => BigInt(of(x) | 0);
}
