/**
 * Sinks definitions that a tile's first loop does not use past that loop, to free registers during the loop. A loop
 * with three consumers needs all of them.
 */
import type { Block, Statement, Value } from "../../../ir/nodes.js";
import { argumentsOf, blocksOf, valuesIn, usageOf } from "../../../ir/walk.js";
import { shapeOf } from "../pattern/attention-layouts.js";

/** Moves each definition directly before its first use. */
export function sinkDefinitions(block: Block): Block {
  const { dead } = usageOf(block);
  const isLive = (statement: Statement): boolean => !dead.has(statement);
  const usedValues = new Map(block.statements.filter(isLive).map((each) => [each, valuesUsedByLive(each, isLive)]));
  const readValues = new Set(block.statements.flatMap((each) => (each.kind === "read" ? [each.result] : [])));
  const statements = [...block.statements];
  // Moves go backwards, so they keep the index of each earlier statement.
  for (const [index, statement] of [...block.statements.entries()].toReversed()) {
    if (
      !isSinkable(statement) ||
      argumentsOf(statement)
        .flatMap(valuesIn)
        .some((value) => readValues.has(value))
    )
      continue;
    const isUser = (each: Statement) => statement.results.some((value) => usedValues.get(each)?.has(value));
    const user = statements.findIndex((each, i) => i > index && isUser(each));
    if (!statements.slice(index, Math.max(user, index)).some(({ kind }) => kind === "for")) continue;
    statements.splice(user, 0, statement);
    statements.splice(index, 1);
  }
  return { ...block, statements };
}

/** True if the statement computes a tile from operands that need at most as many registers. */
function isSinkable(statement: Statement): statement is Extract<Statement, { kind: "op" }> {
  if (statement.kind !== "op" || statement.op.effect !== "pure") return false;
  const operands = argumentsOf(statement).flatMap(valuesIn);
  return (
    statement.results.every((value) => shapeOf(value).length > 0) &&
    operands.every((value) => shapeOf(value).length < 2 || shapeOf(value)[1] === 1)
  );
}

/** The values that a statement uses, including those that live nested statements use. */
function valuesUsedByLive(statement: Statement, isLive: (inner: Statement) => boolean): ReadonlySet<Value> {
  const used = new Set(argumentsOf(statement).flatMap(valuesIn));
  for (const { statements, yields } of blocksOf(statement)) {
    for (const value of yields.flatMap(valuesIn)) used.add(value);
    for (const inner of statements.filter(isLive)) for (const value of valuesUsedByLive(inner, isLive)) used.add(value);
  }
  return used;
}
