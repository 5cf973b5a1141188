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
  if (isFloat(dtype)) {
    const [next, rounded] = [normal(random), round(dtype)];
    for (let i = 0; i < data.length; i++) (data as NumberData)[i] = rounded(next());
    return { dtype, shape, data };
  }
  const [low, end] = tensor.range?.map(number) ?? smallRange(dtype);
  const next = (): number => low! + Math.floor(random() * (end! - low!));
  if (isBig(dtype)) for (let i = 0; i < data.length; i++) (data as BigData)[i] = BigInt(next());
  else for (let i = 0; i < data.length; i++) (data as NumberData)[i] = next();
  return { dtype, shape, data };
}

function smallRange(dtype: DTypeName): readonly [number, number] {
  if (dtype === "int1") return [0, 2];
  return [isSigned(dtype) ? -SMALL : 0, SMALL + 1];
}
