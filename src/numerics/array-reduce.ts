/**
 * Reduces and scans tiles along an axis, first element to last. Triton guarantees no order: it reduces within threads,
 * then across them. Inexact results of compiled code therefore agree only within bounds.
 */
import { atAxis } from "../types/dims.js";
import {
  bigsOf,
  flip,
  numbersOf,
  reshape,
  sizeOf,
  take,
  tileArray,
  type TileArray,
  broadcastTo,
  slice,
} from "./array.js";
import { allocateUnset, allocate, loopsOf } from "./buffer-pool.js";
import { round } from "./numeric-float.js";
import {
  wrap,
  isBig,
  isFloat,
  type BigData,
  type NumberData,
  type NumericDType,
  type TileData,
} from "./numeric-int.js";

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

// Sorts a tile along its last axis.

type Value = (index: number) => number | bigint;

/** Sorts rows. A poisoned lane poisons its row. */
export function sortLast(x: TileArray, descending: boolean): TileArray {
  return reorderRows(x, (row, value) =>
    isUnordered(row, value) ? sortingNetwork(row, value, descending) : sortRow(row, value, descending),
  );
}

/** Sorts bitonic rows: compares and swaps at distances n/2, n/4, …, 1. */
export function bitonicMerge(x: TileArray, descending: boolean): TileArray {
  return reorderRows(x, (row, value) => merge(row, value, Math.log2(row.length), () => descending));
}

/** The first `k` elements of each sorted row. In a row with NaN, numbers win over NaN when a half is discarded. */
export function topLast(x: TileArray, k: number, descending: boolean): TileArray {
  const [stages, allStages] = [Math.log2(k), Math.log2(rowLength(x))];
  return reorderRows(
    x,
    (row, value) => {
      if (!isUnordered(row, value)) return sortRow(row, value, descending).slice(0, k);
      if (k === 1) return [row.reduce((best, candidate) => winner(best, candidate, value, descending))];
      let candidates = row;
      for (let stage = 1; stage <= stages; stage++)
        candidates = merge(candidates, value, stage, (i) => (stage < allStages ? bit(i, stage) : descending));
      for (let stage = stages + 1; stage <= allStages; stage++) {
        const previous = candidates;
        candidates = Array.from({ length: candidates.length / 2 }, (_, i) => {
          const index = (i >> stages) * 2 * k + (i & (k - 1));
          return winner(previous[index]!, previous[index + k]!, value, descending);
        });
        candidates = merge(candidates, value, stages, (i) => (stage < allStages ? bit(i, stages) : descending));
      }
      return candidates;
    },
    k,
  );
}

function sortRow(row: number[], value: Value, descending: boolean): number[] {
  const sign = descending ? -1 : 1;
  return row.sort((i, j) => {
    if (value(i) < value(j)) return -sign;
    return value(j) < value(i) ? sign : 0;
  });
}

/** The index of the greater or lesser of two elements, as in `tl.max` and `tl.min`: a number wins over NaN. */
function winner(first: number, second: number, value: Value, descending: boolean): number {
  const [a, b] = [value(first), value(second)];
  if (a !== a) return second;
  return b !== b || (descending ? a > b : a < b) ? first : second;
}

const bit = (i: number, position: number): boolean => ((i >> position) & 1) === 1;

/** True if the order of comparisons matters: if a row contains NaN or -0. */
function isUnordered(row: readonly number[], value: Value): boolean {
  return row.some((index) => Number.isNaN(value(index)) || Object.is(value(index), -0));
}

/**
 * Triton's sorting network. Each lane decides by its own comparison whether to take its partner's element. Comparisons
 * with NaN are false in both lanes, so both lanes end up with the same element and the other is lost.
 */
function sortingNetwork(row: number[], value: Value, descending: boolean): number[] {
  const stages = Math.log2(row.length);
  let merged = row;
  for (let stage = 1; stage <= stages; stage++)
    merged = merge(merged, value, stage, (i) => (stage < stages ? bit(i, stage) : descending));
  return merged;
}

/** Compares and swaps at the distances 2^(stages - 1) to 1. `isDescending` selects the lanes in descending order. */
function merge(
  row: readonly number[],
  value: Value,
  stages: number,
  isDescending: (lane: number) => boolean,
): number[] {
  let merged = [...row];
  for (let stage = stages - 1; stage >= 0; stage--) {
    const previous = merged;
    merged = previous.map((element, i) => {
      const partner = previous[i ^ (1 << stage)]!;
      return value(element) > value(partner) !== (isDescending(i) !== bit(i, stage)) ? partner : element;
    });
  }
  return merged;
}

const rowLength = ({ shape }: TileArray): number => atAxis(shape, shape.length - 1);

/** Selects `size` elements of each row. `arrange` gets and returns indices of elements. */
function reorderRows(
  x: TileArray,
  arrange: (row: number[], value: Value) => readonly number[],
  size: number = rowLength(x),
): TileArray {
  const length = rowLength(x);
  const rows = x.data.length / length;
  const index = new Int32Array(rows * size);
  for (let r = 0; r < rows; r++) {
    const row = Array.from({ length }, (_, i) => r * length + i);
    index.set(
      arrange(row, (position) => x.data[position]!),
      r * size,
    );
  }
  const { poison, ...clean } = x;
  const result = take(clean, [...x.shape.slice(0, -1), size], index);
  if (!poison) return result;
  const isPoisoned = (r: number) => poison.subarray(r * length, (r + 1) * length).includes(1);
  return { ...result, poison: Uint8Array.from(index, (_, i) => (isPoisoned(Math.floor(i / size)) ? 1 : 0)) };
}

// Calls functions of scalars, such as a combine function, lane by lane.

type Tiles = readonly TileArray[];

/** The element at a row-major index, as a scalar tile. */
function scalarAt(tile: TileArray, position: number): TileArray {
  const data = tile.data.slice(position, position + 1);
  return tileArray(tile.dtype, [], data, tile.poison?.[position] ? new Uint8Array([1]) : undefined);
}

/** Builds tiles one element at a time. */
class TileBuilder {
  readonly #tiles: { readonly dtype: TileArray["dtype"]; readonly data: TileData; poison?: Uint8Array }[] = [];

  constructor(readonly shape: readonly number[]) {}

  set(position: number, scalars: Tiles): void {
    const size = sizeOf(this.shape);
    scalars.forEach(({ dtype, data, poison }, i) => {
      const tile = (this.#tiles[i] ??= { dtype, data: allocate(dtype, size) });
      tile.data[position] = data[0]!;
      if (poison?.[0]) (tile.poison ??= new Uint8Array(size))[position] = 1;
    });
  }

  tiles(): Tiles {
    return this.#tiles.map((tile) => ({ ...tile, shape: this.shape }));
  }
}

/** The inclusive scan along an axis, from first to last. `combine` takes one scalar of each tile. */
export function foldLanes(
  tiles: Tiles,
  axis: number,
  combine: (lhs: Tiles, rhs: Tiles) => Tiles,
  reverse = false,
): Tiles {
  if (reverse) {
    const reversed = tiles.map((tile) => flip(tile, axis));
    return foldLanes(reversed, axis, combine).map((tile) => flip(tile, axis));
  }
  const { shape } = tiles[0]!;
  const distance = sizeOf(shape.slice(axis + 1));
  const block = distance * atAxis(shape, axis);
  const builder = new TileBuilder(shape);
  for (let start = 0; start < sizeOf(shape); start += block)
    for (let lane = start; lane < start + distance; lane++) {
      let accumulated = tiles.map((tile) => scalarAt(tile, lane));
      builder.set(lane, accumulated);
      for (let position = lane + distance; position < start + block; position += distance) {
        const next = tiles.map((tile) => scalarAt(tile, position));
        accumulated = [...combine(accumulated, next)];
        builder.set(position, accumulated);
      }
    }
  return builder.tiles();
}

/** The last elements along an axis, which the result lacks. After a scan, this is the reduction of all elements. */
export function lastAlongAxis(tile: TileArray, axis: number): TileArray {
  return slice(tile, axis, atAxis(tile.shape, axis) - 1);
}

/** Calls a function of scalars for every element of tiles that broadcast to a shape. */
export function mapLanes(tiles: Tiles, shape: readonly number[], call: (lanes: Tiles) => Tiles): Tiles {
  const operands = tiles.map((tile) => broadcastTo(tile, shape));
  const builder = new TileBuilder(shape);
  for (let position = 0; position < sizeOf(shape); position++) {
    builder.set(position, call(operands.map((tile) => scalarAt(tile, position))));
  }
  return builder.tiles();
}
