/** The backward slice of what decides which elements a program accesses, up to loaded values. */
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
import { argumentsOf, bodiesOf, definitions, callBindings, resultsOf, valuesIn, walkAll } from "../ir/walk.js";

/**
 * The integers, masks and addresses on which accesses depend: through an address or a mask, or through a condition that
 * decides whether an access runs. A condition that a proof takes as a fact must be exact for the same reason.
 */
export function indexValues(ir: KernelIR): ReadonlySet<Value> {
  let values = cache.get(ir);
  if (values === undefined) cache.set(ir, (values = findIndexValues(ir)));
  return values;
}

/** A cache, because a property test evaluates a kernel a thousand times. */
const cache = new WeakMap<KernelIR, ReadonlySet<Value>>();

const findIndexValues = (ir: KernelIR): ReadonlySet<Value> => indexSlice(ir, addressOperandsOf, selectionsOf);

/** The values that all masks, and all conditions, are computed from. */
export const maskValues = (ir: KernelIR): ReadonlySet<Value> =>
  indexSlice(ir, ({ options: { mask } }) => (mask ? [mask] : []), selectionsOf);

/** The integers, masks and addresses that these ops take, and all conditions of the kernel. */
export function indexValuesOf(ir: KernelIR, ops: readonly OpStatement[]): ReadonlySet<Value> {
  const listed = new Set(ops);
  const operandsOf = (statement: OpStatement): readonly Argument[] =>
    statement.op.effect === "pure" ? argumentsOf(statement) : addressOperandsOf(statement);
  return indexSlice(ir, (statement) => (listed.has(statement) ? operandsOf(statement) : []));
}

/** The slice of all conditions, and of what these functions select of each op. */
function indexSlice(
  ir: KernelIR,
  operandsOf: (statement: OpStatement) => readonly Argument[],
  masksOf: (statement: OpStatement) => readonly Argument[] = () => [],
): ReadonlySet<Value> {
  const roots: Argument[] = [];
  const masks: Argument[] = [];
  walkAll(ir, (statement) => {
    roots.push(...conditionsOf(statement));
    if (statement.kind !== "op") return;
    roots.push(...operandsOf(statement));
    masks.push(...masksOf(statement));
  });
  const sources = loadedSources(ir);
  return new Set([...sources(...roots), ...unloadedSources(ir, sources, masks)]);
}

/** The mask by which an op selects. */
function selectionsOf(statement: OpStatement): readonly Argument[] {
  const condition = operandOf(statement, statement.op.proof.selectOperands?.condition);
  return condition === undefined ? [] : [condition];
}

/** Conditions, loop bounds and assumptions of the author. */
function conditionsOf(statement: Statement): readonly Argument[] {
  switch (statement.kind) {
    case "if":
      return [statement.condition];
    case "while":
      return statement.condition.yields;
    case "for":
      return [statement.start, statement.end, statement.step];
    case "op":
      return statement.op.proof.claims === undefined ? [] : argumentsOf(statement);
    case "let":
    case "read":
    case "write":
    case "exit":
      return [];
    default:
      return statement satisfies never;
  }
}

/**
 * The parts that no loaded value decides of masks that select. The proof that padding changes no result uses these;
 * what depends on loaded values is data, whose integers may wrap intentionally.
 */
function unloadedSources(
  ir: KernelIR,
  sources: ReturnType<typeof loadedSources>,
  masks: readonly Argument[],
): readonly Value[] {
  const definitionsOf = definitions(...bodiesOf(ir));
  const isLoaded = (value: Value): boolean => {
    const statement = definitionsOf.get(value);
    return statement?.kind === "op" && statement.op.effect !== "pure";
  };
  return [...sources(...masks)].filter((value) => ![...sources(value)].some(isLoaded));
}

/**
 * Returns the integers, masks and addresses that arguments are computed from, including the arguments, up to loaded
 * values.
 */
export function loadedSources(ir: KernelIR): (...roots: readonly Argument[]) => ReadonlySet<Value> {
  const sources = indexOperands(ir);
  return (...roots) => {
    const slice = new Set<Value>();
    const visit = (value: Value): void => {
      if (slice.has(value)) return;
      slice.add(value);
      sources(value).forEach(visit);
    };
    roots.flatMap(indicesIn).forEach(visit);
    return slice;
  };
}

/** Returns the integers, masks and addresses that a value is directly computed from. */
export function indexOperands(ir: KernelIR): (value: Value) => readonly Value[] {
  const definitionsOf = definitions(...bodiesOf(ir));
  const writes = new Map<Variable, Argument[]>();
  const passedArguments = new Map<Value, Argument[]>();
  walkAll(ir, (statement) => {
    for (const [param, argument] of callBindings(statement))
      passedArguments.set(param, [...(passedArguments.get(param) ?? []), argument]);
    if (statement.kind === "let") writes.set(statement.variable, [statement.initial]);
    if (statement.kind === "write") writes.get(statement.variable)?.push(statement.value);
  });
  return (value) =>
    [...(passedArguments.get(value) ?? []), ...sourcesOf(value, definitionsOf.get(value), writes)].flatMap(indicesIn);
}

const indicesIn = (argument: Argument): readonly Value[] => valuesIn(argument).filter(({ type }) => isIndex(type));

/** The addresses, mask and descriptor offsets of an access. */
function addressOperandsOf(statement: OpStatement): readonly Argument[] {
  const { memoryOperands: reaches } = statement.op.proof;
  if (!reaches || statement.op.effect === "pure") return [];
  const { mask } = statement.options;
  const { address, offsets, rows, column } = reaches;
  const operands = [address, offsets, rows, column].flatMap((name) => operandOf(statement, name) ?? []);
  return mask ? [...operands, mask] : operands;
}

/** The arguments that a value is computed from. Loaded values have none. */
function sourcesOf(
  value: Value,
  statement: Statement | undefined,
  writes: ReadonlyMap<Variable, readonly Argument[]>,
): readonly Argument[] {
  if (statement?.kind === "read") return writes.get(statement.variable) ?? [];
  if (statement?.kind === "for") return [statement.start, statement.end, statement.step];
  if (statement?.kind === "if") {
    const index = statement.results.indexOf(value);
    return [statement.then, statement.otherwise].flatMap((branch) => branch.yields[index] ?? []);
  }
  if (statement?.kind !== "op") return [];
  const [callee] = statement.operands;
  if (statement.op.spelling.form === "apply" && isFunction(callee)) {
    const index = resultsOf(statement).indexOf(value);
    return callee.function.body.yields.slice(index, index + 1);
  }
  if (statement.op.effect !== "pure") return [];
  const args = argumentsOf(statement);
  const index = resultsOf(statement).indexOf(value);
  // The results of a function that is applied to lanes: `tl.reduce(x, 0, f)`.
  return [
    ...args,
    ...args.flatMap((each) => (isFunction(each) ? each.function.body.yields.slice(index, index + 1) : [])),
  ];
}

/** True for integers, masks and addresses. The slice does not continue through floats. */
function isIndex(type: Type): boolean {
  return type.kind !== "tile" || typeof type.dtype !== "string" || !isFloat(type.dtype as NumericDType);
}
