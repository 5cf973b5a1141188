/**
 * What is decided once for a body: which values are uniform, so the same in every program and computed only once, and
 * which ops keep their dtypes in an unrounded run.
 */
import {
  type Argument,
  isDType,
  isFunction,
  isList,
  isLiteral,
  isValue,
  type OpStatement,
  type Param,
  type Value,
} from "../ir/nodes.js";
import { type TileArray, cast } from "../numerics/array.js";
import { isFloat } from "../numerics/numeric-int.js";
import type { DTypeName, Elem } from "../types/dtype.js";
import { argumentsOf, type Substitution, typedArguments, typeOfArgument } from "../ir/walk.js";
import { sameType, type Type } from "../types/types.js";
import { isTile } from "../values/operands.js";
import type { Runtime } from "../values/runtime-values.js";
import type { Bindings } from "./bindings.js";
import { Message } from "../diagnostics/message.js";

/**
 * The uniformity of a value: the same in every launch with these constexprs, the same in every program of one launch,
 * or neither.
 */
export type UniformityQuery = "always" | "launch" | undefined;

export class UniformValues {
  readonly #uniformity = new Map<Value, UniformityQuery>();

  constructor(params: readonly Param[]) {
    for (const param of params)
      for (const value of valuesOf(param)) this.set(value, param.kind === "constexpr" ? "always" : "launch");
  }

  set(value: Value, uniformity: UniformityQuery): void {
    this.#uniformity.set(value, uniformity);
  }

  /** The uniformity of an op's results, from that of its arguments. */
  uniformityOfResults({ op, operands, options }: OpStatement): UniformityQuery {
    if (op.effect !== "pure" || op.facts.queries === "program") return undefined;
    const uniformities = [...operands, ...Object.values(options)].map((argument) => this.#uniformityOf(argument));
    return weakest(op.facts.queries === "grid" ? ["launch", ...uniformities] : uniformities);
  }

  #uniformityOf(argument: Argument | undefined): UniformityQuery {
    if (argument === undefined || isLiteral(argument) || isDType(argument)) return "always";
    if (isFunction(argument)) return undefined;
    return isList(argument)
      ? weakest(argument.map((item) => this.#uniformityOf(item)))
      : this.#uniformity.get(argument as Value);
  }
}

function weakest(uniformities: readonly UniformityQuery[]): UniformityQuery {
  if (uniformities.includes(undefined)) return undefined;
  return uniformities.includes("launch") ? "launch" : "always";
}

/** The values of a parameter in the kernel. */
function valuesOf(param: Param): readonly Value[] {
  const presenceFlag = "given" in param && param.given ? [param.given] : [];
  if (param.kind !== "tensor") return [param.value, ...presenceFlag];
  return [param.value, param.pointer, ...param.strides.filter(isValue), ...presenceFlag];
}

// Ops that keep the author's dtypes in an unrounded run. Most ops, including float32-only functions, compute in float64
// as in any float dtype. An op keeps its dtypes if its type rule rejects float64 or infers a different result type for
// it, unless its result simply has the operand's dtype. Examples: bitcasts, random numbers, scaled dots.

type Args = Readonly<Record<string, Runtime>>;

/** True if an op keeps its dtypes. Accesses never do, because memory stores the results of ops. */
export function isDTypeSensitive(statement: OpStatement, bindings: Bindings): boolean {
  const { op, results } = statement;
  if (!bindings.unrounded || op.effect !== "pure") return false;
  const isResultTypeKept = (elem: (elem: Elem) => DTypeName): "refused" | boolean => {
    const substitution: Substitution = { type: (type) => withElem(type, elem), elem };
    const result = op.infer(typedArguments(statement, substitution));
    if (result instanceof Message) return "refused";
    const types = "kind" in result ? [result] : result;
    const expectedTypes = results.map(({ type }) => withElem(type, (each) => bindings.evaluationDType(each)));
    return expectedTypes.every((type, i) => types[i] && sameType(types[i], type));
  };
  const isKept = isResultTypeKept((elem) => bindings.evaluationDType(elem));
  if (isKept === "refused") return !isSingleDTypeOp(statement, bindings);
  // The quotient of integers is float32; that of float64 values is float64.
  return !isKept && isResultTypeKept(() => "float64") !== true;
}

/** True if all floats among operands and result have one dtype, as in float32-only functions. */
function isSingleDTypeOp(statement: OpStatement, bindings: Bindings): boolean {
  const dtypes = (types: readonly Type[]): ReadonlySet<DTypeName> =>
    new Set(types.flatMap((type) => (type.kind === "tile" ? [bindings.dtype(type.dtype)] : [])));
  const operandDTypes = dtypes(argumentsOf(statement).map(typeOfArgument));
  const [dtype] = operandDTypes;
  if (dtype === undefined || operandDTypes.size !== 1 || !isFloat(dtype) || statement.results.length !== 1)
    return false;
  return [...dtypes(statement.results.map(({ type }) => type))].join() === dtype;
}

function withElem(type: Type, elem: (elem: Elem) => DTypeName): Type {
  if (type.kind === "tile") return { ...type, dtype: elem(type.dtype) };
  return "to" in type ? { ...type, to: elem(type.to) } : type;
}

/**
 * Evaluates an op in the author's dtypes on float64 values. Calls `onRounding` if the result may be inexact: if an
 * operand is not representable in its dtype, or if the op returns floats that are not the result of a bitcast.
 */
export function evaluateInDeclaredDTypes(
  statement: OpStatement,
  compute: (args: Args) => Runtime | readonly Runtime[],
  bindings: Bindings,
  onRounding: () => void,
): (args: Args) => Runtime | readonly Runtime[] {
  const dtypes = new Map<string, DTypeName>();
  const addDType = (name: string, argument: Argument | undefined): void => {
    const type = argument && bindings.declaredType(typeOfArgument(argument));
    if (type && isFloat(type.dtype)) dtypes.set(name, type.dtype);
  };
  Object.keys(statement.op.operands).forEach((name, i) => addDType(name, statement.operands[i]));
  for (const [name, argument] of Object.entries(statement.options)) addDType(name, argument);
  const narrowArgument = (name: string, value: Runtime): Runtime => {
    const dtype = dtypes.get(name);
    if (!dtype || !isTile(value)) return value;
    const narrow = cast(value, dtype);
    if (!holdsAll(narrow, value)) onRounding();
    return narrow;
  };
  const isBitcast = typedArguments(statement)["bitcast"]?.literal === true;
  const widenResult = (value: Runtime): Runtime => {
    if (!isTile(value) || !isFloat(value.dtype)) return value;
    if (!isBitcast) onRounding();
    return cast(value, "float64");
  };
  return (args) => {
    const value = compute(
      Object.fromEntries(Object.entries(args).map(([name, arg]) => [name, narrowArgument(name, arg)])),
    );
    return Array.isArray(value) ? value.map(widenResult) : widenResult(value as Runtime);
  };
}

function holdsAll(narrow: TileArray, wide: TileArray): boolean {
  for (let i = 0; i < wide.data.length; i++)
    if (!Object.is(Number(narrow.data[i]), Number(wide.data[i])) && !wide.poison?.[i]) return false;
  return true;
}
