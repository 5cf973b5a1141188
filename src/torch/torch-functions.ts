/** What references may call, by torch's names, in float64. A function and the method of its first operand are one entry. */
import type { DTypeName } from "../types/dtype.js";
import { erf, roundHalfEven } from "./torch-math.js";
import {
  alongAxis,
  type Args,
  array,
  elementwise,
  isArray,
  number,
  numbers,
  pairwise,
  reduction,
  type TorchFunction,
  truth,
} from "./torch-call.js";
import { matmul } from "./torch-matmul.js";
import {
  map,
  mapLanes,
  reduceAxes,
  reorder,
  reshapeTo,
  torchArray,
  total,
  type TorchArray,
  transpose,
  zip,
} from "./torch-array.js";
import { castTo } from "./torch-cast.js";
import { torchCreate } from "./torch-create.js";
import { segmentReduce, torchIndex } from "./torch-index.js";
import { torchMove } from "./torch-move.js";
import { torchNeural } from "./torch-neural.js";
import { torchOrder } from "./torch-order.js";
import { maxPool3d } from "./torch-pool.js";

const casting = (dtype: DTypeName): TorchFunction => ({
  params: ["input"],
  run: ({ input }) => castTo(array(input), dtype),
});
const maximum = (x: number, y: number): number => Math.max(x, y);
function largest(lane: Float64Array): number {
  let most = -Infinity;
  for (let i = 0; i < lane.length; i++) most = Math.max(most, lane[i]!);
  return most;
}
const smallest = (lane: Float64Array): number => lane.reduce((x, y) => Math.min(x, y), Infinity);
const mean = (lane: Float64Array): number => total(lane) / lane.length;
const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

/** `shift + log Σ exp(x - shift)`; a lane of -inf gives -inf. */
function logSumExp(lane: Float64Array): number {
  const top = largest(lane);
  if (!Number.isFinite(top)) return top;
  return top + Math.log(lane.reduce((sum, x) => sum + Math.exp(x - top), 0));
}

function softmax(lane: Float64Array): Float64Array {
  const top = largest(lane);
  const powers = new Float64Array(lane.length);
  for (let i = 0; i < lane.length; i++) powers[i] = Math.exp(lane[i]! - top);
  const sum = total(powers);
  for (let i = 0; i < lane.length; i++) powers[i] = powers[i]! / sum;
  return powers;
}

/**
 * softmax(query keyᵀ · scale + mask) value over the last two axes. Where a mask of truth values is false, and after its
 * own place if it is causal, a query sees no key; one that sees none gives 0.
 */
function attention(
  { query, key, value, attn_mask, is_causal, scale }: Args,
  isTruth: (param: string) => boolean,
): TorchArray {
  const [q, k] = [array(query), array(key)];
  const factor = number(scale, 1 / Math.sqrt(q.shape.at(-1)!));
  const scores = map(matmul(q, transpose(k, -2, -1)), (x) => x * factor);
  const isShown = isTruth("attn_mask");
  const add = (score: number, mask: number): number => (!isShown ? score + mask : mask !== 0 ? score : -Infinity);
  const masked = isArray(attn_mask) ? zip([scores, attn_mask], (x, y) => add(x!, y!)) : scores;
  const [rows, columns] = masked.shape.slice(-2) as [number, number];
  const seen = (i: number) => is_causal !== true || i % columns <= Math.trunc(i / columns) % rows;
  const visible = torchArray(
    masked.shape,
    masked.data.map((x, i) => (seen(i) ? x : -Infinity)),
  );
  const weigh = (lane: Float64Array) => (largest(lane) === -Infinity ? lane.map(() => 0) : softmax(lane));
  return matmul(mapLanes(visible, -1, weigh), array(value));
}

function cumulative(fold: (sofar: number, x: number) => number) {
  return (lane: Float64Array): Float64Array => {
    let sofar: number | undefined;
    return lane.map((x) => (sofar = sofar === undefined ? x : fold(sofar, x)));
  };
}

/** Integers that a number holds, beyond 32 bits too. */
const bits = (f: (x: bigint, y: bigint) => bigint): TorchFunction =>
  pairwise((x, y) => Number(f(BigInt(x), BigInt(y))));

function norm(lane: Float64Array, p: number): number {
  if (p === Infinity) return largest(lane.map(Math.abs));
  return lane.reduce((sum, x) => sum + Math.abs(x) ** p, 0) ** (1 / p);
}

function variance(lane: Float64Array, correction: number): number {
  const middle = mean(lane);
  return lane.reduce((sum, x) => sum + (x - middle) ** 2, 0) / Math.max(lane.length - correction, 0);
}

function clamp({ input, min, max }: Args): TorchArray {
  const [low, high] = [array(min ?? -Infinity), array(max ?? Infinity)];
  return zip([array(input), low, high], (x, a, b) => Math.min(Math.max(x!, a!), b!));
}

/** Normalises the last axes, which have the shape given, then scales and shifts. */
function normalised(
  { input, normalized_shape, weight, bias }: Args,
  f: (lane: Float64Array) => Float64Array,
): TorchArray {
  const x = array(input);
  const inner = numbers(normalized_shape);
  const length = inner.reduce((product, dim) => product * dim, 1);
  const lanes = mapLanes(reshapeTo(x, [-1, length]), 1, f);
  const scaled = zip([reshapeTo(lanes, x.shape), array(weight ?? 1)], (a, b) => a! * b!);
  return zip([scaled, array(bias ?? 0)], (a, b) => a! + b!);
}

function layerNorm(args: Args): TorchArray {
  const eps = number(args.eps, 1e-5);
  return normalised(args, (lane) => {
    const [middle, scale] = [mean(lane), 1 / Math.sqrt(variance(lane, 0) + eps)];
    return lane.map((x) => (x - middle) * scale);
  });
}

function rmsNorm(args: Args): TorchArray {
  const eps = number(args.eps, Number.EPSILON);
  return normalised(args, (lane) => {
    const scale = 1 / Math.sqrt(lane.reduce((sum, x) => sum + x * x, 0) / lane.length + eps);
    return lane.map((x) => x * scale);
  });
}

const segmentFolds: Readonly<Record<string, (lane: Float64Array) => number>> = {
  sum: total,
  mean,
  max: largest,
  min: smallest,
};

const gelu = (x: number): number => 0.5 * x * (1 + erf(x * Math.SQRT1_2));
const geluTanh = (x: number): number => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));

export const torchFunctions: Readonly<Record<string, TorchFunction>> = {
  add: pairwise((x, y) => x + y),
  sub: pairwise((x, y) => x - y),
  mul: pairwise((x, y) => x * y),
  div: {
    params: ["input", "other", "rounding_mode"],
    run: ({ input, other, rounding_mode: mode }) => {
      const settle = mode === "trunc" ? Math.trunc : mode === "floor" ? Math.floor : (x: number) => x;
      return zip([array(input), array(other)], (x, y) => settle(x! / y!));
    },
  },
  remainder: pairwise((x, y) => x - y * Math.floor(x / y)),
  pow: pairwise((x, y) => x ** y),
  maximum: pairwise(maximum),
  minimum: pairwise((x, y) => Math.min(x, y)),
  fmod: pairwise((x, y) => x % y),
  floor_divide: pairwise((x, y) => Math.floor(x / y)),
  atan2: pairwise(Math.atan2),
  hypot: pairwise(Math.hypot),
  lt: truth((x, y) => x < y),
  le: truth((x, y) => x <= y),
  gt: truth((x, y) => x > y),
  ge: truth((x, y) => x >= y),
  eq: truth((x, y) => x === y),
  ne: truth((x, y) => x !== y),
  logical_and: truth((x, y) => x !== 0 && y !== 0),
  logical_or: truth((x, y) => x !== 0 || y !== 0),
  logical_xor: truth((x, y) => (x !== 0) !== (y !== 0)),
  bitwise_and: bits((x, y) => x & y),
  bitwise_or: bits((x, y) => x | y),
  bitwise_xor: bits((x, y) => x ^ y),
  isnan: elementwise((x) => Number(Number.isNaN(x))),
  isinf: elementwise((x) => Number(Math.abs(x) === Infinity)),
  isfinite: elementwise((x) => Number(Number.isFinite(x))),
  logical_not: elementwise((x) => Number(x === 0)),
  bitwise_right_shift: pairwise((x, y) => Math.floor(x / 2 ** y)),
  neg: elementwise((x) => -x),
  abs: elementwise(Math.abs),
  exp: elementwise(Math.exp),
  exp2: elementwise((x) => 2 ** x),
  log: elementwise(Math.log),
  log2: elementwise(Math.log2),
  log10: elementwise(Math.log10),
  log1p: elementwise(Math.log1p),
  expm1: elementwise(Math.expm1),
  reciprocal: elementwise((x) => 1 / x),
  sign: elementwise((x) => (Number.isNaN(x) ? 0 : Math.sign(x))),
  sqrt: elementwise(Math.sqrt),
  rsqrt: elementwise((x) => 1 / Math.sqrt(x)),
  square: elementwise((x) => x * x),
  sin: elementwise(Math.sin),
  cos: elementwise(Math.cos),
  tan: elementwise(Math.tan),
  asin: elementwise(Math.asin),
  acos: elementwise(Math.acos),
  atan: elementwise(Math.atan),
  sinh: elementwise(Math.sinh),
  cosh: elementwise(Math.cosh),
  tanh: elementwise(Math.tanh),
  erf: elementwise(erf),
  floor: elementwise(Math.floor),
  ceil: elementwise(Math.ceil),
  round: elementwise(roundHalfEven),
  trunc: elementwise(Math.trunc),
  sigmoid: elementwise(sigmoid),
  relu: elementwise((x) => (x < 0 ? 0 : x)),
  silu: elementwise((x) => x * sigmoid(x)),
  softplus: elementwise((x) => (x > 20 ? x : Math.log1p(Math.exp(x)))),
  gelu: {
    params: ["input", "approximate"],
    run: ({ input, approximate }) => map(array(input), approximate === "tanh" ? geluTanh : gelu),
  },
  leaky_relu: {
    params: ["input", "negative_slope"],
    run: ({ input, negative_slope: slope }) => map(array(input), (x) => (x < 0 ? x * number(slope, 0.01) : x)),
  },
  clamp: { params: ["input", "min", "max"], run: clamp },
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
  where: {
    params: ["condition", "input", "other"],
    run: ({ condition, input, other }) =>
      zip([array(condition), array(input), array(other)], (c, x, y) => (c ? x! : y!)),
  },
  lerp: {
    params: ["input", "end", "weight"],
    run: ({ input, end, weight }) =>
      zip([array(input), array(end), array(weight)], (x, y, share) => x! + share! * (y! - x!)),
  },
  masked_fill: {
    params: ["input", "mask", "value"],
    run: ({ input, mask, value }) => zip([array(input), array(mask), array(value)], (x, m, v) => (m ? v! : x!)),
  },
  sum: reduction(total),
  mean: reduction(mean),
  amax: reduction(largest),
  amin: reduction(smallest),
  prod: reduction((lane) => lane.reduce((product, x) => product * x, 1)),
  all: reduction((lane) => Number(lane.every((x) => x !== 0))),
  any: reduction((lane) => Number(lane.some((x) => x !== 0))),
  norm: {
    params: ["input", "p", "dim", "keepdim"],
    run: ({ input, p, dim, keepdim }) =>
      reduceAxes(array(input), numbers(dim), keepdim === true, (lane) => norm(lane, number(p, 2))),
  },
  std: {
    params: ["input", "dim", "correction", "keepdim", "unbiased"],
    run: ({ input, dim, correction, keepdim, unbiased }) => {
      const less = number(correction, unbiased === false ? 0 : 1);
      return reduceAxes(array(input), numbers(dim), keepdim === true, (lane) => Math.sqrt(variance(lane, less)));
    },
  },
  logsumexp: reduction(logSumExp),
  var: {
    params: ["input", "dim", "correction", "keepdim", "unbiased"],
    run: ({ input, dim, correction, keepdim, unbiased }) => {
      const less = number(correction, unbiased === false ? 0 : 1);
      return reduceAxes(array(input), numbers(dim), keepdim === true, (lane) => variance(lane, less));
    },
  },
  softmax: alongAxis(softmax),
  log_softmax: alongAxis((lane) => {
    const norm = logSumExp(lane);
    return lane.map((x) => x - norm);
  }),
  cumsum: alongAxis(cumulative((sum, x) => sum + x)),
  cumprod: alongAxis(cumulative((product, x) => product * x)),
  layer_norm: { params: ["input", "normalized_shape", "weight", "bias", "eps"], run: layerNorm },
  rms_norm: { params: ["input", "normalized_shape", "weight", "eps"], run: rmsNorm },
  matmul: { params: ["input", "other"], run: ({ input, other }) => matmul(array(input), array(other)) },
  bmm: { params: ["input", "mat2"], run: ({ input, mat2 }) => matmul(array(input), array(mat2)) },
  mm: { params: ["input", "mat2"], run: ({ input, mat2 }) => matmul(array(input), array(mat2)) },
  addmm: {
    params: ["input", "mat1", "mat2"],
    run: ({ input, mat1, mat2 }) => zip([array(input), matmul(array(mat1), array(mat2))], (x, y) => x! + y!),
  },
  linear: {
    params: ["input", "weight", "bias"],
    run: ({ input, weight, bias }) => {
      const product = matmul(array(input), transpose(array(weight), 0, 1));
      return zip([product, array(bias ?? 0)], (x, y) => x! + y!);
    },
  },
  scaled_dot_product_attention: {
    params: ["query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale"],
    run: (args, _random, isTruth) => attention(args, isTruth),
  },
  transpose: {
    params: ["input", "dim0", "dim1"],
    run: ({ input, dim0, dim1 }) => transpose(array(input), Number(dim0), Number(dim1)),
  },
  permute: { params: ["input"], rest: "dims", run: ({ input, dims }) => reorder(array(input), numbers(dims)) },
  reshape: { params: ["input"], rest: "shape", run: ({ input, shape }) => reshapeTo(array(input), numbers(shape)) },
  view: { params: ["input"], rest: "shape", run: ({ input, shape }) => reshapeTo(array(input), numbers(shape)) },
  contiguous: { params: ["input"], run: ({ input }) => array(input) },
  clone: { params: ["input"], run: ({ input }) => array(input) },
  unsqueeze: {
    params: ["input", "dim"],
    run: ({ input, dim }) => {
      const { shape, data } = array(input);
      return torchArray(shape.toSpliced(Number(dim) < 0 ? Number(dim) + shape.length + 1 : Number(dim), 0, 1), data);
    },
  },
  squeeze: {
    params: ["input", "dim"],
    run: ({ input, dim }) => {
      const { shape, data } = array(input);
      const only = dim === undefined ? undefined : Number(dim) < 0 ? Number(dim) + shape.length : Number(dim);
      return torchArray(
        shape.filter((size, axis) => size !== 1 || (only !== undefined && axis !== only)),
        data,
      );
    },
  },
  segment_reduce: {
    params: ["data", "reduce", "lengths"],
    run: ({ data, reduce, lengths }) => segmentReduce(array(data), array(lengths), segmentFolds[String(reduce)]!),
  },
  max_pool3d: {
    params: ["input", "kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices"],
    run: ({ input, kernel_size: kernel, stride, padding, return_indices: wantsIndices }) => {
      const pooled = maxPool3d(array(input), Number(kernel), number(stride, Number(kernel)), number(padding, 0));
      return wantsIndices === true ? pooled : pooled[0];
    },
  },
  size: { params: ["input", "dim"], run: ({ input, dim }) => array(input).shape.at(Number(dim))! },
  // Everything is float64 here, so widening changes nothing.
  float: { params: ["input"], run: ({ input }) => array(input) },
  double: { params: ["input"], run: ({ input }) => array(input) },
  half: casting("float16"),
  bfloat16: casting("bfloat16"),
  int: casting("int32"),
  long: casting("int64"),
  bool: casting("int1"),
  to: { params: ["input", "dtype"], run: ({ input, dtype }) => castTo(array(input), String(dtype)) },
  ...torchCreate,
  ...torchIndex,
  ...torchMove,
  ...torchOrder,
  ...torchNeural,
};
