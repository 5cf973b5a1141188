/** Inputs for random kernels: mostly small numbers that meet each other, with zeros of both signs, extremes, NaN. */
import type { TensorData, TensorSignature } from "../../../src/compiled/compiled-kernel.js";
import { uniform } from "../../../src/numerics/random.js";
import { sizeOf } from "../../../src/numerics/array.js";
import { type DTypeName, dtypeTable, isSigned } from "../../../src/types/dtype.js";
import { allocate } from "../../../src/numerics/buffer-pool.js";
import { type BigData, isBig, isFloat, type NumberData } from "../../../src/numerics/numeric-int.js";
import { round } from "../../../src/numerics/numeric-float.js";

const LARGEST: Partial<Record<DTypeName, number>> = {
  float16: 65504,
  bfloat16: 2 ** 127,
  float32: 2 ** 127,
  float64: 2 ** 1000,
};
const SMALLEST: Partial<Record<DTypeName, number>> = {
  float16: 2 ** -24,
  bfloat16: 2 ** -133,
  float32: 2 ** -149,
  float64: 2 ** -1070,
};

export function inputFor(
  { dtype: named, dims }: Pick<TensorSignature, "dtype" | "dims">,
  sizes: Readonly<Record<string, number>>,
  seed: number,
): TensorData {
  const dtype = named as DTypeName;
  const shape = dims.map((dim) => (typeof dim === "number" ? dim : sizes[dim]!));
  const random = uniform(seed);
  const data = allocate(dtype, sizeOf(shape));
  if (isBig(dtype)) for (let i = 0; i < data.length; i++) (data as BigData)[i] = integer(dtype, random);
  else if (isFloat(dtype))
    for (let i = 0; i < data.length; i++) (data as NumberData)[i] = round(dtype)(float(dtype, random));
  else for (let i = 0; i < data.length; i++) (data as NumberData)[i] = Number(integer(dtype, random));
  return { dtype, shape, data };
}

function integer(dtype: DTypeName, random: () => number): bigint {
  if (dtype === "int1") return random() < 0.5 ? 0n : 1n;
  const bits = BigInt(dtypeTable[dtype].bits);
  const [low, high] = isSigned(dtype) ? [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n] : [0n, (1n << bits) - 1n];
  const kind = random();
  if (kind < 0.7) return BigInt(Math.floor(random() * 12) - (isSigned(dtype) ? 6 : 0));
  if (kind < 0.8) return [low, high, 0n, 1n][Math.floor(random() * 4)]!;
  return BigInt.asIntN(
    64,
    low + ((BigInt(Math.floor(random() * 2 ** 52)) << (bits > 52n ? bits - 52n : 0n)) % (high - low + 1n)),
  );
}

function float(dtype: DTypeName, random: () => number): number {
  const kind = random();
  if (kind < 0.6) return (Math.floor(random() * 129) - 64) / 8;
  if (kind < 0.85) return (random() - 0.5) * 2 ** Math.floor(random() * 12 - 4);
  const [largest, smallest] = [LARGEST[dtype]!, SMALLEST[dtype]!];
  const special = [0, -0, Infinity, -Infinity, NaN, largest, -largest, smallest, -smallest, 3 * smallest];
  return special[Math.floor(random() * special.length)]!;
}
