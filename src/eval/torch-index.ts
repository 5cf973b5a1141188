/** Functions of torch that make, draw, pick, place and count elements. */
import { sizeOf, stridesOf } from "../ir/array.js";
import { normal, shuffled } from "./random.js";
import { axisOf, torchArray, type TorchArray } from "./torch-array.js";
import { array, number, numbers, type TorchFunction, type TorchValue } from "./torch-call.js";
import { counted, inside, pick, repeatInterleave } from "./torch-select.js";

const vector = (values: ArrayLike<number>): TorchArray => torchArray([values.length], Float64Array.from(values));

function made(shape: TorchValue, value: (i: number) => number): TorchArray {
  const sizes = numbers(shape);
  return torchArray(
    sizes,
    new Float64Array(sizeOf(sizes)).map((_, i) => value(i)),
  );
}

const filled = (value: number): TorchFunction => ({
  params: ["size", "dtype"],
  run: ({ size }) => made(size, () => value),
});

/** Where `index[…, i, …]` points to in `x`, for each of its elements in row-major order. */
function places(x: TorchArray, dim: number, index: TorchArray): readonly number[] {
  const axis = axisOf(dim, x.shape.length);
  const [from, to] = [stridesOf(index.shape), stridesOf(x.shape)];
  return Array.from(index.data, (picked, i) =>
    from.reduce((place, stride, other) => {
      const coordinate = other === axis ? inside(picked, x.shape[axis]!) : Math.trunc(i / stride) % index.shape[other]!;
      return place + coordinate * to[other]!;
    }, 0),
  );
}

export const indexFunctions: Readonly<Record<string, TorchFunction>> = {
  arange: { params: ["end", "dtype"], run: ({ end }) => made([Math.ceil(Number(end))], (i) => i) },
  full: {
    params: ["size", "fill_value", "dtype"],
    run: ({ size, fill_value: value }) => made(size, () => Number(value)),
  },
  ones: filled(1),
  zeros: filled(0),
  rand: { params: ["size"], run: ({ size }, random) => made(size, random) },
  randn: { params: ["size"], run: ({ size }, random) => made(size, normal(random)) },
  randint: {
    params: ["low", "high", "size"],
    run: ({ low, high, size }, random) =>
      made(size, () => Number(low) + Math.floor(random() * (Number(high) - Number(low)))),
  },
  randperm: { params: ["n"], run: ({ n }, random) => vector(shuffled(Number(n), random)) },
  index_select: {
    params: ["input", "dim", "index"],
    run: ({ input, dim, index }) => pick(array(input), Number(dim), array(index).data),
  },
  narrow: {
    params: ["input", "dim", "start", "length"],
    run: ({ input, dim, start, length }) => pick(array(input), Number(dim), counted(Number(length), Number(start))),
  },
  repeat_interleave: {
    params: ["input", "repeats", "dim"],
    run: ({ input, repeats, dim }) => repeatInterleave(array(input), array(repeats), Number(dim)),
  },
  gather: {
    params: ["input", "dim", "index"],
    run: ({ input, dim, index }) => {
      const [x, at] = [array(input), array(index)];
      return torchArray(
        at.shape,
        Float64Array.from(places(x, Number(dim), at), (place) => x.data[place]!),
      );
    },
  },
  scatter: {
    params: ["input", "dim", "index", "src"],
    run: ({ input, dim, index, src }) => {
      const [x, at, values] = [array(input), array(index), array(src)];
      const out = x.data.slice();
      places(x, Number(dim), at).forEach((place, i) => (out[place] = values.data[i]!));
      return torchArray(x.shape, out);
    },
  },
  bincount: {
    params: ["input", "weights", "minlength"],
    run: ({ input, minlength }) => {
      const { data } = array(input);
      const counts = new Float64Array(data.reduce((most, x) => Math.max(most, x + 1), number(minlength, 0)));
      for (const x of data) counts[x]!++;
      return vector(counts);
    },
  },
  searchsorted: {
    params: ["sorted_sequence", "input", "right"],
    run: ({ sorted_sequence: boundaries, input, right }) => {
      const { data } = array(boundaries);
      const x = array(input);
      const isBefore = (boundary: number, value: number) => (right === true ? boundary <= value : boundary < value);
      const place = (value: number): number => {
        const found = data.findIndex((boundary) => !isBefore(boundary, value));
        return found < 0 ? data.length : found;
      };
      return torchArray(x.shape, x.data.map(place));
    },
  },
};
