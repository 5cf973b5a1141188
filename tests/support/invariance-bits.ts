/** Compares the bits of a kernel's outputs in launches that differ in the size of an axis, or in other rows. */
import type { TensorData, TestCase } from "../../src/compiled/compiled-kernel.js";
import { signatureOf } from "../../src/codegen/module/signature.js";
import { sizesOf } from "../../src/eval/bindings.js";
import { estimateWork } from "../../src/eval/cost-estimate.js";
import { evaluateCase, inputsOf } from "../../src/eval/evaluate-case.js";
import { refusal } from "../../src/eval/refusal.js";
import { type KernelIR, type TensorParam, tensorsOf } from "../../src/ir/nodes.js";
import { toBytes } from "../../src/numerics/numeric-bits.js";
import type { DTypeName } from "../../src/types/dtype.js";
import { loweredOf } from "./traced-examples.js";

const MAX_LANES = 4e6;

/** The axes of a tensor that have a size. */
const axesOf = ({ dimNames }: TensorParam, size: string): readonly number[] =>
  dimNames.flatMap((name, axis) => (name === size ? [axis] : []));

/** The index of each element, in the order of memory. */
function* indices(shape: readonly number[]): Generator<readonly number[]> {
  const total = shape.reduce((product, dim) => product * dim, 1);
  for (let flat = 0; flat < total; flat++) {
    let rest = flat;
    yield shape
      .toReversed()
      .map((dim) => {
        const index = rest % dim;
        rest = Math.floor(rest / dim);
        return index;
      })
      .toReversed();
  }
}

const flatOf = (shape: readonly number[], index: readonly number[]): number =>
  index.reduce((flat, place, axis) => flat * (shape[axis] ?? 1) + place, 0);

/** The first elements of a tensor along some axes. */
function sliced({ dtype, shape, data }: TensorData, axes: readonly number[], size: number): TensorData {
  const small = shape.map((dim, axis) => (axes.includes(axis) ? size : dim));
  const values = [...indices(small)].map((index) => data[flatOf(shape, index)]!);
  return { dtype, shape: small, data: refilled(data, values) };
}

/** A tensor with other floats in the rows before one, of those that it has. */
function changed({ dtype, shape, data }: TensorData, axes: readonly number[], row: number): TensorData {
  const isFloat = !/int/.test(dtype);
  const values = [...indices(shape)].map((index, flat) => {
    const value = data[flat]!;
    const isOther = axes.some((axis) => index[axis]! < row);
    return isOther && isFloat ? data[(flat + 1) % data.length]! : value;
  });
  return { dtype, shape, data: refilled(data, values) };
}

/** An array of the same kind with other values. */
const refilled = (data: TensorData["data"], values: readonly (number | bigint)[]): TensorData["data"] =>
  Object.assign(Reflect.construct(data.constructor, [values.length]) as TensorData["data"], values);

const bitsAt = ({ dtype, shape, data }: TensorData, index: readonly number[]): string => {
  const flat = flatOf(shape, index);
  return [...toBytes(dtype as DTypeName, data.slice(flat, flat + 1) as TensorData["data"])].join();
};

/** The case with another size, if a launch takes it. */
function resized(ir: KernelIR, testCase: TestCase, size: string, to: number): TestCase | undefined {
  const other = { ...testCase, sizes: { ...testCase.sizes, [size]: to } };
  try {
    if (refusal(loweredOf(ir), other) !== undefined || estimateWork(ir, other).lanes > MAX_LANES) return undefined;
    sizesOf(ir, other);
    return other;
  } catch {
    return undefined;
  }
}

/** An element whose bits differ, as text. Undefined if there is none, or if no two launches can be compared. */
export function differingBits(
  ir: KernelIR,
  small: TestCase,
  size: string,
  outputs: readonly string[],
): { readonly compared: number; readonly difference?: string } {
  const start = small.sizes[size] ?? 0;
  const signature = signatureOf(loweredOf(ir));
  let compared = 0;
  for (const to of [start + 1, 2 * start + 1, 4 * start + 16]) {
    const large = resized(ir, small, size, to);
    if (!large) continue;
    const inputs = inputsOf(ir, signature, large);
    const smallInputs = mapTensors(ir, inputs, (tensor, data) => sliced(data, axesOf(tensor, size), start));
    const row = Math.max(1, Math.floor(to / 2));
    const otherInputs = mapTensors(ir, inputs, (tensor, data) => changed(data, axesOf(tensor, size), row));
    const [a, b, c] = [
      evaluateCase(ir, signature, small, undefined, { inputs: smallInputs }),
      evaluateCase(ir, signature, large, undefined, { inputs }),
      evaluateCase(ir, signature, large, undefined, { inputs: otherInputs }),
    ].map((each) => each.outputs);
    for (const output of tensorsOf(ir, "out", "inout").filter(({ name }) => outputs.includes(name))) {
      const { name } = output;
      const axes = axesOf(output, size);
      const [x, y, z] = [a?.[name], b?.[name], c?.[name]];
      if (!x || !y || !z) continue;
      compared++;
      for (const index of indices(x.shape))
        if (bitsAt(x, index) !== bitsAt(y, index))
          return { compared, difference: `${name}[${index.join()}] with ${size}=${start} and ${to}` };
      for (const index of indices(y.shape))
        if (axes.every((axis) => index[axis]! >= row) && bitsAt(y, index) !== bitsAt(z, index))
          return { compared, difference: `${name}[${index.join()}] with other rows, ${size}=${to}` };
    }
  }
  return { compared };
}

const mapTensors = (
  ir: KernelIR,
  inputs: Readonly<Record<string, TensorData>>,
  change: (tensor: TensorParam, data: TensorData) => TensorData,
): Record<string, TensorData> =>
  Object.fromEntries(
    Object.entries(inputs).map(([name, data]) => {
      const tensor = tensorsOf(ir, "in", "inout").find((each) => each.name === name);
      return [name, tensor ? change(tensor, data) : data];
    }),
  );
