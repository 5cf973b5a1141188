/** Sorts a tile along its last axis. */
import { take, type TileArray } from "./array.js";

type Before = (a: number | bigint, b: number | bigint) => boolean;
const rises: Before = (a, b) => a < b;
const falls: Before = (a, b) => a > b;

/** Sorts rows. The order of a row with NaN is unspecified, as on the GPU. A poisoned lane poisons its row. */
export function sortLast(x: TileArray, descending: boolean): TileArray {
  const before = descending ? falls : rises;
  return reordered(x, (row, value) =>
    row.sort((i, j) => (before(value(i), value(j)) ? -1 : before(value(j), value(i)) ? 1 : 0)),
  );
}

/** Sorts bitonic rows: compares and swaps at distance n/2, n/4, …, 1. */
export function bitonicMerge(x: TileArray, descending: boolean): TileArray {
  const before = descending ? falls : rises;
  return reordered(x, (row, value) => {
    for (let distance = row.length >> 1; distance > 0; distance >>= 1)
      for (let i = 0; i < row.length; i++) {
        const j = i ^ distance;
        if (j > i && before(value(row[j]!), value(row[i]!))) [row[i], row[j]] = [row[j]!, row[i]!];
      }
  });
}

/** Reorders each row; `arrange` sorts the positions of a row's elements. */
function reordered(
  x: TileArray,
  arrange: (row: number[], value: (place: number) => number | bigint) => void,
): TileArray {
  const length = x.shape.at(-1)!;
  const index = new Int32Array(x.data.length);
  for (let start = 0; start < index.length; start += length) {
    const row = Array.from({ length }, (_, i) => start + i);
    arrange(row, (place) => x.data[place]!);
    index.set(row, start);
  }
  const { poison, ...clean } = x;
  const taken = take(clean, x.shape, index);
  if (!poison) return taken;
  const rowOf = (i: number) => poison.subarray(i - (i % length), i - (i % length) + length);
  return { ...taken, poison: poison.map((_, i) => (rowOf(i).includes(1) ? 1 : 0)) };
}
