/**
 * Where rows see more keys the further down they lie. The programs of a grid begin in order, so those with most keys would
 * run last, alone; programs depend on no order, so the last may begin.
 */
import { isLiteral, isValue, type OpStatement, type Statement } from "../../../ir/nodes.js";
import { blocksOf, walk } from "../../../ir/walk.js";
import type { AttentionPattern } from "./attention-pattern.js";
import type { Masks } from "./attention-masks.js";
import { backwardSlice } from "./backward-slice.js";

/** The axis of the grid along which rows see more and more keys. */
export function longestTileAxis(
  { queries, loops }: AttentionPattern,
  masks: readonly Masks[],
  body: readonly Statement[],
): number | undefined {
  const programsIn = (places: Parameters<typeof backwardSlice>[0]) => backwardSlice(places, body).filter(isProgram);
  const rows = queries.axes[0]!.starts;
  const [program, other] = programsIn(rows);
  if (!program || other) return undefined;
  const ends = loops.map(({ turns }) => turns.end);
  const isCut = masks.some(({ limits }) => limits.some(({ isOfRows, hides }) => isOfRows && hides));
  if (!isCut && !programsIn(ends).includes(program)) return undefined;
  const axis = axisOf(program);
  return axis !== undefined && body.every((each) => !hidesProgram(each)) ? axis : undefined;
}

export function isProgram(statement: Statement): statement is OpStatement {
  return statement.kind === "op" && statement.op.facts.queries === "program";
}

/** The axis that a program's number is asked of. */
export function axisOf({ operands: [axis] }: OpStatement): number | undefined {
  return axis !== undefined && !isValue(axis) && isLiteral(axis) ? Number(axis.value) : undefined;
}

/** Whether a block inside the statement asks for a number of the program. */
function hidesProgram(statement: Statement): boolean {
  let hides = false;
  for (const block of blocksOf(statement)) walk(block, (inner) => (hides ||= isProgram(inner)));
  return hides;
}
