/** Functions of torch that join, move and repeat elements. */
import { sizeOf } from "../numerics/array.js";
import { array, arrays, axisGiven, number, numbers, type Args, type TorchFunction } from "./torch-call.js";
import { expandTo, mapLanes, reshapeTo, torchArray, type TorchArray, transpose, zip } from "./torch-array.js";
import { einsum } from "./torch-einsum.js";

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

const withAxis = (x: TorchArray, axis: number): TorchArray =>
  torchArray(x.shape.toSpliced(axis < 0 ? axis + x.shape.length + 1 : axis, 0, 1), x.data);

/** `shifts` places further along `dims`, or along the whole where none is named. */
function roll({ input, shifts, dims }: Args): TorchArray {
  const x = array(input);
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
  return reshapeTo(x, [...x.shape.slice(0, first), -1, ...x.shape.slice(last + 1)]);
}

export const torchMove: Readonly<Record<string, TorchFunction>> = {
  einsum: {
    params: ["equation"],
    rest: "operands",
    run: ({ equation, operands }) => einsum(String(equation), arrays(operands)),
  },
  outer: {
    params: ["input", "vec2"],
    run: ({ input, vec2 }) => zip([withAxis(array(input), 1), withAxis(array(vec2), 0)], (x, y) => x! * y!),
  },
  cat: {
    params: ["tensors", "dim"],
    run: ({ tensors, dim }) => cat(arrays(tensors), axisGiven(dim, 0, arrays(tensors)[0]!)),
  },
  stack: {
    params: ["tensors", "dim"],
    run: ({ tensors, dim }) => {
      const grown = arrays(tensors).map((x) => withAxis(x, number(dim, 0)));
      return cat(grown, axisGiven(dim, 0, grown[0]!));
    },
  },
  flip: {
    params: ["input", "dims"],
    run: ({ input, dims }) =>
      numbers(dims).reduce((x, axis) => mapLanes(x, axis, (lane) => lane.toReversed()), array(input)),
  },
  roll: { params: ["input", "shifts", "dims"], run: roll },
  tril: triangle((difference, diagonal) => difference <= diagonal),
  triu: triangle((difference, diagonal) => difference >= diagonal),
  t: { params: ["input"], run: ({ input }) => transpose(array(input), 0, 1) },
  expand: { params: ["input"], rest: "size", run: expanded },
  broadcast_to: { params: ["input", "size"], run: expanded },
  repeat: { params: ["input"], rest: "repeats", run: repeated },
  flatten: { params: ["input", "start_dim", "end_dim"], run: flatten },
};
