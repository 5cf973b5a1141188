/** `x.to(dtype)` on tiles. */
import { bigsOf, numbersOf, tileArray, type TileArray } from "./array.js";
import { allocateUnset, loopsOf } from "./buffer-pool.js";
import { fromBytes, toBytes, bigToFloat, convert, floatToBig } from "./numeric-bits.js";
import { floatFormats, round, roundAll, type RoundOptions } from "./numeric-float.js";
import {
  wrap,
  wrapBig,
  bitsOf,
  isBig,
  isFloat,
  type BigData,
  type FloatDType,
  type NumberData,
  type NumericDType,
} from "./numeric-int.js";
import { type IntName, isFp8, isSigned } from "../types/dtype.js";

export interface CastOptions extends RoundOptions {
  /** Keeps the bits instead of the value. Both dtypes must have the same width. */
  readonly bitcast?: boolean | undefined;
}

/** Converts every element. Poison stays poison. */
export function cast(x: TileArray, dtype: NumericDType, options: CastOptions = {}): TileArray {
  if (x.dtype === dtype) return x;
  // A Float32Array contains only float32 values.
  if (!options.bitcast && dtype === "float32" && x.data instanceof Float32Array)
    return tileArray(dtype, x.shape, x.data, x.poison);
  return tileArray(dtype, x.shape, options.bitcast ? bitcast(x, dtype) : convertElements(x, dtype, options), x.poison);
}

/**
 * Flags the lanes of floats whose cast differs between devices. {@link cast} returns the value of PTX for sm_90. For
 * integers, LLVM leaves casts of NaN and of truncated values out of range undefined. For 8-bit floats, values that
 * round beyond the largest finite one, including infinity, differ. sm_89 and sm_90 return the largest finite value,
 * sm_80 returns infinity, and AMD and PyTorch return infinity or NaN depending on the dtype.
 */
export function outOfRange(
  { data, dtype: from, poison }: TileArray,
  to: NumericDType,
  { rounding }: RoundOptions = {},
): Uint8Array | undefined {
  if (!isFloat(from) || (isFloat(to) && rounding === "rtz")) return undefined;
  const isInRange = isFloat(to) ? float8Range(to) : integerRange(to);
  if (!isInRange) return undefined;
  let lanes: Uint8Array | undefined;
  for (let i = 0; i < data.length; i++) {
    if (isInRange(data[i] as number) || poison?.[i]) continue;
    (lanes ??= new Uint8Array(data.length))[i] = 1;
  }
  return lanes;
}

type RangePredicate = (x: number) => boolean;

function integerRange(to: IntName): RangePredicate | undefined {
  if (to === "int1") return undefined;
  const limit = 2 ** (bitsOf(to) - (isSigned(to) ? 1 : 0));
  const min = isSigned(to) ? -limit : 0;
  return (x) => Math.trunc(x) >= min && Math.trunc(x) < limit;
}

/** float8e4b15 exists only in CUDA, where all GPUs clamp. */
function float8Range(to: FloatDType): RangePredicate | undefined {
  if (!isFp8(to) || to === "float8e4b15") return undefined;
  const unclamped = round(to, { saturate: false });
  return (x) => Number.isNaN(x) || Number.isFinite(unclamped(x));
}

/** The range of floats that {@link cast} converts to the same value on all devices. */
export function castableRange(from: FloatDType, to: IntName | FloatDType): readonly [number, number] {
  const { mantissaBits, max } = floatFormats[from];
  if (isFloat(to)) return [-floatFormats[to].max, floatFormats[to].max];
  const bits = bitsOf(to) - (isSigned(to) ? 1 : 0);
  // For integers with more bits than the mantissa, the low bits of the largest float are clear.
  const largest = 2 ** bits - 2 ** Math.max(bits - mantissaBits - 1, 0);
  return [isSigned(to) ? -Math.min(2 ** bits, max) : 0, Math.min(largest, max)];
}

function convertElements(x: TileArray, dtype: NumericDType, options: RoundOptions): NumberData | BigData {
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
  // Negative numbers sign-extend, also into uint64, because storing into the array wraps them.
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
