/** Generates the inputs of a test case from its seed. */
import type {
  TestCase,
  PartitionSignature,
  Ranges,
  LineKind,
  Signature,
  SingleValue,
  SpecialValue,
  TensorData,
  TensorSignature,
} from "../compiled/compiled-kernel.js";
import { sizeOf, tileArray, cast } from "../numerics/array.js";
import { type DTypeName, isFp8, isSigned } from "../types/dtype.js";
import { allocate } from "../numerics/buffer-pool.js";
import { isBig, isFloat, type BigData, type FloatDType, type NumberData } from "../numerics/numeric-int.js";
import { floatFormats, round } from "../numerics/numeric-float.js";
import type { KernelIR } from "../ir/nodes.js";
import { normal, seedOf, uniform } from "../numerics/random.js";
import { TorchEvaluation } from "../torch/evaluate-torch.js";
import type { ReferenceInputs, TorchNode } from "../torch/node.js";
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { specInputs } from "../diagnostics/catalog/reference-codes.js";
import type { TorchArray } from "../torch/array.js";

/** Maximum of integers without a declared range. Sums of small integers are exact in any dtype. */
const SMALL = 8;

/** Generates the tensors that a kernel reads. `sizes` includes derived sizes; `ranges` are those of tensors. */
export function makeInputs(
  signature: Signature,
  testCase: TestCase,
  {
    sizes = testCase.sizes,
    ranges = {},
  }: { readonly sizes?: Readonly<Record<string, number>>; readonly ranges?: Ranges } = {},
  special: boolean | readonly SpecialValue[] = false,
): Record<string, TensorData> {
  const inputTensors = signature.tensors.filter(
    (tensor) => tensor.role !== "out" && !testCase.absent?.includes(tensor.name),
  );
  const tensors = inputTensors.map((tensor) => ({
    tensor,
    data: draw(tensor, testCase, sizes, ranges[tensor.name]),
  }));
  const pointerTensors = signature.pointers.flatMap(({ name, dtype, numel }) =>
    numel === undefined || testCase.absent?.includes(name)
      ? []
      : [[name, draw({ name, dtype, dims: [numel] }, testCase, sizes, undefined)] as const],
  );
  const specialValues = special === true ? SPECIAL_VALUES : special || [];
  for (const { tensor, data } of tensors) {
    const { name, range } = tensor;
    // Special values would violate a declared range.
    if (!range) {
      insertSpecialValues(data, specialValues.filter(isSingle), uniform(seedOf(testCase.seed, `${name} special`)));
      for (const kind of specialValues) if (!isSingle(kind)) makeSpecialLines(data, kind, testCase.seed);
    }
    if (testCase.layouts?.[name] === "expanded") repeatFirstRow(data);
  }
  return Object.fromEntries([...tensors.map(({ tensor, data }) => [tensor.name, data] as const), ...pointerTensors]);
}

const SPECIAL_VALUES: readonly SpecialValue[] = ["nan", "infinity", "-infinity", "-0", "subnormal", "largest"];

/** A value whose exponential no float32 holds. */
const FAR_VALUE = 100;

/** One in this many elements is special. With more, every reduction over a row would return a special value. */
const SPECIAL_VALUE_INTERVAL = 16;

const isSingle = (kind: SpecialValue): kind is SingleValue => !(kind in LINES);

/** Overwrites some elements of a float tensor with special values. Integer tensors do not change. */
function insertSpecialValues(
  { dtype, data }: TensorData,
  specialValues: readonly SingleValue[],
  random: () => number,
): void {
  if (specialValues.length === 0 || data.length === 0 || !isFloat(dtype as DTypeName)) return;
  const rounded = round(dtype as FloatDType);
  const randomIndex = (end: number): number => Math.floor(random() * end);
  for (let count = Math.ceil(data.length / SPECIAL_VALUE_INTERVAL); count > 0; count--) {
    const kind = specialValues[randomIndex(specialValues.length)]!;
    (data as NumberData)[randomIndex(data.length)] = rounded(
      specialValue(kind, dtype as FloatDType, random() < 0.5 ? 1 : -1),
    );
  }
}

/**
 * The element at `index` of a line that had `value` there. `far` is the index of an element far above all others, `half`
 * that of the middle.
 */
type Line = (value: number, index: number, far: number, half: number) => number;

/** Lines that random numbers never give. */
const FLOAT_LINES = (dtype: FloatDType): readonly Line[] => [
  () => 1.5,
  (value, index, far) => (index === far ? FAR_VALUE : value),
  (value) => -0.5 - Math.abs(value),
  (value, index) => (index % 2 === 0 ? value : specialValue("subnormal", dtype, 1)),
];

/**
 * The mean of a line whose deviations are around 1. Its square costs their squares ten bits in float32, and itself costs
 * them five, as it does in a correct kernel.
 */
const OFFSET = 32;

const OFFSET_LINES: readonly Line[] = [(value) => OFFSET + value, (value) => value];

/** Their sum hides the digits of the tiny half in float32, and fits a float16. */
const [LARGE, TINY] = [2 ** 13, 2 ** -10];

/** Positive lines whose sums differ much, with the large half first, and with the tiny half first. */
const CANCELLING_LINES: readonly Line[] = [
  (value, index, _, half) => (index < half ? LARGE : TINY) * (1 + Math.abs(value)),
  (value, index, _, half) => (index < half ? TINY : LARGE) * (1 + Math.abs(value)),
];

/** These lines for floats with arithmetic, which a float8 has not. */
const ofFloats =
  (lines: readonly Line[]) =>
  (dtype: DTypeName): readonly Line[] =>
    isFloat(dtype) && !isFp8(dtype) ? lines : [];

/** Lines of signed integers. Their sums remain small. */
const INTEGER_LINES: readonly Line[] = [() => 1, (value) => -1 - Math.abs(value), (value) => value];

/** The axis of each kind of lines, counted from the last, and the lines themselves. */
const LINES: Readonly<
  Record<LineKind, { readonly axis: number; readonly lines: (dtype: DTypeName) => readonly Line[] }>
> = {
  rows: { axis: 1, lines: linesOf },
  columns: { axis: 2, lines: linesOf },
  "-infinity rows": {
    axis: 1,
    lines: (dtype) => (isFloat(dtype) ? [() => -Infinity, (value) => value] : []),
  },
  "offset rows": { axis: 1, lines: ofFloats(OFFSET_LINES) },
  "offset columns": { axis: 2, lines: ofFloats(OFFSET_LINES) },
  "cancelling rows": { axis: 1, lines: ofFloats(CANCELLING_LINES) },
  "cancelling columns": { axis: 2, lines: ofFloats(CANCELLING_LINES) },
};

function linesOf(dtype: DTypeName): readonly Line[] {
  if (isFloat(dtype)) return ofFloats(FLOAT_LINES(dtype))(dtype);
  return isSigned(dtype) && !isBig(dtype) ? INTEGER_LINES : [];
}

/** Turns the lines of a tensor along one axis into special ones, each kind in turn. */
function makeSpecialLines({ dtype, shape, data }: TensorData, kind: LineKind, seed: number): void {
  const { axis, lines } = LINES[kind];
  const kinds = lines(dtype as DTypeName);
  const length = shape.at(-axis) ?? 0;
  if (length < 2 || kinds.length === 0) return;
  const rounded = isFloat(dtype as DTypeName) ? round(dtype as FloatDType) : (value: number) => value;
  const stride = sizeOf(shape.slice(shape.length - axis + 1));
  const numbers = data as NumberData;
  for (let line = 0; line * length < numbers.length; line++) {
    const start = Math.floor(line / stride) * length * stride + (line % stride);
    const element = kinds[(line + seed) % kinds.length]!;
    for (let i = 0; i < length; i++) {
      const at = start + i * stride;
      numbers[at] = rounded(element(numbers[at]!, i, line % length, Math.ceil(length / 2)));
    }
  }
}

/** Copies the first row to all others, as in an expanded tensor. */
function repeatFirstRow({ shape: [rows = 1], data }: TensorData): void {
  const length = data.length / Math.max(rows, 1);
  for (let start = length; start < data.length; start += length) data.copyWithin(start, 0, length);
}

function specialValue(kind: SingleValue, dtype: FloatDType, sign: 1 | -1): number {
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
      return sign * FAR_VALUE;
    default:
      return kind satisfies never;
  }
}

/** The inputs that the author describes. Each replaces a random tensor and has its dtype and shape. */
export function describedInputs(
  { inputs, at: location }: Pick<KernelIR, "inputs" | "at">,
  randomInputs: Readonly<Record<string, TensorData>>,
  sizes: ReferenceInputs,
  seed: number,
): Record<string, TensorData> {
  const evaluation = new TorchEvaluation(sizes, { random: uniform(seedOf(seed, "inputs")) });
  // Absent inputs are evaluated too, so that the other inputs do not depend on them.
  const values = Object.entries(inputs).map(([name, node]) => ({ name, node, value: evaluation.tensor(node) }));
  const entries = values.flatMap(({ name, node, value }) => {
    const template = randomInputs[name];
    return template ? [[name, convertInput(name, value, template, locationOf(node, location))] as const] : [];
  });
  return Object.fromEntries(entries);
}

/** The location of a described input, or else of the kernel. */
function locationOf(node: TorchNode | undefined, kernel: Location | undefined): Location | undefined {
  return (node && "at" in node ? node.at : undefined) ?? kernel;
}

function convertInput(
  name: string,
  { shape, data }: TorchArray,
  template: TensorData,
  location: Location | undefined,
): TensorData {
  if (shape.join() !== template.shape.join()) fail(specInputs.shape(name, template.shape, shape), location);
  const values = cast(tileArray("float64", shape, data), template.dtype as DTypeName);
  return { dtype: template.dtype, shape, data: values.data };
}

/**
 * Checks that inputs are in their declared ranges. `ir` describes some of the inputs.
 *
 * @throws Error that names the tensor and its first value out of range. For a described input, a TileScriptError at the
 *   author's line.
 */
export function checkRanges(
  { tensors }: Signature,
  inputs: Readonly<Record<string, TensorData>>,
  ranges: Ranges,
  ir: Pick<KernelIR, "inputs" | "at">,
): void {
  for (const { name, partition } of tensors) {
    const input = inputs[name];
    const range = ranges[name];
    if (!range || !input) continue;
    const reason =
      partition === undefined ? outOfRange(name, input, range) : whyNotPartition(name, input, range, partition);
    if (reason === undefined) continue;
    if (name in ir.inputs) fail(specInputs.range(reason), locationOf(ir.inputs[name], ir.at));
    throw new Error(reason);
  }
}

function outOfRange(name: string, { dtype, data }: TensorData, [low, end]: Ranges[string]): string | undefined {
  // Rounding to a narrow dtype may return the end of the range.
  const isEndIncluded = isFloat(dtype as DTypeName);
  const isAbove = (value: number): boolean => (isEndIncluded ? value > end : value >= end);
  const outlier = data.find((value) => Number(value) < low || isAbove(Number(value)));
  if (outlier === undefined) return undefined;
  return `${name} holds ${outlier}; its range is ${low} up to ${isEndIncluded ? "" : "but not including "}${end}`;
}

/**
 * The reason why elements are not a partition: non-decreasing offsets from 0 to the end. A single element is both the
 * first and the last.
 */
function whyNotPartition(
  name: string,
  { data }: TensorData,
  [, end]: Ranges[string],
  { size, holds }: PartitionSignature,
): string | undefined {
  const total = end - 1;
  const reason = partitionError(Array.from(data, Number), total, holds);
  return (
    reason &&
    `${name} ${holds === "offsets" ? "is a partition" : "has the ends of a partition"} of ${size}, ${total}, but ${reason}`
  );
}

function partitionError(
  values: readonly number[],
  total: number,
  holds: PartitionSignature["holds"],
): string | undefined {
  const firstDecrease = values.findIndex((value, i) => value < (values[i - 1] ?? value));
  if (firstDecrease > 0)
    return `element ${firstDecrease} is ${values[firstDecrease]}, below the ${values[firstDecrease - 1]} before it`;
  const [first, last] = [values[0], values.at(-1)];
  if (first === undefined) return undefined;
  if (holds === "offsets" && first !== 0) return `its first element is ${first}, not 0`;
  if (holds !== "offsets" && first < 0) return `its first element is ${first}, below 0`;
  return last === total ? undefined : `its last element is ${last}, not ${total}`;
}

function draw(
  tensor: Pick<TensorSignature, "name" | "dtype" | "dims" | "partition">,
  testCase: TestCase,
  sizes: Readonly<Record<string, number>>,
  range: Ranges[string] | undefined,
): TensorData {
  const dtype = (typeof tensor.dtype === "string" ? tensor.dtype : testCase.dtypes[tensor.dtype.variable]) as DTypeName;
  const number = (size: number | string): number => (typeof size === "number" ? size : (sizes[size] ?? Number.NaN));
  const shape = tensor.dims.map(number);
  const data = allocate(dtype, sizeOf(shape));
  const random = uniform(seedOf(testCase.seed, tensor.name));
  const randomIn = ([low, end]: readonly [number, number]): number => low + random() * (end - low);
  if (isFloat(dtype)) {
    const [next, rounded] = [range ? () => randomIn(range) : normal(random), round(dtype)];
    for (let i = 0; i < data.length; i++) (data as NumberData)[i] = rounded(next());
    return { dtype, shape, data };
  }
  const integerRange = range ?? smallRange(dtype);
  const integer = (): number => Math.floor(randomIn(integerRange));
  const values = Array.from({ length: data.length }, integer);
  if (tensor.partition !== undefined && values.length > 0) {
    values.sort((x, y) => x - y);
    if (tensor.partition.holds === "offsets") values[0] = 0;
    values[values.length - 1] = integerRange[1] - 1;
  }
  if (isBig(dtype)) (data as BigData).set(values.map(BigInt));
  else (data as NumberData).set(values);
  return { dtype, shape, data };
}

function smallRange(dtype: DTypeName): [number, number] {
  if (dtype === "int1") return [0, 2];
  return [isSigned(dtype) ? -SMALL : 0, SMALL + 1];
}
