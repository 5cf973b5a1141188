/**
 * Ops that keep the author's dtypes where floats are computed without rounding. Most ops compute in float64 as they do in
 * any float, functions for float32 alone among them. An op keeps its dtypes if its type rule refuses float64, or gives
 * another type for it, and it does not simply give the dtype that it takes: bitcasts, random numbers, scaled products.
 */
import type { TileArray } from "../numerics/array.js";
import { cast } from "../numerics/array-cast.js";
import { isFloat } from "../numerics/numeric.js";
import type { Argument, OpStatement } from "../ir/nodes.js";
import { type Substitution, typedArguments, typeOfArgument } from "../ir/typed.js";
import type { DTypeName, Elem } from "../types/dtype.js";
import { argumentsOf } from "../ir/walk.js";
import { sameType, type Type } from "../types/types.js";
import type { Runtime } from "../values/runtime-values.js";
import type { Bindings } from "./bindings.js";

type Args = Readonly<Record<string, Runtime>>;

/** Whether an op keeps its dtypes. Accesses never do: memory holds what ops give. */
export function isDTypeSensitive(statement: OpStatement, bindings: Bindings): boolean {
  const { op, results } = statement;
  if (!bindings.unrounded || op.effect !== "pure") return false;
  const gives = (elem: (elem: Elem) => DTypeName): "refused" | boolean => {
    const substitution: Substitution = { type: (type) => withElem(type, elem), elem };
    const answer = op.infer(typedArguments(statement, substitution));
    if (typeof answer === "string") return "refused";
    const types = "kind" in answer ? [answer] : answer;
    const wanted = results.map(({ type }) => withElem(type, (each) => bindings.held(each)));
    return wanted.every((type, i) => types[i] && sameType(types[i], type));
  };
  const answer = gives((elem) => bindings.held(elem));
  if (answer === "refused") return !hasOneDType(statement, bindings);
  // A quotient of integers is a float32, and that of float64 a float64.
  return !answer && gives(() => "float64") !== true;
}

/** Whether an op takes floats of one dtype and gives a float of that dtype, as functions for float32 only do. */
function hasOneDType(statement: OpStatement, bindings: Bindings): boolean {
  const dtypes = (types: readonly Type[]): ReadonlySet<DTypeName> =>
    new Set(types.flatMap((type) => (type.kind === "tile" ? [bindings.dtype(type.dtype)] : [])));
  const given = dtypes(argumentsOf(statement).map(typeOfArgument));
  const [only] = given;
  if (only === undefined || given.size !== 1 || !isFloat(only) || statement.results.length !== 1) return false;
  return [...dtypes(statement.results.map(({ type }) => type))].join() === only;
}

function withElem(type: Type, elem: (elem: Elem) => DTypeName): Type {
  if (type.kind === "tile") return { ...type, dtype: elem(type.dtype) };
  return "to" in type ? { ...type, to: elem(type.to) } : type;
}

/**
 * An op's computation in the author's dtypes, of values held in float64. `rounded` is called when its result cannot be
 * exact: when it takes floats that its dtype does not hold, or gives floats that are not what the bits of others say.
 */
export function evaluateInDeclaredDTypes(
  statement: OpStatement,
  compute: (args: Args) => Runtime | readonly Runtime[],
  bindings: Bindings,
  rounded: () => void,
): (args: Args) => Runtime | readonly Runtime[] {
  const dtypes = new Map<string, DTypeName>();
  const note = (name: string, argument: Argument | undefined): void => {
    const type = argument && bindings.declared(typeOfArgument(argument));
    if (type && isFloat(type.dtype)) dtypes.set(name, type.dtype);
  };
  Object.keys(statement.op.operands).forEach((name, i) => note(name, statement.operands[i]));
  for (const [name, argument] of Object.entries(statement.options)) note(name, argument);
  const narrowed = (name: string, value: Runtime): Runtime => {
    const dtype = dtypes.get(name);
    if (!dtype || !isTile(value)) return value;
    const narrow = cast(value, dtype);
    if (!holdsAll(narrow, value)) rounded();
    return narrow;
  };
  const isBitcast = typedArguments(statement)["bitcast"]?.literal === true;
  const widened = (value: Runtime): Runtime => {
    if (!isTile(value) || !isFloat(value.dtype)) return value;
    if (!isBitcast) rounded();
    return cast(value, "float64");
  };
  return (args) => {
    const value = compute(Object.fromEntries(Object.entries(args).map(([name, arg]) => [name, narrowed(name, arg)])));
    return Array.isArray(value) ? value.map(widened) : widened(value as Runtime);
  };
}

const isTile = (value: Runtime): value is TileArray => typeof value === "object" && "data" in value;

function holdsAll(narrow: TileArray, wide: TileArray): boolean {
  for (let i = 0; i < wide.data.length; i++)
    if (!Object.is(Number(narrow.data[i]), Number(wide.data[i])) && !wide.poison?.[i]) return false;
  return true;
}
