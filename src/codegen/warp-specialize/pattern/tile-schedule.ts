/**
 * Where rows see more keys the further down they lie. The programs of a grid begin in order, so those with most keys would
 * run last, alone; programs depend on no order, so the last may begin.
 */
import { isLiteral, isValue, type OpStatement, type Statement, type KernelIR } from "../../../ir/nodes.js";
import { blocksOf, walk, argumentsOf, valuesIn } from "../../../ir/walk.js";
import type { AttentionPattern } from "./attention-pattern.js";
import type { KeyLimit, Masks } from "./attention-masks.js";
import { backwardSlice } from "./backward-slice.js";
import { checkLanguage } from "./gluon-language.js";
import { NotSpecializable, notSpecializable } from "./not-specializable.js";

/** The tiles at the end of a grid axis take longest, because their rows attend to most keys. */
export interface LongestTiles {
  readonly axis: number;
  /** The branch in which they do. Undefined if they always do. */
  readonly branch: KeyLimit["branch"];
}

export function longestTiles(
  { queries, loops }: AttentionPattern,
  masks: readonly Masks[],
  body: readonly Statement[],
): LongestTiles | undefined {
  const programQueriesIn = (roots: Parameters<typeof backwardSlice>[0]) => backwardSlice(roots, body).filter(isProgram);
  const rows = queries.axes[0].starts;
  const [program, extra] = programQueriesIn(rows);
  if (!program || extra) return undefined;
  const ends = loops.map(({ forStatement }) => forStatement.end);
  const isInEnds = programQueriesIn(ends).includes(program);
  const rowLimits = masks.flatMap(({ limits }) => limits.filter((each) => each.isPerRow && each.isSkippable));
  const [limit] = rowLimits;
  if (!limit && !isInEnds) return undefined;
  const axis = axisOf(program);
  if (axis === undefined || body.some(hasNestedProgramQuery)) return undefined;
  const isInOneBranch = !isInEnds && rowLimits.every(({ branch }) => isSameBranch(branch, limit?.branch));
  return { axis, branch: isInOneBranch ? limit?.branch : undefined };
}

const isSameBranch = (x: KeyLimit["branch"], y: KeyLimit["branch"]): boolean =>
  x?.condition === y?.condition && x?.isThen === y?.isThen;

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

// Persistent kernels: one program computes several tiles of the author's grid, in sequence.

/**
 * @throws {@link NotSpecializable} if the grid depends on the device, or if the program id is not just a tile index.
 */
export function checkTiles({ params, grid, body, at }: KernelIR): void {
  const deviceValues = params.flatMap(({ kind, value }) => (kind === "device" ? [value] : []));
  const gridValues = grid.block.statements.flatMap(argumentsOf).concat(grid.block.yields).flatMap(valuesIn);
  if (gridValues.some((value) => deviceValues.includes(value)))
    notSpecializable("its grid depends on the GPU, and its body has no loop over tiles", at);
  walk(body, (statement) => {
    if (statement.kind === "op" && statement.op.facts.queries === "grid")
      notSpecializable(
        "it asks for the number of programs, which is another where each computes several tiles",
        statement.location,
      );
    if (isProgram(statement) && axisOf(statement) === undefined)
      notSpecializable("it asks for its number on an axis that is no literal", statement.location);
  });
  for (const statement of grid.block.statements) if (statement.kind === "op") checkLanguage(statement);
}

/** True if a program may compute several tiles of the grid. */
export function isPersistent(ir: KernelIR): boolean {
  try {
    checkTiles(ir);
    return true;
  } catch (error) {
    if (error instanceof NotSpecializable) return false;
    throw error;
  }
}
