/** Reductions, and functions that replace a lane: sums, extrema, norms, softmax, cumulative sums. */
import { reduceAxes, total, type Args } from "./array.js";
import { alongAxis, array, number, numbers, checkNotEmpty, reduction } from "./call.js";
import { largest, logSoftmax, logSumExp, mean, norm, smallest, softmax, variance } from "./lanes.js";
import { both, everywhere, type TorchFunction } from "./record.js";
import type { TorchAxis, TorchDType, TorchNumber, TorchTensor } from "./values.js";

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
