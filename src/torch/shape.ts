/** Torch functions that move, repeat and concatenate elements, or change a tensor's shape. */
import { sizeOf, stridedIndex } from "../numerics/array.js";
import {
  expandTo,
  mapLanes,
  pick,
  reorder,
  reshapeTo,
  sizeAt,
  torchArray,
  type TorchArray,
  transpose,
  type Args,
  type TorchValue,
  TorchError,
} from "./array.js";
import {
  both,
  inTorch,
  method,
  type TorchFunction,
  array,
  arrays,
  axisOrDefault,
  newAxis,
  number,
  numbers,
} from "./record.js";
import type { TorchAxis, TorchNumber, TorchScalar, TorchShape, TorchTensor } from "./values.js";

/** The result may share the operand's memory. */
const VIEW = { truth: ["input"], isView: true } as const;
const MOVE = { truth: ["input"] };

type Varargs = (...sizes: readonly TorchNumber[]) => TorchTensor;

/** Keeps elements of the last two axes by the difference of column and row; others become 0. */
const triangle = (isKept: (difference: number, diagonal: number) => boolean): TorchFunction => ({
  params: ["input", "diagonal"],
  run: ({ input, diagonal }) => {
    const x = array(input);
    const [rows, columns] = x.shape.slice(-2) as [number, number];
    const difference = (i: number): number => (i % columns) - (Math.trunc(i / columns) % rows);
    return torchArray(
      x.shape,
      x.data.map((value, i) => (isKept(difference(i), number(diagonal, 0)) ? value : 0)),
    );
  },
  ...MOVE,
});

/** Concatenates tensors along an axis, the first by default. */
function cat(xs: readonly TorchArray[], dim: TorchValue): TorchArray {
  const [first] = xs;
  if (!first) throw new TorchError("a list of tensors is needed");
  const axis = axisOrDefault(dim, 0, first);
  const total = xs.reduce((sum, x) => sum + sizeAt(x, axis), 0);
  const inner = sizeOf(first.shape.slice(axis + 1));
  const out = new Float64Array(sizeOf(first.shape.with(axis, total)));
  let start = 0;
  for (const x of xs) {
    const chunk = sizeAt(x, axis) * inner;
    for (let i = 0; i * chunk < x.data.length; i++)
      out.set(x.data.subarray(i * chunk, (i + 1) * chunk), i * total * inner + start);
    start += chunk;
  }
  return torchArray(first.shape.with(axis, total), out);
}

/** Rotates elements by `shifts` along `dims`. Without `dims`, rotates the flattened tensor. */
function roll({ input, shifts, dims }: Args): TorchArray {
  const x = array(input);
  const axes = numbers(dims);
  if (numbers(shifts).length !== Math.max(axes.length, 1)) throw new TorchError("there is not one shift for each axis");
  const rotate = (lane: Float64Array, shift: number) =>
    lane.map((_, i) => lane[(((i - shift) % lane.length) + lane.length) % lane.length]!);
  return numbers(shifts).reduce((result, shift, i) => {
    const axis = axes[i];
    return axis === undefined
      ? torchArray(x.shape, rotate(result.data, shift))
      : mapLanes(result, axis, (lane) => rotate(lane, shift));
  }, x);
}

/** Sizes of `expand`: -1 keeps an axis. */
function expand({ input, size }: Args): TorchArray {
  const x = array(input);
  const sizes = numbers(size);
  const missing = sizes.length - x.shape.length;
  return expandTo(
    x,
    sizes.map((dim, axis) => (dim === -1 ? sizeAt(x, axis - missing) : dim)),
  );
}

function repeat({ input, repeats }: Args): TorchArray {
  const counts = numbers(repeats);
  const x = array(input);
  if (counts.length < x.shape.length)
    throw new TorchError(`${counts.length} numbers are too few for [${x.shape.join(", ")}]`);
  const lead = Array.from({ length: counts.length - x.shape.length }, () => 1);
  const padded = reshapeTo(x, [...lead, ...x.shape]);
  return counts.reduce(
    (result, count, axis) =>
      cat(
        Array.from({ length: count }, () => result),
        axis,
      ),
    padded,
  );
}

function flatten({ input, start_dim: start, end_dim: end }: Args): TorchArray {
  const x = array(input);
  const [first, last] = [axisOrDefault(start, 0, x), axisOrDefault(end, -1, x)];
  return reshapeTo(x, [...x.shape.slice(0, first), sizeOf(x.shape.slice(first, last + 1)), ...x.shape.slice(last + 1)]);
}

function squeeze({ input, dim }: Args): TorchArray {
  const x = array(input);
  const axisToSqueeze = dim === undefined ? undefined : axisOrDefault(dim, 0, x);
  return torchArray(
    x.shape.filter((size, axis) => size !== 1 || (axisToSqueeze !== undefined && axis !== axisToSqueeze)),
    x.data,
  );
}

const identity: TorchFunction = { params: ["input"], run: ({ input }: Args) => array(input) };
const reshapeFunction: TorchFunction = {
  params: ["input"],
  variadic: "shape",
  run: ({ input, shape }) => reshapeTo(array(input), numbers(shape)),
  ...VIEW,
};

export const shapes = {
  transpose: both<(input: TorchTensor, dim0: number, dim1: number) => TorchTensor>({
    params: ["input", "dim0", "dim1"],
    required: ["dim0", "dim1"],
    run: ({ input, dim0, dim1 }) => transpose(array(input), Number(dim0), Number(dim1)),
    ...VIEW,
  }),
  /** Swaps the two axes. */
  t: both<(input: TorchTensor) => TorchTensor>({
    params: ["input"],
    run: ({ input }) => transpose(array(input), 0, 1),
    ...VIEW,
  }),
  permute: method<(...dims: readonly number[]) => TorchTensor>({
    params: ["input"],
    variadic: "dims",
    required: ["dims"],
    run: ({ input, dims }) => reorder(array(input), numbers(dims)),
    ...VIEW,
  }),
  /** The same elements in another shape. One size may be -1. */
  reshape: method<Varargs>(reshapeFunction),
  /** A view of the same memory in another shape. One size may be -1. */
  view: method<Varargs>(reshapeFunction),
  flatten: both<(input: TorchTensor, start_dim?: number, end_dim?: number) => TorchTensor>({
    params: ["input", "start_dim", "end_dim"],
    run: flatten,
    ...VIEW,
  }),
  unsqueeze: both<(input: TorchTensor, dim: number) => TorchTensor>({
    params: ["input", "dim"],
    required: ["dim"],
    run: ({ input, dim }) => {
      const x = array(input);
      return torchArray(x.shape.toSpliced(newAxis(Number(dim), x), 0, 1), x.data);
    },
    ...VIEW,
  }),
  /** Removes all axes of size 1, or only the given axis if its size is 1. */
  squeeze: both<(input: TorchTensor, dim?: number) => TorchTensor>({
    params: ["input", "dim"],
    run: squeeze,
    ...VIEW,
  }),
  /** Repeats axes of size 1 without a copy. -1 keeps an axis. */
  expand: method<Varargs>({ params: ["input"], variadic: "size", run: expand, ...VIEW }),
  broadcast_to: both<(input: TorchTensor, size: TorchShape) => TorchTensor>({
    params: ["input", "size"],
    run: expand,
    ...VIEW,
  }),
  contiguous: method<() => TorchTensor>({ ...identity, ...VIEW }),
  clone: both<(input: TorchTensor) => TorchTensor>({ ...identity, ...MOVE }),
  /** The size of an axis, as a Python number. */
  size: method<(dim: number) => TorchScalar>({
    params: ["input", "dim"],
    required: ["dim"],
    run: ({ input, dim }) => sizeAt(array(input), axisOrDefault(dim, 0, array(input))),
    isPythonNumber: true,
  }),
  diagonal: both<(input: TorchTensor) => TorchTensor>({
    params: ["input"],
    run: ({ input }) => {
      const x = array(input);
      const [rows, columns] = x.shape as [number, number];
      const length = Math.min(rows, columns);
      return pick(x, [length], stridedIndex([length], [columns + 1]));
    },
    ...VIEW,
  }),
  cat: inTorch<(tensors: readonly TorchTensor[], dim?: number) => TorchTensor>({
    params: ["tensors", "dim"],
    run: ({ tensors, dim }) => cat(arrays(tensors), dim),
    truth: ["tensors"],
  }),
  /** Concatenates tensors of one shape along a new axis. */
  stack: inTorch<(tensors: readonly TorchTensor[], dim?: number) => TorchTensor>({
    params: ["tensors", "dim"],
    run: ({ tensors, dim }) => {
      const unsqueezed = arrays(tensors).map((x) =>
        torchArray(x.shape.toSpliced(newAxis(number(dim, 0), x), 0, 1), x.data),
      );
      return cat(unsqueezed, dim);
    },
    truth: ["tensors"],
  }),
  /** Repeats the whole tensor the given number of times along each axis. */
  repeat: method<(...repeats: readonly TorchNumber[]) => TorchTensor>({
    params: ["input"],
    variadic: "repeats",
    required: ["repeats"],
    run: repeat,
    ...MOVE,
  }),
  flip: both<(input: TorchTensor, dims: readonly number[]) => TorchTensor>({
    params: ["input", "dims"],
    required: ["dims"],
    run: ({ input, dims }) =>
      numbers(dims).reduce((x, axis) => mapLanes(x, axis, (lane) => lane.toReversed()), array(input)),
    ...MOVE,
  }),
  /** Rotates elements along axes. Without `dims`, rotates the flattened tensor. */
  roll: both<(input: TorchTensor, shifts: TorchNumber | readonly TorchNumber[], dims?: TorchAxis) => TorchTensor>({
    params: ["input", "shifts", "dims"],
    required: ["shifts"],
    run: roll,
    ...MOVE,
  }),
  /** The lower triangle of the last two axes, and 0 above. */
  tril: both<(input: TorchTensor, diagonal?: TorchNumber) => TorchTensor>(
    triangle((difference, diagonal) => difference <= diagonal),
  ),
  /** The upper triangle of the last two axes, and 0 below. */
  triu: both<(input: TorchTensor, diagonal?: TorchNumber) => TorchTensor>(
    triangle((difference, diagonal) => difference >= diagonal),
  ),
};
