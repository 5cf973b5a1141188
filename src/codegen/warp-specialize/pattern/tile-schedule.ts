/**
 * Where rows see more keys the further down they lie. The programs of a grid begin in order, so those with most keys would
 * run last, alone; programs depend on no order, so the last may begin.
 */
import { isLiteral, isValue, type OpStatement, type Statement } from "../../../ir/nodes.js";
import { blocksOf, walk } from "../../../ir/walk.js";
import type { AttentionPattern } from "./attention-pattern.js";
import type { Masks } from "./attention-masks.js";
import { backwardSlice } from "./backward-slice.js";

/** The grid axis along which rows attend to more and more keys. */
export function longestTileAxis(
  { queries, loops }: AttentionPattern,
  masks: readonly Masks[],
  body: readonly Statement[],
): number | undefined {
  const programQueriesIn = (roots: Parameters<typeof backwardSlice>[0]) => backwardSlice(roots, body).filter(isProgram);
  const rows = queries.axes[0].starts;
  const [program, extra] = programQueriesIn(rows);
  if (!program || extra) return undefined;
  const ends = loops.map(({ forStatement }) => forStatement.end);
  const hasRowLimit = masks.some(({ limits }) => limits.some(({ isPerRow, isSkippable }) => isPerRow && isSkippable));
  if (!hasRowLimit && !programQueriesIn(ends).includes(program)) return undefined;
  const axis = axisOf(program);
  return axis !== undefined && body.every((each) => !hasNestedProgramQuery(each)) ? axis : undefined;
}

export function isProgram(statement: Statement): statement is OpStatement {
  return statement.kind === "op" && statement.op.facts.queries === "program";
}

/** The axis of a program-id query. */
export function axisOf({ operands: [axis] }: OpStatement): number | undefined {
  return axis !== undefined && !isValue(axis) && isLiteral(axis) ? Number(axis.value) : undefined;
}

/** True if a nested block queries a program id. */
function hasNestedProgramQuery(statement: Statement): boolean {
  let isNested = false;
  for (const block of blocksOf(statement)) walk(block, (inner) => (isNested ||= isProgram(inner)));
  return isNested;
}
