/** Losses. */
import {
  mapLanes,
  scalarArray,
  sizeAt,
  torchArray,
  type TorchArray,
  zip,
  type Args,
  type TorchValue,
} from "./array.js";
import { softplus } from "./activation.js";
import { checkIndexBounds } from "./indexing.js";
import { array, number, sameShape } from "./call.js";
import { logSoftmax } from "./lanes.js";
import { functional, type TorchFunction } from "./record.js";
import type { TorchNumber, TorchScalar, TorchTensor } from "./values.js";

type Reduction = "none" | "mean" | "sum";
interface LossKeywords {
  reduction?: Reduction;
}
interface ClassLossKeywords extends LossKeywords {
  weight?: TorchTensor;
  ignore_index?: TorchNumber;
}
type Loss = (input: TorchTensor, target: TorchTensor, keywords?: LossKeywords) => TorchTensor;

/** Applies `reduction` to the losses of all elements. */
function reduceLosses(losses: TorchArray, reduction: TorchValue, weight = losses.data.length): TorchArray {
  if (reduction === "none") return losses;
  const total = losses.data.reduce((sum, x) => sum + x, 0);
  if (reduction === "sum") return scalarArray(total);
  return scalarArray(total / (reduction === "batchmean" ? sizeAt(losses, 0) : weight));
}

const loss = (f: (x: number, target: number) => number): TorchFunction => ({
  params: ["input", "target", "size_average", "reduce", "reduction"],
  run: ({ input, target, reduction }) => reduceLosses(zip([array(input), array(target)], f), reduction),
});

/**
 * The loss of class indices: the negative log probability of each target. Targets equal to `ignore_index` are omitted.
 * `smoothing` distributes that fraction of a target over all classes.
 */
function classLoss(logs: TorchArray, { target, weight, ignore_index: ignored, reduction }: Args, smoothing: number) {
  const [rows, classes] = logs.shape as [number, number];
  sameShape(array(target).shape, [rows]);
  const weights = weight === undefined || weight === null ? undefined : array(weight).data;
  const weightOf = (label: number): number => weights?.[label] ?? 1;
  const losses = new Float64Array(rows);
  let total = 0;
  for (const [row, label] of array(target).data.entries()) {
    if (label === number(ignored, -100)) continue;
    total += weightOf(checkIndexBounds(label, classes));
    const lane = logs.data.subarray(row * classes, (row + 1) * classes);
    const smoothed = lane.reduce((sum, x, classIndex) => sum + x * weightOf(classIndex), 0) / classes;
    losses[row] = -(1 - smoothing) * lane[label]! * weightOf(label) - smoothing * smoothed;
  }
  return reduceLosses(torchArray([rows], losses), reduction, total);
}

function crossEntropy(args: Args): TorchArray {
  return classLoss(mapLanes(array(args.input), 1, logSoftmax), args, number(args.label_smoothing, 0));
}

export const losses = {
  cross_entropy: functional<
    (
      input: TorchTensor,
      target: TorchTensor,
      keywords?: ClassLossKeywords & { label_smoothing?: TorchNumber },
    ) => TorchTensor
  >({
    params: ["input", "target", "weight", "size_average", "ignore_index", "reduce", "reduction", "label_smoothing"],
    run: crossEntropy,
  }),
  nll_loss: functional<(input: TorchTensor, target: TorchTensor, keywords?: ClassLossKeywords) => TorchTensor>({
    params: ["input", "target", "weight", "size_average", "ignore_index", "reduce", "reduction"],
    run: (args) => classLoss(array(args.input), args, 0),
  }),
  mse_loss: functional<Loss>(loss((x, target) => (x - target) ** 2)),
  l1_loss: functional<Loss>(loss((x, target) => Math.abs(x - target))),
  smooth_l1_loss: functional<Loss>(
    loss((x, target) => {
      const distance = Math.abs(x - target);
      return distance < 1 ? distance ** 2 / 2 : distance - 0.5;
    }),
  ),
  binary_cross_entropy_with_logits: functional<Loss>({
    params: ["input", "target", "weight", "size_average", "reduce", "reduction"],
    run: ({ input, target, reduction }) => {
      sameShape(array(target).shape, array(input).shape);
      return reduceLosses(
        zip([array(input), array(target)], (x, due) => softplus(x) - x * due),
        reduction,
      );
    },
  }),
  /** `input` contains logarithms. With `log_target`, `target` does too. */
  kl_div: functional<
    (
      input: TorchTensor,
      target: TorchTensor,
      keywords?: { reduction?: Reduction | "batchmean"; log_target?: boolean | TorchScalar },
    ) => TorchTensor
  >({
    params: ["input", "target", "size_average", "reduce", "reduction", "log_target"],
    run: ({ input, target, reduction, log_target: isLog }) => {
      const term = (log: number, due: number): number => {
        if (isLog === true) return Math.exp(due) * (due - log);
        return due === 0 ? 0 : due * (Math.log(due) - log);
      };
      return reduceLosses(zip([array(input), array(target)], term), reduction);
    },
  }),
};
