/** Draws a case's inputs from its seed. */
import type {
  TestCase,
  PartitionSignature,
  Ranges,
  Signature,
  SpecialValue,
  TensorData,
  TensorSignature,
} from "../compiled/compiled-kernel.js";
import { sizeOf, tileArray } from "../numerics/array.js";
import { cast } from "../numerics/array-cast.js";
import { type DTypeName, isSigned } from "../types/dtype.js";
import { allocate } from "../numerics/buffer-pool.js";
import { isBig, isFloat, type BigData, type FloatDType, type NumberData } from "../numerics/numeric.js";
import { floatFormats, round } from "../numerics/numeric-float.js";
import type { KernelIR } from "../ir/nodes.js";
import { normal, seedOf, uniform } from "../numerics/seeded-random.js";
import { evaluateReference } from "../torch/evaluate-torch.js";
import type { ReferenceInputs, TorchNode } from "../torch/node.js";
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { specInputs } from "../diagnostics/catalog/reference-codes.js";
import type { TorchArray } from "../torch/array.js";

/** Bound of integers without a declared range: sums of small integers are exact in any dtype. */
const SMALL = 8;

/** Draws the tensors that a kernel reads. `sizes` includes derived sizes, `ranges` those of tensors. */
export function makeInputs(
  signature: Signature,
  at: TestCase,
  {
    sizes = at.sizes,
    ranges = {},
  }: { readonly sizes?: Readonly<Record<string, number>>; readonly ranges?: Ranges } = {},
  special: boolean | readonly SpecialValue[] = false,
): Record<string, TensorData> {
  const read = signature.tensors.filter((tensor) => tensor.role !== "out" && !at.absent?.includes(tensor.name));
  const drawn = read.map((tensor) => [tensor.name, draw(tensor, at, sizes, ranges[tensor.name])] as const);
  const pointed = signature.pointers.flatMap(({ name, dtype, numel }) =>
    numel === undefined || at.absent?.includes(name)
      ? []
      : [[name, draw({ name, dtype, dims: [numel] }, at, sizes, undefined)] as const],
  );
  const kinds = special === true ? SPECIAL_VALUES : special || [];
  for (const [i, [name, data]] of drawn.entries()) {
    // Special values would leave a declared range.
    if (!read[i]!.range) putSpecial(data, kinds, uniform(seedOf(at.seed, `${name} special`)));
    if (at.layouts?.[name] === "expanded") repeatFirst(data);
  }
  return Object.fromEntries([...drawn, ...pointed]);
}

const SPECIAL_VALUES: readonly SpecialValue[] = ["nan", "infinity", "-infinity", "-0", "subnormal", "largest"];

/** One element in this many is special: with more, every reduction over a row would give a special value. */
const RARE = 16;

/** Overwrites some elements of a float tensor with special values. Integer tensors stay as they are. */
function putSpecial({ dtype, data }: TensorData, kinds: readonly SpecialValue[], random: () => number): void {
  if (kinds.length === 0 || data.length === 0 || !isFloat(dtype as DTypeName)) return;
  const rounded = round(dtype as FloatDType);
  const below = (end: number): number => Math.floor(random() * end);
  for (let count = Math.ceil(data.length / RARE); count > 0; count--) {
    const kind = kinds[below(kinds.length)]!;
    (data as NumberData)[below(data.length)] = rounded(
      specialValue(kind, dtype as FloatDType, random() < 0.5 ? 1 : -1),
    );
  }
}

/** Copies the first row to all others, as in an expanded tensor. */
function repeatFirst({ shape: [rows = 1], data }: TensorData): void {
  const length = data.length / Math.max(rows, 1);
  for (let start = length; start < data.length; start += length) data.copyWithin(start, 0, length);
}

function specialValue(kind: SpecialValue, dtype: FloatDType, sign: 1 | -1): number {
  const { max, mantissaBits, bias } = floatFormats[dtype];
  switch (kind) {
    case "nan":
      return NaN;
    case "infinity":
      return Infinity;
    case "-infinity":
      return -Infinity;
    case "-0":
      return -0;
    case "subnormal":
      return sign * 2 ** (1 - bias - mantissaBits);
    case "largest":
      return sign * max;
    case "large":
      return sign * 100;
    default:
      return kind satisfies never;
  }
}

/** The inputs that the author describes. Each replaces a drawn tensor and takes its dtype and shape. */
export function describedInputs(
  { inputs, at }: Pick<KernelIR, "inputs" | "at">,
  drawn: Readonly<Record<string, TensorData>>,
  sizes: ReferenceInputs,
  seed: number,
): Record<string, TensorData> {
  const names = Object.keys(inputs);
  // Evaluates absent inputs too, so that the others get the same numbers with and without them.
  const values = evaluateReference(Object.values(inputs), sizes, { random: uniform(seedOf(seed, "inputs")) });
  const found = names.flatMap((name, i) => {
    const of = drawn[name];
    return of ? [[name, fitted(name, values[i]!, of, placeOf(inputs[name], at))] as const] : [];
  });
  return Object.fromEntries(found);
}

/** The author's line of a described input, or else of the kernel. */
function placeOf(node: TorchNode | undefined, kernel: Location | undefined): Location | undefined {
  return (node && "at" in node ? node.at : undefined) ?? kernel;
}

function fitted(name: string, { shape, data }: TorchArray, of: TensorData, at: Location | undefined): TensorData {
  if (shape.join() !== of.shape.join()) fail(specInputs.shape(name, of.shape, shape), at);
  const values = cast(tileArray("float64", shape, data), of.dtype as DTypeName);
  return { dtype: of.dtype, shape, data: values.data };
}

/**
 * Checks that inputs lie in their declared ranges. `ir` describes some of them.
 *
 * @throws Error that names the tensor and its first value outside the range; for one that the author describes, a
 *   TileScriptError at that line.
 */
export function checkRanges(
  { tensors }: Signature,
  inputs: Readonly<Record<string, TensorData>>,
  ranges: Ranges,
  ir: Pick<KernelIR, "inputs" | "at">,
): void {
  for (const { name, partition } of tensors) {
    const given = inputs[name];
    const range = ranges[name];
    if (!range || !given) continue;
    const why = partition === undefined ? outOfRange(name, given, range) : notPartition(name, given, range, partition);
    if (why === undefined) continue;
    if (name in ir.inputs) fail(specInputs.range(why), placeOf(ir.inputs[name], ir.at));
    throw new Error(why);
  }
}

function outOfRange(name: string, { dtype, data }: TensorData, [low, end]: Ranges[string]): string | undefined {
  // Rounding to a narrow dtype may give the end of the range.
  const isEndIn = isFloat(dtype as DTypeName);
  const isAbove = (value: number): boolean => (isEndIn ? value > end : value >= end);
  const wrong = data.find((value) => Number(value) < low || isAbove(Number(value)));
  if (wrong === undefined) return undefined;
  return `${name} holds ${wrong}; its range is ${low} up to ${isEndIn ? "" : "but not including "}${end}`;
}

/** Why elements do not rise to the end without falling, offsets from 0. One element is both the first and the last. */
function notPartition(
  name: string,
  { data }: TensorData,
  [, end]: Ranges[string],
  { size, holds }: PartitionSignature,
): string | undefined {
  const values = Array.from(data, Number);
  const total = end - 1;
  const falls = values.findIndex((value, i) => i > 0 && value < values[i - 1]!);
  const why =
    falls > 0
      ? `element ${falls} is ${values[falls]}, below the ${values[falls - 1]} before it`
      : values.length > 0 && (holds === "offsets" ? values[0] !== 0 : values[0]! < 0)
        ? `its first element is ${values[0]}, ${holds === "offsets" ? "not 0" : "below 0"}`
        : values.length > 0 && values.at(-1) !== total
          ? `its last element is ${values.at(-1)}, not ${total}`
          : undefined;
  return (
    why &&
    `${name} ${holds === "offsets" ? "is a partition" : "has the ends of a partition"} of ${size}, ${total}, but ${why}`
  );
}

function draw(
  tensor: Pick<TensorSignature, "name" | "dtype" | "dims" | "partition">,
  at: TestCase,
  sizes: Readonly<Record<string, number>>,
  range: Ranges[string] | undefined,
): TensorData {
  const dtype = (typeof tensor.dtype === "string" ? tensor.dtype : at.dtypes[tensor.dtype.variable]) as DTypeName;
  const number = (size: number | string): number => (typeof size === "number" ? size : (sizes[size] ?? Number.NaN));
  const shape = tensor.dims.map(number);
  const data = allocate(dtype, sizeOf(shape));
  const random = uniform(seedOf(at.seed, tensor.name));
  const between = ([low, end]: readonly [number, number]): number => low + random() * (end - low);
  if (isFloat(dtype)) {
    const [next, rounded] = [range ? () => between(range) : normal(random), round(dtype)];
    for (let i = 0; i < data.length; i++) (data as NumberData)[i] = rounded(next());
    return { dtype, shape, data };
  }
  const integer = (): number => Math.floor(between(range ?? smallRange(dtype)));
  const values = Array.from({ length: data.length }, integer);
  if (tensor.partition !== undefined && values.length > 0) {
    values.sort((x, y) => x - y);
    if (tensor.partition.holds === "offsets") values[0] = 0;
    values[values.length - 1] = range![1] - 1;
  }
  if (isBig(dtype)) (data as BigData).set(values.map(BigInt));
  else (data as NumberData).set(values);
  return { dtype, shape, data };
}

function smallRange(dtype: DTypeName): [number, number] {
  if (dtype === "int1") return [0, 2];
  return [isSigned(dtype) ? -SMALL : 0, SMALL + 1];
}
