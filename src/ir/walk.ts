/** Traverses statements of any kind. */
import {
  type Argument,
  type Block,
  type FunctionIR,
  type HostBlock,
  isFunction,
  isList,
  isValue,
  type KernelIR,
  type Param,
  type Statement,
  type Value,
  type Variable,
} from "./nodes.js";

/** The arguments of a statement, without those of nested blocks. */
export function argumentsOf(statement: Statement): readonly Argument[] {
  switch (statement.kind) {
    case "op":
      return [...statement.operands.filter((a) => a !== undefined), ...Object.values(statement.options)];
    case "let":
      return [statement.initial];
    case "read":
    case "exit":
      return [];
    case "write":
      return [statement.value];
    case "for":
      return [statement.start, statement.end, statement.step, ...Object.values(statement.options)];
    case "while":
      return Object.values(statement.options);
    case "if":
      return [statement.condition];
    default:
      return statement satisfies never;
  }
}

/** The values in an argument: those in lists, and those that a helper function captures. */
export function valuesIn(argument: Argument): readonly Value[] {
  if (isList(argument)) return argument.flatMap(valuesIn);
  if (isFunction(argument)) return capturesOf(argument.function);
  return isValue(argument) ? [argument] : [];
}

const captures = new WeakMap<FunctionIR, readonly Value[]>();

/** The values that a helper function uses but neither makes nor takes as parameters, in order of first use. */
export function capturesOf(helper: FunctionIR): readonly Value[] {
  const known = captures.get(helper);
  if (known) return known;
  const own = new Set(helper.params);
  const free = new Set<Value>();
  const use = (argument: Argument): void => {
    for (const value of valuesIn(argument)) if (!own.has(value)) free.add(value);
  };
  const visit = (block: Block): void => {
    for (const statement of block.statements) {
      argumentsOf(statement).forEach(use);
      if (statement.kind === "for") own.add(statement.index);
      blocksOf(statement).forEach(visit);
      for (const value of resultsOf(statement)) own.add(value);
    }
    block.yields.forEach(use);
  };
  visit(helper.body);
  const list = [...free];
  captures.set(helper, list);
  return list;
}

export function blocksOf(statement: Statement): readonly Block[] {
  if (statement.kind === "for") return [statement.body];
  if (statement.kind === "while") return [statement.condition, statement.body];
  return statement.kind === "if" ? [statement.then, statement.otherwise] : [];
}

export function resultsOf(statement: Statement): readonly Value[] {
  if (statement.kind === "op" || statement.kind === "if") return statement.results;
  return statement.kind === "read" ? [statement.result] : [];
}

/** Calls `visit` for every statement, outer before inner, in program order. */
export function walk(block: Block, visit: (statement: Statement) => void): void {
  for (const statement of block.statements) {
    visit(statement);
    for (const inner of blocksOf(statement)) walk(inner, visit);
  }
}

/**
 * Calls `use` for every value that a statement of the block takes, with that statement, and for every value that the
 * block or one inside it yields.
 */
export function walkUses(block: Block, use: (value: Value, by?: Statement) => void): void {
  const yielded = ({ yields }: Block): void => yields.flatMap(valuesIn).forEach((value) => use(value));
  walk(block, (statement) => {
    for (const value of argumentsOf(statement).flatMap(valuesIn)) use(value, statement);
    blocksOf(statement).forEach(yielded);
  });
  yielded(block);
}

/** The variables of outer blocks that a block assigns. */
export function assignedIn(block: Block): readonly Variable[] {
  const [own, assigned] = [new Set<Variable>(), new Set<Variable>()];
  walk(block, (statement) => {
    if (statement.kind === "let") own.add(statement.variable);
    if (statement.kind === "write") assigned.add(statement.variable);
  });
  return [...assigned].filter((variable) => !own.has(variable));
}

/** The kernel's body and those of its helper functions. */
export function bodiesOf({ functions, body }: KernelIR): readonly Block[] {
  return [...functions.map((f) => f.body), body];
}

/** The host block that computes a parameter; undefined if the caller passes it. */
export function hostBlockOf(param: Param): HostBlock | undefined {
  if (param.kind === "size") return param.derived;
  return param.kind === "constexpr" ? param.compute : undefined;
}

/** What the host computes for a launch: parameters, requirements and the grid. */
export function hostBlocksOf({ params, tuning, requires, grid }: KernelIR): readonly HostBlock[] {
  const ofParams = params.flatMap((param) => [hostBlockOf(param) ?? [], rangeOf(param) ?? []].flat());
  return [...ofParams, ...Object.values(tuning.options ?? {}), requires, grid];
}

/** The host block of a parameter's declared range. */
export function rangeOf(param: Param): HostBlock | undefined {
  return "range" in param ? param.range : undefined;
}

/** Calls `visit` for every statement of the kernel, those of its helper functions first. */
export function walkAll(ir: KernelIR, visit: (statement: Statement) => void): void {
  for (const body of bodiesOf(ir)) walk(body, visit);
}

/** The parameters and arguments of a helper function's call; empty for other statements. */
export function handedOver(statement: Statement): readonly (readonly [Value, Argument])[] {
  if (statement.kind !== "op" || statement.op.spelling.form !== "apply") return [];
  const [callee, given] = statement.operands;
  if (!isFunction(callee) || !isList(given)) return [];
  return callee.function.params.map((param, i) => [param, given[i]!] as const);
}

/** The statement that makes each value. A loop makes its index; parameters have no such statement. */
export function definitions(...blocks: readonly Block[]): ReadonlyMap<Value, Statement> {
  const made = new Map<Value, Statement>();
  for (const block of blocks)
    walk(block, (statement) => {
      for (const value of resultsOf(statement)) made.set(value, statement);
      if (statement.kind === "for") made.set(statement.index, statement);
    });
  return made;
}
