/**
 * Binds the arguments of a call: infers sizes and dtypes from them, and rejects arguments that the kernel does not
 * support.
 */
import { jsonText } from "../compiled/canonical-json.js";
import {
  type TestCase,
  type CompiledKernel,
  type ConstexprSignature,
  type Layout,
  type SignatureDType,
  type TensorData,
  launchOptionNames,
} from "../compiled/compiled-kernel.js";
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { callArgument, callRefused } from "../diagnostics/catalog/call-codes.js";
import { fromNumbers, sizeOf, stridesOf } from "../numerics/array.js";
import { isDType, type DTypeName } from "../types/dtype.js";
import { dtypeOf, NDArray, type TypedArray } from "./ndarray.js";

type Constant = number | boolean | string;
type CallArguments = Readonly<Record<string, unknown>>;

/** A call in the form that the evaluator and the worker accept. */
export interface BoundCall {
  readonly testCase: TestCase;
  readonly inputs: Readonly<Record<string, TensorData>>;
}

/**
 * The config options in the second argument of a call, which override the values of a config.
 *
 * @throws TileScriptError if a name is not a constexpr of the kernel, or not one that the caller can set.
 */
export function configOverrides(
  { signature }: CompiledKernel,
  args: CallArguments,
  location: Location | undefined,
): CallArguments {
  const constexprByName = new Map(signature.constexprs.map((constexpr) => [constexpr.name, constexpr]));
  const overrides = Object.entries(args).filter(([name, value]) => {
    if (value === undefined) return false;
    if (launchOptionNames.includes(name)) return true;
    const constexpr = constexprByName.get(name);
    if (!constexpr)
      failCall(
        signature.name,
        `${name} is not a constexpr of the kernel; it has ${formatNames([...constexprByName.keys()])}`,
        location,
      );
    const { from, computedByConfig } = constexpr;
    if (computedByConfig) return true;
    if (from === "dim") failCall(signature.name, `${name} is a size of a tensor's shape; leave it out`, location);
    if (from === "launch" || from === "heuristic")
      failCall(signature.name, `${name} is computed at each launch; leave it out`, location);
    return from === "config";
  });
  return Object.fromEntries(overrides);
}

/** @throws TileScriptError that names the argument and describes the required value. */
export function bindCall(
  kernel: CompiledKernel,
  args: CallArguments,
  constexprs: CallArguments,
  location: Location | undefined,
  gpu?: TestCase["gpu"],
): BoundCall {
  return new Binder(kernel, location, gpu).bind(args, constexprs);
}

class Binder {
  readonly #sizes = new Map<string, { readonly value: number; readonly origin: string }>();
  readonly #dtypes = new Map<string, { readonly value: string; readonly origin: string }>();

  constructor(
    readonly kernel: CompiledKernel,
    readonly location: Location | undefined,
    readonly gpu: TestCase["gpu"],
  ) {}

  bind(args: CallArguments, constexprs: CallArguments): BoundCall {
    const { signature } = this.kernel;
    this.#checkNames(args);
    for (const name of signature.sizes) if (args[name] !== undefined) this.#size(name, args[name], "the size given");
    const constants = this.#constexprs(constexprs);
    const reads = [
      ...signature.tensors.filter(({ role }) => role !== "out"),
      ...signature.pointers.map((pointer) => ({ ...pointer, dims: undefined })),
    ];
    const present = reads.filter(({ name, optional }) => {
      const isPresent = args[name] !== undefined && args[name] !== null;
      if (!isPresent && !optional) this.#reject(`${name} is missing; ${this.#describeExpected(name)}`);
      return isPresent;
    });
    const inputs = present.map((param) => ({ ...param, array: this.#array(param.name, args[param.name]) }));
    const arrays = new Map(inputs.map(({ name, array }) => [name, array]));
    for (const { name, dtype, dims, array } of inputs) {
      if (dims) this.#shape(name, array.shape, dims);
      this.#dtype(name, array.dtype, dtype);
    }
    for (const name of signature.optionalSizes ?? [])
      if (!this.#sizes.has(name)) this.#size(name, 0, "the tensors that are left out");
    for (const name of signature.sizes)
      if (!this.#sizes.has(name))
        this.#reject(`${name} is missing; no tensor's shape determines this size, so give it`);
    for (const name of Object.keys(signature.dtypes))
      if (!this.#dtypes.has(name)) this.#reject(`the dtype ${name} is missing; give it with the constexprs`);
    const scalars = this.#scalars(args);
    const layouts = signature.tensors.flatMap(({ name }): [string, Layout][] => {
      const array = arrays.get(name);
      if (!array || sizeOf(array.shape) === 0) return [];
      // A descriptor also has the stride of an axis of size 1.
      return array.strides.join() === stridesOf(array.shape).join() ? [] : [[name, array.strides]];
    });
    const absent = signature.tensors.filter(({ name, role, optional }) =>
      role === "out" ? optional && !this.#isRequested(name, args[name]) : !arrays.has(name),
    );
    const testCase: TestCase = {
      sizes: valuesOf(this.#sizes),
      dtypes: valuesOf(this.#dtypes),
      scalars,
      constexprs: constants,
      layouts: Object.fromEntries(layouts),
      absent: absent.map(({ name }) => name),
      ...(this.gpu && { gpu: this.gpu }),
      config: 0,
      seed: 0,
    };
    this.#checkComputed(testCase, arrays);
    const refusal = this.kernel.refusal(testCase);
    if (refusal !== undefined) fail(callRefused(signature.name, refusal), this.location);
    return { testCase, inputs: Object.fromEntries(inputs.map(({ name, array }) => [name, tensorData(array)])) };
  }

  #checkNames(args: CallArguments): void {
    const { tensors, pointers, scalars, constexprs, sizes } = this.kernel.signature;
    const outputs = tensors.filter(({ role, optional }) => role === "out" && !optional).map(({ name }) => name);
    const inputs = [...tensors, ...pointers, ...scalars]
      .map(({ name }) => name)
      .filter((name) => !outputs.includes(name));
    for (const name of Object.keys(args)) {
      if (inputs.includes(name) || sizes.includes(name)) continue;
      if (outputs.includes(name)) this.#reject(`${name} is an output, which the call returns; leave it out`);
      if (constexprs.some((constexpr) => constexpr.name === name))
        this.#reject(`${name} is a constexpr; give it in the second argument`);
      this.#reject(`${name} is not an input of the kernel; it has ${formatNames(inputs)}`);
    }
  }

  /** True if the caller requests an optional output. */
  #isRequested(name: string, value: unknown): boolean {
    if (value === undefined || value === null || typeof value === "boolean") return value === true;
    return this.#reject(`${name} is an output, which the call returns; give true to have it, or leave it out`);
  }

  #array(name: string, value: unknown): NDArray {
    if (value instanceof NDArray) return value;
    if (dtypeOf(value)) return NDArray.of(value as TypedArray);
    const actual = Array.isArray(value) ? "a JavaScript array" : `a ${typeof value}`;
    return this.#reject(`${name} is ${actual}; ${this.#describeExpected(name)}`);
  }

  /** A description of the required argument, for the end of a sentence. */
  #describeExpected(name: string): string {
    const { tensors, pointers } = this.kernel.signature;
    const tensor = tensors.find((each) => each.name === name);
    const dtype = (tensor ?? pointers.find((each) => each.name === name))?.dtype;
    const dtypes = dtype === undefined ? "" : ` of ${this.#members(dtype).join(" or ")}`;
    return `give an NDArray${dtypes}${tensor ? ` with shape [${tensor.dims.join(", ")}]` : ""}`;
  }

  #members(dtype: SignatureDType): readonly string[] {
    return typeof dtype === "string" ? [dtype] : this.kernel.signature.dtypes[dtype.variable]!;
  }

  #shape(name: string, shape: readonly number[], dims: readonly (string | number)[]): void {
    const actual = `${name} has shape [${shape.join(", ")}]`;
    if (shape.length !== dims.length) {
      const remedy = shape.length === 1 ? "; give its shape, NDArray.of(values, shape)" : "";
      this.#reject(`${actual}, and needs [${dims.join(", ")}]${remedy}`);
    }
    dims.forEach((dim, axis) => {
      if (typeof dim === "number" && shape[axis] !== dim) this.#reject(`${actual}, and needs [${dims.join(", ")}]`);
      if (typeof dim === "string" && this.kernel.signature.sizes.includes(dim))
        this.#size(dim, shape[axis], `${name} with shape [${shape.join(", ")}]`);
    });
  }

  #size(name: string, value: unknown, origin: string): void {
    if (typeof value !== "number" || !Number.isInteger(value) || value < 0)
      this.#reject(`${name} is ${String(value)}; a size is a whole number`);
    const bound = this.#sizes.get(name);
    if (bound && bound.value !== value)
      this.#reject(
        `${name} is ${bound.value} by ${bound.origin} and ${String(value)} by ${origin}; give arrays that agree`,
      );
    if (!bound) this.#sizes.set(name, { value: value as number, origin });
  }

  #dtype(name: string, actual: string, declared: SignatureDType): void {
    const members = this.#members(declared);
    if (!members.includes(actual))
      this.#reject(
        `${name} is ${actual}, and needs ${members.join(" or ")}; NDArray.of(values, shape, tl.${members[0]}) converts`,
      );
    if (typeof declared === "string") return;
    const bound = this.#dtypes.get(declared.variable);
    if (bound && bound.value !== actual)
      this.#reject(
        `${declared.variable} is ${bound.value} by ${bound.origin} and ${actual} by ${name}; give one dtype`,
      );
    if (!bound) this.#dtypes.set(declared.variable, { value: actual, origin: name });
  }

  #scalars(args: CallArguments): Record<string, number> {
    const values = this.kernel.signature.scalars.map(({ name, dtype, default: initial }) => {
      const value = args[name] ?? initial;
      if (typeof value !== "number") this.#reject(`${name} is ${describeValue(value)}; give a number`);
      if (dtype.includes("int") && !Number.isInteger(value))
        this.#reject(`${name} is ${String(value)}, and needs ${dtype}`);
      return [name, value as number] as const;
    });
    return Object.fromEntries(values);
  }

  /** Binds flags and choices that no config sets. Also binds dtype variables. */
  #constexprs(args: CallArguments): Record<string, Constant> {
    const values: Record<string, Constant> = {};
    for (const constexpr of this.kernel.signature.constexprs) {
      if (constexpr.from !== "argument") continue;
      const { name, variable } = constexpr;
      const token = args[name] ?? constexpr.default;
      const value = isDType(token) ? token.name : token;
      // An input may already bind the dtype.
      if (variable !== undefined && value === undefined) continue;
      const reason = whyConstexpr(constexpr, value);
      if (reason) this.#reject(`${name} is ${describeValue(value)}; ${reason}`);
      if (variable !== undefined) this.#dtypes.set(variable, { value: value as string, origin: name });
      else values[name] = value as Constant;
    }
    return values;
  }

  /** Compares shapes with derived sizes. */
  #checkComputed(testCase: TestCase, arrays: ReadonlyMap<string, NDArray>): void {
    const sizes = this.kernel.sizes(testCase);
    for (const { name, dims } of this.kernel.signature.tensors) {
      const shape = arrays.get(name)?.shape;
      dims.forEach((dim, axis) => {
        if (shape && typeof dim === "string" && sizes[dim] !== shape[axis])
          this.#reject(`${name} has shape [${shape.join(", ")}], and its ${dim} must be ${sizes[dim]}`);
      });
    }
  }

  #reject(message: string): never {
    return failCall(this.kernel.signature.name, message, this.location);
  }
}

/** The remedy for a wrong value of a constexpr; undefined if the value is correct. */
function whyConstexpr({ kind, choices }: ConstexprSignature, value: unknown): string | undefined {
  if (choices) return choices.includes(value as string) ? undefined : `give one of ${formatNames(choices)}`;
  if (kind === "bool") return typeof value === "boolean" ? undefined : "give true or false";
  if (kind === "int") return Number.isInteger(value) ? undefined : "give a whole number";
  return typeof value === "number" ? undefined : "give a number";
}

const describeValue = (value: unknown): string => (value === undefined || value === null ? "missing" : jsonText(value));
const formatNames = (names: readonly string[]): string => (names.length === 0 ? "none" : names.join(", "));

function failCall(kernel: string, message: string, location: Location | undefined): never {
  return fail(callArgument(kernel, message), location);
}

function valuesOf<T>(entries: ReadonlyMap<string, { readonly value: T }>): Record<string, T> {
  return Object.fromEntries([...entries].map(([name, { value }]) => [name, value]));
}

/** The array in the form that the evaluator accepts. */
export function tensorData({ dtype, shape, data }: NDArray): TensorData {
  return { dtype, shape, data: fromNumbers(dtype as DTypeName, shape, data as ArrayLike<number | bigint>).data };
}
