/**
 * Numbers of rows and columns that a tile's first loop does not take are computed behind it. Registers that would hold them
 * are free meanwhile, and a loop of three consumers has none to spare.
 */
import { usageOf } from "../../../analysis/use-counts.js";
import type { Block, Statement, Value } from "../../../ir/nodes.js";
import { argumentsOf, blocksOf, valuesIn } from "../../../ir/walk.js";
import { shapeOf } from "../pattern/attention-layouts.js";

/** The block, with each such number right before the first statement that takes it. */
export function sinkDefinitions(block: Block): Block {
  const { dead } = usageOf(block);
  const isLive = (statement: Statement): boolean => !dead.has(statement);
  const taken = new Map(block.statements.filter(isLive).map((each) => [each, takenBy(each, isLive)]));
  const read = new Set(block.statements.flatMap((each) => (each.kind === "read" ? [each.result] : [])));
  const statements = [...block.statements];
  for (let place = statements.length - 1; place >= 0; place--) {
    const statement = statements[place]!;
    if (
      !mayWait(statement) ||
      argumentsOf(statement)
        .flatMap(valuesIn)
        .some((value) => read.has(value))
    )
      continue;
    const isTaker = (each: Statement) => statement.results.some((value) => taken.get(each)?.has(value));
    const taker = statements.findIndex((each, i) => i > place && isTaker(each));
    if (!statements.slice(place, Math.max(taker, place)).some(({ kind }) => kind === "for")) continue;
    statements.splice(taker, 0, statement);
    statements.splice(place, 1);
  }
  return { ...block, statements };
}

/** Whether it makes a tile of what takes fewer registers, or as many. */
function mayWait(statement: Statement): statement is Extract<Statement, { kind: "op" }> {
  if (statement.kind !== "op" || statement.op.effect !== "pure") return false;
  const operands = argumentsOf(statement).flatMap(valuesIn);
  return (
    statement.results.every((value) => shapeOf(value).length > 0) &&
    operands.every((value) => shapeOf(value).length < 2)
  );
}

/** What a statement takes, those of its blocks that live too. */
function takenBy(statement: Statement, isLive: (inner: Statement) => boolean): ReadonlySet<Value> {
  const taken = new Set(argumentsOf(statement).flatMap(valuesIn));
  for (const { statements, yields } of blocksOf(statement)) {
    for (const value of yields.flatMap(valuesIn)) taken.add(value);
    for (const inner of statements.filter(isLive)) for (const value of takenBy(inner, isLive)) taken.add(value);
  }
  return taken;
}
