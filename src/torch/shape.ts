/** Functions of torch that move, repeat and join elements, or give a tensor another shape. */
import { sizeOf, stridedIndex } from "../numerics/array.js";
import { expandTo, mapLanes, pick, reorder, reshapeTo, torchArray, type TorchArray, transpose } from "./array.js";
import { TorchError } from "./errors.js";
import { type Args, array, arrays, axisGiven, newAxis, number, numbers } from "./call.js";
import { both, inTorch, method, type TorchFunction } from "./record.js";
import type { TorchAxis, TorchNumber, TorchScalar, TorchShape, TorchTensor } from "./values.js";

/** Shares the operand's memory, or may. */
const VIEW = { truth: ["input"], views: true } as const;
const MOVE = { truth: ["input"] };

type Varargs = (...sizes: readonly TorchNumber[]) => TorchTensor;

/** Rows and columns of the last two axes, by a test of their difference. */
const triangle = (keeps: (difference: number, diagonal: number) => boolean): TorchFunction => ({
  params: ["input", "diagonal"],
  run: ({ input, diagonal }) => {
    const x = array(input);
    const [rows, columns] = x.shape.slice(-2) as [number, number];
    const difference = (i: number): number => (i % columns) - (Math.trunc(i / columns) % rows);
    return torchArray(
      x.shape,
      x.data.map((value, i) => (keeps(difference(i), number(diagonal, 0)) ? value : 0)),
    );
  },
  ...MOVE,
});

/** Tensors one after the other along an axis. */
function cat(xs: readonly TorchArray[], axis: number): TorchArray {
  const [first] = xs as [TorchArray];
  const total = xs.reduce((sum, x) => sum + x.shape[axis]!, 0);
  const inner = sizeOf(first.shape.slice(axis + 1));
  const out = new Float64Array(sizeOf(first.shape.with(axis, total)));
  let start = 0;
  for (const { shape, data } of xs) {
    const run = shape[axis]! * inner;
    for (let i = 0; i * run < data.length; i++)
      out.set(data.subarray(i * run, (i + 1) * run), i * total * inner + start);
    start += run;
  }
  return torchArray(first.shape.with(axis, total), out);
}

/** Moves elements by `shifts` along `dims`, or along all elements if no axis is named. */
function roll({ input, shifts, dims }: Args): TorchArray {
  const x = array(input);
  if (numbers(shifts).length !== Math.max(numbers(dims).length, 1))
    throw new TorchError("there is not one shift for each axis");
  const turn = (lane: Float64Array, shift: number) =>
    lane.map((_, i) => lane[(((i - shift) % lane.length) + lane.length) % lane.length]!);
  const axes = numbers(dims);
  if (axes.length === 0) return torchArray(x.shape, turn(x.data, numbers(shifts)[0]!));
  return axes.reduce((sofar, axis, i) => mapLanes(sofar, axis, (lane) => turn(lane, numbers(shifts)[i]!)), x);
}

/** Sizes of `expand`: -1 keeps an axis. */
function expanded({ input, size }: Args): TorchArray {
  const x = array(input);
  const sizes = numbers(size);
  const missing = sizes.length - x.shape.length;
  return expandTo(
    x,
    sizes.map((dim, axis) => (dim === -1 ? x.shape[axis - missing]! : dim)),
  );
}

function repeated({ input, repeats }: Args): TorchArray {
  const times = numbers(repeats);
  const x = array(input);
  if (times.length < x.shape.length)
    throw new TorchError(`${times.length} numbers are too few for [${x.shape.join(", ")}]`);
  const lead = Array.from({ length: times.length - x.shape.length }, () => 1);
  const whole = reshapeTo(x, [...lead, ...x.shape]);
  return times.reduce(
    (sofar, count, axis) =>
      cat(
        Array.from({ length: count }, () => sofar),
        axis,
      ),
    whole,
  );
}

function flatten({ input, start_dim: start, end_dim: end }: Args): TorchArray {
  const x = array(input);
  const [first, last] = [axisGiven(start, 0, x), axisGiven(end, -1, x)];
  return reshapeTo(x, [...x.shape.slice(0, first), sizeOf(x.shape.slice(first, last + 1)), ...x.shape.slice(last + 1)]);
}

function squeezed({ input, dim }: Args): TorchArray {
  const x = array(input);
  const only = dim === undefined ? undefined : axisGiven(dim, 0, x);
  return torchArray(
    x.shape.filter((size, axis) => size !== 1 || (only !== undefined && axis !== only)),
    x.data,
  );
}

const unchanged = { params: ["input"], run: ({ input }: Args) => array(input) };
const reshaped: TorchFunction = {
  params: ["input"],
  rest: "shape",
  run: ({ input, shape }) => reshapeTo(array(input), numbers(shape)),
  ...VIEW,
};

export const shapes = {
  transpose: both<(input: TorchTensor, dim0: number, dim1: number) => TorchTensor>({
    params: ["input", "dim0", "dim1"],
    needs: ["dim0", "dim1"],
    run: ({ input, dim0, dim1 }) => transpose(array(input), Number(dim0), Number(dim1)),
    ...VIEW,
  }),
  /** Exchanges the two axes. */
  t: both<(input: TorchTensor) => TorchTensor>({
    params: ["input"],
    run: ({ input }) => transpose(array(input), 0, 1),
    ...VIEW,
  }),
  permute: method<(...dims: readonly number[]) => TorchTensor>({
    params: ["input"],
    rest: "dims",
    needs: ["dims"],
    run: ({ input, dims }) => reorder(array(input), numbers(dims)),
    ...VIEW,
  }),
  /** The same elements in another shape; one size may be -1. */
  reshape: method<Varargs>(reshaped),
  /** The same memory in another shape; one size may be -1. */
  view: method<Varargs>(reshaped),
  flatten: both<(input: TorchTensor, start_dim?: number, end_dim?: number) => TorchTensor>({
    params: ["input", "start_dim", "end_dim"],
    run: flatten,
    ...VIEW,
  }),
  unsqueeze: both<(input: TorchTensor, dim: number) => TorchTensor>({
    params: ["input", "dim"],
    needs: ["dim"],
    run: ({ input, dim }) => {
      const x = array(input);
      return torchArray(x.shape.toSpliced(newAxis(Number(dim), x), 0, 1), x.data);
    },
    ...VIEW,
  }),
  /** Without the axes of size 1, or without the one that is named if its size is 1. */
  squeeze: both<(input: TorchTensor, dim?: number) => TorchTensor>({
    params: ["input", "dim"],
    run: squeezed,
    ...VIEW,
  }),
  /** Repeats axes of size 1 without a copy; -1 keeps an axis. */
  expand: method<Varargs>({ params: ["input"], rest: "size", run: expanded, ...VIEW }),
  broadcast_to: both<(input: TorchTensor, size: TorchShape) => TorchTensor>({
    params: ["input", "size"],
    run: expanded,
    ...VIEW,
  }),
  contiguous: method<() => TorchTensor>({ ...unchanged, ...VIEW }),
  clone: both<(input: TorchTensor) => TorchTensor>({ ...unchanged, ...MOVE }),
  /** The size of an axis: a Python number. */
  size: method<(dim: number) => TorchScalar>({
    params: ["input", "dim"],
    needs: ["dim"],
    run: ({ input, dim }) => array(input).shape.at(Number(dim))!,
    number: true,
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
    run: ({ tensors, dim }) => cat(arrays(tensors), axisGiven(dim, 0, arrays(tensors)[0]!)),
    truth: ["tensors"],
  }),
  /** Joins tensors of one shape along a new axis. */
  stack: inTorch<(tensors: readonly TorchTensor[], dim?: number) => TorchTensor>({
    params: ["tensors", "dim"],
    run: ({ tensors, dim }) => {
      const grown = arrays(tensors).map((x) => torchArray(x.shape.toSpliced(newAxis(number(dim, 0), x), 0, 1), x.data));
      return cat(grown, axisGiven(dim, 0, grown[0]!));
    },
    truth: ["tensors"],
  }),
  /** The whole tensor, this often along each axis. */
  repeat: method<(...repeats: readonly TorchNumber[]) => TorchTensor>({
    params: ["input"],
    rest: "repeats",
    needs: ["repeats"],
    run: repeated,
    ...MOVE,
  }),
  flip: both<(input: TorchTensor, dims: readonly number[]) => TorchTensor>({
    params: ["input", "dims"],
    needs: ["dims"],
    run: ({ input, dims }) =>
      numbers(dims).reduce((x, axis) => mapLanes(x, axis, (lane) => lane.toReversed()), array(input)),
    ...MOVE,
  }),
  /** Moves elements along axes, those that leave at the end back to the start; along all elements if no axis is named. */
  roll: both<(input: TorchTensor, shifts: TorchNumber | readonly TorchNumber[], dims?: TorchAxis) => TorchTensor>({
    params: ["input", "shifts", "dims"],
    needs: ["shifts"],
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
