/**
 * Torch as a reference sees it. `reference: ({ a, b }, torch) => torch.matmul(a, b)` is recorded, not run: a proxy notes
 * the calls and the emitted module repeats them in Python, so names are torch's own. A trailing object becomes keyword
 * arguments: `x.sum(1, { keepdim: true })`. Open: declare what is missing through declaration merging.
 */
import type { DType } from "../types/dtype.js";

/** A number, or a recorded one: a size, a scalar argument. */
export type TorchNumber = number | TorchScalar;
/** What may stand beside a tensor. */
export type TorchOperand = TorchTensor | TorchNumber;
/** A dtype: the kernel's own (also a dtype variable), or torch's by name. */
export type TorchDType = DType<any> | string;
type Axis = number | readonly number[];
interface ReduceKeywords {
  keepdim?: boolean;
  dtype?: TorchDType;
}

type Shifts = TorchNumber | readonly TorchNumber[];
interface MakeKeywords {
  dtype?: TorchDType;
}
/** Some results in order. */
type TorchPieces = readonly TorchTensor[];

declare const $torch: unique symbol;

/** Two results in order, which torch also names. */
export interface TorchPair extends Iterable<TorchTensor> {
  readonly 0: TorchTensor;
  readonly 1: TorchTensor;
  readonly values: TorchTensor;
  readonly indices: TorchTensor;
}

/** A size, scalar or constexpr argument: a plain number in Python. `M.mul(K)` is written `M * K`. */
export interface TorchScalar {
  readonly [$torch]: "scalar";
  add(other: TorchNumber): TorchScalar;
  sub(other: TorchNumber): TorchScalar;
  mul(other: TorchNumber): TorchScalar;
  div(other: TorchNumber): TorchScalar;
  floorDiv(other: TorchNumber): TorchScalar;
  mod(other: TorchNumber): TorchScalar;
  pow(other: TorchNumber): TorchScalar;
  eq(other: TorchNumber | string): TorchScalar;
  ne(other: TorchNumber | string): TorchScalar;
  lt(other: TorchNumber): TorchScalar;
  le(other: TorchNumber): TorchScalar;
  gt(other: TorchNumber): TorchScalar;
  ge(other: TorchNumber): TorchScalar;
  /** One of two, by a flag or a comparison: `CAUSAL.choose(a, b)` is written `a if CAUSAL else b`. */
  choose(then: TorchTensor, otherwise: TorchTensor): TorchTensor;
  choose(then: TorchNumber, otherwise: TorchNumber): TorchScalar;
}

/** A tensor that the caller may leave out. */
export interface OptionalTorchTensor extends TorchTensor {
  /** Another in its place where it is left out: `1 if bias is None else bias`. */
  otherwise(fallback: TorchTensor): TorchTensor;
}

/** A tensor of torch. */
export interface TorchTensor {
  readonly [$torch]: "tensor";
  readonly T: TorchTensor;
  readonly mT: TorchTensor;
  readonly dtype: TorchDType;
  readonly device: string;

  add(other: TorchOperand): TorchTensor;
  sub(other: TorchOperand): TorchTensor;
  mul(other: TorchOperand): TorchTensor;
  div(other: TorchOperand, keywords?: { rounding_mode?: "trunc" | "floor" }): TorchTensor;
  pow(exponent: TorchOperand): TorchTensor;
  remainder(other: TorchOperand): TorchTensor;
  neg(): TorchTensor;
  matmul(other: TorchTensor): TorchTensor;
  lt(other: TorchOperand): TorchTensor;
  le(other: TorchOperand): TorchTensor;
  gt(other: TorchOperand): TorchTensor;
  ge(other: TorchOperand): TorchTensor;
  eq(other: TorchOperand): TorchTensor;
  ne(other: TorchOperand): TorchTensor;
  logical_and(other: TorchTensor): TorchTensor;
  logical_or(other: TorchTensor): TorchTensor;
  logical_xor(other: TorchTensor): TorchTensor;
  logical_not(): TorchTensor;
  bitwise_and(other: TorchOperand): TorchTensor;
  bitwise_or(other: TorchOperand): TorchTensor;
  bitwise_xor(other: TorchOperand): TorchTensor;
  bitwise_right_shift(other: TorchOperand): TorchTensor;
  fmod(other: TorchOperand): TorchTensor;
  floor_divide(other: TorchOperand): TorchTensor;

  float(): TorchTensor;
  double(): TorchTensor;
  half(): TorchTensor;
  bfloat16(): TorchTensor;
  int(): TorchTensor;
  long(): TorchTensor;
  bool(): TorchTensor;
  to(dtype: TorchDType): TorchTensor;

  abs(): TorchTensor;
  exp(): TorchTensor;
  exp2(): TorchTensor;
  log(): TorchTensor;
  log2(): TorchTensor;
  sqrt(): TorchTensor;
  rsqrt(): TorchTensor;
  log1p(): TorchTensor;
  expm1(): TorchTensor;
  reciprocal(): TorchTensor;
  sin(): TorchTensor;
  cos(): TorchTensor;
  floor(): TorchTensor;
  ceil(): TorchTensor;
  round(): TorchTensor;
  trunc(): TorchTensor;
  sign(): TorchTensor;
  isnan(): TorchTensor;
  isinf(): TorchTensor;
  isfinite(): TorchTensor;
  nan_to_num(nan?: number, posinf?: number, neginf?: number): TorchTensor;
  sigmoid(): TorchTensor;
  tanh(): TorchTensor;
  relu(): TorchTensor;
  square(): TorchTensor;
  clamp(min?: TorchNumber, max?: TorchNumber): TorchTensor;
  masked_fill(mask: TorchTensor, value: TorchNumber): TorchTensor;

  sum(dim?: Axis, keywords?: ReduceKeywords): TorchTensor;
  mean(dim?: Axis, keywords?: ReduceKeywords): TorchTensor;
  amax(dim?: Axis, keywords?: ReduceKeywords): TorchTensor;
  amin(dim?: Axis, keywords?: ReduceKeywords): TorchTensor;
  argmax(dim?: number, keywords?: ReduceKeywords): TorchTensor;
  argmin(dim?: number, keywords?: ReduceKeywords): TorchTensor;
  prod(dim?: number, keywords?: ReduceKeywords): TorchTensor;
  max(): TorchTensor;
  max(dim: number, keywords?: { keepdim?: boolean }): TorchPair;
  min(): TorchTensor;
  min(dim: number, keywords?: { keepdim?: boolean }): TorchPair;
  all(dim?: number, keywords?: { keepdim?: boolean }): TorchTensor;
  any(dim?: number, keywords?: { keepdim?: boolean }): TorchTensor;
  norm(p?: number, dim?: Axis, keywords?: { keepdim?: boolean }): TorchTensor;
  std(dim?: Axis, keywords?: ReduceKeywords & { correction?: number; unbiased?: boolean }): TorchTensor;
  var(dim?: Axis, keywords?: ReduceKeywords & { correction?: number; unbiased?: boolean }): TorchTensor;
  cumsum(dim: number): TorchTensor;
  cumprod(dim: number): TorchTensor;
  sort(dim?: number, keywords?: { descending?: boolean }): TorchPair;
  argsort(dim?: number, keywords?: { descending?: boolean }): TorchTensor;
  topk(k: number, dim?: number, keywords?: { largest?: boolean }): TorchPair;
  softmax(dim: number): TorchTensor;
  logsumexp(dim: Axis, keywords?: ReduceKeywords): TorchTensor;

  transpose(first: number, second: number): TorchTensor;
  permute(...order: readonly number[]): TorchTensor;
  reshape(...shape: readonly TorchNumber[]): TorchTensor;
  view(...shape: readonly TorchNumber[]): TorchTensor;
  expand(...shape: readonly TorchNumber[]): TorchTensor;
  unsqueeze(dim: number): TorchTensor;
  squeeze(dim?: number): TorchTensor;
  flatten(start?: number, end?: number): TorchTensor;
  contiguous(): TorchTensor;
  clone(): TorchTensor;
  size(dim: number): TorchScalar;
  t(): TorchTensor;
  repeat(...times: readonly TorchNumber[]): TorchTensor;
  flip(dims: readonly number[]): TorchTensor;
  roll(shifts: Shifts, dims?: Axis): TorchTensor;
  select(dim: number, index: number): TorchTensor;
  chunk(chunks: number, dim?: number): TorchPieces;
  split(size: number | readonly number[], dim?: number): TorchPieces;
  tril(diagonal?: number): TorchTensor;
  triu(diagonal?: number): TorchTensor;
  diagonal(): TorchTensor;
  narrow(dim: number, start: TorchNumber, length: TorchNumber): TorchTensor;
  repeat_interleave(repeats: TorchNumber | TorchTensor, dim: number): TorchTensor;
  gather(dim: number, index: TorchTensor): TorchTensor;
  scatter_add(dim: number, index: TorchTensor, source: TorchTensor): TorchTensor;
  index_select(dim: number, index: TorchTensor): TorchTensor;
  scatter(dim: number, index: TorchTensor, source: TorchTensor): TorchTensor;
}

/** Functions of `torch`. */
export interface Torch {
  readonly nn: { readonly functional: TorchFunctional };
  add(a: TorchOperand, b: TorchOperand): TorchTensor;
  sub(a: TorchOperand, b: TorchOperand): TorchTensor;
  mul(a: TorchOperand, b: TorchOperand): TorchTensor;
  div(a: TorchOperand, b: TorchOperand): TorchTensor;
  matmul(a: TorchTensor, b: TorchTensor): TorchTensor;
  bmm(a: TorchTensor, b: TorchTensor): TorchTensor;
  addmm(input: TorchTensor, a: TorchTensor, b: TorchTensor): TorchTensor;
  outer(a: TorchTensor, b: TorchTensor): TorchTensor;
  einsum(equation: string, ...operands: readonly TorchTensor[]): TorchTensor;
  exp(x: TorchTensor): TorchTensor;
  exp2(x: TorchTensor): TorchTensor;
  log(x: TorchTensor): TorchTensor;
  log2(x: TorchTensor): TorchTensor;
  log10(x: TorchTensor): TorchTensor;
  log1p(x: TorchTensor): TorchTensor;
  expm1(x: TorchTensor): TorchTensor;
  reciprocal(x: TorchTensor): TorchTensor;
  sign(x: TorchTensor): TorchTensor;
  square(x: TorchTensor): TorchTensor;
  floor(x: TorchTensor): TorchTensor;
  ceil(x: TorchTensor): TorchTensor;
  round(x: TorchTensor): TorchTensor;
  trunc(x: TorchTensor): TorchTensor;
  isnan(x: TorchTensor): TorchTensor;
  isinf(x: TorchTensor): TorchTensor;
  isfinite(x: TorchTensor): TorchTensor;
  nan_to_num(x: TorchTensor, nan?: number, posinf?: number, neginf?: number): TorchTensor;
  pow(x: TorchTensor, exponent: TorchOperand): TorchTensor;
  remainder(x: TorchTensor, y: TorchOperand): TorchTensor;
  fmod(x: TorchTensor, y: TorchOperand): TorchTensor;
  floor_divide(x: TorchTensor, y: TorchOperand): TorchTensor;
  atan2(y: TorchTensor, x: TorchTensor): TorchTensor;
  hypot(x: TorchTensor, y: TorchTensor): TorchTensor;
  tan(x: TorchTensor): TorchTensor;
  asin(x: TorchTensor): TorchTensor;
  acos(x: TorchTensor): TorchTensor;
  atan(x: TorchTensor): TorchTensor;
  sinh(x: TorchTensor): TorchTensor;
  cosh(x: TorchTensor): TorchTensor;
  sin(x: TorchTensor): TorchTensor;
  cos(x: TorchTensor): TorchTensor;
  tanh(x: TorchTensor): TorchTensor;
  erf(x: TorchTensor): TorchTensor;
  sqrt(x: TorchTensor): TorchTensor;
  rsqrt(x: TorchTensor): TorchTensor;
  abs(x: TorchTensor): TorchTensor;
  relu(x: TorchTensor): TorchTensor;
  sigmoid(x: TorchTensor): TorchTensor;
  softmax(x: TorchTensor, dim: number, keywords?: { dtype?: TorchDType }): TorchTensor;
  log_softmax(x: TorchTensor, dim: number): TorchTensor;
  logsumexp(x: TorchTensor, dim: Axis, keywords?: ReduceKeywords): TorchTensor;
  sum(x: TorchTensor, dim?: Axis, keywords?: ReduceKeywords): TorchTensor;
  mean(x: TorchTensor, dim?: Axis, keywords?: ReduceKeywords): TorchTensor;
  amax(x: TorchTensor, dim?: Axis, keywords?: ReduceKeywords): TorchTensor;
  amin(x: TorchTensor, dim?: Axis, keywords?: ReduceKeywords): TorchTensor;
  argmax(x: TorchTensor, dim?: number, keywords?: { keepdim?: boolean }): TorchTensor;
  argmin(x: TorchTensor, dim?: number, keywords?: { keepdim?: boolean }): TorchTensor;
  max(x: TorchTensor): TorchTensor;
  max(x: TorchTensor, dim: number, keywords?: { keepdim?: boolean }): TorchPair;
  min(x: TorchTensor): TorchTensor;
  min(x: TorchTensor, dim: number, keywords?: { keepdim?: boolean }): TorchPair;
  all(x: TorchTensor, dim?: number, keywords?: { keepdim?: boolean }): TorchTensor;
  any(x: TorchTensor, dim?: number, keywords?: { keepdim?: boolean }): TorchTensor;
  prod(x: TorchTensor, dim?: number, keywords?: ReduceKeywords): TorchTensor;
  var(x: TorchTensor, dim?: Axis, keywords?: ReduceKeywords & { correction?: number }): TorchTensor;
  std(x: TorchTensor, dim?: Axis, keywords?: ReduceKeywords & { correction?: number }): TorchTensor;
  cumsum(x: TorchTensor, dim: number): TorchTensor;
  cumprod(x: TorchTensor, dim: number): TorchTensor;
  diff(x: TorchTensor, keywords?: { dim?: number }): TorchTensor;
  /** Folds rows that lie one after the other; `lengths` says how many each fold takes. */
  segment_reduce(
    x: TorchTensor,
    reduce: "sum" | "mean" | "max" | "min",
    keywords: { lengths: TorchTensor },
  ): TorchTensor;
  sort(x: TorchTensor, dim?: number, keywords?: { descending?: boolean }): TorchPair;
  sort(x: TorchTensor, keywords: { dim?: number; descending?: boolean; stable?: boolean }): TorchPair;
  topk(x: TorchTensor, k: number, dim?: number, keywords?: { largest?: boolean }): TorchPair;
  gather(x: TorchTensor, dim: number, index: TorchTensor): TorchTensor;
  take_along_dim(x: TorchTensor, indices: TorchTensor, dim: number): TorchTensor;
  index_select(x: TorchTensor, dim: number, index: TorchTensor): TorchTensor;
  scatter(x: TorchTensor, dim: number, index: TorchTensor, source: TorchTensor): TorchTensor;
  scatter_add(x: TorchTensor, dim: number, index: TorchTensor, source: TorchTensor): TorchTensor;
  logical_and(a: TorchTensor, b: TorchTensor): TorchTensor;
  logical_or(a: TorchTensor, b: TorchTensor): TorchTensor;
  logical_not(a: TorchTensor): TorchTensor;
  masked_fill(x: TorchTensor, mask: TorchTensor, value: TorchNumber): TorchTensor;
  maximum(a: TorchTensor, b: TorchTensor): TorchTensor;
  minimum(a: TorchTensor, b: TorchTensor): TorchTensor;
  clamp(x: TorchTensor, min?: TorchNumber, max?: TorchNumber): TorchTensor;
  where(condition: TorchTensor, x: TorchOperand, y: TorchOperand): TorchTensor;
  cat(tensors: readonly TorchTensor[], dim?: number): TorchTensor;
  stack(tensors: readonly TorchTensor[], dim?: number): TorchTensor;
  chunk(x: TorchTensor, chunks: number, dim?: number): TorchPieces;
  split(x: TorchTensor, size: number | readonly number[], dim?: number): TorchPieces;
  narrow(x: TorchTensor, dim: number, start: number, length: TorchNumber): TorchTensor;
  select(x: TorchTensor, dim: number, index: number): TorchTensor;
  flip(x: TorchTensor, dims: readonly number[]): TorchTensor;
  roll(x: TorchTensor, shifts: Shifts, dims?: Axis): TorchTensor;
  flatten(x: TorchTensor, start?: number, end?: number): TorchTensor;
  broadcast_to(x: TorchTensor, size: readonly TorchNumber[]): TorchTensor;
  repeat_interleave(x: TorchTensor, repeats: TorchNumber | TorchTensor, dim: number): TorchTensor;
  diagonal(x: TorchTensor): TorchTensor;
  transpose(x: TorchTensor, first: number, second: number): TorchTensor;
  tril(x: TorchTensor, diagonal?: number): TorchTensor;
  triu(x: TorchTensor, diagonal?: number): TorchTensor;
  zeros_like(x: TorchTensor, keywords?: MakeKeywords): TorchTensor;
  ones_like(x: TorchTensor, keywords?: MakeKeywords): TorchTensor;
  full_like(x: TorchTensor, value: TorchNumber, keywords?: MakeKeywords): TorchTensor;
  lerp(start: TorchTensor, end: TorchTensor, weight: TorchOperand): TorchTensor;
  argsort(x: TorchTensor, keywords?: { dim?: number; descending?: boolean; stable?: boolean }): TorchTensor;
  bincount(x: TorchTensor, keywords?: { minlength?: TorchNumber }): TorchTensor;
  /** The boundaries have rank 1. */
  searchsorted(boundaries: TorchTensor, x: TorchTensor, keywords?: { right?: boolean }): TorchTensor;

  // On the device of the kernel's tensors.
  arange(end: TorchNumber, keywords?: { dtype?: TorchDType }): TorchTensor;
  full(shape: TorchShape, value: TorchNumber, keywords?: { dtype?: TorchDType }): TorchTensor;
  ones(shape: TorchShape, keywords?: { dtype?: TorchDType }): TorchTensor;
  zeros(shape: TorchShape, keywords?: { dtype?: TorchDType }): TorchTensor;

  // Random: for `inputs`.
  rand(shape: TorchShape): TorchTensor;
  randn(shape: TorchShape): TorchTensor;
  randint(low: TorchNumber, high: TorchNumber, shape: TorchShape): TorchTensor;
  randperm(n: TorchNumber): TorchTensor;
}

type Reduction = "none" | "mean" | "sum";
interface LossKeywords {
  reduction?: Reduction;
}
interface ClassLossKeywords extends LossKeywords {
  weight?: TorchTensor;
  ignore_index?: number;
}
interface ConvolutionKeywords {
  bias?: TorchTensor;
  stride?: Axis;
  padding?: Axis;
  dilation?: Axis;
  groups?: number;
}
type TorchShape = readonly TorchNumber[];

/** Functions of `torch.nn.functional`. */
export interface TorchFunctional {
  relu(x: TorchTensor): TorchTensor;
  gelu(x: TorchTensor, keywords?: { approximate?: "none" | "tanh" }): TorchTensor;
  silu(x: TorchTensor): TorchTensor;
  softplus(x: TorchTensor): TorchTensor;
  leaky_relu(x: TorchTensor, slope?: TorchNumber): TorchTensor;
  softmax(x: TorchTensor, keywords: { dim: number; dtype?: TorchDType }): TorchTensor;
  log_softmax(x: TorchTensor, keywords: { dim: number }): TorchTensor;
  layer_norm(
    x: TorchTensor,
    shape: readonly TorchNumber[],
    weight?: TorchTensor,
    bias?: TorchTensor,
    eps?: TorchNumber,
  ): TorchTensor;
  rms_norm(x: TorchTensor, shape: readonly TorchNumber[], weight?: TorchTensor, eps?: TorchNumber): TorchTensor;
  linear(x: TorchTensor, weight: TorchTensor, bias?: TorchTensor): TorchTensor;
  cross_entropy(
    x: TorchTensor,
    target: TorchTensor,
    keywords?: ClassLossKeywords & { label_smoothing?: number },
  ): TorchTensor;
  nll_loss(x: TorchTensor, target: TorchTensor, keywords?: ClassLossKeywords): TorchTensor;
  mse_loss(x: TorchTensor, target: TorchTensor, keywords?: LossKeywords): TorchTensor;
  l1_loss(x: TorchTensor, target: TorchTensor, keywords?: LossKeywords): TorchTensor;
  smooth_l1_loss(x: TorchTensor, target: TorchTensor, keywords?: LossKeywords): TorchTensor;
  binary_cross_entropy_with_logits(x: TorchTensor, target: TorchTensor, keywords?: LossKeywords): TorchTensor;
  kl_div(
    x: TorchTensor,
    target: TorchTensor,
    keywords?: { reduction?: Reduction | "batchmean"; log_target?: boolean },
  ): TorchTensor;
  conv1d(x: TorchTensor, weight: TorchTensor, keywords?: ConvolutionKeywords): TorchTensor;
  conv2d(x: TorchTensor, weight: TorchTensor, keywords?: ConvolutionKeywords): TorchTensor;
  embedding(index: TorchTensor, weight: TorchTensor): TorchTensor;
  one_hot(index: TorchTensor, classes: TorchNumber): TorchTensor;
  group_norm(x: TorchTensor, groups: number, weight?: TorchTensor, bias?: TorchTensor, eps?: TorchNumber): TorchTensor;
  normalize(x: TorchTensor, keywords?: { p?: number; dim?: number; eps?: number }): TorchTensor;
  glu(x: TorchTensor, dim?: number): TorchTensor;
  elu(x: TorchTensor, alpha?: TorchNumber): TorchTensor;
  relu6(x: TorchTensor): TorchTensor;
  hardswish(x: TorchTensor): TorchTensor;
  logsigmoid(x: TorchTensor): TorchTensor;
  mish(x: TorchTensor): TorchTensor;
  scaled_dot_product_attention(
    q: TorchTensor,
    k: TorchTensor,
    v: TorchTensor,
    keywords?: { is_causal?: boolean | TorchScalar; scale?: TorchNumber; attn_mask?: TorchTensor },
  ): TorchTensor;
  max_pool3d(
    x: TorchTensor,
    kernel: TorchNumber,
    stride?: TorchNumber,
    padding?: TorchNumber,
    keywords?: { return_indices?: false },
  ): TorchTensor;
  /** The maxima, and the place of each in its volume. */
  max_pool3d(
    x: TorchTensor,
    kernel: TorchNumber,
    stride: TorchNumber | undefined,
    padding: TorchNumber | undefined,
    keywords: { return_indices: true },
  ): readonly [TorchTensor, TorchTensor];
}

/** What a reference returns: the output, or the outputs by name or in order. */
export type TorchResult = TorchTensor | { readonly [output: string]: TorchTensor } | readonly TorchTensor[];
