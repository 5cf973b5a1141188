/** Uses in a block: how often each value is read, and what each block writes. */
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

/** The pseudo-variable that loads read and stores write. */
export const MEMORY: unique symbol = Symbol("memory");
export type Written = Variable | typeof MEMORY;

export interface Usage {
  readonly uses: ReadonlyMap<Value, number>;
  /** Values of dead statements: pure and unused. */
  readonly dead: ReadonlySet<Statement>;
  /** Values that are written to state. */
  readonly written: ReadonlySet<Value>;
  /** Values used after the block that makes them (an arm of a constexpr branch), by that block. */
  readonly outliving: ReadonlyMap<Value | Variable, Block>;
}

/** Counts the uses of values, without uses by dead statements. */
export function usageOf(block: Block): Usage {
  const uses = new Map<Value, number>();
  const dead = new Set<Statement>();
  const written = new Set<Value>();
  const count = (argument: Argument): void => {
    for (const value of valuesIn(argument)) uses.set(value, (uses.get(value) ?? 0) + 1);
  };
  // Backwards: a value's uses are all counted before the statement that makes it is reached.
  const visit = ({ statements, yields }: Block): void => {
    yields.forEach(count);
    for (const statement of [...statements].reverse()) {
      const isPure = statement.kind === "read" || (statement.kind === "op" && statement.op.effect === "pure");
      if (isPure && resultsOf(statement).every((value) => !uses.has(value))) {
        dead.add(statement);
        continue;
      }
      if (statement.kind === "write" && isValue(statement.value)) written.add(statement.value);
      if (statement.kind === "if") arms(statement);
      else [...blocksOf(statement)].reverse().forEach(visit);
      const hasUnused = statement.kind === "if" && statement.results.length > 0 && isIdle(statement);
      if (hasUnused && statement.results.every((value) => !uses.has(value))) {
        dead.add(statement);
        continue;
      }
      argumentsOf(statement).forEach(count);
    }
  };
  /** The arms of a branch, which yield only what is used. */
  const arms = ({ results, then, otherwise }: IfStatement): void => {
    for (const { statements, yields } of [otherwise, then])
      visit({ statements, yields: yields.filter((_, i) => uses.has(results[i]!)) });
  };
  const isIdle = ({ then, otherwise }: IfStatement): boolean =>
    [then, otherwise].every(({ statements }) => statements.every((each) => dead.has(each)));
  visit(block);
  return { uses, dead, written, outliving: outlivingIn(block) };
}

function outlivingIn(block: Block): Usage["outliving"] {
  const makers = new Map<Value | Variable, Block>();
  const outliving = new Map<Value | Variable, Block>();
  const open = new Set<Block>();
  const needs = (made: Value | Variable): void => {
    const maker = makers.get(made);
    if (maker && !open.has(maker)) outliving.set(made, maker);
  };
  const use = (argument: Argument): void => valuesIn(argument).forEach(needs);
  const visit = (inner: Block): void => {
    open.add(inner);
    for (const statement of inner.statements) {
      argumentsOf(statement).forEach(use);
      if (statement.kind === "read" || statement.kind === "write") needs(statement.variable);
      blocksOf(statement).forEach(visit);
      for (const value of resultsOf(statement)) makers.set(value, inner);
      if (statement.kind === "let") makers.set(statement.variable, inner);
    }
    inner.yields.forEach(use);
    open.delete(inner);
  };
  visit(block);
  return outliving;
}

/** The state that a statement changes, nested blocks included. */
export function writesOf(statement: Statement): ReadonlySet<Written> {
  const written = new Set<Written>();
  const visit = (s: Statement): void => {
    if (s.kind === "write") written.add(s.variable);
    if (s.kind === "op" && (s.op.effect === "write" || s.op.effect === "atomic")) written.add(MEMORY);
    for (const block of blocksOf(s)) block.statements.forEach(visit);
  };
  visit(statement);
  return written;
}

/** Whether a statement does something that must not be done twice. */
export function hasEffect(statement: Statement): boolean {
  if (statement.kind === "op" && (statement.op.effect === "write" || statement.op.effect === "atomic")) return true;
  return blocksOf(statement).some(({ statements }) => statements.some(hasEffect));
}

/** The statement with an effect that nothing but arithmetic follows, so that it may stand in an expression. */
export function endsWithEffect({ statements }: Block): Statement | undefined {
  const last = statements.findLast((statement) => statement.kind !== "op" || statement.op.effect !== "pure");
  return last?.kind === "op" && last.op.effect === "atomic" ? last : undefined;
}
