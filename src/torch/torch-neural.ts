/** References' functions of `torch.nn.functional`: losses, convolutions, normalisations and activations. */
import { sizeOf } from "../numerics/array.js";
import {
  type Args,
  array,
  axisGiven,
  elementwise,
  number,
  numbers,
  type TorchFunction,
  type TorchValue,
} from "./torch-call.js";
import { map, mapLanes, reduceAxes, reshapeTo, scalarArray, torchArray, type TorchArray, zip } from "./torch-array.js";

/** Losses of elements, averaged, summed or left as they are. */
function reduced(losses: TorchArray, reduction: TorchValue, weight = losses.data.length): TorchArray {
  if (reduction === "none") return losses;
  const total = losses.data.reduce((sum, x) => sum + x, 0);
  if (reduction === "sum") return scalarArray(total);
  return scalarArray(total / (reduction === "batchmean" ? losses.shape[0]! : weight));
}

const loss = (f: (x: number, target: number) => number): TorchFunction => ({
  params: ["input", "target", "size_average", "reduce", "reduction"],
  run: ({ input, target, reduction }) =>
    reduced(zip([array(input), array(target)], f as (...values: number[]) => number), reduction),
});

function logSoftmax(lane: Float64Array): Float64Array {
  const top = lane.reduce((a, b) => Math.max(a, b), -Infinity);
  const norm = top + Math.log(lane.reduce((sum, x) => sum + Math.exp(x - top), 0));
  return lane.map((x) => x - norm);
}

/**
 * The loss of class indices: the negative log probability of each, those of `ignore_index` left out. `smoothing` spreads
 * that share of a target over all classes.
 */
function classLoss(logs: TorchArray, { target, weight, ignore_index: ignored, reduction }: Args, smoothing: number) {
  const [rows, classes] = logs.shape as [number, number];
  const targets = array(target).data;
  const weights = weight === undefined || weight === null ? undefined : array(weight).data;
  const weightOf = (label: number): number => weights?.[label] ?? 1;
  const losses = new Float64Array(rows);
  let total = 0;
  for (let row = 0; row < rows; row++) {
    const label = targets[row]!;
    if (label === number(ignored, -100)) continue;
    total += weightOf(label);
    const lane = logs.data.subarray(row * classes, (row + 1) * classes);
    const spread = lane.reduce((sum, x, each) => sum + x * weightOf(each), 0) / classes;
    losses[row] = -(1 - smoothing) * lane[label]! * weightOf(label) - smoothing * spread;
  }
  return reduced(torchArray([rows], losses), reduction, total);
}

function crossEntropy(args: Args): TorchArray {
  return classLoss(mapLanes(array(args.input), 1, logSoftmax), args, number(args.label_smoothing, 0));
}

const CONVOLUTION = ["input", "weight", "bias", "stride", "padding", "dilation", "groups"];

/** `[N, C, …]` with `[O, C / groups, …]`, over one or two axes. */
function convolution({ input, weight, bias, stride, padding, dilation, groups }: Args): TorchArray {
  const [x, w] = [array(input), array(weight)];
  const axes = x.shape.length - 2;
  const each = (value: TorchValue, otherwise: number): number[] => {
    const given = numbers(value);
    return Array.from({ length: axes }, (_, axis) => given[axis] ?? given[0] ?? otherwise);
  };
  const [steps, pads, gaps] = [each(stride, 1), each(padding, 0), each(dilation, 1)];
  const [batch, channels] = x.shape as [number, number];
  const [outputs, perGroup] = w.shape as [number, number];
  const inputSizes = x.shape.slice(2);
  const taps = w.shape.slice(2);
  const sizes = inputSizes.map(
    (size, axis) => Math.floor((size + 2 * pads[axis]! - gaps[axis]! * (taps[axis]! - 1) - 1) / steps[axis]!) + 1,
  );
  const outputsPerGroup = outputs / number(groups, 1);
  const added = bias === undefined || bias === null ? undefined : array(bias).data;
  const [places, tapCount] = [sizeOf(sizes), sizeOf(taps)];
  const out = new Float64Array(batch * outputs * places);
  for (let i = 0; i < out.length; i++) {
    const place = unravel(i % places, sizes);
    const output = Math.trunc(i / places) % outputs;
    const n = Math.trunc(i / (places * outputs));
    const first = Math.trunc(output / outputsPerGroup) * perGroup;
    let sum = added?.[output] ?? 0;
    for (let tap = 0; tap < tapCount; tap++) {
      const offset = unravel(tap, taps);
      const source = place.map((p, axis) => p * steps[axis]! + offset[axis]! * gaps[axis]! - pads[axis]!);
      if (source.some((s, axis) => s < 0 || s >= inputSizes[axis]!)) continue;
      const flat = source.reduce((sofar, s, axis) => sofar * inputSizes[axis]! + s, 0);
      for (let c = 0; c < perGroup; c++)
        sum +=
          x.data[(n * channels + first + c) * sizeOf(inputSizes) + flat]! *
          w.data[(output * perGroup + c) * tapCount + tap]!;
    }
    out[i] = sum;
  }
  return torchArray([batch, outputs, ...sizes], out);
}

function unravel(flat: number, sizes: readonly number[]): number[] {
  const place = sizes.map(() => 0);
  let rest = flat;
  for (let axis = sizes.length - 1; axis >= 0; axis--) {
    place[axis] = rest % sizes[axis]!;
    rest = Math.trunc(rest / sizes[axis]!);
  }
  return place;
}

/** Each group of channels has mean 0 and variance 1; then a weight and a bias for each channel. */
function groupNorm({ input, num_groups: groups, weight, bias, eps }: Args): TorchArray {
  const x = array(input);
  const [batch, channels] = x.shape as [number, number];
  const length = x.data.length / (batch * Number(groups));
  const normal = mapLanes(reshapeTo(x, [-1, length]), 1, (lane) => {
    const mean = lane.reduce((sum, value) => sum + value, 0) / length;
    const variance = lane.reduce((sum, value) => sum + (value - mean) ** 2, 0) / length;
    return lane.map((value) => (value - mean) / Math.sqrt(variance + number(eps, 1e-5)));
  });
  const perChannel = (given: TorchValue, otherwise: number): TorchArray =>
    given === undefined || given === null
      ? scalarArray(otherwise)
      : reshapeTo(array(given), [1, channels, ...x.shape.slice(2).map(() => 1)]);
  const scaled = zip([reshapeTo(normal, x.shape), perChannel(weight, 1)], (a, b) => a! * b!);
  return zip([scaled, perChannel(bias, 0)], (a, b) => a! + b!);
}

function normalize({ input, p, dim, eps }: Args): TorchArray {
  const x = array(input);
  const [power, axis] = [number(p, 2), axisGiven(dim, 1, x)];
  const norms = reduceAxes(
    x,
    [axis],
    true,
    (lane) => lane.reduce((sum, v) => sum + Math.abs(v) ** power, 0) ** (1 / power),
  );
  return zip([x, norms], (value, norm) => value! / Math.max(norm!, number(eps, 1e-12)));
}

/** Half of an axis, gated by the sigmoid of the other half. */
function glu({ input, dim }: Args): TorchArray {
  const x = array(input);
  const axis = axisGiven(dim, -1, x);
  const half = x.shape[axis]! / 2;
  const inner = sizeOf(x.shape.slice(axis + 1)) * half;
  const at = (i: number): number => Math.trunc(i / inner) * 2 * inner + (i % inner);
  const shape = x.shape.with(axis, half);
  return torchArray(
    shape,
    Float64Array.from({ length: sizeOf(shape) }, (_, i) => x.data[at(i)]! / (1 + Math.exp(-x.data[at(i) + inner]!))),
  );
}

const softplus = (x: number): number => (x > 0 ? x + Math.log1p(Math.exp(-x)) : Math.log1p(Math.exp(x)));

export const torchNeural: Readonly<Record<string, TorchFunction>> = {
  cross_entropy: {
    params: ["input", "target", "weight", "size_average", "ignore_index", "reduce", "reduction", "label_smoothing"],
    run: crossEntropy,
  },
  nll_loss: {
    params: ["input", "target", "weight", "size_average", "ignore_index", "reduce", "reduction"],
    run: (args) => classLoss(array(args.input), args, 0),
  },
  mse_loss: loss((x, target) => (x - target) ** 2),
  l1_loss: loss((x, target) => Math.abs(x - target)),
  smooth_l1_loss: loss((x, target) => {
    const distance = Math.abs(x - target);
    return distance < 1 ? distance ** 2 / 2 : distance - 0.5;
  }),
  binary_cross_entropy_with_logits: {
    ...loss((x, target) => softplus(x) - x * target),
    params: ["input", "target", "weight", "size_average", "reduce", "reduction"],
  },
  kl_div: {
    params: ["input", "target", "size_average", "reduce", "reduction", "log_target"],
    run: ({ input, target, reduction, log_target: isLog }) => {
      const term = (log: number, due: number): number =>
        isLog === true ? Math.exp(due) * (due - log) : due === 0 ? 0 : due * (Math.log(due) - log);
      return reduced(zip([array(input), array(target)], term as (...values: number[]) => number), reduction);
    },
  },
  conv1d: { params: CONVOLUTION, run: convolution },
  conv2d: { params: CONVOLUTION, run: convolution },
  embedding: {
    params: ["input", "weight"],
    run: ({ input, weight }) => {
      const [index, table] = [array(input), array(weight)];
      const width = table.shape[1]!;
      const data = new Float64Array(index.data.length * width);
      index.data.forEach((row, i) => data.set(table.data.subarray(row * width, (row + 1) * width), i * width));
      return torchArray([...index.shape, width], data);
    },
  },
  one_hot: {
    params: ["input", "num_classes"],
    run: ({ input, num_classes: classes }) => {
      const { shape, data } = array(input);
      const width = Number(classes);
      const out = new Float64Array(data.length * width);
      data.forEach((label, i) => (out[i * width + label] = 1));
      return torchArray([...shape, width], out);
    },
  },
  group_norm: { params: ["input", "num_groups", "weight", "bias", "eps"], run: groupNorm },
  normalize: { params: ["input", "p", "dim", "eps"], run: normalize },
  glu: { params: ["input", "dim"], run: glu },
  elu: {
    params: ["input", "alpha"],
    run: ({ input, alpha }) => map(array(input), (x) => (x > 0 ? x : number(alpha, 1) * Math.expm1(x))),
  },
  relu6: elementwise((x) => Math.min(Math.max(x, 0), 6)),
  hardswish: elementwise((x) => (x * Math.min(Math.max(x + 3, 0), 6)) / 6),
  logsigmoid: elementwise((x) => -softplus(-x)),
  mish: elementwise((x) => x * Math.tanh(softplus(x))),
};
