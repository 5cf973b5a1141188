/** Functions of torch that pick, repeat and fold rows of an axis, in float64. */
import { sizeOf } from "../ir/array.js";
import { axisOf, reduceAxes, torchArray, transpose, type TorchArray } from "./torch-array.js";

/** The rows of an axis in the places that `picks` says. */
export function pick(x: TorchArray, dim: number, picks: ArrayLike<number>): TorchArray {
  const axis = axisOf(dim, x.shape.length);
  const moved = transpose(x, 0, axis);
  const [rows = 1, ...rest] = moved.shape;
  const width = sizeOf(rest);
  const out = new Float64Array(picks.length * width);
  for (let i = 0; i < picks.length; i++) {
    const from = inside(picks[i]!, rows);
    out.set(moved.data.subarray(from * width, (from + 1) * width), i * width);
  }
  return transpose(torchArray([picks.length, ...rest], out), 0, axis);
}

export function inside(index: number, size: number): number {
  if (index < 0 || index >= size) throw new RangeError(`index ${index} is out of bounds for an axis of size ${size}`);
  return index;
}

/** `start, start + 1, …` */
export const counted = (length: number, start = 0): number[] => Array.from({ length }, (_, i) => start + i);

/** Each row of an axis as often as `repeats` says. */
export function repeatInterleave(x: TorchArray, repeats: TorchArray, dim: number): TorchArray {
  const axis = axisOf(dim, x.shape.length);
  const times = (row: number): number => repeats.data[repeats.data.length === 1 ? 0 : row]!;
  const rows = counted(x.shape[axis]!).flatMap((row) => counted(times(row)).fill(row));
  return pick(x, axis, rows);
}

/** Elements less the ones before them. */
export function diff(x: TorchArray, dim: number): TorchArray {
  const axis = axisOf(dim, x.shape.length);
  const length = Math.max(0, x.shape[axis]! - 1);
  const [before, after] = [pick(x, axis, counted(length)), pick(x, axis, counted(length, 1))];
  return torchArray(
    after.shape,
    after.data.map((value, i) => value - before.data[i]!),
  );
}

/** Folds the first axis in pieces of these lengths. */
export function segmentReduce(x: TorchArray, lengths: TorchArray, fold: (lane: Float64Array) => number): TorchArray {
  const [, ...rest] = x.shape;
  const row = sizeOf(rest);
  const out = new Float64Array(lengths.data.length * row);
  let start = 0;
  for (const [i, length] of lengths.data.entries()) {
    const piece = torchArray([length, ...rest], x.data.subarray(start * row, (start + length) * row));
    out.set(reduceAxes(piece, [0], false, fold).data, i * row);
    start += length;
  }
  return torchArray([lengths.data.length, ...rest], out);
}
