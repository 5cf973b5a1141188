/** Backward slices of a program. */
import type { Argument, Statement, Value } from "../../../ir/nodes.js";
import { argumentsOf, blocksOf, resultsOf, valuesIn, walk, walkUses } from "../../../ir/walk.js";

/** The statements that these arguments depend on, in program order. A branch is included as a whole. */
export function backwardSlice<S extends Statement>(roots: readonly Argument[], statements: readonly S[]): readonly S[] {
  const definitions = new Map<Value, S>();
  for (const statement of statements) for (const value of resultsOf(statement)) definitions.set(value, statement);
  const slice = new Set<S>();
  // The list grows during the iteration.
  const worklist = roots.flatMap(valuesIn);
  for (const value of worklist) {
    const statement = definitions.get(value);
    if (!statement || slice.has(statement)) continue;
    slice.add(statement);
    worklist.push(...valuesUsedBy(statement));
  }
  return statements.filter((statement) => slice.has(statement));
}

/** The values that a statement uses, including those used in its blocks. */
export function valuesUsedBy(statement: Statement): readonly Value[] {
  const used = argumentsOf(statement).flatMap(valuesIn);
  for (const block of blocksOf(statement)) walkUses(block, (value) => used.push(value));
  return used;
}

/** The statements and those of their blocks, in program order. */
export function flattenStatements(statements: readonly Statement[]): readonly Statement[] {
  const flattened: Statement[] = [];
  for (const statement of statements) {
    flattened.push(statement);
    for (const block of blocksOf(statement)) walk(block, (inner) => flattened.push(inner));
  }
  return flattened;
}
