/** Arrays on the host: arguments and results of kernels that run from TypeScript. */
import { fail } from "../diagnostics/diagnostic.js";
import { hostArray } from "../diagnostics/catalog/call-codes.js";
import { normal, uniform } from "../numerics/random.js";
import { areContiguous, sizeOf, stridedIndex, stridesOf } from "../numerics/array.js";
import { captureLocation } from "../diagnostics/callsite.js";
import { type DType, type DTypeName, dtypes, isDType } from "../types/dtype.js";
import { isBig, isFloat } from "../numerics/numeric-int.js";
import { round, isExactlyRepresentable } from "../numerics/numeric-float.js";

const arrayTypes = {
  int1: Uint8Array,
  int8: Int8Array,
  uint8: Uint8Array,
  int16: Int16Array,
  uint16: Uint16Array,
  int32: Int32Array,
  uint32: Uint32Array,
  int64: BigInt64Array,
  uint64: BigUint64Array,
  float8e5: Float32Array,
  float8e4nv: Float32Array,
  float8e4b15: Float32Array,
  float8e4b8: Float32Array,
  float8e5b16: Float32Array,
  float16: Float32Array,
  bfloat16: Float32Array,
  float32: Float32Array,
  float64: Float64Array,
} as const satisfies Record<DTypeName, unknown>;

/** The dtypes of JavaScript typed arrays. */
const typedArrayDTypes = [
  ["float32", Float32Array],
  ["float64", Float64Array],
  ["int8", Int8Array],
  ["uint8", Uint8Array],
  ["int16", Int16Array],
  ["uint16", Uint16Array],
  ["int32", Int32Array],
  ["uint32", Uint32Array],
  ["int64", BigInt64Array],
  ["uint64", BigUint64Array],
] as const;
type TypedArrayDType = (typeof typedArrayDTypes)[number][0];

/** The typed array for values of a dtype: its own, a `Uint8Array` of 0 and 1, or a `Float32Array` for narrow floats. */
export type DataOf<D extends DTypeName> = D extends DTypeName ? (typeof arrayTypes)[D]["prototype"] : never;
/** The typed array whose elements have one of these dtypes. */
export type TypedArrayOf<D extends DTypeName> = D extends TypedArrayDType ? DataOf<D> : never;
export type TypedArray = TypedArrayOf<TypedArrayDType>;
/** The dtype of a typed array's elements. */
export type DTypeOf<A> = { [D in TypedArrayDType]: A extends DataOf<D> ? D : never }[TypedArrayDType];

/** The dtype of a typed array's elements, or undefined for anything else. */
export function dtypeOf(values: unknown): TypedArrayDType | undefined {
  return typedArrayDTypes.find(([, type]) => values instanceof type)?.[0];
}

/** Nested lists of numbers, one level per axis. */
export type Nested = number | bigint | readonly Nested[];

type Shape = readonly number[];
/** A single dtype, not a dtype variable. */
type Concrete = { readonly [D in DTypeName]: DType<D> }[DTypeName];
type NameOf<T extends Concrete> = T extends DType<infer D extends DTypeName> ? D : never;

/**
 * An array of any rank: a dtype, a shape, and strides in elements. Views share memory. It stores values, not bit
 * patterns: float16, bfloat16 and float8 use a `Float32Array`, rounded to nearest even. An array is immutable.
 */
export class NDArray<out D extends DTypeName = DTypeName> {
  readonly #memory: TypedArray;
  readonly #offset: number;

  private constructor(
    readonly dtype: D,
    readonly shape: Shape,
    /** In elements, one per axis. */
    readonly strides: Shape,
    memory: TypedArray,
    offset: number,
  ) {
    this.#memory = memory;
    this.#offset = offset;
  }

  /**
   * Copies values in row-major order. The default shape has one axis; the default dtype is that of the typed array, and
   * float32 for plain numbers.
   *
   * @throws TileScriptError if the number of values does not fit the shape, or if an integer dtype cannot hold a value.
   */
  static of<A extends TypedArray>(values: A, shape?: Shape): NDArray<DTypeOf<A>>;
  static of(values: readonly number[], shape?: Shape): NDArray<"float32">;
  static of<T extends Concrete>(
    values: TypedArray | readonly (number | bigint | boolean)[],
    shape: Shape | undefined,
    dtype: T,
  ): NDArray<NameOf<T>>;
  static of(
    values: TypedArray | readonly (number | bigint | boolean)[],
    shape: Shape = [values.length],
    dtype: Concrete = dtypes[dtypeOf(values) ?? "float32"],
  ): NDArray {
    checkShape(shape);
    if (sizeOf(shape) !== values.length)
      failArray(`shape [${shape.join(", ")}] has ${sizeOf(shape)} elements, got ${values.length} values`);
    return NDArray.#make(shape, dtype, (i) => values[i]!);
  }

  /** An array of zeros. */
  static zeros<T extends Concrete = DType<"float32">>(shape: Shape, dtype?: T): NDArray<NameOf<T>> {
    return NDArray.#make(shape, dtype, () => 0);
  }

  /** An array with one value in every element. */
  static full<T extends Concrete = DType<"float32">>(
    shape: Shape,
    value: number | bigint,
    dtype?: T,
  ): NDArray<NameOf<T>> {
    return NDArray.#make(shape, dtype, () => value);
  }

  /** Normal random numbers with mean 0 and variance 1. A seed gives the same numbers on every machine. */
  static randn<T extends Concrete = DType<"float32">>(shape: Shape, dtype?: T, seed = 0): NDArray<NameOf<T>> {
    if (dtype && !isFloat(nameOf(dtype)))
      failArray(`randn: ${nameOf(dtype)} is not a float dtype; use NDArray.randint`);
    return NDArray.#make(shape, dtype, normal(uniform(seed)));
  }

  /** Random integers from `low` up to but not including `high`. */
  static randint<T extends Concrete = DType<"int32">>(
    low: number,
    high: number,
    shape: Shape,
    dtype: T = dtypes.int32 as T,
    seed = 0,
  ): NDArray<NameOf<T>> {
    const random = uniform(seed);
    return NDArray.#make(shape, dtype, () => low + Math.floor(random() * (high - low)));
  }

  /** The number of elements. */
  get size(): number {
    return sizeOf(this.shape);
  }

  /** True if the elements are in row-major order without gaps. */
  get isContiguous(): boolean {
    return areContiguous(this.shape, this.strides);
  }

  /** The elements in row-major order. For a contiguous array this is its memory, so do not write to it. */
  get data(): DataOf<D> {
    const { size } = this;
    if (this.isContiguous) return this.#memory.subarray(this.#offset, this.#offset + size) as DataOf<D>;
    const copy: TypedArray = new arrayTypes[this.dtype](size);
    const indices = stridedIndex(this.shape, this.strides, this.#offset);
    for (const [i, index] of indices.entries()) copy[i] = this.#memory[index] as never;
    return copy as DataOf<D>;
  }

  /** The elements in nested lists, like PyTorch's `tolist`. */
  toArray(): Nested {
    const { data, shape } = this;
    const nested = ([length, ...innerShape]: Shape, start: number): Nested =>
      length === undefined
        ? data[start]!
        : Array.from({ length }, (_, i) => nested(innerShape, start + i * sizeOf(innerShape)));
    return nested(shape, 0);
  }

  /**
   * The text that `console.log` shows: dtype, shape and values. Of large arrays, only the first and last of each axis.
   */
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    const { dtype, shape, strides } = this;
    const elementAt = (indices: readonly number[]): number | bigint =>
      this.#memory[indices.reduce((offset, index, axis) => offset + index * strides[axis]!, this.#offset)]!;
    return `NDArray ${dtype}[${shape.join(", ")}] ${formatArray(shape, elementAt)}`;
  }

  /** A view with two axes swapped. Negative axes count from the end. */
  transpose(first: number, second: number): NDArray<D> {
    const [a, b] = [this.#axis(first), this.#axis(second)];
    const shape = this.shape.with(a.index, b.size).with(b.index, a.size);
    const strides = this.strides.with(a.index, b.stride).with(b.index, a.stride);
    return new NDArray(this.dtype, shape, strides, this.#memory, this.#offset);
  }

  /** A view of a matrix with its rows and columns swapped. */
  t(): NDArray<D> {
    if (this.shape.length !== 2)
      failArray(`t: the array has ${this.shape.length} axes, not 2; name two with transpose`);
    return this.transpose(0, 1);
  }

  /**
   * A view of every `step`th index of an axis, from `start` up to but not including `end`, like `x[…, start:end:step]`.
   */
  slice(axis: number, start: number, end?: number, step = 1): NDArray<D> {
    const { index: axisIndex, size, stride } = this.#axis(axis);
    if (!Number.isInteger(step) || step < 1) failArray(`slice: step is ${step}; it is a positive integer`);
    const clampIndex = (index: number): number => Math.min(Math.max(index < 0 ? index + size : index, 0), size);
    const [first, last] = [clampIndex(start), clampIndex(end ?? size)];
    const shape = this.shape.with(axisIndex, Math.max(Math.ceil((last - first) / step), 0));
    const strides = this.strides.with(axisIndex, stride * step);
    return new NDArray(this.dtype, shape, strides, this.#memory, this.#offset + first * stride);
  }

  #axis(axis: number): { readonly index: number; readonly size: number; readonly stride: number } {
    const index = axis < 0 ? axis + this.shape.length : axis;
    const [size, stride] = [this.shape[index], this.strides[index]];
    if (size === undefined || stride === undefined)
      return failArray(`there is no axis ${axis}; the array has shape [${this.shape.join(", ")}]`);
    return { index, size, stride };
  }

  static #make<T extends Concrete>(
    shape: Shape,
    dtype: T | undefined,
    valueOf: (i: number) => number | bigint | boolean,
  ): NDArray<NameOf<T>> {
    checkShape(shape);
    const name = nameOf(dtype ?? dtypes.float32) as NameOf<T>;
    const convert = converterTo(name);
    const memory: TypedArray = new arrayTypes[name](sizeOf(shape));
    for (let i = 0; i < memory.length; i++) memory[i] = convert(valueOf(i));
    return new NDArray(name, shape, stridesOf(shape), memory, 0);
  }
}

function checkShape(shape: Shape): void {
  if (!Array.isArray(shape) || !shape.every((dim) => Number.isInteger(dim) && dim >= 0))
    failArray(`${JSON.stringify(shape)} is not a shape; list the sizes of the axes, such as [2, 3]`);
}

function nameOf(dtype: unknown): DTypeName {
  if (!isDType(dtype)) return failArray(`${JSON.stringify(dtype)} is not a dtype; give one such as tl.float16`);
  if (dtype.members) return failArray(`${dtype.name} is a dtype variable; name one of ${dtype.members.join(", ")}`);
  return dtype.name as DTypeName;
}

/** Converts a value to a dtype: floats round, integers must hold it exactly. */
function converterTo(dtype: DTypeName): (value: number | bigint | boolean) => never {
  if (isFloat(dtype)) {
    const rounded = round(dtype);
    return (value) => rounded(Number(value)) as never;
  }
  const reject = (value: unknown): never =>
    failArray(`${String(value)} is not a value of ${dtype}; give a dtype that holds it`);
  if (!isBig(dtype))
    return (value) => (isExactlyRepresentable(dtype, Number(value)) ? (Number(value) as never) : reject(value));
  const wrap = dtype === "int64" ? BigInt.asIntN : BigInt.asUintN;
  return (value) => {
    if (typeof value === "number" && !Number.isInteger(value)) return reject(value);
    return wrap(64, BigInt(value)) === BigInt(value) ? (BigInt(value) as never) : reject(value);
  };
}

function failArray(message: string): never {
  return fail(hostArray(message), captureLocation());
}

/** The maximum number of elements to show in full. */
const MAX_FULL_SIZE = 200;
/** The number of indices to show at each end of an axis. */
const EDGE_COUNT = 3;

/** `[[1, 2, …, 9, 10], …]`, one line per row; `elementAt` returns the element at these indices. */
function formatArray(shape: readonly number[], elementAt: (indices: readonly number[]) => number | bigint): string {
  const isFull = sizeOf(shape) <= MAX_FULL_SIZE;
  const formatAxis = (indices: readonly number[]): string => {
    const axis = indices.length;
    const dim = shape[axis];
    if (dim === undefined) return formatNumber(elementAt(indices));
    const indicesToShow =
      isFull || dim <= 2 * EDGE_COUNT ? range(0, dim) : [...range(0, EDGE_COUNT), -1, ...range(dim - EDGE_COUNT, dim)];
    const parts = indicesToShow.map((index) => (index < 0 ? "…" : formatAxis([...indices, index])));
    const isRow = axis === shape.length - 1;
    return `[${parts.join(isRow ? ", " : `,\n${" ".repeat(axis + 1)}`)}]`;
  };
  return formatAxis([]);
}

const range = (start: number, end: number): number[] => Array.from({ length: end - start }, (_, i) => start + i);

/** Six significant digits, which is enough for comparisons by eye with floats of any width. */
function formatNumber(value: number | bigint): string {
  if (typeof value === "bigint" || Number.isInteger(value) || !Number.isFinite(value)) return String(value);
  return String(Number(value.toPrecision(6)));
}
