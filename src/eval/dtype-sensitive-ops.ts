/**
 * Ops that keep the author's dtypes in an unrounded run. Most ops, including float32-only functions, compute in float64
 * as in any float dtype. An op keeps its dtypes if its type rule rejects float64 or infers a different result type for
 * it, unless its result simply has the operand's dtype. Examples: bitcasts, random numbers, scaled dots.
 */
import type { TileArray } from "../numerics/array.js";
import { cast } from "../numerics/array-cast.js";
import { isFloat } from "../numerics/numeric.js";
import type { Argument, OpStatement } from "../ir/nodes.js";
import { type Substitution, typedArguments, typeOfArgument } from "../ir/typed.js";
import type { DTypeName, Elem } from "../types/dtype.js";
import { argumentsOf } from "../ir/walk.js";
import { sameType, type Type } from "../types/types.js";
import { isTile } from "../values/operands.js";
import type { Runtime } from "../values/runtime-values.js";
import type { Bindings } from "./bindings.js";
import { Message } from "../diagnostics/message.js";

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
