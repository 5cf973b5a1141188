/** Functions of torch that pick and place elements by their index. */
import { sizeOf, stridedIndex, stridesOf } from "../numerics/array.js";
import { TorchError } from "./errors.js";
import { axisOf, expandTo, pick, reduceAxes, reshapeTo, torchArray, type TorchArray, total, zip } from "./array.js";
import { type Args, array, axisGiven, number, numbers, ofSome, type TorchValue } from "./call.js";
import { largest, mean, smallest } from "./lanes.js";
import { both, inTorch, type TorchFunction } from "./record.js";
import type { TorchNumber, TorchPieces, TorchTensor } from "./values.js";

type Scatter = (input: TorchTensor, dim: number, index: TorchTensor, src: TorchTensor) => TorchTensor;

/** @throws TorchRefuses if an index is out of bounds. */
export function checkIndexBounds(index: number, size: number): number {
  if (index < 0 || index >= size) throw new TorchError(`index ${index} is out of bounds for an axis of size ${size}`);
  return index;
}

/** A range of an axis. */
export function narrow(x: TorchArray, axis: number, start: number, length: number): TorchArray {
  if (length > 0) [start, start + length - 1].forEach((index) => checkIndexBounds(index, x.shape[axis]!));
  const shape = x.shape.with(axis, length);
  const strides = stridesOf(x.shape);
  return pick(x, shape, length === 0 ? [] : stridedIndex(shape, strides, start * strides[axis]!));
}

/** Places of `x[…, index[…], …]`, one for each element of `index`, which has as many axes. */
function places(x: TorchArray, axis: number, index: TorchArray): Float64Array {
  const strides = stridesOf(x.shape);
  const base = stridedIndex(index.shape, strides.with(axis, 0));
  return index.data.map((picked, i) => base[i]! + checkIndexBounds(picked, x.shape[axis]!) * strides[axis]!);
}

/** The slices of an axis that `picks` names, in its order. */
function slices(x: TorchArray, axis: number, picks: ArrayLike<number>): TorchArray {
  const shape = x.shape.with(axis, picks.length);
  const along = x.shape.map((_, other) => (other === axis ? picks.length : 1));
  return gather(x, axis, expandTo(torchArray(along, Float64Array.from(picks)), shape));
}

const gather = (x: TorchArray, axis: number, index: TorchArray): TorchArray =>
  pick(x, index.shape, places(x, axis, index));

/** A copy in which the places that an index names along an axis are written, or added to. */
const scattering = (combine: (old: number, value: number) => number): TorchFunction => ({
  params: ["input", "dim", "index", "src"],
  needs: ["dim", "index", "src"],
  run: ({ input, dim, index, src }) => {
    const [x, at] = [array(input), array(index)];
    // Each index takes the value at its own place; `src` may be larger.
    const values = at.shape.reduce((cut, size, each) => narrow(cut, each, 0, size), array(src));
    const out = x.data.slice();
    places(x, axisGiven(dim, 0, x), at).forEach((place, i) => (out[place] = combine(out[place]!, values.data[i]!)));
    return torchArray(x.shape, out);
  },
  truth: ["input"],
});

/** An axis cut into pieces of a length, the last one shorter, or of the lengths listed. */
function pieces(x: TorchArray, axis: number, size: TorchValue): readonly TorchArray[] {
  const length = x.shape[axis]!;
  const sizes = Array.isArray(size)
    ? numbers(size)
    : Array.from({ length: Math.max(1, Math.ceil(length / Number(size))) }, () => Number(size));
  if (Array.isArray(size) && sizes.reduce((sum, part) => sum + part, 0) !== length)
    throw new TorchError(`[${sizes.join(", ")}] does not divide an axis of ${length}`);
  let start = 0;
  return sizes.map((part) => {
    const taken = Math.min(part, length - start);
    start += taken;
    return narrow(x, axis, start - taken, taken);
  });
}

/** Each element minus the one before it. */
function diff({ input, dim }: Args): TorchArray {
  const x = array(input);
  const axis = axisGiven(dim, -1, x);
  const length = Math.max(0, x.shape[axis]! - 1);
  return zip(
    [narrow(x, axis, Math.min(1, length), length), narrow(x, axis, 0, length)],
    (after, before) => after - before,
  );
}

/** Folds the first axis in pieces of these lengths. */
function segmentReduce(x: TorchArray, lengths: TorchArray, fold: (lane: Float64Array) => number): TorchArray {
  ofSome(lengths, []);
  const [rows, ...rest] = x.shape;
  if (total(lengths.data) !== rows) throw new TorchError(`lengths do not divide an axis of ${rows}`);
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

function repeatInterleave({ input, repeats, dim }: Args): TorchArray {
  const x = dim === undefined ? reshapeTo(array(input), [-1]) : array(input);
  const axis = axisGiven(dim, 0, x);
  const rows = x.shape[axis]!;
  const times = expandTo(array(repeats), [rows]).data;
  const picks = Array.from({ length: rows }, (_, row) => Array<number>(times[row]!).fill(row));
  return slices(x, axis, picks.flat());
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
    needs: ["dim", "start", "length"],
    run: ({ input, dim, start, length }) =>
      narrow(array(input), axisGiven(dim, 0, array(input)), Number(start), Number(length)),
    truth: ["input"],
    views: true,
  }),
  /** One slice of an axis; the result lacks that axis. */
  select: both<(input: TorchTensor, dim: number, index: TorchNumber) => TorchTensor>({
    params: ["input", "dim", "index"],
    needs: ["dim", "index"],
    run: ({ input, dim, index }) => {
      const x = array(input);
      const axis = axisGiven(dim, 0, x);
      const { shape, data } = narrow(x, axis, axisOf(number(index, 0), x.shape[axis]!), 1);
      return torchArray(shape.toSpliced(axis, 1), data);
    },
    truth: ["input"],
    views: true,
  }),
  /** This many pieces of an axis, the last one shorter where it does not divide. */
  chunk: both<(input: TorchTensor, chunks: number, dim?: number) => TorchPieces>({
    params: ["input", "chunks", "dim"],
    needs: ["chunks"],
    run: ({ input, chunks, dim }) => {
      const x = array(input);
      const axis = axisGiven(dim, 0, x);
      // Of an axis without elements, all chunks are given.
      if (x.shape[axis] === 0) return pieces(x, axis, Array<number>(Number(chunks)).fill(0));
      return pieces(x, axis, Math.ceil(x.shape[axis]! / Number(chunks)));
    },
    truth: ["input"],
    views: true,
  }),
  /** Pieces of an axis, of one length or of the lengths listed. */
  split: both<(tensor: TorchTensor, size: number | readonly number[], dim?: number) => TorchPieces>({
    params: ["tensor", "split_size_or_sections", "dim"],
    needs: ["split_size_or_sections"],
    run: ({ tensor, split_size_or_sections: size, dim }) =>
      pieces(array(tensor), axisGiven(dim, 0, array(tensor)), size),
    truth: ["tensor"],
    views: true,
  }),
  /** Each element minus the one before it. */
  diff: both<(input: TorchTensor, keywords?: { dim?: number }) => TorchTensor>({
    params: ["input", "n", "dim"],
    run: diff,
    truth: ["input"],
  }),
  /** Folds rows that lie one after the other; `lengths` says how many each fold takes. */
  segment_reduce: inTorch<
    (data: TorchTensor, reduce: "sum" | "mean" | "max" | "min", keywords: { lengths: TorchTensor }) => TorchTensor
  >({
    params: ["data", "reduce", "lengths"],
    run: ({ data, reduce, lengths }) => segmentReduce(array(data), array(lengths), segmentFolds[String(reduce)]!),
  }),
  index_select: both<(input: TorchTensor, dim: number, index: TorchTensor) => TorchTensor>({
    params: ["input", "dim", "index"],
    needs: ["dim", "index"],
    run: ({ input, dim, index }) => slices(array(input), axisGiven(dim, 0, array(input)), array(index).data),
    truth: ["input"],
  }),
  /** Each slice of an axis this often, one number for all or one for each; of all elements in order without an axis. */
  repeat_interleave: both<(input: TorchTensor, repeats: TorchNumber | TorchTensor, dim?: number) => TorchTensor>({
    params: ["input", "repeats", "dim"],
    needs: ["repeats"],
    run: repeatInterleave,
    truth: ["input"],
  }),
  gather: both<(input: TorchTensor, dim: number, index: TorchTensor) => TorchTensor>({
    params: ["input", "dim", "index"],
    needs: ["dim", "index"],
    run: ({ input, dim, index }) => gather(array(input), axisGiven(dim, 0, array(input)), array(index)),
    truth: ["input"],
  }),
  /** The elements that the indices name along an axis, or among all in order without an axis. */
  take_along_dim: both<(input: TorchTensor, indices: TorchTensor, dim?: number) => TorchTensor>({
    params: ["input", "indices", "dim"],
    needs: ["indices"],
    run: ({ input, indices, dim }) => {
      const [x, at] = [array(input), array(indices)];
      return dim === undefined
        ? gather(reshapeTo(x, [-1]), 0, reshapeTo(at, [-1]))
        : gather(x, axisGiven(dim, 0, x), at);
    },
    truth: ["input"],
  }),
  /** A copy in which the places that the index names are written. */
  scatter: both<Scatter>(scattering((_, value) => value)),
  /** A copy in which the places that the index names are added to. */
  scatter_add: both<Scatter>(scattering((old, value) => old + value)),
};
