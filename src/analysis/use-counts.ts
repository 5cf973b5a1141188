/** Use counts of a block: the number of uses of each value, and the values and variables written. */
import {
  type Argument,
  type Block,
  type IfStatement,
  isValue,
  type Statement,
  type Value,
  type Variable,
} from "../ir/nodes.js";
import { argumentsOf, blocksOf, resultsOf, valuesIn } from "../ir/walk.js";

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
