/** Functions that create tensors: constant, a range, or random. */
import { sizeOf, tileArray, cast } from "../numerics/array.js";
import { normal, shuffled } from "../numerics/random.js";
import { scalarArray, torchArray, type TorchArray, type TorchValue, TorchError } from "./array.js";
import { inTorch, type TorchFunction, method, array, numbers } from "./record.js";
import type { TorchDType, TorchNumber, TorchShape, TorchTensor } from "./values.js";
import { type DTypeName, dtypeTable, dtypeNames } from "../types/dtype.js";
// Casts in references. In float64, a cast to a wider type has no effect; a cast to a narrower type rounds.

/** Dtypes by their torch and Triton names. The recorder does not use aliases such as `torch.half`. */
const dtypesByName: ReadonlyMap<string, DTypeName> = new Map(
  dtypeNames.flatMap((name) => [[name, name] as const, [dtypeTable[name].torch, name] as const]),
);

/**
 * PyTorch saturates only casts to this dtype. In other float dtypes overflow gives infinity, or NaN if the dtype has no
 * infinity.
 */
const CLAMPED: ReadonlySet<DTypeName> = new Set(["float8e4nv"]);

/** @throws TorchError if there is no such dtype. */
function castTo(x: TorchArray, name: string): TorchArray {
  const dtype = dtypesByName.get(name.replace(/^(torch|tl)\./, ""));
  if (!dtype) throw new TorchError(`${name} is no dtype`);
  if (dtype === "float32" || dtype === "float64") return x;
  const { data } = cast(tileArray("float64", x.shape, x.data), dtype, CLAMPED.has(dtype) ? {} : { saturate: false });
  return torchArray(x.shape, Float64Array.from(data as ArrayLike<number | bigint>, Number));
}

/** Casts to floats round, unless the reference is evaluated unrounded. */
const castFunction = (dtype: DTypeName, truth?: "always"): TorchFunction => ({
  params: ["input"],
  castDType: dtype,
  run: ({ input }) => castTo(array(input), dtype),
  ...(truth && { truth }),
});

type Cast = () => TorchTensor;

export const casts = {
  float: method<Cast>(castFunction("float32")),
  double: method<Cast>(castFunction("float64")),
  half: method<Cast>(castFunction("float16")),
  bfloat16: method<Cast>(castFunction("bfloat16")),
  int: method<Cast>(castFunction("int32")),
  long: method<Cast>(castFunction("int64")),
  bool: method<Cast>(castFunction("int1", "always")),
  to: method<(dtype: TorchDType) => TorchTensor>({
    params: ["input", "dtype"],
    dtypeParam: "dtype",
    run: ({ input, dtype }) => castTo(array(input), String(dtype)),
  }),
};

interface MakeKeywords {
  dtype?: TorchDType;
}
type Make = (size: TorchShape, keywords?: MakeKeywords) => TorchTensor;
type MakeLike = (input: TorchTensor, keywords?: MakeKeywords) => TorchTensor;
interface Range {
  (end: TorchNumber, keywords?: MakeKeywords): TorchTensor;
  (start: TorchNumber, end: TorchNumber, keywords?: MakeKeywords): TorchTensor;
  (start: TorchNumber, end: TorchNumber, step: TorchNumber, keywords?: MakeKeywords): TorchTensor;
}
type Draw = (size: TorchShape) => TorchTensor;

const RANDOM = { isFactory: true, isRandom: true } as const;

function generate(shape: TorchValue, value: (i: number) => number): TorchArray {
  const sizes = numbers(shape);
  const data = new Float64Array(sizeOf(sizes));
  for (let i = 0; i < data.length; i++) data[i] = value(i);
  return torchArray(sizes, data);
}

/** A value in a dtype, which only affects its rounding. */
const elementOf = (value: number, dtype: TorchValue): number =>
  (dtype === undefined ? undefined : castTo(scalarArray(value), String(dtype)).data[0]) ?? value;

/** A constant tensor. */
function fill(shape: TorchValue, value: number, dtype: TorchValue): TorchArray {
  const sizes = numbers(shape);
  return torchArray(sizes, new Float64Array(sizeOf(sizes)).fill(elementOf(value, dtype)));
}

/** Uninitialized memory. NaN, or an unlikely integer, makes its use visible. */
const uninitialized = (shape: TorchValue, dtype: TorchValue): TorchArray =>
  fill(shape, Number.isNaN(elementOf(NaN, dtype)) ? NaN : 85, dtype);

const constantFunction = (value: number): TorchFunction => ({
  params: ["size", "dtype"],
  run: ({ size, dtype }) => fill(size, value, dtype),
  isFactory: true,
});
const constantLikeFunction = (value: number): TorchFunction => ({
  params: ["input", "dtype"],
  run: ({ input, dtype }) => fill(array(input).shape, value, dtype),
  truth: ["input"],
});

/** Functions that create a tensor from no other place it on the device of the kernel's tensors. */
export const creation = {
  /** `start, start + step, …` below the end. With one argument, `start` is 0. */
  arange: inTorch<Range>({
    params: ["start", "end", "step", "dtype"],
    run({ start = 0, end, step = 1 }) {
      const [from, to] = end === undefined ? [0, Number(start)] : [Number(start), Number(end)];
      return generate([Math.max(0, Math.ceil((to - from) / Number(step)))], (i) => from + i * Number(step));
    },
    integers: [],
    isWidening: true,
    isFactory: true,
  }),
  /** An uninitialized tensor, for outputs of an operator's kernels. */
  empty: inTorch<Make>({
    params: ["size", "dtype"],
    run: ({ size, dtype }) => uninitialized(size, dtype),
    isFactory: true,
    isUninitialized: true,
  }),
  full: inTorch<(size: TorchShape, fill_value: TorchNumber, keywords?: MakeKeywords) => TorchTensor>({
    params: ["size", "fill_value", "dtype"],
    required: ["fill_value"],
    run: ({ size, fill_value: value, dtype }) => fill(size, Number(value), dtype),
    truth: ["fill_value"],
    isFactory: true,
  }),
  full_like: inTorch<(input: TorchTensor, fill_value: TorchNumber, keywords?: MakeKeywords) => TorchTensor>({
    params: ["input", "fill_value", "dtype"],
    required: ["fill_value"],
    run: ({ input, fill_value: value, dtype }) => fill(array(input).shape, Number(value), dtype),
    truth: ["input"],
  }),
  ones: inTorch<Make>(constantFunction(1)),
  ones_like: inTorch<MakeLike>(constantLikeFunction(1)),
  zeros: inTorch<Make>(constantFunction(0)),
  zeros_like: inTorch<MakeLike>(constantLikeFunction(0)),
  /** Uniform in [0, 1). Only for `inputs`. */
  rand: inTorch<Draw>({ params: ["size"], run: ({ size }, random) => generate(size, random), ...RANDOM }),
  /** Normal with mean 0 and variance 1. Only for `inputs`. */
  randn: inTorch<Draw>({ params: ["size"], run: ({ size }, random) => generate(size, normal(random)), ...RANDOM }),
  /** Integers from `low` up to, but not including, `high`. Only for `inputs`. */
  randint: inTorch<(low: TorchNumber, high: TorchNumber, size: TorchShape) => TorchTensor>({
    params: ["low", "high", "size"],
    run: ({ low, high, size }, random) =>
      generate(size, () => Number(low) + Math.floor(random() * (Number(high) - Number(low)))),
    ...RANDOM,
  }),
  /** The integers below `n` in random order. Only for `inputs`. */
  randperm: inTorch<(n: TorchNumber) => TorchTensor>({
    params: ["n"],
    run: ({ n }, random) => torchArray([Number(n)], Float64Array.from(shuffled(Number(n), random))),
    ...RANDOM,
  }),
};
