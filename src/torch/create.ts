/** Functions of torch that make tensors: of one value, of a range, and random ones. */
import { sizeOf } from "../numerics/array.js";
import { normal, shuffled } from "../numerics/seeded-random.js";
import { torchArray, type TorchArray } from "./array.js";
import { array, numbers, type TorchValue } from "./call.js";
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

const RANDOM = { makes: true, draws: true } as const;

function made(shape: TorchValue, value: (i: number) => number): TorchArray {
  const sizes = numbers(shape);
  return torchArray(
    sizes,
    Float64Array.from({ length: sizeOf(sizes) }, (_, i) => value(i)),
  );
}

/** A tensor of one value. A dtype changes no more than how a fraction is held. */
function filled(shape: TorchValue, value: number, dtype: TorchValue): TorchArray {
  const whole = made(shape, () => value);
  return dtype === undefined ? whole : castTo(whole, String(dtype));
}

const making = (value: number): TorchFunction => ({
  params: ["size", "dtype"],
  run: ({ size, dtype }) => filled(size, value, dtype),
  makes: true,
});
/** What memory holds that nothing has set: NaN shows wherever it is used, and so does a number that no kernel makes. */
function unset(shape: TorchValue, dtype: TorchValue): TorchArray {
  const floats = filled(shape, NaN, dtype);
  return floats.data.every(Number.isNaN) ? floats : filled(shape, 85, dtype);
}

const makingLike = (value: number): TorchFunction => ({
  params: ["input", "dtype"],
  run: ({ input, dtype }) => filled(array(input).shape, value, dtype),
  truth: ["input"],
});

/** Tensors of their own lie on the device of the kernel's tensors. */
export const creation = {
  /** `start, start + step, …` below the end; from 0 with one number. */
  arange: inTorch<Range>({
    params: ["start", "end", "step", "dtype"],
    run({ start = 0, end, step = 1 }) {
      const [from, to] = end === undefined ? [0, Number(start)] : [Number(start), Number(end)];
      return made([Math.max(0, Math.ceil((to - from) / Number(step)))], (i) => from + i * Number(step));
    },
    integers: [],
    widens: true,
    makes: true,
  }),
  /** Elements that nothing has set yet: for tensors that the kernels of an operator write. */
  empty: inTorch<Make>({
    params: ["size", "dtype"],
    run: ({ size, dtype }) => unset(size, dtype),
    makes: true,
    unset: true,
  }),
  full: inTorch<(size: TorchShape, fill_value: TorchNumber, keywords?: MakeKeywords) => TorchTensor>({
    params: ["size", "fill_value", "dtype"],
    needs: ["fill_value"],
    run: ({ size, fill_value: value, dtype }) => filled(size, Number(value), dtype),
    truth: ["fill_value"],
    makes: true,
  }),
  full_like: inTorch<(input: TorchTensor, fill_value: TorchNumber, keywords?: MakeKeywords) => TorchTensor>({
    params: ["input", "fill_value", "dtype"],
    needs: ["fill_value"],
    run: ({ input, fill_value: value, dtype }) => filled(array(input).shape, Number(value), dtype),
    truth: ["input"],
  }),
  ones: inTorch<Make>(making(1)),
  ones_like: inTorch<MakeLike>(makingLike(1)),
  zeros: inTorch<Make>(making(0)),
  zeros_like: inTorch<MakeLike>(makingLike(0)),
  /** Uniform in [0, 1). For `inputs`. */
  rand: inTorch<Draw>({ params: ["size"], run: ({ size }, random) => made(size, random), ...RANDOM }),
  /** Of mean 0 and variance 1. For `inputs`. */
  randn: inTorch<Draw>({ params: ["size"], run: ({ size }, random) => made(size, normal(random)), ...RANDOM }),
  /** Integers from `low` up to, but not including, `high`. For `inputs`. */
  randint: inTorch<(low: TorchNumber, high: TorchNumber, size: TorchShape) => TorchTensor>({
    params: ["low", "high", "size"],
    run: ({ low, high, size }, random) =>
      made(size, () => Number(low) + Math.floor(random() * (Number(high) - Number(low)))),
    ...RANDOM,
  }),
  /** The numbers below `n` in a random order. For `inputs`. */
  randperm: inTorch<(n: TorchNumber) => TorchTensor>({
    params: ["n"],
    run: ({ n }, random) => torchArray([Number(n)], Float64Array.from(shuffled(Number(n), random))),
    ...RANDOM,
  }),
};
