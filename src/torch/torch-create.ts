/** Functions of torch that make tensors: of one value, of a range, and random ones. */
import { sizeOf } from "../numerics/array.js";
import { normal, shuffled } from "../numerics/seeded-random.js";
import { torchArray, type TorchArray } from "./torch-array.js";
import { array, numbers, type TorchFunction, type TorchValue } from "./torch-call.js";
import { castTo } from "./torch-cast.js";

function made(shape: TorchValue, value: (i: number) => number): TorchArray {
  const sizes = numbers(shape);
  return torchArray(
    sizes,
    Float64Array.from({ length: sizeOf(sizes) }, (_, i) => value(i)),
  );
}

/** A tensor of one value. A dtype changes only how a fraction is held. */
function filled(shape: TorchValue, value: number, dtype: TorchValue): TorchArray {
  const whole = made(shape, () => value);
  return dtype === undefined ? whole : castTo(whole, String(dtype));
}

const making = (value: number): TorchFunction => ({
  params: ["size", "dtype"],
  run: ({ size, dtype }) => filled(size, value, dtype),
});
const makingLike = (value: number): TorchFunction => ({
  params: ["input", "dtype"],
  run: ({ input, dtype }) => filled(array(input).shape, value, dtype),
});

export const torchCreate: Readonly<Record<string, TorchFunction>> = {
  arange: { params: ["end", "dtype"], run: ({ end }) => made([Math.ceil(Number(end))], (i) => i) },
  full: {
    params: ["size", "fill_value", "dtype"],
    run: ({ size, fill_value: value, dtype }) => filled(size, Number(value), dtype),
  },
  full_like: {
    params: ["input", "fill_value", "dtype"],
    run: ({ input, fill_value: value, dtype }) => filled(array(input).shape, Number(value), dtype),
  },
  ones: making(1),
  ones_like: makingLike(1),
  zeros: making(0),
  zeros_like: makingLike(0),
  rand: { params: ["size"], run: ({ size }, random) => made(size, random) },
  randn: { params: ["size"], run: ({ size }, random) => made(size, normal(random)) },
  randint: {
    params: ["low", "high", "size"],
    run: ({ low, high, size }, random) =>
      made(size, () => Number(low) + Math.floor(random() * (Number(high) - Number(low)))),
  },
  randperm: {
    params: ["n"],
    run: ({ n }, random) => torchArray([Number(n)], Float64Array.from(shuffled(Number(n), random))),
  },
};
