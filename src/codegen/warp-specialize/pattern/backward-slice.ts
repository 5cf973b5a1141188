/** What a part of a program needs of it. */
import type { Argument, Statement, Value } from "../../../ir/nodes.js";
import { argumentsOf, blocksOf, resultsOf, valuesIn, walk, walkUses } from "../../../ir/walk.js";

/** The statements that these arguments depend on, in program order. A branch is needed as a whole. */
export function backwardSlice<S extends Statement>(roots: readonly Argument[], statements: readonly S[]): readonly S[] {
  const made = new Map<Value, S>();
  for (const statement of statements) for (const value of resultsOf(statement)) made.set(value, statement);
  const needed = new Set<S>();
  const open = roots.flatMap(valuesIn);
  while (open.length > 0) {
    const statement = made.get(open.pop()!);
    if (!statement || needed.has(statement)) continue;
    needed.add(statement);
    open.push(...valuesUsedBy(statement));
  }
  return statements.filter((statement) => needed.has(statement));
}

/** The values that a statement takes, those of its blocks too. */
export function valuesUsedBy(statement: Statement): readonly Value[] {
  const taken = argumentsOf(statement).flatMap(valuesIn);
  for (const block of blocksOf(statement)) walkUses(block, (value) => taken.push(value));
  return taken;
}

/** Statements with those of their blocks, in program order. */
export function flattenStatements(statements: readonly Statement[]): readonly Statement[] {
  const all: Statement[] = [];
  for (const statement of statements) {
    all.push(statement);
    for (const block of blocksOf(statement)) walk(block, (inner) => all.push(inner));
  }
  return all;
}
