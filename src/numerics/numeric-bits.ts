/** Converts values to bits and back, for bitcasts and for the raw bytes exchanged with Python. */
import { allocate } from "./buffer-pool.js";
import {
  bitsOf,
  isBig,
  isFloat,
  type BigData,
  type BigDType,
  type FloatDType,
  type NumberData,
  type NumericDType,
  type TileData,
} from "./numeric.js";
import { exponentField, floatFormats, quanta } from "./numeric-float.js";
import { wrap } from "./numeric-int.js";

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
