/** An expression for each torch function that draws no random numbers, and inputs for them. */
import { tl } from "tilescript";
import type { TensorData } from "../../../src/compiled/compiled-kernel.js";
import type { Torch, TorchTensor } from "../../../src/torch/types.js";

export interface Inputs {
  /** [3, 4], some below 0. */
  readonly x: TorchTensor;
  /** [3, 4], above 0. */
  readonly y: TorchTensor;
  /** [4] */
  readonly v: TorchTensor;
  /** [2, 4, 6] */
  readonly c: TorchTensor;
  /** int64 [3, 4], from 0 to 2. */
  readonly i: TorchTensor;
  /** int64 [3], from 0 to 3. */
  readonly t: TorchTensor;
}
export type Author = (inputs: Inputs, torch: Torch) => TorchTensor;

export const float = (shape: readonly number[], f: (i: number) => number): TensorData => {
  const data = Float64Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => f(i));
  return { dtype: "float64", shape, data };
};
export const int = (shape: readonly number[], ...values: readonly number[]): TensorData => ({
  dtype: "int64",
  shape,
  data: BigInt64Array.from(values, BigInt),
});
const wave = (scale: number, phase: number) => (i: number) => scale * Math.sin(1.7 * i + phase);

export const inputs: Readonly<Record<keyof Inputs, TensorData>> = {
  x: float([3, 4], wave(2.5, 1)),
  y: float([3, 4], (i) => 0.1 + Math.abs(wave(1.5, 2)(i))),
  v: float([4], wave(1, 0.5)),
  c: float([2, 4, 6], wave(2, 0.3)),
  i: int([3, 4], 0, 2, 1, 1, 2, 2, 0, 1, 1, 0, 2, 0),
  t: int([3], 3, 0, 2),
};

/** The functions of `torch.nn.functional` by a shorter name. */
const f = (torch: Torch) => torch.nn.functional;

export const cases: Readonly<Record<string, Author>> = {
  add: ({ x, v }) => x.add(v),
  sub: ({ x }) => x.sub(2),
  mul: ({ x, y }) => x.mul(y),
  div: ({ x, y }) => x.div(y, { rounding_mode: "trunc" }),
  "div floor": ({ x, y }) => x.div(y, { rounding_mode: "floor" }),
  remainder: ({ x, y }) => x.remainder(y),
  pow: ({ y }) => y.pow(1.5),
  fmod: ({ x, y }) => x.fmod(y),
  floor_divide: ({ x, y }) => x.floor_divide(y),
  atan2: ({ x, y }, torch) => torch.atan2(x, y),
  hypot: ({ x, y }, torch) => torch.hypot(x, y),
  maximum: ({ x, y }, torch) => torch.maximum(x, y),
  minimum: ({ x, y }, torch) => torch.minimum(x, y),
  lt: ({ x, y }) => x.lt(y).float(),
  le: ({ i }) => i.le(1).int(),
  gt: ({ x, v }) => x.gt(v).double(),
  ge: ({ i }) => i.ge(1).long(),
  eq: ({ i }) => i.eq(2).half(),
  ne: ({ i }) => i.ne(2).bfloat16(),
  logical_and: ({ x, y }) => x.gt(0).logical_and(y.gt(1)).float(),
  logical_or: ({ x, y }) => x.gt(0).logical_or(y.gt(1)).float(),
  logical_xor: ({ x, y }) => x.gt(0).logical_xor(y.gt(1)).float(),
  logical_not: ({ i }) => i.bool().logical_not().float(),
  bitwise_and: ({ i }) => i.bitwise_and(2),
  bitwise_or: ({ i }) => i.bitwise_or(4),
  bitwise_xor: ({ i }) => i.bitwise_xor(3),
  isnan: ({ x }) => x.sqrt().isnan().float(),
  isinf: ({ i }) => i.double().log().isinf().float(),
  isfinite: ({ i }) => i.double().log().isfinite().float(),
  nan_to_num: ({ x, i }) =>
    x
      .sqrt()
      .nan_to_num(-1)
      .add(i.double().log().nan_to_num(0, 7, -7)),
  neg: ({ x }) => x.neg(),
  abs: ({ x }) => x.abs(),
  sign: ({ x }) => x.sign().add(x.sqrt().sign()),
  reciprocal: ({ x }) => x.reciprocal(),
  exp: ({ x }) => x.exp(),
  exp2: ({ x }) => x.exp2(),
  expm1: ({ x }) => x.expm1(),
  log: ({ y }) => y.log(),
  log2: ({ y }) => y.log2(),
  log10: ({ y }, torch) => torch.log10(y),
  log1p: ({ y }) => y.log1p(),
  sqrt: ({ y }) => y.sqrt(),
  rsqrt: ({ y }) => y.rsqrt(),
  square: ({ x }) => x.square(),
  sin: ({ x }) => x.sin(),
  cos: ({ x }) => x.cos(),
  tan: ({ x }, torch) => torch.tan(x),
  asin: ({ v }, torch) => torch.asin(v),
  acos: ({ v }, torch) => torch.acos(v),
  atan: ({ x }, torch) => torch.atan(x),
  sinh: ({ x }, torch) => torch.sinh(x),
  cosh: ({ x }, torch) => torch.cosh(x),
  tanh: ({ x }) => x.tanh(),
  erf: ({ x }, torch) => torch.erf(x),
  floor: ({ x }) => x.floor(),
  ceil: ({ x }) => x.ceil(),
  round: ({ x }) => x.round(),
  trunc: ({ x }) => x.trunc(),
  sigmoid: ({ x }) => x.sigmoid(),
  relu: ({ x }) => x.relu(),
  silu: ({ x }, torch) => f(torch).silu(x),
  softplus: ({ x }, torch) => f(torch).softplus(x),
  gelu: ({ x }, torch) => f(torch).gelu(x),
  "gelu by tanh": ({ x }, torch) => f(torch).gelu(x, { approximate: "tanh" }),
  leaky_relu: ({ x }, torch) => f(torch).leaky_relu(x, 0.2),
  elu: ({ x }, torch) => f(torch).elu(x, 1.5),
  relu6: ({ x }, torch) => f(torch).relu6(x.mul(4)),
  hardswish: ({ x }, torch) => f(torch).hardswish(x.mul(2)),
  logsigmoid: ({ x }, torch) => f(torch).logsigmoid(x),
  mish: ({ x }, torch) => f(torch).mish(x),
  glu: ({ x }, torch) =>
    f(torch)
      .glu(x)
      .add(f(torch).glu(x.T.mul(2), 0).sum()),
  clamp: ({ x }) => x.clamp(-1, 0.5),
  where: ({ x, y }, torch) => torch.where(x.gt(0), x, y),
  masked_fill: ({ x }) => x.masked_fill(x.gt(0), -3),
  sum: ({ x }) => x.sum(0, { keepdim: true }),
  mean: ({ c }) => c.mean([0, 2]),
  amax: ({ c }) => c.amax(1),
  amin: ({ c }) => c.amin([0, 1]),
  prod: ({ x }) => x.prod(1),
  all: ({ x }, torch) => torch.all(x.gt(-2), 1).float(),
  any: ({ x }, torch) => torch.any(x.gt(1), 0).float(),
  norm: ({ x }) => x.norm(2, 1).add(x.norm(1)),
  std: ({ x }) => x.std(1).add(x.std(1, { correction: 0 })),
  var: ({ x }) => x.var(0),
  logsumexp: ({ x }) => x.logsumexp(1),
  softmax: ({ x }) => x.softmax(0),
  log_softmax: ({ x }, torch) => torch.log_softmax(x, 1),
  cumsum: ({ x }) => x.cumsum(0),
  cumprod: ({ x }) => x.cumprod(1),
  layer_norm: ({ x, v }, torch) => f(torch).layer_norm(x, [4], v, v, 1e-3),
  "layer_norm by name": ({ x, v }, torch) => f(torch).layer_norm(x, [4], { weight: v, eps: 1e-3 }),
  "group_norm by name": ({ c }, torch) => f(torch).group_norm(c, 2, { eps: 1e-3 }),
  "rms_norm by name": ({ x, v }, torch) => f(torch).rms_norm(x, [4], { weight: v }),
  rms_norm: ({ x, v }, torch) => f(torch).rms_norm(x, [4], v, 1e-3),
  group_norm: ({ c, v }, torch) => f(torch).group_norm(c, 2, v, v),
  normalize: ({ x }, torch) =>
    f(torch)
      .normalize(x)
      .add(f(torch).normalize(x, { p: 1, dim: 0 })),
  matmul: ({ x, y }) => x.matmul(y.mT),
  mm: ({ x, y }, torch) => (torch as any).mm(x, y.T),
  bmm: ({ c }, torch) => torch.bmm(c, c.transpose(1, 2)),
  addmm: ({ x, y }, torch) => torch.addmm(x.matmul(x.T), x, y.T),
  linear: ({ x, y }, torch) => f(torch).linear(x, y),
  einsum: ({ x, y }, torch) => torch.einsum("ij,kj->ki", x, y),
  "einsum without an output": ({ x, v }, torch) => torch.einsum("ij,j", x, v),
  "einsum of three": ({ c, v, x }, torch) => torch.einsum("b c d, c, e c -> b e", c, v, x),
  "einsum of one tensor": ({ x }, torch) => torch.einsum("ij->ji", x),
  "einsum of a diagonal": ({ x }, torch) => torch.einsum("ii->i", x.matmul(x.T)),
  outer: ({ v }, torch) => torch.outer(v, v.add(1)),
  scaled_dot_product_attention: ({ c }, torch) => f(torch).scaled_dot_product_attention(c, c, c, { is_causal: true }),
  cross_entropy: ({ x, t }, torch) => f(torch).cross_entropy(x, t),
  "cross_entropy of each row": ({ x, t }, torch) => f(torch).cross_entropy(x, t, { reduction: "none" }),
  "cross_entropy with smoothing": ({ x, t }, torch) => f(torch).cross_entropy(x, t, { label_smoothing: 0.1 }),
  "cross_entropy with weights": ({ x, t, v }, torch) =>
    f(torch).cross_entropy(x, t, { weight: v.abs(), ignore_index: 0, label_smoothing: 0.2 }),
  nll_loss: ({ x, t }, torch) => f(torch).nll_loss(torch.log_softmax(x, 1), t, { reduction: "sum" }),
  mse_loss: ({ x, y }, torch) => f(torch).mse_loss(x, y),
  l1_loss: ({ x, y }, torch) => f(torch).l1_loss(x, y, { reduction: "sum" }),
  smooth_l1_loss: ({ x, y }, torch) => f(torch).smooth_l1_loss(x, y, { reduction: "none" }),
  binary_cross_entropy_with_logits: ({ x, y }, torch) => f(torch).binary_cross_entropy_with_logits(x, y.clamp(0, 1)),
  kl_div: ({ x, y }, torch) => f(torch).kl_div(torch.log_softmax(x, 1), y.softmax(1), { reduction: "batchmean" }),
  "kl_div of logarithms": ({ x, y }, torch) =>
    f(torch).kl_div(torch.log_softmax(x, 1), torch.log_softmax(y, 1), { reduction: "sum", log_target: true }),
  conv1d: ({ c }, torch) => f(torch).conv1d(c, c.narrow(2, 0, 3), { stride: 2, padding: 1 }),
  "conv1d in groups": ({ c, v }, torch) =>
    f(torch).conv1d(c, c.narrow(2, 0, 2).reshape(4, 2, 2), { bias: v, dilation: 2, groups: 2 }),
  conv2d: ({ c }, torch) =>
    f(torch).conv2d(c.reshape(2, 2, 4, 3), c.narrow(2, 0, 4).reshape(4, 2, 2, 2), { padding: [1, 0] }),
  embedding: ({ i, x }, torch) => f(torch).embedding(i, x),
  one_hot: ({ i }, torch) => f(torch).one_hot(i, 3),
  T: ({ x }) => x.T,
  transpose: ({ c }) => c.transpose(0, -1),
  permute: ({ c }) => c.permute(2, 0, 1),
  reshape: ({ c }) => c.reshape(8, -1),
  view: ({ c }) => c.view(2, 2, -1),
  contiguous: ({ x }) => x.T.contiguous(),
  "contiguous already": ({ x }) => x.contiguous(),
  clone: ({ x }) => x.clone().mul(2),
  unsqueeze: ({ x }) => x.unsqueeze(-1),
  squeeze: ({ x }) => x.unsqueeze(0).squeeze(0),
  size: ({ x }) => x.mul(x.size(1)),
  shape: ({ x, c }) => x.mul((c as any).shape[2]),
  t: ({ x }) => x.t(),
  expand: ({ v }) => v.expand(3, -1),
  broadcast_to: ({ v }, torch) => torch.broadcast_to(v, [2, 4]),
  repeat: ({ x }) => x.repeat(2, 1, 3),
  "attention with a mask of truth values": ({ c }, torch) =>
    f(torch).scaled_dot_product_attention(c, c, c, { attn_mask: c.matmul(c.mT).gt(0) }),
  "attention with a mask of numbers": ({ c }, torch) =>
    f(torch).scaled_dot_product_attention(c, c, c, { attn_mask: c.matmul(c.mT) }),
  bitwise_right_shift: ({ i }) => i.bitwise_right_shift(1),
  diff: ({ x }, torch) => torch.diff(x, { dim: 0 }),
  segment_reduce: ({ x, i }, torch) => torch.segment_reduce(x, "max", { lengths: i.narrow(1, 0, 1).flatten() }),
  repeat_interleave: ({ x }) => x.repeat_interleave(2, 0),
  flatten: ({ c }) => c.flatten(1),
  cat: ({ x, y }, torch) => torch.cat([x, y, x], 1),
  stack: ({ x, y }, torch) => torch.stack([x, y], -1).add(torch.stack([y, x], 2)),
  chunk: ({ c }) => c.chunk(4, 2)[2]!,
  split: ({ c }) => c.split([1, 3], 1)[1]!,
  "split by a size": ({ c }) => c.split(4, 2)[1]!,
  narrow: ({ x }) => x.narrow(1, 1, 2),
  select: ({ c }) => c.select(1, -2),
  flip: ({ c }) => c.flip([0, 2]),
  roll: ({ x }) => x.roll(5).add(x.roll([1, -1], [0, 1])),
  tril: ({ x }) => x.tril().add(x.tril(-1)),
  triu: ({ c }) => c.triu(1),
  diagonal: ({ x }) => x.diagonal().add(x.T.diagonal()),
  sort: ({ x }) => x.sort(0, { descending: true })[0],
  "sort, where from": ({ x }) => x.sort(1).indices,
  argsort: ({ x }) => x.argsort(1),
  topk: ({ x }, torch) => {
    const [values, indices] = torch.topk(x, 2, 1);
    return values!.add(indices!);
  },
  "topk of the least": ({ x }) => x.topk(2, 0, { largest: false }).values,
  argmax: ({ x }) => x.argmax(1),
  "argmax of all": ({ x }) => x.argmax(),
  argmin: ({ x }) => x.argmin(0, { keepdim: true }),
  max: ({ x }) => x.max().add(x.max(1).values).add(x.max(1)[1]),
  min: ({ x }) => x.min(0).values.add(x.min()),
  gather: ({ x, i }) => x.gather(0, i),
  take_along_dim: ({ x, i }, torch) => torch.take_along_dim(x, i, 1),
  index_select: ({ c, t }) => c.index_select(1, t),
  scatter: ({ x, i, y }) => x.scatter(0, i.narrow(0, 0, 1), y),
  scatter_add: ({ x, i, y }) => x.scatter_add(1, i, y),
  bincount: ({ t }, torch) => torch.bincount(t, { minlength: 6 }),
  arange: (_, torch) => torch.arange(5).add(torch.arange(2, 12, 2)),
  full: (_, torch) => torch.full([2, 2], 1.5),
  lerp: ({ x, y, v }, torch) => torch.lerp(x, y, v),
  searchsorted: ({ x, t }, torch) => torch.searchsorted(t.sort().values.double(), x, { right: true }),
  max_pool3d: ({ c }, torch) => f(torch).max_pool3d(c.reshape(1, 1, 2, 4, 6), 2) as unknown as TorchTensor,
  // What it holds is anything.
  empty: (_, torch) => torch.zeros_like(torch.empty([2, 3])),
  zeros: (_, torch) => torch.zeros([2, 3]),
  ones: (_, torch) => torch.ones([4]),
  zeros_like: ({ x }, torch) => torch.zeros_like(x),
  ones_like: ({ x }, torch) => torch.ones_like(x),
  full_like: ({ x }, torch) => torch.full_like(x, 2.5, { dtype: tl.int32 }),
  half: ({ x }) => x.half(),
  bfloat16: ({ x }) => x.bfloat16(),
  float: ({ i }) => i.float(),
  double: ({ i }) => i.double(),
  int: ({ x }) => x.int(),
  long: ({ x }) => x.long(),
  bool: ({ i }) => i.bool().float(),
  to: ({ x }) => x.to(tl.float16),
  "to float8e4nv, beyond its largest": ({ x }) => x.mul(1e6).to(tl.float8e4nv).to(tl.float64),
  "to float8e5, beyond its largest": ({ x }) => x.mul(1e6).to(tl.float8e5).to(tl.float64),
  "to float8e4b8, beyond its largest": ({ x }) => x.mul(1e6).to(tl.float8e4b8).to(tl.float64),
  "to float8e5b16, beyond its largest": ({ x }) => x.mul(1e6).to(tl.float8e5b16).to(tl.float64),
  choose: ({ x, v }) => v.size(0).eq(4).choose(x, v),
  "choose by an order": ({ x, v }) => v.size(0).lt(4).choose(x, v),
  "choose a number": ({ x }) => x.mul(x.size(1).sub(1).ge(3).choose(x.size(0).mul(3), 2)),
};
