/**
 * Replacements for names of Triton, PyTorch and NumPy that TileScript does not have. The types and the build use the
 * same tables. `src/dsl/unknown-names.ts` finds misspelled names.
 */
import type { Problem } from "./rule-error.js";

const descriptorInstead = "tl.makeTensorDescriptor(x, [BLOCK]), or x.at(i, j), whose mask follows from the tensor";

/** Functions that `tl` does not have. */
export const unsupportedFunctions = {
  tanh: "libdevice.tanh(x)",
  pow: "libdevice.pow(x, y), or x.mul(x) for a square",
  isnan: "x.ne(x)",
  mean: "tl.sum(x, axis).div(N)",
  var: "tl.sum(d.mul(d), axis).div(N) with d = x.sub(mean)",
  std: "tl.sqrt(tl.sum(d.mul(d), axis).div(N)) with d = x.sub(mean)",
  square: "x.mul(x)",
  matmul: "tl.dot(x, y)",
  mm: "tl.dot(x, y)",
  concat: "tl.cat(x, y)",
  stack: "tl.join(x, y)",
  clip: "tl.clamp(x, low, high)",
  round: "libdevice.rint(x)",
  tensor: "tl.full(shape, value, dtype), or tl.join(x, y)",
  print: 'tl.devicePrint("x", x)',
  transpose: "x.T, or x.permute([1, 0])",
  static_print: "console.log(x), which shows its dtype and shape",
  argsort: "tl.sort(x.to(tl.int64).mul(n).add(i)).mod(n), for integers x from 0 on and their indices i below n",
  ones: "tl.full(shape, 1, dtype)",
  empty: "tl.zeros(shape, dtype)",
  any: "tl.max(x.to(tl.int32), axis).ne(0)",
  all: "tl.min(x.to(tl.int32), axis).ne(0)",
  make_block_ptr: descriptorInstead,
  makeBlockPtr: descriptorInstead,
  syncthreads: "tl.debugBarrier()",
  advance: "the next indices, x.at(i.add(BLOCK))",
} as const;

const libdeviceInstead = 'libdevice.tanh(x) and so on, after import { libdevice } from "tilescript"';

/** Properties that `tl` does not have. */
export const foreignConstants = {
  fp16: "tl.float16",
  half: "tl.float16",
  bf16: "tl.bfloat16",
  fp32: "tl.float32",
  float: "tl.float32",
  fp64: "tl.float64",
  double: "tl.float64",
  bool: "tl.int1",
  int: "tl.int32",
  long: "tl.int64",
  float8e4m3fn: "tl.float8e4nv",
  float8_e4m3fn: "tl.float8e4nv",
  float8e5m2: "tl.float8e5",
  float8_e5m2: "tl.float8e5",
  fp8e4nv: "tl.float8e4nv",
  fp8e5: "tl.float8e5",
  constexpr: "constexpr() among the params",
  math: "tl.exp(x), tl.rsqrt(x) and so on, or libdevice",
  libdevice: libdeviceInstead,
  extra: libdeviceInstead,
} as const;

/** Numbers that `tl` does not have. They have no type-level message, because the checker allows `-` on a string. */
export const foreignNumbers = { inf: "JavaScript's Infinity", nan: "JavaScript's NaN" } as const;

const everyLane = "x.mul(2) and the like, which compute with every element";

const itself = "x itself, which nothing changes";

/** Methods that a tile does not have. */
export const foreignMethods = {
  astype: "x.to(dtype)",
  type: "x.to(dtype)",
  half: "x.to(tl.float16)",
  bfloat16: "x.to(tl.bfloat16)",
  float: "x.to(tl.float32)",
  double: "x.to(tl.float64)",
  int: "x.to(tl.int32)",
  long: "x.to(tl.int64)",
  bool: "x.ne(0)",
  tanh: unsupportedFunctions.tanh,
  pow: unsupportedFunctions.pow,
  isnan: unsupportedFunctions.isnan,
  mean: unsupportedFunctions.mean,
  matmul: unsupportedFunctions.matmul,
  mm: unsupportedFunctions.matmul,
  dot: unsupportedFunctions.matmul,
  round: unsupportedFunctions.round,
  sort: "tl.sort(x)",
  squeeze: "x.reshape([BLOCK])",
  flatten: "x.ravel()",
  clone: itself,
  contiguous: itself,
  unsqueeze: "x.expandDims(axis), x.col or x.row",
  transpose: unsupportedFunctions.transpose,
  where: "tl.where(condition, x, y)",
  masked_fill: "tl.where(mask, value, x)",
  maskedFill: "tl.where(mask, value, x)",
  argsort: unsupportedFunctions.argsort,
  any: unsupportedFunctions.any,
  all: unsupportedFunctions.all,
  logical_not: "x.not()",
  bitwise_and: "x.and(y)",
  bitwise_or: "x.or(y)",
  bitwise_xor: "x.xor(y)",
  lshift: "x.shl(y)",
  rshift: "x.shr(y)",
  at: "tl.load(t.at(i)) of the tensor t, which loads one element",
  clip: "x.clamp(low, high)",
  size: "x.shape",
  numel: "the product of x.shape",
  forEach: everyLane,
  map: everyLane,
  filter: "tl.where(condition, x, 0), which keeps the tile's shape",
} as const;

const byIndex = "tl.load(x.at(i, j)), one index for each axis";
const bySize = "the size's own name, which the kernel's function takes: ({ x, N }) => …";

const storeInstead = "tl.store(x.at(i, j), value), one index for each axis";

/** Methods that a tensor does not have. */
export const foreignToTensors = {
  load: byIndex,
  store: storeInstead,
  add: "x.at(i, j), one index for each axis, or x.ptr.add(offsets)",
  size: bySize,
  numel: bySize,
  set: storeInstead,
  data_ptr: "x.ptr",
} as const;

/** Properties that a tensor does not have. */
export const foreignTensorFacts = {
  shape: bySize,
  strides: "x.stride(axis)",
  ndim: "the number that you declared",
} as const;

/** Methods that a pointer does not have. */
export const foreignToPointers = {
  at: "x.add(i), or declare it tensor(dtype, dims) instead of pointer(dtype)",
  load: "tl.load(x.add(i))",
  store: "tl.store(x.add(i), value)",
} as const;

/** Methods that a number of a reference does not have. */
export const foreignToNumbers = {
  neg: "x.mul(-1)",
  abs: "x.ge(0).choose(x, x.mul(-1))",
  sqrt: "x.pow(0.5)",
  square: "x.pow(2)",
} as const;

/** Methods that a view does not have. */
export const foreignToViews = {
  load: "tl.load(x.at(i, j))",
  store: "tl.store(x.at(i, j), value)",
  set: "tl.store(x.at(i, j), value)",
  add: "tl.load(x.at(i, j)).add(y)",
  sub: "tl.load(x.at(i, j)).sub(y)",
  mul: "tl.load(x.at(i, j)).mul(y)",
  div: "tl.load(x.at(i, j)).div(y)",
} as const;

/** PyTorch's dtypes, which references must write as those of `tl`. */
export const foreignDTypes = {
  float16: "tl.float16",
  half: "tl.float16",
  bfloat16: "tl.bfloat16",
  float32: "tl.float32",
  float: "tl.float32",
  float64: "tl.float64",
  double: "tl.float64",
  int8: "tl.int8",
  uint8: "tl.uint8",
  int32: "tl.int32",
  int: "tl.int32",
  int64: "tl.int64",
  long: "tl.int64",
  bool: "tl.int1",
  float8_e4m3fn: "tl.float8e4nv",
  float8_e5m2: "tl.float8e5",
} as const;

type Table = Readonly<Record<string, string>>;
type Sentence<
  Name extends string,
  Of extends string,
  Instead extends string,
> = `${Name}: ${Of} has none; write ${Instead}`;

/** Missing methods. The message is the type of their `this`, so the checker reports it at the call and only there. */
export type ForeignCalls<Names extends Table, Of extends string> = {
  readonly [Name in keyof Names & string]: (this: Sentence<Name, Of, Names[Name]>, ...args: any) => any;
};
/** Missing properties. Their type contains the message. */
export type ForeignFacts<Names extends Table, Of extends string> = {
  readonly [Name in keyof Names & string]: Problem<Sentence<Name, Of, Names[Name]>>;
};
