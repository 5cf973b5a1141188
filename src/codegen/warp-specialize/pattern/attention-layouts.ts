/**
 * The register layout of attention's tiles. Tiles in the scores' layout have a column per key, tiles in the
 * accumulator's layout a column per element of a value. One number per row has the scores' layout until the accumulator
 * needs it.
 */
import { type Argument, isValue, type OpStatement, type Statement, type Value } from "../../../ir/nodes.js";
import { blocksOf, resultsOf } from "../../../ir/walk.js";
import type { Dim } from "../../../types/shape.js";
import { valuesUsedBy } from "./backward-slice.js";
import { notSpecializable } from "./not-specializable.js";

export type Side = "scores" | "sum";

/** The dims of attention: rows, keys of an iteration, elements of a value. */
export interface Dims {
  readonly rows: Dim;
  readonly columns: Dim;
  readonly width: Dim;
}

/**
 * The layout of each tile with a single column, derived from the tiles that it is combined with.
 * @throws {@link NotSpecializable} if a tile has dims other than attention's, or if both layouts need a column.
 */
export function columnSides(statements: readonly Statement[], dims: Dims): ReadonlyMap<Value, Side> {
  const sides = new Map<Value, Side>();
  const visit = (statement: Statement): void => {
    const results = resultsOf(statement);
    for (const value of results) checkShape(value, dims, statement);
    if (statement.kind === "if")
      for (const block of blocksOf(statement)) {
        results.forEach((result, i) => recordSide(block.yields[i], sides.get(result), statement));
        for (const inner of block.statements.toReversed()) visit(inner);
      }
    if (statement.kind !== "op") return;
    const operands = valuesUsedBy(statement);
    const related = [...results, ...operands];
    const [side, conflicting] = new Set(related.flatMap((value) => sideOf(value, dims) ?? sides.get(value) ?? []));
    if (conflicting) notSpecializable("it combines scores with the sum", statement.location);
    for (const value of operands) recordSide(value, side, statement);
  };
  const recordSide = (value: Argument | undefined, side: Side | undefined, { location: at }: Statement): void => {
    if (!side || !isValue(value) || !isColumn(value)) return;
    if ((sides.get(value) ?? side) !== side)
      notSpecializable("both the scores and the sum take one column; write it twice, with .col at each", at);
    sides.set(value, side);
  };
  for (const statement of statements.toReversed()) visit(statement);
  return sides;
}

/** True if the op reduces rows of the accumulator, so that its result has the layout of the accumulator's rows. */
export function reducesAccumulator({ op, operands }: OpStatement, dims: Dims): boolean {
  return op.proof.foldSemantics !== undefined && operands.some((each) => isValue(each) && sideOf(each, dims) === "sum");
}

export function sideOf(value: Value, { columns, width }: Dims): Side | undefined {
  const shape = shapeOf(value);
  const last = shape.length === 2 ? shape[1] : undefined;
  if (last === columns) return "scores";
  return last === width ? "sum" : undefined;
}

function checkShape(value: Value, { rows, columns, width }: Dims, { location: at }: Statement): void {
  const shape = shapeOf(value);
  const [first, second] = shape;
  const isSupported =
    shape.length === 0 ||
    (shape.length === 1 && isOneOf(first, rows, columns, width)) ||
    (shape.length === 2 && isOneOf(first, rows, 1) && isOneOf(second, columns, width, 1));
  if (!isSupported)
    notSpecializable(`it has a tile of [${shape.join(", ")}], which is neither of its rows nor of its columns`, at);
}

const isOneOf = (dim: Dim | undefined, ...dims: readonly Dim[]): boolean => dims.some((each) => each === dim);

const isColumn = (value: Value): boolean => shapeOf(value).length === 2 && shapeOf(value)[1] === 1;

export function shapeOf({ type }: Value): readonly Dim[] {
  return type?.kind === "tile" || type?.kind === "pointer" ? type.shape : [];
}
