/** Folds over axes, and what replaces a lane by another: sums, extrema, norms, softmax, cumulative sums. */
import { reduceAxes, total } from "./array.js";
import { alongAxis, type Args, array, number, numbers, ofSome, reduction } from "./call.js";
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
  /** How many elements count less in the mean: 1 unless another is given. */
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
const WIDENING = { integers: ["input"], widens: true } as const;

const cumulative = (fold: (sofar: number, x: number) => number): TorchFunction =>
  alongAxis((lane) => {
    let sofar: number | undefined;
    return lane.map((x) => (sofar = sofar === undefined ? x : fold(sofar, x)));
  }, WIDENING);

/** A fold that has no value where there are no elements. */
function extreme(fold: (lane: Float64Array) => number): TorchFunction {
  const folded = reduction(fold, { truth: ["input"], integers: ["input"] });
  return {
    ...folded,
    run: (args, ...rest) => {
      ofSome(array(args.input), numbers(args.dim));
      return folded.run(args, ...rest);
    },
  };
}

const spread = (f: (variance: number) => number): TorchFunction => ({
  params: ["input", "dim", "correction", "keepdim", "unbiased"],
  run: ({ input, dim, correction, keepdim, unbiased }: Args) => {
    const less = number(correction, unbiased === false ? 0 : 1);
    return reduceAxes(array(input), numbers(dim), keepdim === true, (lane) => f(variance(lane, less)));
  },
});

export const reductions = {
  /** The sum over all axes, unless some are named. */
  sum: both<Reduce>(reduction(total, WIDENING)),
  /** The mean over all axes, unless some are named. */
  mean: both<Reduce>(reduction(mean)),
  /** The greatest element; NaN where there is one. */
  amax: both<Reduce>(extreme(largest)),
  /** The least element; NaN where there is one. */
  amin: both<Reduce>(extreme(smallest)),
  prod: both<ReduceOne>(reduction((lane) => lane.reduce((product, x) => product * x, 1), WIDENING)),
  all: both<Quantify>(reduction((lane) => Number(lane.every((x) => x !== 0)), { truth: "always" })),
  any: both<Quantify>(reduction((lane) => Number(lane.some((x) => x !== 0)), { truth: "always" })),
  /** `(Σ |x|^p)^(1/p)`; `p` is 2 unless another is given. */
  norm: both<(input: TorchTensor, p?: TorchNumber, dim?: TorchAxis, keepdim?: boolean | KeepDim) => TorchTensor>({
    params: ["input", "p", "dim", "keepdim"],
    run: ({ input, p, dim, keepdim }) =>
      reduceAxes(array(input), numbers(dim), keepdim === true, (lane) => norm(lane, number(p, 2))),
  }),
  std: both<Spread>(spread(Math.sqrt)),
  var: both<Spread>(spread((x) => x)),
  /** `log Σ exp(x)`, computed so that nothing overflows. */
  logsumexp: both<(input: TorchTensor, dim: TorchAxis, keepdim?: boolean | KeepDim) => TorchTensor>(
    reduction(logSumExp, { needs: ["dim"] }),
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
