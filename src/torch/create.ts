/** Functions that create tensors: constant, a range, or random. */
import { sizeOf } from "../numerics/array.js";
import { normal, shuffled } from "../numerics/seeded-random.js";
import { scalarArray, torchArray, type TorchArray, type TorchValue } from "./array.js";
import { array, numbers } from "./call.js";
import { castTo } from "./cast.js";
import { inTorch, type TorchFunction } from "./record.js";
import type { TorchDType, TorchNumber, TorchShape, TorchTensor } from "./values.js";

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
