/** `x.to(dtype)` on tiles. */
import { bigsOf, numbersOf, tileArray, type TileArray } from "./array.js";
import { loopsOf } from "./lane-loops.js";
import { allocateUnset } from "./pool.js";
import {
  bitsOf,
  isBig,
  isFloat,
  type BigData,
  type FloatDType,
  type NumberData,
  type NumericDType,
} from "./numeric.js";
import { fromBytes, toBytes } from "./numeric-bits.js";
import { bigToFloat, convert, floatToBig } from "./numeric-convert.js";
import { floatFormats, roundAll, type RoundOptions } from "./numeric-float.js";
import { wrap, wrapBig } from "./numeric-int.js";
import { type IntName, isSigned } from "../types/dtype.js";

export interface CastOptions extends RoundOptions {
  /** Keep the bits instead of the value; both dtypes must have the same width. */
  readonly bitcast?: boolean | undefined;
}

/** Converts every element and keeps poison. */
export function cast(x: TileArray, dtype: NumericDType, options: CastOptions = {}): TileArray {
  if (x.dtype === dtype) return x;
  // A Float32Array holds only values that float32 keeps.
  if (!options.bitcast && dtype === "float32" && x.data instanceof Float32Array)
    return tileArray(dtype, x.shape, x.data, x.poison);
  return tileArray(dtype, x.shape, options.bitcast ? bitcast(x, dtype) : converted(x, dtype, options), x.poison);
}

/**
 * The lanes of floats that truncate to no value of an integer dtype, NaN among them. {@link cast} gives what PTX gives;
 * LLVM leaves it undefined, and other devices and numpy give something else.
 */
export function outOfRange({ data, dtype: from, poison }: TileArray, to: NumericDType): Uint8Array | undefined {
  if (!isFloat(from) || isFloat(to) || to === "int1") return undefined;
  const limit = 2 ** (bitsOf(to) - (isSigned(to) ? 1 : 0));
  const least = isSigned(to) ? -limit : 0;
  let lanes: Uint8Array | undefined;
  for (let i = 0; i < data.length; i++) {
    const whole = Math.trunc(data[i] as number);
    if ((whole >= least && whole < limit) || poison?.[i]) continue;
    (lanes ??= new Uint8Array(data.length))[i] = 1;
  }
  return lanes;
}

/** The least and the largest float of one dtype that {@link cast} turns into an integer of another. */
export function castableRange(from: FloatDType, to: IntName): readonly [number, number] {
  const { mantissaBits, max } = floatFormats[from];
  const bits = bitsOf(to) - (isSigned(to) ? 1 : 0);
  // Of integers with more bits than a float keeps, the largest float has the low bits clear.
  const most = 2 ** bits - 2 ** Math.max(bits - mantissaBits - 1, 0);
  return [isSigned(to) ? -Math.min(2 ** bits, max) : 0, Math.min(most, max)];
}

function converted(x: TileArray, dtype: NumericDType, options: RoundOptions): NumberData | BigData {
  if (isBig(dtype)) return toBigs(x, allocateUnset(dtype, x.data.length) as BigData, dtype);
  const out = allocateUnset(dtype, x.data.length) as NumberData;
  if (isBig(x.dtype)) return fromBigs(x, out, dtype, options);
  const from = numbersOf(x);
  if (
    (from instanceof Float32Array || from instanceof Float64Array) &&
    isFloat(dtype) &&
    dtype !== "float32" &&
    dtype !== "float64"
  ) {
    return roundAll(dtype, from, options);
  }
  convertEach(convert(x.dtype, dtype, options))(out, from);
  return out;
}

const convertEach = loopsOf((f: (x: number) => number) => (out: NumberData, from: NumberData) => {
  for (let i = 0; i < out.length; i++) out[i] = f(from[i]!);
});

function toBigs(x: TileArray, out: BigData, dtype: "int64" | "uint64"): BigData {
  if (isBig(x.dtype)) {
    const [from, toDType] = [bigsOf(x), wrapBig(dtype)];
    for (let i = 0; i < out.length; i++) out[i] = toDType(from[i]!);
    return out;
  }
  const from = numbersOf(x);
  // Negative numbers sign-extend, also into uint64: the array wraps them.
  const f = isFloat(x.dtype) ? floatToBig(dtype) : BigInt;
  for (let i = 0; i < out.length; i++) out[i] = f(from[i]!);
  return out;
}

function fromBigs(
  x: TileArray,
  out: NumberData,
  dtype: Exclude<NumericDType, "int64" | "uint64">,
  options: RoundOptions,
): NumberData {
  const from = bigsOf(x);
  let f: (x: bigint) => number;
  if (dtype === "int1") f = (value) => (value === 0n ? 0 : 1);
  else if (isFloat(dtype)) f = bigToFloat(dtype, options);
  else {
    const toDType = wrap(dtype);
    f = (value) => toDType(Number(BigInt.asIntN(32, value)));
  }
  for (let i = 0; i < out.length; i++) out[i] = f(from[i]!);
  return out;
}

function bitcast(x: TileArray, dtype: NumericDType): NumberData | BigData {
  if (bitsOf(x.dtype) !== bitsOf(dtype)) {
    throw new TypeError(`cannot bitcast ${x.dtype} (${bitsOf(x.dtype)} bits) to ${dtype} (${bitsOf(dtype)} bits)`);
  }
  return fromBytes(dtype, toBytes(x.dtype, x.data));
}
