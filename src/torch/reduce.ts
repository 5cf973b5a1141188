/** Reductions, sorts, and functions that replace a lane: sums, extrema, norms, softmax, cumulative sums. */
import {
  reduceAxes,
  total,
  type Args,
  largest,
  logSoftmax,
  logSumExp,
  mean,
  norm,
  smallest,
  softmax,
  variance,
  mapLanes,
  torchArray,
  type TorchArray,
  zip,
} from "./array.js";
import {
  both,
  everywhere,
  type TorchFunction,
  alongAxis,
  array,
  number,
  numbers,
  checkNotEmpty,
  reduction,
  inTorch,
  overloaded,
  axisOrDefault,
} from "./record.js";
import type { TorchAxis, TorchDType, TorchNumber, TorchTensor, TorchPair } from "./values.js";
import { narrow } from "./indexing.js";

interface KeepDim {
  keepdim?: boolean;
}
interface ReduceKeywords extends KeepDim {
  dtype?: TorchDType;
}
interface SpreadKeywords extends ReduceKeywords {
  /** Subtracted from the number of elements in the divisor. The default is 1. */
  correction?: TorchNumber;
  unbiased?: boolean;
}

type Reduce = (input: TorchTensor, dim?: TorchAxis, keepdim?: boolean | ReduceKeywords) => TorchTensor;
type ReduceOne = (input: TorchTensor, dim?: number, keepdim?: boolean | ReduceKeywords) => TorchTensor;
type Spread = (input: TorchTensor, dim?: TorchAxis, keywords?: SpreadKeywords) => TorchTensor;
type Quantify = (input: TorchTensor, dim?: number, keepdim?: boolean | KeepDim) => TorchTensor;
type Cumulate = (input: TorchTensor, dim: number) => TorchTensor;
type Softmax = (input: TorchTensor, dim: number, keywords?: { dtype?: TorchDType }) => TorchTensor;

/** Sums and products of integers are int64. */
const WIDENING = { integers: ["input"], isWidening: true } as const;

const cumulative = (fold: (accumulated: number, x: number) => number): TorchFunction =>
  alongAxis((lane) => {
    let accumulated: number | undefined;
    return lane.map((x) => (accumulated = accumulated === undefined ? x : fold(accumulated, x)));
  }, WIDENING);

/** A reduction that is undefined for empty lanes. */
function extremum(fold: (lane: Float64Array) => number): TorchFunction {
  const base = reduction(fold, { truth: ["input"], integers: ["input"] });
  return {
    ...base,
    run: (args, ...rest) => {
      checkNotEmpty(array(args.input), numbers(args.dim));
      return base.run(args, ...rest);
    },
  };
}

const varianceFunction = (f: (variance: number) => number): TorchFunction => ({
  params: ["input", "dim", "correction", "keepdim", "unbiased"],
  run: ({ input, dim, correction, keepdim, unbiased }: Args) => {
    const removed = number(correction, unbiased === false ? 0 : 1);
    return reduceAxes(array(input), numbers(dim), keepdim === true, (lane) => f(variance(lane, removed)));
  },
});

export const reductions = {
  /** The sum over the given axes. The default is all axes. */
  sum: both<Reduce>(reduction(total, WIDENING)),
  /** The mean over the given axes. The default is all axes. */
  mean: both<Reduce>(reduction(mean)),
  /** The maximum. NaN if any element is NaN. */
  amax: both<Reduce>(extremum(largest)),
  /** The minimum. NaN if any element is NaN. */
  amin: both<Reduce>(extremum(smallest)),
  prod: both<ReduceOne>(reduction((lane) => lane.reduce((product, x) => product * x, 1), WIDENING)),
  all: both<Quantify>(reduction((lane) => Number(lane.every((x) => x !== 0)), { truth: "always" })),
  any: both<Quantify>(reduction((lane) => Number(lane.some((x) => x !== 0)), { truth: "always" })),
  /** `(Σ |x|^p)^(1/p)`. The default of `p` is 2. */
  norm: both<(input: TorchTensor, p?: TorchNumber, dim?: TorchAxis, keepdim?: boolean | KeepDim) => TorchTensor>({
    params: ["input", "p", "dim", "keepdim"],
    run: ({ input, p, dim, keepdim }) =>
      reduceAxes(array(input), numbers(dim), keepdim === true, (lane) => norm(lane, number(p, 2))),
  }),
  std: both<Spread>(varianceFunction(Math.sqrt)),
  var: both<Spread>(varianceFunction((x) => x)),
  /** `log Σ exp(x)`, computed without overflow. */
  logsumexp: both<(input: TorchTensor, dim: TorchAxis, keepdim?: boolean | KeepDim) => TorchTensor>(
    reduction(logSumExp, { required: ["dim"] }),
  ),
  softmax: everywhere<Softmax, (input: TorchTensor, keywords: { dim: number; dtype?: TorchDType }) => TorchTensor>(
    alongAxis(softmax),
  ),
  log_softmax: everywhere<Softmax, (input: TorchTensor, keywords: { dim: number; dtype?: TorchDType }) => TorchTensor>(
    alongAxis(logSoftmax),
  ),
  cumsum: both<Cumulate>(cumulative((sum, x) => sum + x)),
  cumprod: both<Cumulate>(cumulative((product, x) => product * x)),
};

// Torch functions for sorting, extrema, and counting.

interface SortKeywords {
  dim?: number;
  descending?: boolean;
  stable?: boolean;
}
type ArgExtremum = (input: TorchTensor, dim?: number, keepdim?: boolean | KeepDim) => TorchTensor;
// Editors show the comments of overloads instead of the comment on the property.
interface Extremum {
  /** The extremum of all elements. */
  (input: TorchTensor): TorchTensor;
  /** The extremum of each lane along an axis, and its index. */
  (input: TorchTensor, dim: number, keepdim?: boolean | KeepDim): TorchPair;
}
interface ExtremumMethod {
  /** The extremum of all elements. */
  (): TorchTensor;
  /** The extremum of each lane along an axis, and its index. */
  (dim: number, keepdim?: boolean | KeepDim): TorchPair;
}

/** Comparison that sorts NaN after all numbers, as torch does. */
const compareNaNLast = (a: number, b: number): number =>
  Number.isNaN(a) || Number.isNaN(b) ? Number(Number.isNaN(a)) - Number(Number.isNaN(b)) : a - b;

/** Original indices of a lane's elements in sorted order. The sort is stable. */
function sortedIndices(lane: Float64Array, descending: boolean): Float64Array {
  const elements = [...lane.entries()];
  elements.sort(([, x], [, y]) => (descending ? compareNaNLast(y, x) : compareNaNLast(x, y)));
  return Float64Array.from(elements, ([index]) => index);
}

/** The first `count` elements of each lane in an order, and their original indices. */
function takeOrdered(x: TorchArray, axis: number, count: number, indicesOf: (lane: Float64Array) => Float64Array) {
  const takenIndices = (lane: Float64Array) => indicesOf(lane).map((index, i) => (i < count ? index : 0));
  const values = mapLanes(x, axis, (lane) => takenIndices(lane).map((index) => lane[index]!));
  const indices = mapLanes(x, axis, takenIndices);
  return [narrow(values, axis, 0, count), narrow(indices, axis, 0, count)] as const;
}

function sort({ input, dim, descending }: Args): readonly [TorchArray, TorchArray] {
  const x = array(input);
  const axis = axisOrDefault(dim, -1, x);
  return takeOrdered(x, axis, x.shape[axis] ?? 1, (lane) => sortedIndices(lane, descending === true));
}

/** Index of a lane's extremum, the first if there are several. NaN counts as the extremum. */
function indexOfExtremum(lane: Float64Array, extremumOf: (lane: Float64Array) => number): number {
  const nan = lane.findIndex(Number.isNaN);
  return nan >= 0 ? nan : lane.indexOf(extremumOf(lane));
}
const indexOfMax = (lane: Float64Array): number => indexOfExtremum(lane, largest);
const indexOfMin = (lane: Float64Array): number => indexOfExtremum(lane, smallest);

const argExtremum = (indexOf: (lane: Float64Array) => number): TorchFunction => ({
  params: ["input", "dim", "keepdim"],
  run: ({ input, dim, keepdim }) => {
    checkNotEmpty(array(input), numbers(dim));
    return reduceAxes(array(input), numbers(dim), keepdim === true, indexOf);
  },
});

/** `torch.max`: of all elements, of two tensors, or along an axis with indices. */
const extremumOrPair = (
  indexOf: (lane: Float64Array) => number,
  pair: (x: number, y: number) => number,
): TorchFunction => ({
  params: ["input", "dim", "keepdim"],
  run: ({ input, dim, keepdim }) => {
    const x = array(input);
    if (typeof dim === "object" && dim !== null) return zip([x, array(dim)], pair);
    checkNotEmpty(x, numbers(dim));
    const fold = (f: (lane: Float64Array) => number) => reduceAxes(x, numbers(dim), keepdim === true, f);
    const values = fold((lane) => lane[indexOf(lane)]!);
    return dim === undefined ? values : [values, fold(indexOf)];
  },
  truth: ["input"],
});

export const ordering = {
  /** The sorted elements along an axis, and their original indices. The default axis is the last. */
  sort: overloaded<
    {
      /** The sorted elements along an axis, and their original indices. The default axis is the last. */
      (input: TorchTensor, dim?: number, descending?: boolean | { descending?: boolean }): TorchPair;
      /** The sorted elements along an axis, and their original indices. The default axis is the last. */
      (input: TorchTensor, keywords: SortKeywords): TorchPair;
    },
    {
      /** The sorted elements along an axis, and their original indices. The default axis is the last. */
      (dim?: number, descending?: boolean | { descending?: boolean }): TorchPair;
      /** The sorted elements along an axis, and their original indices. The default axis is the last. */
      (keywords: SortKeywords): TorchPair;
    }
  >({ params: ["input", "dim", "descending", "stable"], run: sort, truth: ["input"] }),
  /** The original indices of the elements in sorted order. */
  argsort: overloaded<
    {
      /** The original indices of the elements in sorted order. */
      (input: TorchTensor, dim?: number, descending?: boolean | { descending?: boolean }): TorchTensor;
      /** The original indices of the elements in sorted order. */
      (input: TorchTensor, keywords: SortKeywords): TorchTensor;
    },
    {
      /** The original indices of the elements in sorted order. */
      (dim?: number, descending?: boolean | { descending?: boolean }): TorchTensor;
      /** The original indices of the elements in sorted order. */
      (keywords: SortKeywords): TorchTensor;
    }
  >({ params: ["input", "dim", "descending", "stable"], run: (args) => sort(args)[1] }),
  /** The `k` largest elements along an axis, and their indices. */
  topk: both<
    (input: TorchTensor, k: TorchNumber, dim?: number, largest?: boolean | { largest?: boolean }) => TorchPair
  >({
    params: ["input", "k", "dim", "largest", "sorted"],
    run: ({ input, k, dim, largest: isDescending }) => {
      const x = array(input);
      return takeOrdered(x, axisOrDefault(dim, -1, x), Number(k), (lane) =>
        sortedIndices(lane, isDescending !== false),
      );
    },
  }),
  argmax: both<ArgExtremum>(argExtremum(indexOfMax)),
  argmin: both<ArgExtremum>(argExtremum(indexOfMin)),
  /** The maximum of all elements, or of each lane along an axis with its index. */
  max: overloaded<Extremum, ExtremumMethod>(extremumOrPair(indexOfMax, Math.max)),
  /** The minimum of all elements, or of each lane along an axis with its index. */
  min: overloaded<Extremum, ExtremumMethod>(extremumOrPair(indexOfMin, Math.min)),
  /** The number of occurrences of each non-negative integer. */
  bincount: both<(input: TorchTensor, keywords?: { minlength?: TorchNumber }) => TorchTensor>({
    params: ["input", "weights", "minlength"],
    run: ({ input, minlength }) => {
      const { data } = array(input);
      const counts = new Float64Array(data.reduce((max, x) => Math.max(max, x + 1), number(minlength, 0)));
      for (const x of data) counts[x]!++;
      return torchArray([counts.length], counts);
    },
  }),
  /** The index at which each element would be inserted into the boundaries, a sorted tensor of rank 1. */
  searchsorted: inTorch<(boundaries: TorchTensor, input: TorchTensor, keywords?: { right?: boolean }) => TorchTensor>({
    params: ["sorted_sequence", "input", "right"],
    run: ({ sorted_sequence: boundaries, input, right }) => {
      const { data } = array(boundaries);
      const x = array(input);
      const isBefore = (boundary: number, value: number) => (right === true ? boundary <= value : boundary < value);
      const insertionIndex = (value: number): number => {
        const index = data.findIndex((boundary) => !isBefore(boundary, value));
        return index < 0 ? data.length : index;
      };
      return torchArray(x.shape, x.data.map(insertionIndex));
    },
  }),
};
