/** Sorts a tile along its last axis. */
import { take, type TileArray } from "./array.js";

type Value = (place: number) => number | bigint;

/** Sorts rows. A poisoned lane poisons its row. */
export function sortLast(x: TileArray, descending: boolean): TileArray {
  return reordered(x, (row, value) =>
    isUnordered(row, value) ? sortingNetwork(row, value, descending) : sorted(row, value, descending),
  );
}

/** Sorts bitonic rows: compares and swaps at distance n/2, n/4, …, 1. */
export function bitonicMerge(x: TileArray, descending: boolean): TileArray {
  return reordered(x, (row, value) => merge(row, value, Math.log2(row.length), () => descending));
}

/** The `k` first of each sorted row. Where a row has NaN, numbers win over it when halves are thrown away. */
export function topLast(x: TileArray, k: number, descending: boolean): TileArray {
  const [stages, all] = [Math.log2(k), Math.log2(x.shape.at(-1)!)];
  return reordered(
    x,
    (row, value) => {
      if (!isUnordered(row, value)) return sorted(row, value, descending).slice(0, k);
      if (k === 1) return [row.reduce((best, each) => winner(best, each, value, descending))];
      let kept = row;
      for (let stage = 1; stage <= stages; stage++)
        kept = merge(kept, value, stage, (i) => (stage < all ? bit(i, stage) : descending));
      for (let stage = stages + 1; stage <= all; stage++) {
        const before = kept;
        kept = Array.from({ length: kept.length / 2 }, (_, i) => {
          const left = (i >> stages) * 2 * k + (i & (k - 1));
          return winner(before[left]!, before[left + k]!, value, descending);
        });
        kept = merge(kept, value, stages, (i) => (stage < all ? bit(i, stages) : descending));
      }
      return kept;
    },
    k,
  );
}

function sorted(row: number[], value: Value, descending: boolean): number[] {
  const sign = descending ? -1 : 1;
  return row.sort((i, j) => (value(i) < value(j) ? -sign : value(j) < value(i) ? sign : 0));
}

/** The place of the greater or lesser of two, as `tl.max` and `tl.min` choose: a number wins over NaN. */
function winner(left: number, right: number, value: Value, descending: boolean): number {
  const [a, b] = [value(left), value(right)];
  if (a !== a) return right;
  return b !== b || (descending ? a > b : a < b) ? left : right;
}

const bit = (i: number, place: number): boolean => ((i >> place) & 1) === 1;

/** Whether the order of comparisons matters: in a row with NaN, and in one with zeros of both signs. */
function isUnordered(row: readonly number[], value: Value): boolean {
  return row.some((place) => Number.isNaN(value(place)) || Object.is(value(place), -0));
}

/**
 * Triton's sorting network. Each lane takes its partner's element or keeps its own by a comparison of its own, and one
 * with NaN holds for neither: then both lanes have the same element, and the other is lost.
 */
function sortingNetwork(row: number[], value: Value, descending: boolean): number[] {
  const stages = Math.log2(row.length);
  let merged = row;
  for (let stage = 1; stage <= stages; stage++)
    merged = merge(merged, value, stage, (i) => (stage < stages ? bit(i, stage) : descending));
  return merged;
}

/** Compares and swaps at the distances 2^(stages - 1) to 1; `falls` says which lanes descend. */
function merge(row: readonly number[], value: Value, stages: number, falls: (lane: number) => boolean): number[] {
  let merged = [...row];
  for (let stage = stages - 1; stage >= 0; stage--) {
    const before = merged;
    merged = before.map((own, i) => {
      const other = before[i ^ (1 << stage)]!;
      return value(own) > value(other) !== (falls(i) !== bit(i, stage)) ? other : own;
    });
  }
  return merged;
}

/** Rows of `size` elements; `arrange` chooses them by the positions of a row's elements. */
function reordered(
  x: TileArray,
  arrange: (row: number[], value: Value) => readonly number[],
  size: number = x.shape.at(-1)!,
): TileArray {
  const length = x.shape.at(-1)!;
  const rows = x.data.length / length;
  const index = new Int32Array(rows * size);
  for (let r = 0; r < rows; r++) {
    const row = Array.from({ length }, (_, i) => r * length + i);
    index.set(
      arrange(row, (place) => x.data[place]!),
      r * size,
    );
  }
  const { poison, ...clean } = x;
  const taken = take(clean, [...x.shape.slice(0, -1), size], index);
  if (!poison) return taken;
  const isPoisoned = (r: number) => poison.subarray(r * length, (r + 1) * length).includes(1);
  return { ...taken, poison: Uint8Array.from(index, (_, i) => (isPoisoned(Math.floor(i / size)) ? 1 : 0)) };
}
