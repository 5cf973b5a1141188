/** Arrays that a kernel is called with from TypeScript, and those that it gives. */
import { fail } from "../diagnostics/diagnostic.js";
import { hostArray } from "../diagnostics/catalogue/call-codes.js";
import { normal, uniform } from "../numerics/seeded-random.js";
import { sizeOf, stridedIndex, stridesOf } from "../numerics/array.js";
import { captureLocation } from "../diagnostics/callsite.js";
import { type DType, type DTypeName, dtypes, isDType } from "../types/dtype.js";
import { isBig, isFloat } from "../numerics/numeric.js";
import { round, holdsExactly } from "../numerics/numeric-float.js";

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

/** The dtypes that a JavaScript array of numbers has of its own. */
const ownDTypes = [
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
type OwnDType = (typeof ownDTypes)[number][0];

/** The typed array that holds a dtype's values: its own, a `Uint8Array` of 0 and 1, or a `Float32Array` for narrow floats. */
export type DataOf<D extends DTypeName> = D extends DTypeName ? (typeof arrayTypes)[D]["prototype"] : never;
/** The typed array whose elements have one of these dtypes. */
export type TypedArrayOf<D extends DTypeName> = D extends OwnDType ? DataOf<D> : never;
export type TypedArray = TypedArrayOf<OwnDType>;
/** The dtype of a typed array's elements. */
export type DTypeOf<A> = { [D in OwnDType]: A extends DataOf<D> ? D : never }[OwnDType];

/** The dtype of a typed array's elements, or undefined for anything else. */
export function dtypeOf(values: unknown): OwnDType | undefined {
  return ownDTypes.find(([, type]) => values instanceof type)?.[0];
}

/** Numbers in lists in lists, one level an axis. */
export type Nested = number | bigint | readonly Nested[];

type Shape = readonly number[];
/** A dtype that is none of several. */
type Concrete = { readonly [D in DTypeName]: DType<D> }[DTypeName];
type NameOf<T extends Concrete> = T extends DType<infer D extends DTypeName> ? D : never;

/**
 * An array of any rank: a dtype, a shape, and strides in elements over memory that views share. It holds values, not
 * codes: float16, bfloat16 and float8 are in a `Float32Array`, rounded to nearest even. Nothing changes it once it is made.
 */
export class NDArray<out D extends DTypeName = DTypeName> {
  readonly #memory: TypedArray;
  readonly #offset: number;

  private constructor(
    readonly dtype: D,
    readonly shape: Shape,
    /** Elements from one index of an axis to the next. */
    readonly strides: Shape,
    memory: TypedArray,
    offset: number,
  ) {
    this.#memory = memory;
    this.#offset = offset;
  }

  /**
   * Values in row-major order, copied. Without a shape there is one axis, without a dtype it is the typed array's own;
   * plain numbers are float32.
   *
   * @throws TileScriptError if there are more or fewer values than the shape has, or one that an integer dtype lacks.
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
      wrong(`shape [${shape.join(", ")}] has ${sizeOf(shape)} elements, ${values.length} values are given`);
    return NDArray.#make(shape, dtype, (i) => values[i]!);
  }

  /** Zeros. */
  static zeros<T extends Concrete = DType<"float32">>(shape: Shape, dtype?: T): NDArray<NameOf<T>> {
    return NDArray.#make(shape, dtype, () => 0);
  }

  /** One value in every place. */
  static full<T extends Concrete = DType<"float32">>(
    shape: Shape,
    value: number | bigint,
    dtype?: T,
  ): NDArray<NameOf<T>> {
    return NDArray.#make(shape, dtype, () => value);
  }

  /** Normal numbers of mean 0 and variance 1. A seed gives the same numbers on every machine. */
  static randn<T extends Concrete = DType<"float32">>(shape: Shape, dtype?: T, seed = 0): NDArray<NameOf<T>> {
    if (dtype && !isFloat(nameOf(dtype))) wrong(`randn: ${nameOf(dtype)} has no normal numbers; take NDArray.randint`);
    return NDArray.#make(shape, dtype, normal(uniform(seed)));
  }

  /** Integers from `low` up to but not including `high`. */
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

  /** How many elements there are. */
  get size(): number {
    return sizeOf(this.shape);
  }

  /** Whether the elements lie in row-major order, without gaps. */
  get isContiguous(): boolean {
    const strides = stridesOf(this.shape);
    return this.size === 0 || this.shape.every((dim, axis) => dim === 1 || this.strides[axis] === strides[axis]);
  }

  /** The elements in row-major order; of a contiguous array the very memory, so it is not to be written. */
  get data(): DataOf<D> {
    const { size } = this;
    if (this.isContiguous) return this.#memory.subarray(this.#offset, this.#offset + size) as DataOf<D>;
    const copy: TypedArray = new arrayTypes[this.dtype](size);
    const places = stridedIndex(this.shape, this.strides, this.#offset);
    for (let i = 0; i < size; i++) copy[i] = this.#memory[places[i]!] as never;
    return copy as DataOf<D>;
  }

  /** The elements in nested lists, as `tolist` of PyTorch gives them. */
  toArray(): Nested {
    const { data, shape } = this;
    const strides = stridesOf(shape);
    const from = (axis: number, start: number): Nested =>
      axis === shape.length
        ? data[start]!
        : Array.from({ length: shape[axis]! }, (_, i) => from(axis + 1, start + i * strides[axis]!));
    return from(0, 0);
  }

  /** A view with two axes swapped. Negative axes count from the end. */
  transpose(first: number, second: number): NDArray<D> {
    const [a, b] = [this.#axis(first), this.#axis(second)];
    const swapped = (of: Shape): Shape => of.with(a, of[b]!).with(b, of[a]!);
    return new NDArray(this.dtype, swapped(this.shape), swapped(this.strides), this.#memory, this.#offset);
  }

  /** A view of a matrix with rows and columns swapped. */
  t(): NDArray<D> {
    if (this.shape.length !== 2) wrong(`t: the array has ${this.shape.length} axes, not 2; name two with transpose`);
    return this.transpose(0, 1);
  }

  /** A view of every `step`th index of an axis, from `start` up to but not including `end`, as `x[…, start:end:step]`. */
  slice(axis: number, start: number, end?: number, step = 1): NDArray<D> {
    const at = this.#axis(axis);
    const dim = this.shape[at]!;
    if (!Number.isInteger(step) || step < 1) wrong(`slice: step is ${step}; it is a positive integer`);
    const place = (index: number): number => Math.min(Math.max(index < 0 ? index + dim : index, 0), dim);
    const [first, last] = [place(start), place(end ?? dim)];
    const shape = this.shape.with(at, Math.max(Math.ceil((last - first) / step), 0));
    const stride = this.strides[at]!;
    const strides = this.strides.with(at, stride * step);
    return new NDArray(this.dtype, shape, strides, this.#memory, this.#offset + first * stride);
  }

  #axis(axis: number): number {
    const rank = this.shape.length;
    if (!Number.isInteger(axis) || axis < -rank || axis >= rank)
      wrong(`there is no axis ${axis}; the array has shape [${this.shape.join(", ")}]`);
    return axis < 0 ? axis + rank : axis;
  }

  static #make<T extends Concrete>(
    shape: Shape,
    dtype: T | undefined,
    valueOf: (i: number) => number | bigint | boolean,
  ): NDArray<NameOf<T>> {
    checkShape(shape);
    const name = nameOf(dtype ?? dtypes.float32) as NameOf<T>;
    const hold = holder(name);
    const memory: TypedArray = new arrayTypes[name](sizeOf(shape));
    for (let i = 0; i < memory.length; i++) memory[i] = hold(valueOf(i));
    return new NDArray(name, shape, stridesOf(shape), memory, 0);
  }
}

function checkShape(shape: Shape): void {
  if (!Array.isArray(shape) || !shape.every((dim) => Number.isInteger(dim) && dim >= 0))
    wrong(`${JSON.stringify(shape)} is no shape; list the sizes of its axes, such as [2, 3]`);
}

function nameOf(dtype: unknown): DTypeName {
  if (!isDType(dtype)) return wrong(`${JSON.stringify(dtype)} is no dtype; give one such as tl.float16`);
  if (dtype.members) return wrong(`${dtype.name} is a dtype variable; name one of ${dtype.members.join(", ")}`);
  return dtype.name as DTypeName;
}

/** How a dtype holds a value: floats round, integers must have it. */
function holder(dtype: DTypeName): (value: number | bigint | boolean) => never {
  if (isFloat(dtype)) {
    const rounded = round(dtype);
    return (value) => rounded(Number(value)) as never;
  }
  const refuse = (value: unknown): never => wrong(`${String(value)} is no ${dtype}; give a dtype that has it`);
  if (!isBig(dtype)) return (value) => (holdsExactly(dtype, Number(value)) ? (Number(value) as never) : refuse(value));
  const wrap = dtype === "int64" ? BigInt.asIntN : BigInt.asUintN;
  return (value) => {
    if (typeof value === "number" && !Number.isInteger(value)) return refuse(value);
    return wrap(64, BigInt(value)) === BigInt(value) ? (BigInt(value) as never) : refuse(value);
  };
}

function wrong(message: string): never {
  return fail(hostArray(message), captureLocation());
}
