/** Values known before a program runs: sizes, scalars, constexprs, dtypes, and what the host computes from them. */
import { type DeviceProperties, H200 } from "../compiled/device-properties.js";
import { type DTypeName, type Elem, reflect, reflections } from "../types/dtype.js";
import { unroundedDType } from "../numerics/numeric.js";
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
import { constexprValue } from "../types/constexpr-value.js";
import { dtypeVariables } from "../analysis/dtype-bindings.js";

/** What the caller passes. */
export interface Launch {
  /** Sizes, except derived ones, and dims that are constexprs. */
  readonly sizes: Readonly<Record<string, number>>;
  readonly dtypes: Readonly<Record<string, string>>;
  readonly scalars?: Readonly<Record<string, number>> | undefined;
  /** The config's and the caller's. */
  readonly constexprs: Readonly<Record<string, number | boolean | string>>;
  /** Optional arguments that the caller leaves out. */
  readonly absent?: readonly string[] | undefined;
  /** Computes every float in float64, so that nothing is rounded: what is left is the kernel's algorithm. */
  readonly unrounded?: boolean | undefined;
  /** Properties of the GPU, where they are not those of an H200. */
  readonly gpu?: Partial<DeviceProperties> | undefined;
}

export class Bindings {
  readonly #launch: Launch;
  readonly #params: ReadonlyMap<Value, Param>;
  readonly #known = new Map<Value, Constant>();
  /** The members of each dtype variable of the parameters. */
  readonly #members: ReadonlyMap<string, readonly DTypeName[]>;
  readonly #dims = new Map<string, number>();
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
    const valuesOf = (kind: Param["kind"]) =>
      ir.params.flatMap((param) => (param.kind === kind ? [[param.name, this.constant(param.value)] as const] : []));
    this.constexprs = Object.fromEntries(valuesOf("constexpr"));
    this.sizes = Object.fromEntries(valuesOf("size")) as Record<string, number>;
    this.scalars = Object.fromEntries(valuesOf("scalar")) as Record<string, number>;
  }

  /** The Python value of a size, scalar or constexpr, or of a value that a host block computed. */
  constant(argument: Argument): Constant {
    if (isLiteral(argument)) return argument.value;
    if (isDType(argument)) return this.dtype(argument.dtype);
    if (!isValue(argument)) throw new TypeError("the host computes with numbers only");
    const known = this.#known.get(argument);
    if (known !== undefined) return known;
    const param = this.#params.get(argument);
    if (!param) throw new Error("a value of the kernel was used on the host");
    const value = this.#ofParam(param);
    this.#known.set(argument, value);
    return value;
  }

  #ofParam(param: Param): Constant {
    const { sizes, scalars, constexprs } = this.#launch;
    if (param.kind === "size")
      return param.derived ? this.host(param.derived)[0]! : given(param.name, sizes[param.name]);
    if (param.kind === "device") return this.#launch.gpu?.[param.name] ?? H200[param.name];
    if (param.kind === "scalar") return given(param.name, scalars?.[param.name] ?? param.default);
    if (param.kind !== "constexpr") throw new TypeError(`${param.name} is not a number`);
    if (param.compute) return this.host(param.compute)[0]!;
    if (param.variable) return this.dtype(param.variable);
    return given(param.name, constexprs[param.name] ?? (param.from === "dim" ? sizes[param.name] : param.default));
  }

  /** Runs a host block, in Python's arithmetic. */
  host({ block }: HostBlock): readonly Constant[] {
    for (const statement of block.statements) {
      if (statement.kind !== "op") throw new TypeError("the host computes with numbers only");
      this.#known.set(
        statement.results[0]!,
        folded(statement, (argument) => this.constant(argument)),
      );
    }
    return block.yields.map((argument) => this.constant(argument));
  }

  /** The dtype that an element type has in this launch. */
  dtype(elem: Elem): DTypeName {
    if (typeof elem === "string") return elem;
    const bound = this.#launch.dtypes[elem.name];
    // An arm for some members only is prepared for all of them.
    const possible = this.#members.get(elem.name) ?? elem.members;
    if (!possible.includes(bound as DTypeName))
      throw new Error(`the dtype ${elem.name} is ${bound ?? "not given"}; it is one of ${elem.members.join(", ")}`);
    return bound as DTypeName;
  }

  /** The dtype that values of an element type have in this evaluation: float64 for every float, if nothing is rounded. */
  held(elem: Elem): DTypeName {
    const dtype = this.dtype(elem);
    return this.#launch.unrounded ? unroundedDType(dtype) : dtype;
  }

  dim(dim: Dim): number {
    if (typeof dim === "number") return dim;
    let value = this.#dims.get(dim);
    if (value === undefined) {
      const numbers = { ...this.constexprs, ...this.#facts(), ...Object.fromEntries(this.#indices) };
      this.#dims.set(dim, (value = constexprValue(dim, numbers)));
    }
    return value;
  }

  /** A dimension may depend on a dtype, such as on its width, and on which arguments the caller gave. */
  #facts(): Record<string, number> {
    const facts: Record<string, number> = {};
    for (const [name, dtype] of Object.entries(this.#launch.dtypes))
      for (const property of reflections) facts[`${name}.${property}`] = Number(reflect(dtype as DTypeName, property));
    for (const [name, all] of this.#members)
      for (const member of all) facts[`${name}.is.${member}`] = Number(this.#launch.dtypes[name] === member);
    for (const { name } of this.#params.values()) facts[`${name}.given`] = Number(!this.#launch.absent?.includes(name));
    return facts;
  }

  /** Runs `body` with the index of an unrolled loop, given by its text, bound to `value`. */
  within<T>(index: string, value: number, body: () => T): T {
    this.#indices.set(index, value);
    this.#dims.clear();
    try {
      return body();
    } finally {
      this.#indices.delete(index);
      this.#dims.clear();
    }
  }

  /** The type with dtype variables and dimensions bound; undefined unless it is a tile, a pointer or a view. */
  result(type: Type): ResultType | undefined {
    const declared = this.declared(type);
    return declared && this.#launch.unrounded ? { ...declared, dtype: unroundedDType(declared.dtype) } : declared;
  }

  /** The same with the author's dtypes, also where nothing is rounded. */
  declared(type: Type): ResultType | undefined {
    if (type.kind === "tile") return { dtype: this.dtype(type.dtype), shape: type.shape.map((dim) => this.dim(dim)) };
    if (type.kind === "pointer" || type.kind === "view")
      return { dtype: this.dtype(type.to), shape: type.shape.map((dim) => this.dim(dim)) };
    return undefined;
  }

  /** Whether nothing is rounded. */
  get unrounded(): boolean {
    return this.#launch.unrounded === true;
  }
}

/** An op on constants, in Python's arithmetic. */
export function folded(
  { op, operands }: Pick<OpStatement, "op" | "operands">,
  constant: (argument: Argument) => Constant,
): Constant {
  if (!op.fold) throw new TypeError(`${op.name} cannot be computed from constants`);
  return op.fold(...operands.flatMap((operand) => (operand === undefined ? [] : [constant(operand)])));
}

function given<T>(name: string, value: T | undefined): T {
  if (value === undefined) throw new Error(`${name} has no value; give it one`);
  return value;
}
