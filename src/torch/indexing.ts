/** Torch functions that select and place elements by index. */
import { sizeOf, stridedIndex, stridesOf } from "../numerics/array.js";
import {
  axisOf,
  expandTo,
  pick,
  reduceAxes,
  reshapeTo,
  sizeAt,
  torchArray,
  type TorchArray,
  total,
  zip,
  type Args,
  type TorchValue,
  TorchError,
  largest,
  mean,
  smallest,
} from "./array.js";
import { both, inTorch, type TorchFunction, array, axisOrDefault, number, numbers, checkNotEmpty } from "./record.js";
import type { TorchNumber, TorchPieces, TorchTensor } from "./values.js";

type Scatter = (input: TorchTensor, dim: number, index: TorchTensor, src: TorchTensor) => TorchTensor;

/** @throws TorchError if an index is out of bounds. */
export function checkIndexBounds(index: number, size: number): number {
  if (index < 0 || index >= size) throw new TorchError(`index ${index} is out of bounds for an axis of size ${size}`);
  return index;
}

/** A range of an axis. */
export function narrow(x: TorchArray, axis: number, start: number, length: number): TorchArray {
  if (length > 0) [start, start + length - 1].forEach((index) => checkIndexBounds(index, sizeAt(x, axis)));
  const shape = x.shape.with(axis, length);
  const offset = start * sizeOf(x.shape.slice(axis + 1));
  return pick(x, shape, length === 0 ? [] : stridedIndex(shape, stridesOf(x.shape), offset));
}

/** Row-major indices of `x[…, index[…], …]`, one per element of `index`, which has the same rank as `x`. */
function flatIndices(x: TorchArray, axis: number, index: TorchArray): Float64Array {
  const [size, stride] = [sizeAt(x, axis), sizeOf(x.shape.slice(axis + 1))];
  const base = stridedIndex(index.shape, stridesOf(x.shape).with(axis, 0));
  return index.data.map((selected, i) => base[i]! + checkIndexBounds(selected, size) * stride);
}

/** The selected slices of an axis, in the order of `selection`. */
function selectSlices(x: TorchArray, axis: number, selection: ArrayLike<number>): TorchArray {
  const shape = x.shape.with(axis, selection.length);
  const broadcastShape = x.shape.map((_, otherAxis) => (otherAxis === axis ? selection.length : 1));
  return gather(x, axis, expandTo(torchArray(broadcastShape, Float64Array.from(selection)), shape));
}

const gather = (x: TorchArray, axis: number, index: TorchArray): TorchArray =>
  pick(x, index.shape, flatIndices(x, axis, index));

/** A copy in which the elements at the given indices along an axis are overwritten or added to. */
const scatterFunction = (combine: (old: number, value: number) => number): TorchFunction => ({
  params: ["input", "dim", "index", "src"],
  required: ["dim", "index", "src"],
  run: ({ input, dim, index, src }) => {
    const [x, indexArray] = [array(input), array(index)];
    // Each index uses the value at its own position. `src` may be larger than `index`.
    const values = indexArray.shape.reduce((cut, size, axis) => narrow(cut, axis, 0, size), array(src));
    const out = x.data.slice();
    flatIndices(x, axisOrDefault(dim, 0, x), indexArray).forEach(
      (target, i) => (out[target] = combine(out[target]!, values.data[i]!)),
    );
    return torchArray(x.shape, out);
  },
  truth: ["input"],
});

/** Splits an axis into pieces of one length, the last one possibly shorter, or of the listed lengths. */
function pieces(x: TorchArray, axis: number, size: TorchValue): readonly TorchArray[] {
  const length = sizeAt(x, axis);
  const sizes = Array.isArray(size)
    ? numbers(size)
    : Array.from({ length: Math.max(1, Math.ceil(length / Number(size))) }, () => Number(size));
  if (Array.isArray(size) && sizes.reduce((sum, part) => sum + part, 0) !== length)
    throw new TorchError(`[${sizes.join(", ")}] does not divide an axis of ${length}`);
  let start = 0;
  return sizes.map((part) => {
    const pieceLength = Math.min(part, length - start);
    start += pieceLength;
    return narrow(x, axis, start - pieceLength, pieceLength);
  });
}

/** Each element minus its predecessor. */
function diff({ input, dim }: Args): TorchArray {
  const x = array(input);
  const axis = axisOrDefault(dim, -1, x);
  const length = Math.max(0, sizeAt(x, axis) - 1);
  return zip(
    [narrow(x, axis, Math.min(1, length), length), narrow(x, axis, 0, length)],
    (next, previous) => next - previous,
  );
}

/** Reduces segments of the first axis, with these lengths. */
function segmentReduce(x: TorchArray, lengths: TorchArray, fold: (lane: Float64Array) => number): TorchArray {
  checkNotEmpty(lengths, []);
  const [rows, ...rowShape] = x.shape;
  if (total(lengths.data) !== rows) throw new TorchError(`lengths do not divide an axis of ${rows}`);
  const row = sizeOf(rowShape);
  const out = new Float64Array(lengths.data.length * row);
  let start = 0;
  for (const [i, length] of lengths.data.entries()) {
    const piece = torchArray([length, ...rowShape], x.data.subarray(start * row, (start + length) * row));
    out.set(reduceAxes(piece, [0], false, fold).data, i * row);
    start += length;
  }
  return torchArray([lengths.data.length, ...rowShape], out);
}

function repeatInterleave({ input, repeats, dim }: Args): TorchArray {
  const x = dim === undefined ? reshapeTo(array(input), [-1]) : array(input);
  const axis = axisOrDefault(dim, 0, x);
  const counts = expandTo(array(repeats), [sizeAt(x, axis)]).data;
  const selection = Array.from(counts, (count, row) => Array<number>(count).fill(row));
  return selectSlices(x, axis, selection.flat());
}

const segmentFolds: Readonly<Record<string, (lane: Float64Array) => number>> = {
  sum: total,
  mean,
  max: largest,
  min: smallest,
};

export const indexing = {
  /** A range of an axis. */
  narrow: both<(input: TorchTensor, dim: number, start: TorchNumber, length: TorchNumber) => TorchTensor>({
    params: ["input", "dim", "start", "length"],
    required: ["dim", "start", "length"],
    run: ({ input, dim, start, length }) =>
      narrow(array(input), axisOrDefault(dim, 0, array(input)), Number(start), Number(length)),
    truth: ["input"],
    isView: true,
  }),
  /** One slice of an axis. The result lacks that axis. */
  select: both<(input: TorchTensor, dim: number, index: TorchNumber) => TorchTensor>({
    params: ["input", "dim", "index"],
    required: ["dim", "index"],
    run: ({ input, dim, index }) => {
      const x = array(input);
      const axis = axisOrDefault(dim, 0, x);
      const { shape, data } = narrow(x, axis, axisOf(number(index, 0), sizeAt(x, axis)), 1);
      return torchArray(shape.toSpliced(axis, 1), data);
    },
    truth: ["input"],
    isView: true,
  }),
  /** Splits an axis into this many pieces. The last one is shorter if the size is not divisible. */
  chunk: both<(input: TorchTensor, chunks: number, dim?: number) => TorchPieces>({
    params: ["input", "chunks", "dim"],
    required: ["chunks"],
    run: ({ input, chunks, dim }) => {
      const x = array(input);
      const axis = axisOrDefault(dim, 0, x);
      const size = sizeAt(x, axis);
      // An empty axis yields all chunks, each empty.
      return pieces(x, axis, size === 0 ? Array<number>(Number(chunks)).fill(0) : Math.ceil(size / Number(chunks)));
    },
    truth: ["input"],
    isView: true,
  }),
  /** Pieces of an axis, of one length or of the lengths listed. */
  split: both<(tensor: TorchTensor, size: number | readonly number[], dim?: number) => TorchPieces>({
    params: ["tensor", "split_size_or_sections", "dim"],
    required: ["split_size_or_sections"],
    run: ({ tensor, split_size_or_sections: size, dim }) =>
      pieces(array(tensor), axisOrDefault(dim, 0, array(tensor)), size),
    truth: ["tensor"],
    isView: true,
  }),
  /** Each element minus its predecessor. */
  diff: both<(input: TorchTensor, keywords?: { dim?: number }) => TorchTensor>({
    params: ["input", "n", "dim"],
    run: diff,
    truth: ["input"],
  }),
  /** Reduces consecutive segments of rows. `lengths` contains the number of rows of each segment. */
  segment_reduce: inTorch<
    (data: TorchTensor, reduce: "sum" | "mean" | "max" | "min", keywords: { lengths: TorchTensor }) => TorchTensor
  >({
    params: ["data", "reduce", "lengths"],
    run: ({ data, reduce, lengths }) => segmentReduce(array(data), array(lengths), segmentFolds[String(reduce)]!),
  }),
  index_select: both<(input: TorchTensor, dim: number, index: TorchTensor) => TorchTensor>({
    params: ["input", "dim", "index"],
    required: ["dim", "index"],
    run: ({ input, dim, index }) => selectSlices(array(input), axisOrDefault(dim, 0, array(input)), array(index).data),
    truth: ["input"],
  }),
  /**
   * Repeats each slice of an axis, by one number for all slices or one per slice. Without an axis, repeats the elements
   * of the flattened tensor.
   */
  repeat_interleave: both<(input: TorchTensor, repeats: TorchNumber | TorchTensor, dim?: number) => TorchTensor>({
    params: ["input", "repeats", "dim"],
    required: ["repeats"],
    run: repeatInterleave,
    truth: ["input"],
  }),
  gather: both<(input: TorchTensor, dim: number, index: TorchTensor) => TorchTensor>({
    params: ["input", "dim", "index"],
    required: ["dim", "index"],
    run: ({ input, dim, index }) => gather(array(input), axisOrDefault(dim, 0, array(input)), array(index)),
    truth: ["input"],
  }),
  /** The elements at these indices along an axis. Without an axis, of the flattened tensor. */
  take_along_dim: both<(input: TorchTensor, indices: TorchTensor, dim?: number) => TorchTensor>({
    params: ["input", "indices", "dim"],
    required: ["indices"],
    run: ({ input, indices, dim }) => {
      const [x, indexArray] = [array(input), array(indices)];
      return dim === undefined
        ? gather(reshapeTo(x, [-1]), 0, reshapeTo(indexArray, [-1]))
        : gather(x, axisOrDefault(dim, 0, x), indexArray);
    },
    truth: ["input"],
  }),
  /** A copy in which the elements at the given indices are overwritten. */
  scatter: both<Scatter>(scatterFunction((_, value) => value)),
  /** A copy in which values are added to the elements at the given indices. */
  scatter_add: both<Scatter>(scatterFunction((old, value) => old + value)),
};
