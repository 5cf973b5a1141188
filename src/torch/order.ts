/** Functions of torch that order elements, find the greatest and count. */
import { mapLanes, reduceAxes, torchArray, type TorchArray, zip } from "./array.js";
import { type Args, array, axisGiven, number, numbers, ofSome } from "./call.js";
import { narrow } from "./indexing.js";
import { both, inTorch, overloaded, type TorchFunction } from "./record.js";
import type { TorchNumber, TorchPair, TorchTensor } from "./values.js";

interface KeepDim {
  keepdim?: boolean;
}
interface SortKeywords {
  dim?: number;
  descending?: boolean;
  stable?: boolean;
}
type Place = (input: TorchTensor, dim?: number, keepdim?: boolean | KeepDim) => TorchTensor;
// The editor shows the comments of overloads, not that of the record.
interface Extremum {
  /** Over all elements. */
  (input: TorchTensor): TorchTensor;
  /** Of each lane along an axis, with its place. */
  (input: TorchTensor, dim: number, keepdim?: boolean | KeepDim): TorchPair;
}
interface ExtremumMethod {
  /** Over all elements. */
  (): TorchTensor;
  /** Of each lane along an axis, with its place. */
  (dim: number, keepdim?: boolean | KeepDim): TorchPair;
}

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
  run: ({ input, dim, keepdim }) => {
    ofSome(array(input), numbers(dim));
    return reduceAxes(array(input), numbers(dim), keepdim === true, place);
  },
});

/** `torch.max`: of everything, of two tensors, or along an axis with the places. */
const extremum = (place: (lane: Float64Array) => number, pair: (x: number, y: number) => number): TorchFunction => ({
  params: ["input", "dim", "keepdim"],
  run: ({ input, dim, keepdim }) => {
    const x = array(input);
    if (typeof dim === "object" && dim !== null) return zip([x, array(dim)], pair);
    ofSome(x, numbers(dim));
    const fold = (f: (lane: Float64Array) => number) => reduceAxes(x, numbers(dim), keepdim === true, f);
    const values = fold((lane) => lane[place(lane)]!);
    return dim === undefined ? values : [values, fold(place)];
  },
  truth: ["input"],
});

export const ordering = {
  /** The elements in order along an axis, the last unless another is named, and the places they come from. */
  sort: overloaded<
    {
      /** The elements in order along an axis, the last unless another is named, and the places they come from. */
      (input: TorchTensor, dim?: number, descending?: boolean | { descending?: boolean }): TorchPair;
      /** The elements in order along an axis, the last unless another is named, and the places they come from. */
      (input: TorchTensor, keywords: SortKeywords): TorchPair;
    },
    {
      /** The elements in order along an axis, the last unless another is named, and the places they come from. */
      (dim?: number, descending?: boolean | { descending?: boolean }): TorchPair;
      /** The elements in order along an axis, the last unless another is named, and the places they come from. */
      (keywords: SortKeywords): TorchPair;
    }
  >({ params: ["input", "dim", "descending", "stable"], run: sort, truth: ["input"] }),
  /** The places that the elements come from once they are in order. */
  argsort: overloaded<
    {
      /** The places that the elements come from once they are in order. */
      (input: TorchTensor, dim?: number, descending?: boolean | { descending?: boolean }): TorchTensor;
      /** The places that the elements come from once they are in order. */
      (input: TorchTensor, keywords: SortKeywords): TorchTensor;
    },
    {
      /** The places that the elements come from once they are in order. */
      (dim?: number, descending?: boolean | { descending?: boolean }): TorchTensor;
      /** The places that the elements come from once they are in order. */
      (keywords: SortKeywords): TorchTensor;
    }
  >({ params: ["input", "dim", "descending", "stable"], run: (args) => sort(args)[1] }),
  /** The `k` greatest elements along an axis, and their places. */
  topk: both<
    (input: TorchTensor, k: TorchNumber, dim?: number, largest?: boolean | { largest?: boolean }) => TorchPair
  >({
    params: ["input", "k", "dim", "largest", "sorted"],
    run: ({ input, k, dim, largest }) => {
      const x = array(input);
      return ordered(x, axisGiven(dim, -1, x), Number(k), (lane) => sortedPlaces(lane, largest !== false));
    },
  }),
  argmax: both<Place>(placing(placeOfGreatest)),
  argmin: both<Place>(placing(placeOfLeast)),
  /** The greatest of all elements; or of each lane along an axis, with its place. */
  max: overloaded<Extremum, ExtremumMethod>(extremum(placeOfGreatest, Math.max)),
  /** The least of all elements; or of each lane along an axis, with its place. */
  min: overloaded<Extremum, ExtremumMethod>(extremum(placeOfLeast, Math.min)),
  /** How often each number from 0 up occurs. */
  bincount: both<(input: TorchTensor, keywords?: { minlength?: TorchNumber }) => TorchTensor>({
    params: ["input", "weights", "minlength"],
    run: ({ input, minlength }) => {
      const { data } = array(input);
      const counts = new Float64Array(data.reduce((most, x) => Math.max(most, x + 1), number(minlength, 0)));
      for (const x of data) counts[x]!++;
      return torchArray([counts.length], counts);
    },
  }),
  /** Where each element belongs among the boundaries, which have rank 1. */
  searchsorted: inTorch<(boundaries: TorchTensor, input: TorchTensor, keywords?: { right?: boolean }) => TorchTensor>({
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
  }),
};
