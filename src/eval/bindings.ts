/** Values fixed before a program runs: sizes, scalars, constexprs, dtypes, and host expressions of them. */
import { type DeviceProperties, H200 } from "../compiled/gpus.js";
import { type DTypeName, type Elem, reflect, reflections } from "../types/dtype.js";
import { unroundedDType } from "../numerics/numeric-int.js";
import {
  type Argument,
  isDType,
  isLiteral,
  isValue,
  type HostBlock,
  type KernelIR,
  type OpStatement,
  type Param,
  type Value,
} from "../ir/nodes.js";
import type { Constant, ResultType } from "../values/runtime-values.js";
import type { Dim } from "../types/shape.js";
import type { Type } from "../types/types.js";
import { constexprValue } from "../types/constexpr-text.js";
import { dtypeVariables } from "../analysis/dtype-bindings.js";
import { walkAll, rangeOf } from "../ir/walk.js";
import type { TestCase, Ranges } from "../compiled/compiled-kernel.js";
import { sizesWithoutTensor } from "../analysis/launch-facts.js";

// The ops of a kernel that ask for the compilation target.

const cache = new WeakMap<KernelIR, readonly OpStatement[]>();

/** Kept, because each launch of a kernel asks for them. */
export function targetQueries(ir: KernelIR): readonly OpStatement[] {
  const cached = cache.get(ir);
  if (cached) return cached;
  const queries: OpStatement[] = [];
  walkAll(ir, (statement) => {
    if (statement.kind === "op" && statement.op.facts.answer) queries.push(statement);
  });
  cache.set(ir, queries);
  return queries;
}

/** The arguments of a launch. */
export interface Launch {
  /** Sizes, except derived sizes and dims that are constexprs. */
  readonly sizes: Readonly<Record<string, number>>;
  readonly dtypes: Readonly<Record<string, string>>;
  readonly scalars?: Readonly<Record<string, number>> | undefined;
  /** Constexprs of the config and of the caller. */
  readonly constexprs: Readonly<Record<string, number | boolean | string>>;
  /** Omitted optional arguments. */
  readonly absent?: readonly string[] | undefined;
  /** True to compute every float in float64. Nothing is rounded, so the result shows the algorithm alone. */
  readonly unrounded?: boolean | undefined;
  /** GPU properties that differ from those of an H200. */
  readonly gpu?: Partial<DeviceProperties> | undefined;
}

export class Bindings {
  readonly #launch: Launch;
  readonly #params: ReadonlyMap<Value, Param>;
  readonly #constants = new Map<Value, Constant>();
  /** The members of each dtype variable of the parameters. */
  readonly #members: ReadonlyMap<string, readonly DTypeName[]>;
  readonly #dims = new Map<string, number>();
  /** What the GPU answers to the queries that dims may contain, by their texts, such as `is_cuda()`. */
  readonly #answers: ReadonlyMap<string, string>;
  /** Index values of the enclosing unrolled loops, by the index's text. */
  readonly #indices = new Map<string, number>();
  /** Constexprs by name. */
  readonly constexprs: Readonly<Record<string, Constant>>;
  /** Sizes by name, including derived ones. */
  readonly sizes: Readonly<Record<string, number>>;
  readonly scalars: Readonly<Record<string, number>>;

  constructor(ir: KernelIR, launch: Launch) {
    this.#launch = launch;
    this.#params = new Map(ir.params.map((param) => [param.value, param]));
    this.#members = dtypeVariables(ir);
    this.#answers = answersOf(ir, this.gpu);
    const valuesOf = (kind: Param["kind"]) =>
      ir.params.flatMap((param) => (param.kind === kind ? [[param.name, this.constant(param.value)] as const] : []));
    this.constexprs = Object.fromEntries(valuesOf("constexpr"));
    this.sizes = Object.fromEntries(valuesOf("size")) as Record<string, number>;
    this.scalars = Object.fromEntries(valuesOf("scalar")) as Record<string, number>;
  }

  /** The Python value of a size, scalar or constexpr, or of a value computed in a host block. */
  constant(argument: Argument): Constant {
    if (isLiteral(argument)) return argument.value;
    if (isDType(argument)) return this.dtype(argument.dtype);
    if (!isValue(argument)) throw new TypeError("the host computes with numbers only");
    const cachedValue = this.#constants.get(argument);
    if (cachedValue !== undefined) return cachedValue;
    const param = this.#params.get(argument);
    if (!param) throw new Error("a value of the kernel was used on the host");
    const value = this.#paramValue(param);
    this.#constants.set(argument, value);
    return value;
  }

  #paramValue(param: Param): Constant {
    const { sizes, scalars, constexprs } = this.#launch;
    if (param.kind === "size")
      return param.derived ? this.hostValue(param.derived) : requireValue(param.name, sizes[param.name]);
    if (param.kind === "device") return this.gpu[param.name];
    if (param.kind === "scalar") return requireValue(param.name, scalars?.[param.name] ?? param.default);
    if (param.kind !== "constexpr") throw new TypeError(`${param.name} is not a number`);
    if (param.compute) return this.hostValue(param.compute);
    if (param.variable) return this.dtype(param.variable);
    return requireValue(
      param.name,
      constexprs[param.name] ?? (param.from === "dim" ? sizes[param.name] : param.default),
    );
  }

  /** Evaluates a host block with Python's arithmetic. */
  host({ block }: HostBlock): readonly Constant[] {
    for (const statement of block.statements) {
      if (statement.kind !== "op") throw new TypeError("the host computes with numbers only");
      const value = foldConstants(statement, (argument) => this.constant(argument));
      for (const result of statement.results) this.#constants.set(result, value);
    }
    return block.yields.map((argument) => this.constant(argument));
  }

  /** The value of a host block that computes one. */
  hostValue(block: HostBlock): Constant {
    const [value] = this.host(block);
    if (value === undefined) throw new TypeError("a host block computes no value");
    return value;
  }

  dtype(elem: Elem): DTypeName {
    if (typeof elem === "string") return elem;
    const bound = this.#launch.dtypes[elem.name];
    // A branch for some members only is prepared for all of them.
    const members = this.#members.get(elem.name) ?? elem.members;
    if (!members.includes(bound as DTypeName))
      throw new Error(`the dtype ${elem.name} is ${bound ?? "not given"}; it is one of ${elem.members.join(", ")}`);
    return bound as DTypeName;
  }

  /** The dtype of this element type during evaluation. In an unrounded run it is float64 for every float. */
  evaluationDType(elem: Elem): DTypeName {
    const dtype = this.dtype(elem);
    return this.#launch.unrounded ? unroundedDType(dtype) : dtype;
  }

  dim(dim: Dim): number {
    if (typeof dim === "number") return dim;
    let value = this.#dims.get(dim);
    if (value === undefined) {
      const numbers = { ...this.constexprs, ...this.#facts(), ...Object.fromEntries(this.#indices) };
      this.#dims.set(dim, (value = constexprValue(this.#withAnswers(dim), numbers)));
    }
    return value;
  }

  #withAnswers(dim: string): string {
    return [...this.#answers].reduce((text, [query, answer]) => text.replaceAll(query, answer), dim);
  }

  /** Other inputs of dims: properties of dtypes, and which optional arguments are present. */
  #facts(): Record<string, number> {
    const facts: Record<string, number> = {};
    for (const [name, dtype] of Object.entries(this.#launch.dtypes))
      for (const property of reflections) facts[`${name}.${property}`] = Number(reflect(dtype as DTypeName, property));
    for (const [name, members] of this.#members)
      for (const member of members) facts[`${name}.is.${member}`] = Number(this.#launch.dtypes[name] === member);
    for (const { name } of this.#params.values()) facts[`${name}.given`] = Number(!this.#launch.absent?.includes(name));
    return facts;
  }

  /** Calls `body` with the index of an unrolled loop bound to `value`. */
  withLoopIndex<T>(index: string, value: number, body: () => T): T {
    this.#indices.set(index, value);
    this.#dims.clear();
    try {
      return body();
    } finally {
      this.#indices.delete(index);
      this.#dims.clear();
    }
  }

  /** The type with dtype variables and dims bound. Undefined unless it is a tile, a pointer or a view. */
  resultType(type: Type): ResultType | undefined {
    const declaredType = this.declaredType(type);
    return declaredType && this.#launch.unrounded
      ? { ...declaredType, dtype: unroundedDType(declaredType.dtype) }
      : declaredType;
  }

  /** {@link resultType} with the author's dtypes, even in an unrounded run. */
  declaredType(type: Type): ResultType | undefined {
    if (type.kind === "tile") return { dtype: this.dtype(type.dtype), shape: type.shape.map((dim) => this.dim(dim)) };
    if (type.kind === "pointer" || type.kind === "view")
      return { dtype: this.dtype(type.to), shape: type.shape.map((dim) => this.dim(dim)) };
    return undefined;
  }

  /** The GPU that the kernel is compiled for and launched on. */
  get gpu(): DeviceProperties {
    return { ...H200, ...this.#launch.gpu };
  }

  get unrounded(): boolean {
    return this.#launch.unrounded === true;
  }
}

function answersOf(ir: KernelIR, gpu: DeviceProperties): ReadonlyMap<string, string> {
  const answers = new Map<string, string>();
  for (const { op, operands, results } of targetQueries(ir)) {
    const constants = operands.flatMap((operand) => (isLiteral(operand) ? [operand.value] : []));
    for (const { type } of results)
      if (type.kind === "constexpr") answers.set(type.text, String(Number(op.facts.answer?.(gpu, ...constants))));
  }
  return answers;
}

/** Evaluates an op on constants with Python's arithmetic. */
function foldConstants(
  { op, operands }: Pick<OpStatement, "op" | "operands">,
  constant: (argument: Argument) => Constant,
): Constant {
  if (!op.fold) throw new TypeError(`${op.name} cannot be computed from constants`);
  return op.fold(...operands.flatMap((operand) => (operand === undefined ? [] : [constant(operand)])));
}

function requireValue<T>(name: string, value: T | undefined): T {
  if (value === undefined) throw new Error(`${name} has no value; give it one`);
  return value;
}

// Launch arguments of a test case.

export function launchOf(ir: KernelIR, testCase: TestCase): Launch {
  const config = ir.tuning.configs[testCase.config];
  if (!config) throw new Error(`there is no config ${testCase.config}; ${ir.name} has ${ir.tuning.configs.length}`);
  const { dtypes, scalars, absent = [], gpu } = testCase;
  const zeros = sizesWithoutTensor(ir, absent).map((name) => [name, 0] as const);
  const sizes = { ...testCase.sizes, ...Object.fromEntries(zeros) };
  for (const [name, value] of Object.entries(testCase.constexprs ?? {}))
    if (name in config.values && config.values[name] !== value)
      throw new Error(
        `${name} is ${config.values[name]} in config ${testCase.config}, and a case gives ${value}; leave it out`,
      );
  return { sizes, dtypes, scalars, constexprs: { ...testCase.constexprs, ...config.values }, ...(gpu && { gpu }) };
}

/** The declared ranges in a test case: of tensor elements, scalars and constexprs. */
export function rangesOf(ir: KernelIR, testCase: TestCase): Ranges {
  const declared = ir.params.flatMap((param) => {
    const range = rangeOf(param);
    return range ? [[param.name, range] as const] : [];
  });
  // Fast path: most kernels declare no range.
  if (declared.length === 0) return {};
  const bindings = new Bindings(ir, launchOf(ir, testCase));
  return Object.fromEntries(
    declared.map(([name, range]) => [name, bindings.host(range).map(Number) as [number, number]]),
  );
}

/** Sizes of a test case by name, including derived sizes and dims that are constexprs. */
export function sizesOf(ir: KernelIR, testCase: TestCase): Readonly<Record<string, number>> {
  return { ...testCase.sizes, ...new Bindings(ir, launchOf(ir, testCase)).sizes };
}

/** Constexprs of a test case by name, including those computed by the launch. */
export function constexprsOf(ir: KernelIR, testCase: TestCase): Readonly<Record<string, number | boolean | string>> {
  const { constexprs } = new Bindings(ir, launchOf(ir, testCase));
  const entries = Object.entries(constexprs);
  return Object.fromEntries(entries.map(([name, value]) => [name, typeof value === "bigint" ? Number(value) : value]));
}
