/** Converts values to bits and back, for bitcasts and for the raw bytes exchanged with Python. */
import { allocate } from "./buffer-pool.js";
import { exponentField, floatFormats, quanta, round, type RoundOptions } from "./numeric-float.js";
import {
  wrap,
  bitsOf,
  isBig,
  isFloat,
  type BigData,
  type BigDType,
  type FloatDType,
  type NumberData,
  type NumericDType,
  type TileData,
  type SmallIntDType,
} from "./numeric-int.js";
import { isSigned } from "../types/dtype.js";

/** Dtypes of at most 32 bits, whose codes are numbers. */
export type NarrowDType = Exclude<NumericDType, BigDType | "float64">;

/** The bits of a representable value as an unsigned integer. Every NaN becomes the format's quiet NaN. */
export function toBits(dtype: NarrowDType): (x: number) => number {
  const bits = bitsOf(dtype);
  if (!isFloat(dtype)) return bits === 32 ? (x) => x >>> 0 : (x) => x & ((1 << bits) - 1);
  if (dtype === "float32") return float32ToBits;
  const format = floatFormats[dtype];
  // Some codes are beyond `max`: 1.875 is the largest float8e4b15, but no cast returns it.
  const table = quanta({ ...format, max: 2 ** (Math.floor(Math.log2(format.max)) + 1) });
  const perBinade = 2 ** format.mantissaBits;
  const firstField = 1024 - format.bias;
  const infinity = (2 ** (bits - 1 - format.mantissaBits) - 1) * perBinade;
  const nan = format.nan ?? 0;
  const sign = 2 ** (bits - 1);
  return (x) => {
    if (x !== x) return nan;
    const magnitude = Math.abs(x);
    const field = exponentField(x);
    const code =
      magnitude === Infinity ? infinity : magnitude / table[field]! + Math.max(field - firstField, 0) * perBinade;
    return x < 0 || Object.is(x, -0) ? code + sign : code;
  };
}

/** The value with these bits. */
export function fromBits(dtype: NarrowDType): (bits: number) => number {
  if (!isFloat(dtype)) return wrap(dtype);
  if (dtype === "float32") return float32FromBits;
  const table = valuesOf(dtype);
  return (bits) => table[bits]!;
}

const float32 = new DataView(new ArrayBuffer(4));
function float32ToBits(x: number): number {
  if (x !== x) return 0x7fc00000;
  float32.setFloat32(0, x);
  return float32.getUint32(0);
}
function float32FromBits(bits: number): number {
  float32.setUint32(0, bits);
  return float32.getFloat32(0);
}

type TabledDType = Exclude<FloatDType, "float32" | "float64">;
const tables = new Map<TabledDType, Float32Array>();
function valuesOf(dtype: TabledDType): Float32Array {
  let table = tables.get(dtype);
  if (table === undefined) {
    table = Float32Array.from({ length: 2 ** bitsOf(dtype) }, (_, code) => decode(dtype, code));
    tables.set(dtype, table);
  }
  return table;
}

function decode(dtype: TabledDType, code: number): number {
  const { mantissaBits, bias, hasInfinity, nan, hasNegativeZero } = floatFormats[dtype];
  const sign = 2 ** (bitsOf(dtype) - 1);
  const magnitude = code % sign;
  if (code === nan || (hasNegativeZero && magnitude === nan)) return NaN;
  const perBinade = 2 ** mantissaBits;
  const field = Math.floor(magnitude / perBinade);
  const fraction = (magnitude % perBinade) / perBinade;
  const isSpecial = hasInfinity && field === sign / perBinade - 1;
  if (isSpecial && fraction !== 0) return NaN;
  const finite = field === 0 ? fraction * 2 ** (1 - bias) : (1 + fraction) * 2 ** (field - bias);
  const value = isSpecial ? Infinity : finite;
  return code >= sign ? -value : value;
}

/** Values as little-endian bytes. An `int1` takes one byte, as in PyTorch. */
export function toBytes(dtype: NumericDType, data: TileData): Uint8Array<ArrayBuffer> {
  if (isBig(dtype) || dtype === "float64") return new Uint8Array(bytesOf(data));
  const buffer = new ArrayBuffer(data.length * bytesPerElement(dtype));
  const codes = rawArray(dtype, buffer);
  const encode = toBits(dtype);
  const values = data as NumberData;
  for (let i = 0; i < values.length; i++) codes[i] = encode(values[i]!);
  return new Uint8Array(buffer);
}

/** The inverse of {@link toBytes}. */
export function fromBytes(dtype: NumericDType, bytes: Uint8Array): TileData {
  const length = bytes.length / bytesPerElement(dtype);
  // `bytes` may start at an unaligned offset; the copy is aligned.
  const buffer = bytesOf(bytes);
  const data = allocate(dtype, length);
  if (isBig(dtype)) (data as BigData).set(new BigInt64Array(buffer));
  else if (dtype === "float64") (data as NumberData).set(new Float64Array(buffer));
  else {
    const codes = rawArray(dtype, buffer);
    const decodeBits = fromBits(dtype);
    for (let i = 0; i < length; i++) data[i] = decodeBits(codes[i]!);
  }
  return data;
}

/** Bytes of one element in memory. */
const bytesPerElement = (dtype: NumericDType): number => Math.max(bitsOf(dtype) / 8, 1);

function rawArray(dtype: NarrowDType, buffer: ArrayBuffer): Uint8Array | Uint16Array | Uint32Array {
  const bytes = bytesPerElement(dtype);
  if (bytes === 1) return new Uint8Array(buffer);
  return bytes === 2 ? new Uint16Array(buffer) : new Uint32Array(buffer);
}

function bytesOf(data: TileData | Uint8Array): ArrayBuffer {
  const copy = new ArrayBuffer(data.byteLength);
  new Uint8Array(copy).set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  return copy;
}

// Converts single values between dtypes.

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
