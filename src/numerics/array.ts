/** Tiles at run time, and functions that move their elements. */
import { atAxis, permuteAxes } from "../types/dims.js";
import { round, floatFormats, roundAll, type RoundOptions } from "./numeric-float.js";
import {
  isBig,
  isFloat,
  type BigData,
  type NumberData,
  type NumericDType,
  type TileData,
  wrap,
  wrapBig,
  bitsOf,
  type FloatDType,
} from "./numeric-int.js";
import { allocateUninitialized, zeros, allocate, allocateUnset, kindOf, loopsOf, copyView } from "./buffer-pool.js";
import { fromBytes, toBytes, bigToFloat, convert, floatToBig } from "./numeric-bits.js";
import { type IntName, isFp8, isSigned } from "../types/dtype.js";

/** Elements in row-major order, each exactly representable in the dtype. A finished tile is immutable. */
export interface TileArray {
  readonly dtype: NumericDType;
  readonly shape: readonly number[];
  readonly data: TileData;
  /** 1 in poison lanes. Undefined if there are none. */
  readonly poison?: Uint8Array;
}

export function tileArray(
  dtype: NumericDType,
  shape: readonly number[],
  data: TileData,
  poison?: Uint8Array,
): TileArray {
  return poison === undefined ? { dtype, shape, data } : { dtype, shape, data, poison };
}

export function sizeOf(shape: readonly number[]): number {
  let size = 1;
  for (const length of shape) size *= length;
  return size;
}

/** The elements of a tile whose dtype is not a 64-bit integer. */
export function numbersOf(x: TileArray): NumberData {
  if (isBig(x.dtype)) throw new TypeError(`${x.dtype} elements are bigints`);
  return x.data as NumberData;
}

/** The elements of an int64 or uint64 tile. */
export function bigsOf(x: TileArray): BigData {
  if (!isBig(x.dtype)) throw new TypeError(`${x.dtype} elements are numbers`);
  return x.data as BigData;
}

/** A constant tile. A narrow float is rounded by way of float32, as in Triton's constants. */
export function full(shape: readonly number[], value: number | bigint, dtype: NumericDType): TileArray {
  const data = allocateUnset(dtype, sizeOf(shape));
  if (isBig(dtype)) (data as BigData).fill(BigInt(value));
  else if (dtype === "float64" || !isFloat(dtype)) (data as NumberData).fill(Number(value));
  else (data as NumberData).fill(round(dtype)(Math.fround(Number(value))));
  return tileArray(dtype, shape, data);
}

/** `start, start + 1, …, end - 1` as int32, the result of `tl.arange`. */
export function arange(start: number, end: number): TileArray {
  const data = allocateUninitialized(Int32Array, end - start);
  for (let i = 0; i < data.length; i++) data[i] = start + i;
  return tileArray("int32", [data.length], data);
}

/** A tile of representable values in row-major order. */
export function fromNumbers(
  dtype: NumericDType,
  shape: readonly number[],
  values: ArrayLike<number | bigint | undefined>,
  valueOf: (value: number | bigint | undefined, index: number) => number | bigint = (value) => value as number,
): TileArray {
  const size = sizeOf(shape);
  if (values.length !== size) throw new RangeError(`${values.length} values for shape [${shape.join(", ")}]`);
  const data = allocate(dtype, size);
  if (isBig(dtype)) for (let i = 0; i < size; i++) data[i] = BigInt(valueOf(values[i], i));
  else for (let i = 0; i < size; i++) data[i] = Number(valueOf(values[i], i));
  return tileArray(dtype, shape, data);
}

/** Selects elements of a tile by their row-major index. The functions below use it. */
export function take(x: TileArray, shape: readonly number[], index: Int32Array): TileArray {
  const data = allocateUnset(x.dtype, index.length);
  const target = copyView(data);
  takeLoop(kindOf(target))(copyView(x.data), target, index);
  if (x.poison === undefined) return tileArray(x.dtype, shape, data);
  const poison = allocateUninitialized(Uint8Array, index.length);
  takeLoop(Uint8Array)(x.poison, poison, index);
  return tileArray(x.dtype, shape, data, poison);
}

const takeLoop = loopsOf(() => (from: NumberData, to: NumberData, index: Int32Array): void => {
  for (let i = 0; i < index.length; i++) to[i] = from[index[i]!]!;
});

/** The row-major strides of a shape. */
export function stridesOf(shape: readonly number[]): number[] {
  const strides = shape.map(() => 1);
  shape.reduceRight((stride, length, axis) => {
    strides[axis] = stride;
    return stride * length;
  }, 1);
  return strides;
}

/** True if these strides are row-major without gaps, as in PyTorch's `is_contiguous`. */
export function areContiguous(shape: readonly number[], strides: readonly number[]): boolean {
  const rowMajor = stridesOf(shape);
  return sizeOf(shape) === 0 || shape.every((dim, axis) => dim === 1 || strides[axis] === rowMajor[axis]);
}

/** `offset + Σ index[axis] * strides[axis]` for every index of a shape, in row-major order. */
export function stridedIndex(shape: readonly number[], strides: readonly number[], offset = 0): Int32Array {
  const index = allocateUninitialized(Int32Array, sizeOf(shape));
  index[0] = offset;
  // Fills the last axis, then repeats the filled part along each outer axis.
  let filledLength = 1;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const size = filledLength * atAxis(shape, axis);
    const stride = atAxis(strides, axis);
    for (let i = filledLength; i < size; i++) index[i] = index[i - filledLength]! + stride;
    filledLength = size;
  }
  return index;
}

export function isSameShape(x: readonly number[], y: readonly number[]): boolean {
  if (x === y) return true;
  if (x.length !== y.length) return false;
  for (let axis = 0; axis < x.length; axis++) if (x[axis] !== y[axis]) return false;
  return true;
}

/** The broadcast shape of two shapes. The shorter one gets leading ones, and a 1 stretches to the other's size. */
export function broadcastShapes(x: readonly number[], y: readonly number[]): readonly number[] {
  if (isSameShape(x, y)) return x;
  const rank = Math.max(x.length, y.length);
  return Array.from({ length: rank }, (_, axis) => {
    const a = x[axis - rank + x.length] ?? 1;
    const b = y[axis - rank + y.length] ?? 1;
    if (a !== b && a !== 1 && b !== 1) {
      throw new RangeError(`shapes [${x.join(", ")}] and [${y.join(", ")}] do not broadcast`);
    }
    return a === 1 ? b : a;
  });
}

/** Repeats a tile along its axes of size 1 and along new leading ones. */
export function broadcastTo(x: TileArray, shape: readonly number[]): TileArray {
  if (isSameShape(x.shape, shape)) return x;
  const target = broadcastShapes(x.shape, shape);
  if (sizeOf(target) !== sizeOf(shape)) {
    throw new RangeError(`[${x.shape.join(", ")}] does not broadcast to [${shape.join(", ")}]`);
  }
  if (sizeOf(x.shape) === sizeOf(shape)) return reshape(x, shape);
  const along = spreadOf(x.shape, shape);
  if (along) return tileArray(x.dtype, shape, spread(x.data, along), x.poison && spread(x.poison, along));
  const strides = stridesOf(x.shape).map((stride, axis) => (x.shape[axis] === 1 ? 0 : stride));
  const leading = shape.slice(x.shape.length).map(() => 0);
  return take(x, shape, stridedIndex(shape, [...leading, ...strides]));
}

/**
 * The repetition of elements along one axis in a larger shape, viewed as `[outer, count, inner]`: element `j` fills
 * `[:, j, :]`.
 */
export interface Spread {
  readonly outer: number;
  readonly count: number;
  readonly inner: number;
}

/** The repetition that broadcasts one shape to another, if at most one of its dims is not 1. */
export function spreadOf(from: readonly number[], to: readonly number[]): Spread | undefined {
  const count = sizeOf(from);
  const axis = from.findIndex((dim) => dim !== 1);
  if (axis < 0) return { outer: 1, count: 1, inner: sizeOf(to) };
  if (from[axis] !== count) return undefined;
  const inner = sizeOf(to.slice(axis - from.length + to.length + 1));
  return { outer: sizeOf(to) === 0 ? 0 : sizeOf(to) / (count * inner), count, inner };
}

/** Repeats elements according to a {@link Spread}. */
export function spread<Data extends TileData>(data: Data, { outer, count, inner }: Spread): Data {
  const row = count * inner;
  const out = allocateUninitialized(kindOf(data), outer * row) as NumberData;
  const source = data as NumberData;
  if (outer === 0) return out as Data;
  if (inner === 1) out.set(source);
  else source.forEach((value, j) => out.fill(value, j * inner, (j + 1) * inner));
  // Doubles the filled part until it covers the array.
  for (let filledLength = row; filledLength < out.length; filledLength *= 2)
    out.copyWithin(filledLength, 0, filledLength);
  return out as Data;
}

/** The union of two lane masks. */
export function either(a: Uint8Array | undefined, b: Uint8Array | undefined): Uint8Array | undefined {
  if (!a || !b) return a ?? b;
  const union = allocateUninitialized(Uint8Array, a.length);
  for (let i = 0; i < union.length; i++) union[i] = a[i] || b[i] ? 1 : 0;
  return union;
}

/** The same elements in the same order in another shape. Shares memory. */
export function reshape(x: TileArray, shape: readonly number[]): TileArray {
  if (sizeOf(shape) !== x.data.length) {
    throw new RangeError(`[${x.shape.join(", ")}] does not reshape to [${shape.join(", ")}]`);
  }
  return tileArray(x.dtype, shape, x.data, x.poison);
}

/** Inserts an axis of size 1 at `axis` of the result (a negative `axis` counts from the result's end). */
export function expandDims(x: TileArray, axis: number): TileArray {
  const rank = x.shape.length + 1;
  return reshape(x, x.shape.toSpliced(axis < 0 ? axis + rank : axis, 0, 1));
}

/** Reorders axes: axis `i` of the result is axis `order[i]` of the operand. */
export function permute(x: TileArray, order: readonly number[]): TileArray {
  const shape = permuteAxes(x.shape, order);
  return take(x, shape, stridedIndex(shape, permuteAxes(stridesOf(x.shape), order)));
}

/** Reverses an axis. */
export function flip(x: TileArray, axis: number): TileArray {
  const strides = stridesOf(x.shape);
  const stride = atAxis(strides, axis);
  const index = stridedIndex(x.shape, strides.with(axis, -stride), (atAxis(x.shape, axis) - 1) * stride);
  return take(x, x.shape, index);
}

/** The elements at one position of an axis; the result lacks that axis. */
export function slice(x: TileArray, axis: number, position: number): TileArray {
  const strides = stridesOf(x.shape);
  const shape = x.shape.toSpliced(axis, 1);
  return take(x, shape, stridedIndex(shape, strides.toSpliced(axis, 1), position * atAxis(strides, axis)));
}

/** Concatenates tiles of one shape and dtype along a new axis. The inverse of {@link slice}. */
export function stack(xs: readonly [TileArray, ...TileArray[]], axis: number): TileArray {
  const [{ dtype, shape }] = xs;
  const size = sizeOf(shape);
  const data = allocateUnset(dtype, size * xs.length);
  const poison = xs.some((x) => x.poison) ? zeros(Uint8Array, data.length) : undefined;
  xs.forEach((x, position) => {
    if (isBig(dtype)) (data as BigData).set(x.data as BigData, position * size);
    else (data as NumberData).set(x.data as NumberData, position * size);
    if (x.poison) poison?.set(x.poison, position * size);
  });
  const leading = tileArray(dtype, [xs.length, ...shape], data, poison);
  const order = shape.map((_, i) => i + 1).toSpliced(axis, 0, 0);
  return axis === 0 ? leading : permute(leading, order);
}

// `x.to(dtype)` on tiles.

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
