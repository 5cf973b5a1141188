/** Binds the arguments of a call: reads sizes and dtypes from them, and refuses those that the kernel cannot take. */
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
import { fromNumbers } from "../numerics/array.js";
import { isDType, type DTypeName } from "../types/dtype.js";
import { dtypeOf, NDArray, type TypedArray } from "./ndarray.js";

type Constant = number | boolean | string;
type Given = Readonly<Record<string, unknown>>;

/** A call in the form that the evaluator and the worker take. */
export interface BoundCall {
  readonly at: TestCase;
  readonly inputs: Readonly<Record<string, TensorData>>;
}

/**
 * The config options among the second argument of a call, which override those of a config.
 *
 * @throws TileScriptError if a name is not a constexpr of the kernel, or not one that the caller can set.
 */
export function configOverrides({ signature }: CompiledKernel, given: Given, at: Location | undefined): Given {
  const known = new Map(signature.constexprs.map((each) => [each.name, each]));
  const part = Object.entries(given).filter(([name, value]) => {
    if (value === undefined) return false;
    if (launchOptionNames.includes(name)) return true;
    const constexpr = known.get(name);
    if (!constexpr)
      wrong(signature.name, `${name} is not a constexpr of the kernel; it has ${listed([...known.keys()])}`, at);
    const { from, computedByConfig } = constexpr;
    if (computedByConfig) return true;
    if (from === "dim") wrong(signature.name, `${name} is a size of a tensor's shape; leave it out`, at);
    if (from === "launch" || from === "heuristic")
      wrong(signature.name, `${name} is computed at each launch; leave it out`, at);
    return from === "config";
  });
  return Object.fromEntries(part);
}

/** @throws TileScriptError that names the argument and says what it must be. */
export function bindCall(
  kernel: CompiledKernel,
  given: Given,
  constexprs: Given,
  location: Location | undefined,
  gpu?: TestCase["gpu"],
): BoundCall {
  return new Binder(kernel, location, gpu).bind(given, constexprs);
}

class Binder {
  readonly #sizes = new Map<string, { readonly value: number; readonly of: string }>();
  readonly #dtypes = new Map<string, { readonly value: string; readonly of: string }>();

  constructor(
    readonly kernel: CompiledKernel,
    readonly location: Location | undefined,
    readonly gpu: TestCase["gpu"],
  ) {}

  bind(given: Given, constexprs: Given): BoundCall {
    const { signature } = this.kernel;
    this.#checkNames(given);
    for (const name of signature.sizes) if (given[name] !== undefined) this.#size(name, given[name], "the size given");
    const constants = this.#constexprs(constexprs);
    const read = [
      ...signature.tensors.filter(({ role }) => role !== "out"),
      ...signature.pointers.map((pointer) => ({ ...pointer, dims: undefined })),
    ];
    const present = read.filter(({ name, optional }) => {
      const isGiven = given[name] !== undefined && given[name] !== null;
      if (!isGiven && !optional) this.#wrong(`${name} is missing; ${this.#expected(name)}`);
      return isGiven;
    });
    const arrays = new Map(present.map(({ name }) => [name, this.#array(name, given[name])]));
    for (const { name, dtype, dims } of present) {
      const array = arrays.get(name)!;
      if (dims) this.#shape(name, array.shape, dims);
      this.#dtype(name, array.dtype, dtype);
    }
    for (const name of signature.optionalSizes ?? [])
      if (!this.#sizes.has(name)) this.#size(name, 0, "the tensors that are left out");
    for (const name of signature.sizes)
      if (!this.#sizes.has(name)) this.#wrong(`${name} is missing; no tensor's shape determines this size, so give it`);
    for (const name of Object.keys(signature.dtypes))
      if (!this.#dtypes.has(name)) this.#wrong(`the dtype ${name} is missing; give it with the constexprs`);
    const scalars = this.#scalars(given);
    const layouts = signature.tensors.flatMap(({ name }): [string, Layout][] => {
      const array = arrays.get(name);
      return array && !array.isContiguous ? [[name, array.strides]] : [];
    });
    const absent = signature.tensors.filter(({ name, role, optional }) =>
      role === "out" ? optional && !this.#asks(name, given[name]) : !arrays.has(name),
    );
    const at: TestCase = {
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
    this.#checkComputed(at, arrays);
    const refusal = this.kernel.refusal(at);
    if (refusal !== undefined) fail(callRefused(signature.name, refusal), this.location);
    return { at, inputs: Object.fromEntries([...arrays].map(([name, array]) => [name, tensorData(array)])) };
  }

  #checkNames(given: Given): void {
    const { tensors, pointers, scalars, constexprs, sizes } = this.kernel.signature;
    const outputs = tensors.filter(({ role, optional }) => role === "out" && !optional).map(({ name }) => name);
    const inputs = [...tensors, ...pointers, ...scalars]
      .map(({ name }) => name)
      .filter((name) => !outputs.includes(name));
    for (const name of Object.keys(given)) {
      if (inputs.includes(name) || sizes.includes(name)) continue;
      if (outputs.includes(name)) this.#wrong(`${name} is an output, which the call returns; leave it out`);
      if (constexprs.some((each) => each.name === name))
        this.#wrong(`${name} is a constexpr; give it in the second argument`);
      this.#wrong(`${name} is not an input of the kernel; it has ${listed(inputs)}`);
    }
  }

  /** Whether the caller wants an output that may be left out. */
  #asks(name: string, value: unknown): boolean {
    if (value === undefined || value === null || typeof value === "boolean") return value === true;
    return this.#wrong(`${name} is an output, which the call returns; give true to have it, or leave it out`);
  }

  #array(name: string, value: unknown): NDArray {
    if (value instanceof NDArray) return value;
    if (dtypeOf(value)) return NDArray.of(value as TypedArray);
    const is = Array.isArray(value) ? "a JavaScript array" : `a ${typeof value}`;
    return this.#wrong(`${name} is ${is}; ${this.#expected(name)}`);
  }

  /** The required argument, as the end of a sentence. */
  #expected(name: string): string {
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
    const got = `${name} has shape [${shape.join(", ")}]`;
    if (shape.length !== dims.length) {
      const remedy = shape.length === 1 ? "; give its shape, NDArray.of(values, shape)" : "";
      this.#wrong(`${got}, and needs [${dims.join(", ")}]${remedy}`);
    }
    dims.forEach((dim, axis) => {
      if (typeof dim === "number" && shape[axis] !== dim) this.#wrong(`${got}, and needs [${dims.join(", ")}]`);
      if (typeof dim === "string" && this.kernel.signature.sizes.includes(dim))
        this.#size(dim, shape[axis], `${name} with shape [${shape.join(", ")}]`);
    });
  }

  #size(name: string, value: unknown, of: string): void {
    if (typeof value !== "number" || !Number.isInteger(value) || value < 0)
      this.#wrong(`${name} is ${String(value)}; a size is a whole number`);
    const known = this.#sizes.get(name);
    if (known && known.value !== value)
      this.#wrong(`${name} is ${known.value} by ${known.of} and ${String(value)} by ${of}; give arrays that agree`);
    if (!known) this.#sizes.set(name, { value: value as number, of });
  }

  #dtype(name: string, got: string, declared: SignatureDType): void {
    const members = this.#members(declared);
    if (!members.includes(got))
      this.#wrong(
        `${name} is ${got}, and needs ${members.join(" or ")}; NDArray.of(values, shape, tl.${members[0]}) converts`,
      );
    if (typeof declared === "string") return;
    const known = this.#dtypes.get(declared.variable);
    if (known && known.value !== got)
      this.#wrong(`${declared.variable} is ${known.value} by ${known.of} and ${got} by ${name}; give one dtype`);
    if (!known) this.#dtypes.set(declared.variable, { value: got, of: name });
  }

  #scalars(given: Given): Record<string, number> {
    const values = this.kernel.signature.scalars.map(({ name, dtype, default: initial }) => {
      const value = given[name] ?? initial;
      if (typeof value !== "number") this.#wrong(`${name} is ${what(value)}; give a number`);
      if (dtype.includes("int") && !Number.isInteger(value))
        this.#wrong(`${name} is ${String(value)}, and needs ${dtype}`);
      return [name, value as number] as const;
    });
    return Object.fromEntries(values);
  }

  /** Flags and choices that no config sets; also binds dtype variables. */
  #constexprs(given: Given): Record<string, Constant> {
    const chosen: Record<string, Constant> = {};
    for (const constexpr of this.kernel.signature.constexprs) {
      if (constexpr.from !== "argument") continue;
      const { name, variable } = constexpr;
      const token = given[name] ?? constexpr.default;
      const value = isDType(token) ? token.name : token;
      // An input may already bind the dtype.
      if (variable !== undefined && value === undefined) continue;
      const why = whyConstexpr(constexpr, value);
      if (why) this.#wrong(`${name} is ${what(value)}; ${why}`);
      if (variable !== undefined) this.#dtypes.set(variable, { value: value as string, of: name });
      else chosen[name] = value as Constant;
    }
    return chosen;
  }

  /** Compares shapes with derived sizes. */
  #checkComputed(at: TestCase, arrays: ReadonlyMap<string, NDArray>): void {
    const sizes = this.kernel.sizes(at);
    for (const { name, dims } of this.kernel.signature.tensors) {
      const shape = arrays.get(name)?.shape;
      dims.forEach((dim, axis) => {
        if (shape && typeof dim === "string" && sizes[dim] !== shape[axis])
          this.#wrong(`${name} has shape [${shape.join(", ")}], and its ${dim} must be ${sizes[dim]}`);
      });
    }
  }

  #wrong(message: string): never {
    return wrong(this.kernel.signature.name, message, this.location);
  }
}

/** The remedy for a wrong value of a constexpr, or undefined if the value is right. */
function whyConstexpr({ kind, choices }: ConstexprSignature, value: unknown): string | undefined {
  if (choices) return choices.includes(value as string) ? undefined : `give one of ${listed(choices)}`;
  if (kind === "bool") return typeof value === "boolean" ? undefined : "give true or false";
  if (kind === "int") return Number.isInteger(value) ? undefined : "give a whole number";
  return typeof value === "number" ? undefined : "give a number";
}

const what = (value: unknown): string => (value === undefined || value === null ? "missing" : jsonText(value));
const listed = (names: readonly string[]): string => (names.length === 0 ? "none" : names.join(", "));

function wrong(kernel: string, message: string, at: Location | undefined): never {
  return fail(callArgument(kernel, message), at);
}

function valuesOf<T>(bound: ReadonlyMap<string, { readonly value: T }>): Record<string, T> {
  return Object.fromEntries([...bound].map(([name, { value }]) => [name, value]));
}

/** The array in the form that the evaluator takes. */
export function tensorData({ dtype, shape, data }: NDArray): TensorData {
  return { dtype, shape, data: fromNumbers(dtype as DTypeName, shape, data as ArrayLike<number | bigint>).data };
}
