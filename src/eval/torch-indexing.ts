/** References' functions that make, move, pick and order elements. */
import { sizeOf, stridedIndex, stridesOf } from "../ir/array.js";
import {
  array,
  arrays,
  axisGiven,
  number,
  numbers,
  type Args,
  type TorchFunction,
  type TorchValue,
} from "./torch-call.js";
import {
  axisOf,
  expandTo,
  map,
  mapLanes,
  reduceAxes,
  reshapeTo,
  torchArray,
  type TorchArray,
  transpose,
  zip,
} from "./torch-array.js";
import { castTo } from "./torch-cast.js";
import { einsum } from "./torch-einsum.js";

/** Elements by their place in the operand's row-major order. */
const pick = (x: TorchArray, shape: readonly number[], placeOf: (i: number) => number): TorchArray =>
  torchArray(
    shape,
    Float64Array.from({ length: sizeOf(shape) }, (_, i) => x.data[placeOf(i)]!),
  );

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

/** NaN counts as greater than any number, as torch sorts it. */
const order = (a: number, b: number): number =>
  Number.isNaN(a) || Number.isNaN(b) ? Number(Number.isNaN(a)) - Number(Number.isNaN(b)) : a - b;

/** Where the elements of a lane are once it is sorted; equal ones keep their order. */
function sortedPlaces(lane: Float64Array, descending: boolean): Float64Array {
  const places = Array.from(lane.keys());
  places.sort((i, j) => (descending ? order(lane[j]!, lane[i]!) : order(lane[i]!, lane[j]!)));
  return Float64Array.from(places);
}

/** The first `count` elements of each lane by a way to order it, and where they were. */
function ordered(x: TorchArray, axis: number, count: number, places: (lane: Float64Array) => Float64Array) {
  const taken = (lane: Float64Array) => places(lane).map((place, i) => (i < count ? place : 0));
  const values = mapLanes(x, axis, (lane) => taken(lane).map((place) => lane[place]!));
  const indices = mapLanes(x, axis, taken);
  return [narrow(values, axis, 0, count), narrow(indices, axis, 0, count)] as const;
}

function sort({ input, dim, descending }: Args): readonly [TorchArray, TorchArray] {
  const x = array(input);
  const axis = axisGiven(dim, -1, x);
  return ordered(x, axis, x.shape[axis] ?? 1, (lane) => sortedPlaces(lane, descending === true));
}

/** A range of an axis. */
function narrow(x: TorchArray, axis: number, start: number, length: number): TorchArray {
  const shape = x.shape.with(axis, length);
  const strides = stridesOf(x.shape);
  const index = stridedIndex(shape, strides, start * strides[axis]!);
  return pick(x, shape, (i) => index[i]!);
}

/** The place of the greatest element of a lane, the first of several; NaN is the greatest. */
const placeOfGreatest = (lane: Float64Array): number =>
  lane.reduce((best, x, i) => (order(x, lane[best]!) > 0 ? i : best), 0);
const placeOfLeast = (lane: Float64Array): number => {
  const nan = lane.findIndex(Number.isNaN);
  return nan >= 0 ? nan : lane.reduce((best, x, i) => (x < lane[best]! ? i : best), 0);
};

const placing = (place: (lane: Float64Array) => number): TorchFunction => ({
  params: ["input", "dim", "keepdim"],
  run: ({ input, dim, keepdim }) => reduceAxes(array(input), numbers(dim), keepdim === true, place),
});

/** `torch.max`: of everything, of two tensors, or along an axis with the places. */
const extremum = (place: (lane: Float64Array) => number, pair: (x: number, y: number) => number): TorchFunction => ({
  params: ["input", "dim", "keepdim"],
  run: ({ input, dim, keepdim }) => {
    const x = array(input);
    if (typeof dim === "object" && dim !== null) return zip([x, array(dim)], pair as (...values: number[]) => number);
    const fold = (f: (lane: Float64Array) => number) => reduceAxes(x, numbers(dim), keepdim === true, f);
    const values = fold((lane) => lane[place(lane)]!);
    return dim === undefined ? values : [values, fold(place)];
  },
});

function gather({ input, dim, index }: Args): TorchArray {
  const [x, places] = [array(input), array(index)];
  const axis = axisGiven(dim, 0, x);
  const strides = stridesOf(x.shape).with(axis, 0);
  const base = stridedIndex(places.shape, strides);
  const stride = stridesOf(x.shape)[axis]!;
  return pick(x, places.shape, (i) => base[i]! + places.data[i]! * stride);
}

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

/** An axis cut into pieces of a length, the last one shorter, or of the lengths listed. */
function pieces(x: TorchArray, axis: number, size: TorchValue): readonly TorchArray[] {
  const length = x.shape[axis]!;
  const sizes = Array.isArray(size)
    ? numbers(size)
    : Array.from({ length: Math.ceil(length / Number(size)) }, () => Number(size));
  let start = 0;
  return sizes.map((part) => {
    const taken = Math.min(part, length - start);
    start += taken;
    return narrow(x, axis, start - taken, taken);
  });
}

/** A tensor of one value. A dtype changes only how a fraction is held. */
const filled = (shape: readonly number[], value: number, dtype: TorchValue): TorchArray => {
  const whole = torchArray(shape, new Float64Array(sizeOf(shape)).fill(value));
  return dtype === undefined ? whole : castTo(whole, String(dtype));
};
const makingLike = (value: number): TorchFunction => ({
  params: ["input", "dtype"],
  run: ({ input, dtype }) => filled(array(input).shape, value, dtype),
});

/** A copy in which the places that an index names along an axis are written, or added to. */
const scattering = (combine: (old: number, value: number) => number): TorchFunction => ({
  params: ["input", "dim", "index", "src"],
  run: ({ input, dim, index, src }) => {
    const [x, places] = [array(input), array(index)];
    // Values lie where the indices do; there may be more of them.
    const values = places.shape.reduce((cut, size, each) => narrow(cut, each, 0, size), array(src));
    const axis = axisGiven(dim, 0, x);
    const strides = stridesOf(x.shape);
    const base = stridedIndex(places.shape, strides.with(axis, 0));
    const out = x.data.slice();
    places.data.forEach((place, i) => {
      const at = base[i]! + place * strides[axis]!;
      out[at] = combine(out[at]!, values.data[i]!);
    });
    return torchArray(x.shape, out);
  },
});

export const torchIndexing: Readonly<Record<string, TorchFunction>> = {
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
  chunk: {
    params: ["input", "chunks", "dim"],
    run: ({ input, chunks, dim }) => {
      const x = array(input);
      const axis = axisGiven(dim, 0, x);
      return pieces(x, axis, Math.ceil(x.shape[axis]! / Number(chunks)));
    },
  },
  split: {
    params: ["tensor", "split_size_or_sections", "dim"],
    run: ({ tensor, split_size_or_sections: size, dim }) =>
      pieces(array(tensor), axisGiven(dim, 0, array(tensor)), size),
  },
  select: {
    params: ["input", "dim", "index"],
    run: ({ input, dim, index }) => {
      const x = array(input);
      const axis = axisGiven(dim, 0, x);
      const { shape, data } = narrow(x, axis, axisOf(number(index, 0), x.shape[axis]!), 1);
      return torchArray(shape.toSpliced(axis, 1), data);
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
  diagonal: {
    params: ["input"],
    run: ({ input }) => {
      const { shape, data } = array(input);
      const columns = shape[1]!;
      const length = Math.min(shape[0]!, columns);
      return pick({ shape, data }, [length], (i) => i * (columns + 1));
    },
  },
  t: { params: ["input"], run: ({ input }) => transpose(array(input), 0, 1) },
  expand: { params: ["input"], rest: "size", run: expanded },
  broadcast_to: { params: ["input", "size"], run: expanded },
  repeat: { params: ["input"], rest: "repeats", run: repeated },
  flatten: { params: ["input", "start_dim", "end_dim"], run: flatten },
  sort: { params: ["input", "dim", "descending", "stable"], run: sort },
  argsort: { params: ["input", "dim", "descending", "stable"], run: (args) => sort(args)[1] },
  topk: {
    params: ["input", "k", "dim", "largest", "sorted"],
    run: ({ input, k, dim, largest }) => {
      const x = array(input);
      return ordered(x, axisGiven(dim, -1, x), Number(k), (lane) => sortedPlaces(lane, largest !== false));
    },
  },
  argmax: placing(placeOfGreatest),
  argmin: placing(placeOfLeast),
  max: extremum(placeOfGreatest, (x, y) => Math.max(x, y)),
  min: extremum(placeOfLeast, (x, y) => Math.min(x, y)),
  take_along_dim: {
    params: ["input", "indices", "dim"],
    run: ({ input, indices, dim }) => gather({ input, dim, index: indices }),
  },
  scatter_add: scattering((old, value) => old + value),
  zeros_like: makingLike(0),
  ones_like: makingLike(1),
  full_like: {
    params: ["input", "fill_value", "dtype"],
    run: ({ input, fill_value: value, dtype }) => filled(array(input).shape, Number(value), dtype),
  },
  nan_to_num: {
    params: ["input", "nan", "posinf", "neginf"],
    run: ({ input, nan, posinf, neginf }) =>
      map(array(input), (x) =>
        Number.isNaN(x)
          ? number(nan, 0)
          : x === Infinity
            ? number(posinf, Number.MAX_VALUE)
            : x === -Infinity
              ? number(neginf, -Number.MAX_VALUE)
              : x,
      ),
  },
};
