/** Inputs that a kernel is tried with, drawn from the case's seed. */
import type { Case, Signature, TensorData, TensorSignature } from "../compiled.js";
import { sizeOf } from "../ir/array.js";
import { type DTypeName, isSigned } from "../ir/dtype.js";
import { allocate, isBig, isFloat, type BigData, type NumberData } from "../ir/numeric.js";
import { round } from "../ir/numeric-float.js";
import { normal, seedOf, uniform } from "./random.js";

/** Integers that index nothing stay small, so that sums of them are exact in any dtype. */
const SMALL = 8;

/** The tensors that a kernel reads. `sizes` are those of the case, and those computed from them. */
export function makeInputs(
  signature: Signature,
  at: Case,
  sizes: Readonly<Record<string, number>> = at.sizes,
): Record<string, TensorData> {
  const read = signature.tensors.filter((tensor) => tensor.role !== "out" && !at.absent?.includes(tensor.name));
  return Object.fromEntries(read.map((tensor) => [tensor.name, draw(tensor, at, sizes)]));
}

function draw(tensor: TensorSignature, at: Case, sizes: Readonly<Record<string, number>>): TensorData {
  const dtype = (typeof tensor.dtype === "string" ? tensor.dtype : at.dtypes[tensor.dtype.variable]) as DTypeName;
  const number = (size: number | string): number => (typeof size === "number" ? size : (sizes[size] ?? Number.NaN));
  const shape = tensor.dims.map(number);
  const data = allocate(dtype, sizeOf(shape));
  const random = uniform(seedOf(at.seed, tensor.name));
  const range = tensor.range?.map(number) as [number, number] | undefined;
  const between = ([low, end]: readonly [number, number]): number => low + random() * (end - low);
  if (isFloat(dtype)) {
    const [next, rounded] = [range ? () => between(range) : normal(random), round(dtype)];
    for (let i = 0; i < data.length; i++) (data as NumberData)[i] = rounded(next());
    return { dtype, shape, data };
  }
  const integer = (): number => Math.floor(between(range ?? smallRange(dtype)));
  const values =
    tensor.splits === undefined
      ? Array.from({ length: data.length }, integer)
      : splits(data.length, number(tensor.splits), random);
  if (isBig(dtype)) (data as BigData).set(values.map(BigInt));
  else (data as NumberData).set(values);
  return { dtype, shape, data };
}

/** Offsets of pieces of random lengths: they ascend from 0 to `end`. */
function splits(count: number, end: number, random: () => number): readonly number[] {
  const inner = Array.from({ length: Math.max(0, count - 2) }, () => Math.floor(random() * (end + 1)));
  return [0, ...inner.toSorted((x, y) => x - y), end].slice(0, count);
}

function smallRange(dtype: DTypeName): [number, number] {
  if (dtype === "int1") return [0, 2];
  return [isSigned(dtype) ? -SMALL : 0, SMALL + 1];
}
