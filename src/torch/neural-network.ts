/** Normalizations and losses. */
import { sizeOf } from "../numerics/array.js";
import {
  mapLanes,
  reduceAxes,
  reshapeTo,
  scalarArray,
  type TorchArray,
  zip,
  type Args,
  type TorchValue,
  sizeAt,
  torchArray,
  TorchError,
  mean,
  norm,
  variance,
  logSoftmax,
} from "./array.js";
import { functional, type TorchFunction, array, axisOrDefault, number, numbers, sameShape } from "./record.js";
import type { TorchNumber, TorchShape, TorchTensor, TorchScalar } from "./values.js";
import { softplus } from "./elementwise.js";
import { checkIndexBounds } from "./indexing.js";

/** Normalizes the last axes, which have the given shape, then scales and shifts. */
function normalizeLanes(
  { input, normalized_shape, weight, bias }: Args,
  f: (lane: Float64Array) => Float64Array,
): TorchArray {
  const x = array(input);
  const inner = numbers(normalized_shape);
  const length = sizeOf(inner);
  for (const parameter of [weight, bias])
    if (parameter !== undefined && parameter !== null) sameShape(array(parameter).shape, inner);
  sameShape(x.shape.slice(-inner.length), inner);
  const lanes = mapLanes(reshapeTo(x, [x.data.length / (length || 1), length]), 1, f);
  const scaled = zip([reshapeTo(lanes, x.shape), array(weight ?? 1)], (a, b) => a * b);
  return zip([scaled, array(bias ?? 0)], (a, b) => a + b);
}

function layerNorm(args: Args): TorchArray {
  const eps = number(args.eps, 1e-5);
  return normalizeLanes(args, (lane) => {
    const [average, scale] = [mean(lane), 1 / Math.sqrt(variance(lane, 0) + eps)];
    return lane.map((x) => (x - average) * scale);
  });
}

function rmsNorm(args: Args): TorchArray {
  const eps = number(args.eps, Number.EPSILON);
  return normalizeLanes(args, (lane) => {
    const scale = 1 / Math.sqrt(lane.reduce((sum, x) => sum + x * x, 0) / lane.length + eps);
    return lane.map((x) => x * scale);
  });
}

/** Normalizes each group of channels to mean 0 and variance 1, then applies a weight and a bias per channel. */
function groupNorm({ input, num_groups: groups, weight, bias, eps }: Args): TorchArray {
  const x = array(input);
  const [batch, channels] = x.shape as [number, number];
  if (channels % Number(groups) !== 0)
    throw new TorchError(`${channels} channels are no multiple of ${String(groups)} groups`);
  if (x.shape.slice(2).includes(0)) throw new TorchError("channels have no elements");
  const rows = batch * Number(groups);
  const length = x.data.length / (rows || 1);
  const normal = mapLanes(reshapeTo(x, [rows, length]), 1, (lane) => {
    const mean = lane.reduce((sum, value) => sum + value, 0) / length;
    const variance = lane.reduce((sum, value) => sum + (value - mean) ** 2, 0) / length;
    return lane.map((value) => (value - mean) / Math.sqrt(variance + number(eps, 1e-5)));
  });
  const perChannel = (parameter: TorchValue, fallback: number): TorchArray =>
    parameter === undefined || parameter === null
      ? scalarArray(fallback)
      : reshapeTo(array(parameter), [1, channels, ...x.shape.slice(2).map(() => 1)]);
  const scaled = zip([reshapeTo(normal, x.shape), perChannel(weight, 1)], (a, b) => a * b);
  return zip([scaled, perChannel(bias, 0)], (a, b) => a + b);
}

function normalize({ input, p, dim, eps }: Args): TorchArray {
  const x = array(input);
  const [power, axis] = [number(p, 2), axisOrDefault(dim, 1, x)];
  const norms = reduceAxes(x, [axis], true, (lane) => norm(lane, power));
  return zip([x, norms], (value, size) => value / Math.max(size, number(eps, 1e-12)));
}

// Editors show the comments of overloads instead of the comment on the property.
interface LayerNorm {
  /**
   * Normalizes the last axes, which have the given shape, to mean 0 and variance 1. Then multiplies by `weight` and
   * adds `bias`.
   */
  (
    input: TorchTensor,
    normalized_shape: TorchShape,
    weight?: TorchTensor,
    bias?: TorchTensor,
    eps?: TorchNumber,
  ): TorchTensor;
  /**
   * Normalizes the last axes, which have the given shape, to mean 0 and variance 1. Then multiplies by `weight` and
   * adds `bias`.
   */
  (
    input: TorchTensor,
    normalized_shape: TorchShape,
    weight: TorchTensor,
    keywords: { bias?: TorchTensor; eps?: TorchNumber },
  ): TorchTensor;
  /**
   * Normalizes the last axes, which have the given shape, to mean 0 and variance 1. Then multiplies by `weight` and
   * adds `bias`.
   */
  (
    input: TorchTensor,
    normalized_shape: TorchShape,
    keywords: { weight?: TorchTensor; bias?: TorchTensor; eps?: TorchNumber },
  ): TorchTensor;
}
interface RmsNorm {
  /** Normalizes the last axes, which have the given shape, to a mean square of 1. Then multiplies by `weight`. */
  (input: TorchTensor, normalized_shape: TorchShape, weight?: TorchTensor, eps?: TorchNumber): TorchTensor;
  /** Normalizes the last axes, which have the given shape, to a mean square of 1. Then multiplies by `weight`. */
  (input: TorchTensor, normalized_shape: TorchShape, weight: TorchTensor, keywords: { eps?: TorchNumber }): TorchTensor;
  /** Normalizes the last axes, which have the given shape, to a mean square of 1. Then multiplies by `weight`. */
  (
    input: TorchTensor,
    normalized_shape: TorchShape,
    keywords: { weight?: TorchTensor; eps?: TorchNumber },
  ): TorchTensor;
}
interface GroupNorm {
  /** Normalizes each group of channels to mean 0 and variance 1, then applies a weight and a bias per channel. */
  (
    input: TorchTensor,
    num_groups: TorchNumber,
    weight?: TorchTensor,
    bias?: TorchTensor,
    eps?: TorchNumber,
  ): TorchTensor;
  /** Normalizes each group of channels to mean 0 and variance 1, then applies a weight and a bias per channel. */
  (
    input: TorchTensor,
    num_groups: TorchNumber,
    keywords: { weight?: TorchTensor; bias?: TorchTensor; eps?: TorchNumber },
  ): TorchTensor;
}

export const normalizations = {
  /**
   * Normalizes the last axes, which have the given shape, to mean 0 and variance 1. Then multiplies by `weight` and
   * adds `bias`.
   */
  layer_norm: functional<LayerNorm>({
    params: ["input", "normalized_shape", "weight", "bias", "eps"],
    required: ["normalized_shape"],
    run: layerNorm,
  }),
  /** Normalizes the last axes, which have the given shape, to a mean square of 1. Then multiplies by `weight`. */
  rms_norm: functional<RmsNorm>({
    params: ["input", "normalized_shape", "weight", "eps"],
    required: ["normalized_shape"],
    run: rmsNorm,
  }),
  /** Normalizes each group of channels to mean 0 and variance 1, then applies a weight and a bias per channel. */
  group_norm: functional<GroupNorm>({
    params: ["input", "num_groups", "weight", "bias", "eps"],
    required: ["num_groups"],
    run: groupNorm,
  }),
  /** Divides each lane along an axis by its norm. */
  normalize: functional<
    (input: TorchTensor, keywords?: { p?: TorchNumber; dim?: number; eps?: TorchNumber }) => TorchTensor
  >({
    params: ["input", "p", "dim", "eps"],
    run: normalize,
  }),
};

// Losses.

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
