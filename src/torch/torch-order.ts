/** Functions of torch that order elements, find the greatest and count. */
import { array, axisGiven, number, numbers, type Args, type TorchFunction } from "./torch-call.js";
import { mapLanes, reduceAxes, torchArray, type TorchArray, zip } from "./torch-array.js";
import { narrow } from "./torch-index.js";

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

export const torchOrder: Readonly<Record<string, TorchFunction>> = {
  sort: { params: ["input", "dim", "descending", "stable"], run: sort },
  argsort: {
    params: ["input", "dim", "descending", "stable"],
    run: (args) => sort(args)[1],
  },
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
  bincount: {
    params: ["input", "weights", "minlength"],
    run: ({ input, minlength }) => {
      const { data } = array(input);
      const counts = new Float64Array(data.reduce((most, x) => Math.max(most, x + 1), number(minlength, 0)));
      for (const x of data) counts[x]!++;
      return torchArray([counts.length], counts);
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
