/** Sorts a tile along its last axis. */
import { atAxis } from "../types/axis.js";
import { take, type TileArray } from "./array.js";

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
