/** Finds the values that addresses and masks are computed from, back to the values that were loaded. */
import {
  type Argument,
  isFunction,
  type KernelIR,
  type OpStatement,
  type Statement,
  type Value,
  type Variable,
  operandOf,
} from "../ir/nodes.js";
import { isFloat, type NumericDType } from "../numerics/numeric.js";
import type { Type } from "../types/types.js";
import { argumentsOf, bodiesOf, definitions, handedOver, resultsOf, valuesIn, walkAll } from "../ir/walk.js";

export function indexValues(ir: KernelIR): ReadonlySet<Value> {
  let known = found.get(ir);
  if (known === undefined) found.set(ir, (known = findIndexValues(ir)));
  return known;
}

/** Cached, because a property test evaluates a kernel a thousand times. */
const found = new WeakMap<KernelIR, ReadonlySet<Value>>();

function findIndexValues(ir: KernelIR): ReadonlySet<Value> {
  const roots: Argument[] = [];
  walkAll(ir, (statement) => {
    if (statement.kind === "op" && statement.op.effect !== "pure") roots.push(...placesOf(statement));
  });
  return loadedSources(ir)(...roots);
}

/** Gives the integers, masks and addresses that arguments are computed from, and themselves, back to what was loaded. */
export function loadedSources(ir: KernelIR): (...roots: readonly Argument[]) => ReadonlySet<Value> {
  const sources = indexOperands(ir);
  return (...roots) => {
    const reached = new Set<Value>();
    const follow = (value: Value): void => {
      if (reached.has(value)) return;
      reached.add(value);
      sources(value).forEach(follow);
    };
    roots.flatMap(indicesIn).forEach(follow);
    return reached;
  };
}

/** Gives the integers, masks and addresses that a value is computed from directly. */
export function indexOperands(ir: KernelIR): (value: Value) => readonly Value[] {
  const made = definitions(...bodiesOf(ir));
  const writes = new Map<Variable, Argument[]>();
  const handed = new Map<Value, Argument[]>();
  walkAll(ir, (statement) => {
    for (const [param, given] of handedOver(statement)) handed.set(param, [...(handed.get(param) ?? []), given]);
    if (statement.kind === "let") writes.set(statement.variable, [statement.initial]);
    if (statement.kind === "write") writes.get(statement.variable)?.push(statement.value);
  });
  return (value) => [...(handed.get(value) ?? []), ...sourcesOf(value, made.get(value), writes)].flatMap(indicesIn);
}

const indicesIn = (argument: Argument): readonly Value[] => valuesIn(argument).filter(({ type }) => isIndex(type));

/** The addresses and the mask of an access, and where in a descriptor it is. */
function placesOf(statement: OpStatement): readonly Argument[] {
  const { reaches } = statement.op.proof;
  if (!reaches) return [];
  const { mask } = statement.options;
  const { address, offsets, rows, column } = reaches;
  const places = [address, offsets, rows, column].flatMap((name) => operandOf(statement, name) ?? []);
  return mask ? [...places, mask] : places;
}

/** The arguments that a value is computed from. The search ends at loaded values. */
function sourcesOf(
  value: Value,
  statement: Statement | undefined,
  writes: ReadonlyMap<Variable, readonly Argument[]>,
): readonly Argument[] {
  if (statement?.kind === "read") return writes.get(statement.variable) ?? [];
  if (statement?.kind === "for") return [statement.start, statement.end, statement.step];
  if (statement?.kind === "if") {
    const place = statement.results.indexOf(value);
    return [statement.then, statement.otherwise].flatMap((arm) => arm.yields[place] ?? []);
  }
  if (statement?.kind !== "op") return [];
  const [callee] = statement.operands;
  if (statement.op.spelling.form === "apply" && isFunction(callee)) {
    const place = resultsOf(statement).indexOf(value);
    return callee.function.body.yields.slice(place, place + 1);
  }
  if (statement.op.effect !== "pure") return [];
  const given = argumentsOf(statement);
  const place = resultsOf(statement).indexOf(value);
  // What a function makes of lanes: `tl.reduce(x, 0, f)`.
  return [
    ...given,
    ...given.flatMap((each) => (isFunction(each) ? each.function.body.yields.slice(place, place + 1) : [])),
  ];
}

/** Whether the type is an integer, a mask or an address. The search does not continue through floats. */
function isIndex(type: Type): boolean {
  return type.kind !== "tile" || typeof type.dtype !== "string" || !isFloat(type.dtype as NumericDType);
}
