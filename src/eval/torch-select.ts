/** Functions of torch that pick, repeat, join, order and fold rows of an axis, in float64. */
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

/** Arrays one after the other along an axis. */
export function concatenate(xs: readonly TorchArray[], dim: number): TorchArray {
  const moved = xs.map((x) => transpose(x, 0, axisOf(dim, x.shape.length)));
  const rows = moved.reduce((sum, { shape }) => sum + shape[0]!, 0);
  const data = Float64Array.from(moved.flatMap((x) => [...x.data]));
  const [, ...rest] = moved[0]!.shape;
  return transpose(torchArray([rows, ...rest], data), 0, axisOf(dim, rest.length + 1));
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

/** Each lane in order, NaN the largest, and where its elements were; equal ones stay in order. */
export function sort(x: TorchArray, dim: number, descending: boolean): readonly [TorchArray, TorchArray] {
  const last = x.shape.length - 1;
  const moved = transpose(x, dim, last);
  const length = moved.shape[last]!;
  const places = new Float64Array(moved.data.length);
  for (let start = 0; start < places.length; start += length) {
    const lane = moved.data.subarray(start, start + length);
    const compare = (i: number, j: number): number => {
      const [a, b] = [lane[i]!, lane[j]!];
      return (
        Number(a > b || (Number.isNaN(a) && !Number.isNaN(b))) - Number(a < b || (Number.isNaN(b) && !Number.isNaN(a)))
      );
    };
    const sign = descending ? -1 : 1;
    places.set(
      counted(length).sort((i, j) => sign * compare(i, j)),
      start,
    );
  }
  const indices = torchArray(moved.shape, places);
  const values = torchArray(
    moved.shape,
    places.map((place, i) => moved.data[i - (i % length) + place]!),
  );
  return [transpose(values, dim, last), transpose(indices, dim, last)];
}

/** Zeros above a diagonal of the last two axes, or below it. */
export function triangle(x: TorchArray, diagonal: number, lower: boolean): TorchArray {
  const [rows, columns] = x.shape.slice(-2) as [number, number];
  const isKept = (i: number): boolean => {
    const distance = (i % columns) - (Math.trunc(i / columns) % rows);
    return lower ? distance <= diagonal : distance >= diagonal;
  };
  return torchArray(
    x.shape,
    x.data.map((value, i) => (isKept(i) ? value : 0)),
  );
}
