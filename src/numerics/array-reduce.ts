/**
 * Reduces and scans tiles along an axis, first element to last. Triton guarantees no order: it reduces within threads,
 * then across them. Inexact results of compiled code therefore agree only within bounds.
 */
import { atAxis } from "../types/axis.js";
import { bigsOf, flip, numbersOf, reshape, sizeOf, take, tileArray, type TileArray } from "./array.js";
import { loopsOf } from "./lane-loops.js";
import { allocateUnset } from "./buffer-pool.js";
import { isBig, isFloat, type BigData, type NumberData, type NumericDType, type TileData } from "./numeric.js";
import { round } from "./numeric-float.js";
import { wrap } from "./numeric-int.js";

/**
 * Reduces an axis in the operand's dtype. To accumulate in another dtype, cast first. Poison in a lane poisons its
 * result.
 */
export function reduce(x: TileArray, axis: number | "all", f: (acc: number, x: number) => number): TileArray {
  if (axis === "all") return reduce(flat(x), 0, f);
  const { data, shape } = allocateResult(x, axis);
  reduceLoop(f)(numbersOf(x), data as NumberData, lanesOf(x, axis), finisher(x.dtype));
  return tileArray(x.dtype, shape, data, poisonOf(x, axis));
}

/** {@link reduce} of an int64 or uint64 tile. */
export function reduceBig(x: TileArray, axis: number | "all", f: (acc: bigint, x: bigint) => bigint): TileArray {
  if (axis === "all") return reduceBig(flat(x), 0, f);
  const { data, shape } = allocateResult(x, axis);
  reduceLoop(f as never)(x.data as NumberData, data as NumberData, lanesOf(x, axis), identity);
  return tileArray(x.dtype, shape, data, poisonOf(x, axis));
}

/** The element ordered before all others along an axis, and its index as int32. Of equal elements, the first wins. */
export function indexOfFirst(
  x: TileArray,
  axis: number | "all",
  isBefore: (a: number | bigint, b: number | bigint) => boolean,
): readonly [TileArray, TileArray] {
  if (axis === "all") return indexOfFirst(flat(x), 0, isBefore);
  const { distance, block } = lanesOf(x, axis);
  const shape = x.shape.toSpliced(axis, 1);
  const positions = new Int32Array(sizeOf(shape));
  const indices = new Int32Array(positions.length);
  const poison = x.poison && new Uint8Array(positions.length);
  positions.forEach((_, lane) => {
    const start = Math.floor(lane / distance) * block + (lane % distance);
    let best = start;
    for (let i = start; i < start + block; i += distance) {
      if (isBefore(x.data[i]!, x.data[best]!)) best = i;
      if (poison && x.poison?.[i]) poison[lane] = 1;
    }
    positions[lane] = best;
    indices[lane] = (best - start) / distance;
  });
  return [
    tileArray(x.dtype, shape, take(x, shape, positions).data, poison),
    tileArray("int32", shape, indices, poison),
  ];
}

const flat = (x: TileArray): TileArray => reshape(x, [sizeOf(x.shape)]);

/** Allocates the result of a reduction. */
function allocateResult({ dtype, shape }: TileArray, axis: number): { data: TileData; shape: readonly number[] } {
  const resultShape = shape.toSpliced(axis, 1);
  return { data: allocateUnset(dtype, sizeOf(resultShape)), shape: resultShape };
}

/** Reads the accumulator back from `out`, which rounds it at every step. */
const reduceLoop = loopsOf(
  (f: (acc: number, x: number) => number) =>
    (from: NumberData, out: NumberData, { distance, block }: Lanes, finish: (x: number) => number) => {
      for (let start = 0, target = 0; target < out.length; start += block, target += distance) {
        for (let i = 0; i < distance; i++) out[target + i] = from[start + i]!;
        for (let row = start + distance; row < start + block; row += distance)
          for (let i = 0; i < distance; i++) out[target + i] = finish(f(out[target + i]!, from[row + i]!));
      }
    },
);

function poisonOf({ shape, poison }: TileArray, axis: number): Uint8Array | undefined {
  return poison && (reduce(tileArray("int1", shape, poison), axis, or).data as Uint8Array);
}

const or = (acc: number, x: number): number => acc | x;

export interface ScanOptions {
  /** Scans from the last element to the first. */
  readonly reverse?: boolean | undefined;
}

/** The inclusive scan along an axis: element `i` of a lane is the reduction of its elements up to `i`. */
export function scan(
  x: TileArray,
  axis: number,
  f: (acc: number, x: number) => number,
  { reverse = false }: ScanOptions = {},
): TileArray {
  if (reverse) return flip(scan(flip(x, axis), axis, f), axis);
  const data = allocateUnset(x.dtype, x.data.length) as NumberData;
  foldNumbers(f)(numbersOf(x), data, lanesOf(x, axis), finisher(x.dtype));
  return tileArray(x.dtype, x.shape, data, poisonAlong(x, axis));
}

/** {@link scan} of an int64 or uint64 tile. */
export function scanBig(
  x: TileArray,
  axis: number,
  f: (acc: bigint, x: bigint) => bigint,
  { reverse = false }: ScanOptions = {},
): TileArray {
  if (reverse) return flip(scanBig(flip(x, axis), axis, f), axis);
  const data = allocateUnset(x.dtype, x.data.length) as BigData;
  foldBigs(bigsOf(x), data, lanesOf(x, axis), f);
  return tileArray(x.dtype, x.shape, data, poisonAlong(x, axis));
}

/**
 * A tile as `[…, length, distance]`. Elements of a lane are `distance` apart, within blocks of `length * distance`
 * elements.
 */
interface Lanes {
  readonly distance: number;
  readonly block: number;
}

function lanesOf(x: TileArray, axis: number): Lanes {
  const distance = sizeOf(x.shape.slice(axis + 1));
  return { distance, block: distance * atAxis(x.shape, axis) };
}

const identity = (x: number): number => x;

/** Rounds or wraps, unless storing does so. */
function finisher(dtype: NumericDType): (x: number) => number {
  if (isBig(dtype) || dtype === "float32" || dtype === "int32" || dtype === "uint32") return identity;
  return isFloat(dtype) ? round(dtype) : wrap(dtype);
}

/** Reads the accumulator back from `out`, which rounds it at every step. */
const foldNumbers = loopsOf(
  (f: (acc: number, x: number) => number) =>
    (from: NumberData, out: NumberData, { distance, block }: Lanes, finish: (x: number) => number) => {
      for (let start = 0; start < out.length; start += block) {
        const end = start + block;
        for (let i = start; i < start + distance; i++) out[i] = from[i]!;
        for (let i = start + distance; i < end; i++) out[i] = finish(f(out[i - distance]!, from[i]!));
      }
    },
);

function foldBigs(x: BigData, out: BigData, { distance, block }: Lanes, f: (acc: bigint, x: bigint) => bigint): void {
  for (let start = 0; start < out.length; start += block) {
    const end = start + block;
    for (let i = start; i < start + distance; i++) out[i] = x[i]!;
    for (let i = start + distance; i < end; i++) out[i] = f(out[i - distance]!, x[i]!);
  }
}

function poisonAlong({ shape, poison }: TileArray, axis: number): Uint8Array | undefined {
  if (poison === undefined) return undefined;
  return scan(tileArray("int1", shape, poison), axis, or).data as Uint8Array;
}
