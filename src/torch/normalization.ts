/** Normalizations: of the last axes, of groups of channels, to a norm of 1. */
import { TorchError } from "./errors.js";
import { mapLanes, reduceAxes, reshapeTo, scalarArray, type TorchArray, zip } from "./array.js";
import { type Args, array, axisGiven, number, numbers, sameShape, type TorchValue } from "./call.js";
import { mean, norm, variance } from "./lanes.js";
import { functional } from "./record.js";
import type { TorchNumber, TorchShape, TorchTensor } from "./values.js";

/** Normalizes the last axes, which have the shape given, then scales and shifts. */
function normalized(
  { input, normalized_shape, weight, bias }: Args,
  f: (lane: Float64Array) => Float64Array,
): TorchArray {
  const x = array(input);
  const inner = numbers(normalized_shape);
  const length = inner.reduce((product, dim) => product * dim, 1);
  for (const given of [weight, bias]) if (given !== undefined && given !== null) sameShape(array(given).shape, inner);
  sameShape(x.shape.slice(-inner.length), inner);
  const lanes = mapLanes(reshapeTo(x, [x.data.length / (length || 1), length]), 1, f);
  const scaled = zip([reshapeTo(lanes, x.shape), array(weight ?? 1)], (a, b) => a * b);
  return zip([scaled, array(bias ?? 0)], (a, b) => a + b);
}

function layerNorm(args: Args): TorchArray {
  const eps = number(args.eps, 1e-5);
  return normalized(args, (lane) => {
    const [middle, scale] = [mean(lane), 1 / Math.sqrt(variance(lane, 0) + eps)];
    return lane.map((x) => (x - middle) * scale);
  });
}

function rmsNorm(args: Args): TorchArray {
  const eps = number(args.eps, Number.EPSILON);
  return normalized(args, (lane) => {
    const scale = 1 / Math.sqrt(lane.reduce((sum, x) => sum + x * x, 0) / lane.length + eps);
    return lane.map((x) => x * scale);
  });
}

/** Each group of channels has mean 0 and variance 1; then a weight and a bias for each channel. */
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
  const perChannel = (given: TorchValue, otherwise: number): TorchArray =>
    given === undefined || given === null
      ? scalarArray(otherwise)
      : reshapeTo(array(given), [1, channels, ...x.shape.slice(2).map(() => 1)]);
  const scaled = zip([reshapeTo(normal, x.shape), perChannel(weight, 1)], (a, b) => a * b);
  return zip([scaled, perChannel(bias, 0)], (a, b) => a + b);
}

function normalize({ input, p, dim, eps }: Args): TorchArray {
  const x = array(input);
  const [power, axis] = [number(p, 2), axisGiven(dim, 1, x)];
  const norms = reduceAxes(x, [axis], true, (lane) => norm(lane, power));
  return zip([x, norms], (value, size) => value / Math.max(size, number(eps, 1e-12)));
}

// The editor shows the comments of overloads, not that of the record.
interface LayerNorm {
  /** The last axes, which have the shape given, with mean 0 and variance 1; then times the weight, plus the bias. */
  (
    input: TorchTensor,
    normalized_shape: TorchShape,
    weight?: TorchTensor,
    bias?: TorchTensor,
    eps?: TorchNumber,
  ): TorchTensor;
  /** The last axes, which have the shape given, with mean 0 and variance 1; then times the weight, plus the bias. */
  (
    input: TorchTensor,
    normalized_shape: TorchShape,
    weight: TorchTensor,
    keywords: { bias?: TorchTensor; eps?: TorchNumber },
  ): TorchTensor;
  /** The last axes, which have the shape given, with mean 0 and variance 1; then times the weight, plus the bias. */
  (
    input: TorchTensor,
    normalized_shape: TorchShape,
    keywords: { weight?: TorchTensor; bias?: TorchTensor; eps?: TorchNumber },
  ): TorchTensor;
}
interface RmsNorm {
  /** The last axes, which have the shape given, with a mean square of 1; then times the weight. */
  (input: TorchTensor, normalized_shape: TorchShape, weight?: TorchTensor, eps?: TorchNumber): TorchTensor;
  /** The last axes, which have the shape given, with a mean square of 1; then times the weight. */
  (input: TorchTensor, normalized_shape: TorchShape, weight: TorchTensor, keywords: { eps?: TorchNumber }): TorchTensor;
  /** The last axes, which have the shape given, with a mean square of 1; then times the weight. */
  (
    input: TorchTensor,
    normalized_shape: TorchShape,
    keywords: { weight?: TorchTensor; eps?: TorchNumber },
  ): TorchTensor;
}
interface GroupNorm {
  /** Each group of channels with mean 0 and variance 1; then a weight and a bias for each channel. */
  (
    input: TorchTensor,
    num_groups: TorchNumber,
    weight?: TorchTensor,
    bias?: TorchTensor,
    eps?: TorchNumber,
  ): TorchTensor;
  /** Each group of channels with mean 0 and variance 1; then a weight and a bias for each channel. */
  (
    input: TorchTensor,
    num_groups: TorchNumber,
    keywords: { weight?: TorchTensor; bias?: TorchTensor; eps?: TorchNumber },
  ): TorchTensor;
}

export const normalizations = {
  /** The last axes, which have the shape given, with mean 0 and variance 1; then times the weight, plus the bias. */
  layer_norm: functional<LayerNorm>({
    params: ["input", "normalized_shape", "weight", "bias", "eps"],
    needs: ["normalized_shape"],
    run: layerNorm,
  }),
  /** The last axes, which have the shape given, with a mean square of 1; then times the weight. */
  rms_norm: functional<RmsNorm>({
    params: ["input", "normalized_shape", "weight", "eps"],
    needs: ["normalized_shape"],
    run: rmsNorm,
  }),
  /** Each group of channels with mean 0 and variance 1; then a weight and a bias for each channel. */
  group_norm: functional<GroupNorm>({
    params: ["input", "num_groups", "weight", "bias", "eps"],
    needs: ["num_groups"],
    run: groupNorm,
  }),
  /** Each lane along an axis, divided by its norm. */
  normalize: functional<
    (input: TorchTensor, keywords?: { p?: TorchNumber; dim?: number; eps?: TorchNumber }) => TorchTensor
  >({
    params: ["input", "p", "dim", "eps"],
    run: normalize,
  }),
};
