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
  type OpStatement,
  type Param,
  type Statement,
  type Value,
  type Variable,
  isDType,
  isLiteral,
  type IfStatement,
} from "./nodes.js";
import type { Elem } from "../types/dtype.js";
import { literalType, none, type Type, type Typed } from "../types/types.js";

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

/** The values in an argument, including items of lists and captures of helper functions. */
export function valuesIn(argument: Argument): readonly Value[] {
  if (isList(argument)) return argument.flatMap(valuesIn);
  if (isFunction(argument)) return capturesOf(argument.function);
  return isValue(argument) ? [argument] : [];
}

const captures = new WeakMap<FunctionIR, readonly Value[]>();

/**
 * The values that a helper function uses without defining them or receiving them as parameters, in order of first use.
 */
export function capturesOf(helper: FunctionIR): readonly Value[] {
  const cached = captures.get(helper);
  if (cached) return cached;
  const localValues = new Set(helper.params);
  const free = new Set<Value>();
  const use = (argument: Argument): void => {
    for (const value of valuesIn(argument)) if (!localValues.has(value)) free.add(value);
  };
  const visit = (block: Block): void => {
    for (const statement of block.statements) {
      argumentsOf(statement).forEach(use);
      if (statement.kind === "for") localValues.add(statement.index);
      blocksOf(statement).forEach(visit);
      for (const value of resultsOf(statement)) localValues.add(value);
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

/** The result of an op that has one. */
export function onlyResult({ op, results: [result] }: OpStatement): Value {
  if (!result) throw new Error(`${op.name} has no result`);
  return result;
}

/** Calls `visit` for every statement in program order, outer before inner. */
export function walk(block: Block, visit: (statement: Statement) => void): void {
  for (const statement of block.statements) {
    visit(statement);
    for (const inner of blocksOf(statement)) walk(inner, visit);
  }
}

/**
 * Calls `use` for every value that a statement of the block uses, with that statement, and for every value that the
 * block or a nested block yields.
 */
export function walkUses(block: Block, use: (value: Value, user?: Statement) => void): void {
  const visitYields = ({ yields }: Block): void => yields.flatMap(valuesIn).forEach((value) => use(value));
  walk(block, (statement) => {
    for (const value of argumentsOf(statement).flatMap(valuesIn)) use(value, statement);
    blocksOf(statement).forEach(visitYields);
  });
  visitYields(block);
}

/** The variables of outer blocks that a block assigns. */
export function assignedIn(block: Block): readonly Variable[] {
  const [declaredVariables, assignedVariables] = [new Set<Variable>(), new Set<Variable>()];
  walk(block, (statement) => {
    if (statement.kind === "let") declaredVariables.add(statement.variable);
    if (statement.kind === "write") assignedVariables.add(statement.variable);
  });
  return [...assignedVariables].filter((variable) => !declaredVariables.has(variable));
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

/** The value that a host block computes for a parameter. */
export function valueOfBlock({ block }: HostBlock): Argument {
  const [value] = block.yields;
  if (value === undefined) throw new Error("the host block yields nothing");
  return value;
}

/** The blocks that the host computes for a launch: parameters, requirements and the grid. */
export function hostBlocksOf({ params, tuning, requires, grid }: KernelIR): readonly HostBlock[] {
  const paramBlocks = params.flatMap((param) => [hostBlockOf(param) ?? [], rangeOf(param) ?? []].flat());
  return [...paramBlocks, ...Object.values(tuning.options ?? {}), requires, grid];
}

/** The host block of a parameter's declared range. */
export function rangeOf(param: Param): HostBlock | undefined {
  return "range" in param ? param.range : undefined;
}

/** Calls `visit` for every statement of the kernel, helper functions first. */
export function walkAll(ir: KernelIR, visit: (statement: Statement) => void): void {
  for (const body of bodiesOf(ir)) walk(body, visit);
}

/** The parameters and arguments of a helper function's call; empty for other statements. */
export function callBindings(statement: Statement): readonly (readonly [Value, Argument])[] {
  if (statement.kind !== "op" || statement.op.spelling.form !== "apply") return [];
  const [callee, args] = statement.operands;
  if (!isFunction(callee) || !isList(args)) return [];
  return callee.function.params.map((param, i) => [param, args[i]!] as const);
}

/** The statement that defines each value. A loop defines its index; parameters have no definition. */
export function definitions(...blocks: readonly Block[]): ReadonlyMap<Value, Statement> {
  const definingStatements = new Map<Value, Statement>();
  for (const block of blocks)
    walk(block, (statement) => {
      for (const value of resultsOf(statement)) definingStatements.set(value, statement);
      if (statement.kind === "for") definingStatements.set(statement.index, statement);
    });
  return definingStatements;
}

// The arguments of a statement as the rules of ops receive them, for tracing, checks and emission.

/** Replaces dtype variables in types. */
export interface Substitution {
  type(type: Type): Type;
  elem(elem: Elem): Elem;
}

const identity: Substitution = { type: (type) => type, elem: (elem) => elem };

/** The operands and the options that are present, by name; undefined for an omitted operand. */
export function typedArguments(
  { op, operands, options }: Pick<OpStatement, "op" | "operands" | "options">,
  substitution: Substitution = identity,
): Record<string, Typed | undefined> {
  const typed: Record<string, Typed | undefined> = {};
  const toTyped = (argument: Argument | undefined) => argument && typedOf(argument, substitution);
  Object.keys(op.operands).forEach((name, i) => (typed[name] = toTyped(operands[i])));
  for (const [name, argument] of Object.entries(options)) typed[name] = toTyped(argument);
  return typed;
}

function typedOf(argument: Argument, substitution: Substitution): Typed {
  if (isList(argument)) return { type: none, items: argument.map((item) => typedOf(item, substitution)) };
  if (isDType(argument)) return { type: none, dtype: substitution.elem(argument.dtype) };
  if (isFunction(argument)) {
    const { params, body } = argument.function;
    const signature = {
      params: params.map(({ type }) => substitution.type(type)),
      results: body.yields.map((result) => substitution.type(typeOfArgument(result))),
    };
    return { type: none, signature };
  }
  const type = substitution.type(typeOfArgument(argument));
  return isLiteral(argument) ? { type, literal: argument.value } : { type };
}

/** The type of an argument. Lists, dtypes and functions are not values of the program and have the type `none`. */
export function typeOfArgument(argument: Argument): Type {
  if (!("kind" in argument)) return none;
  if (argument.kind === "value") return argument.type;
  if (argument.kind === "dtype" || argument.kind === "function") return none;
  const { value } = argument;
  return literalType(value);
}

// Use counts of a block: the number of uses of each value, and the values and variables written.

/** A pseudo-variable for memory, which loads read and stores write. */
export const MEMORY: unique symbol = Symbol("memory");
export type WriteTarget = Variable | typeof MEMORY;

export interface Usage {
  readonly uses: ReadonlyMap<Value, number>;
  /** Dead statements: pure and without uses. */
  readonly dead: ReadonlySet<Statement>;
  /** Values that are assigned to variables. */
  readonly assigned: ReadonlySet<Value>;
  /** Values that are used after the block that defines them (a branch of a constexpr `if`), with that block. */
  readonly outliving: ReadonlyMap<Value | Variable, Block>;
}

/** Counts the uses of values, except uses by dead statements. */
export function usageOf(block: Block): Usage {
  const uses = new Map<Value, number>();
  const dead = new Set<Statement>();
  const assigned = new Set<Value>();
  const count = (argument: Argument): void => {
    for (const value of valuesIn(argument)) uses.set(value, (uses.get(value) ?? 0) + 1);
  };
  // In reverse order, so that all uses of a value are counted before its definition is visited.
  const visit = ({ statements, yields }: Block): void => {
    yields.forEach(count);
    for (const statement of [...statements].reverse()) {
      const isPure = statement.kind === "read" || (statement.kind === "op" && statement.op.effect === "pure");
      if (isPure && resultsOf(statement).every((value) => !uses.has(value))) {
        dead.add(statement);
        continue;
      }
      if (statement.kind === "write" && isValue(statement.value)) assigned.add(statement.value);
      if (statement.kind === "if") visitBranches(statement);
      else [...blocksOf(statement)].reverse().forEach(visit);
      const isRemovable = statement.kind === "if" && statement.results.length > 0 && hasOnlyDead(statement);
      if (isRemovable && statement.results.every((value) => !uses.has(value))) {
        dead.add(statement);
        continue;
      }
      argumentsOf(statement).forEach(count);
    }
  };
  /** Visits the branches of an `if`. Yields without uses are ignored. */
  const visitBranches = ({ results, then, otherwise }: IfStatement): void => {
    const usedResults = results.map((value) => uses.has(value));
    for (const { statements, yields } of [otherwise, then])
      visit({ statements, yields: yields.filter((_, i) => usedResults[i]) });
  };
  const hasOnlyDead = ({ then, otherwise }: IfStatement): boolean =>
    [then, otherwise].every(({ statements }) => statements.every((each) => dead.has(each)));
  visit(block);
  return { uses, dead, assigned, outliving: outlivingIn(block) };
}

function outlivingIn(block: Block): Usage["outliving"] {
  const definingBlocks = new Map<Value | Variable, Block>();
  const outliving = new Map<Value | Variable, Block>();
  const open = new Set<Block>();
  const recordUse = (defined: Value | Variable): void => {
    const definingBlock = definingBlocks.get(defined);
    if (definingBlock && !open.has(definingBlock)) outliving.set(defined, definingBlock);
  };
  const use = (argument: Argument): void => valuesIn(argument).forEach(recordUse);
  const visit = (inner: Block): void => {
    open.add(inner);
    for (const statement of inner.statements) {
      argumentsOf(statement).forEach(use);
      if (statement.kind === "read" || statement.kind === "write") recordUse(statement.variable);
      blocksOf(statement).forEach(visit);
      for (const value of resultsOf(statement)) definingBlocks.set(value, inner);
      if (statement.kind === "let") definingBlocks.set(statement.variable, inner);
    }
    inner.yields.forEach(use);
    open.delete(inner);
  };
  visit(block);
  return outliving;
}

/** The variables and memory that a statement writes, including nested blocks. */
export function writesOf(statement: Statement): ReadonlySet<WriteTarget> {
  const targets = new Set<WriteTarget>();
  const visit = (s: Statement): void => {
    if (s.kind === "write") targets.add(s.variable);
    if (s.kind === "op" && (s.op.effect === "write" || s.op.effect === "atomic")) targets.add(MEMORY);
    for (const block of blocksOf(s)) block.statements.forEach(visit);
  };
  visit(statement);
  return targets;
}

/** True if a statement must not be executed twice. */
export function hasEffect(statement: Statement): boolean {
  if (statement.kind === "op" && (statement.op.effect === "write" || statement.op.effect === "atomic")) return true;
  return blocksOf(statement).some(({ statements }) => statements.some(hasEffect));
}

/** The last effect of a block if only arithmetic follows it, so that it can be part of an expression. */
export function endsWithEffect({ statements }: Block): Statement | undefined {
  const last = statements.findLast((statement) => statement.kind !== "op" || statement.op.effect !== "pure");
  return last?.kind === "op" && last.op.effect === "atomic" ? last : undefined;
}
