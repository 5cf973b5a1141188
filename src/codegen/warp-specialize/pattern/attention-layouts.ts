/**
 * Which tiles of attention lie in registers as the scores do, with a column for each key, and which as the sum does, with a
 * column for each element of a value. A number for each row lies as the scores' rows do, until the sum needs it.
 */
import type { OpStatement, Statement, Value } from "../../../ir/nodes.js";
import { blocksOf, resultsOf } from "../../../ir/walk.js";
import type { Dim } from "../../../types/shape.js";
import { valuesUsedBy } from "./backward-slice.js";
import { notSpecializable } from "./not-specializable.js";

export type Side = "scores" | "sum";

/** The dimensions of attention: rows, keys of a turn, elements of a value. */
export interface Dims {
  readonly rows: Dim;
  readonly columns: Dim;
  readonly width: Dim;
}

/**
 * The side of each tile that has one column, by what it is combined with.
 *
 * @throws Unsuited where a tile has other dimensions than attention's, or one column that both sides need.
 */
export function columnSides(statements: readonly Statement[], dims: Dims): ReadonlyMap<Value, Side> {
  const sides = new Map<Value, Side>();
  const visit = (statement: Statement): void => {
    const results = resultsOf(statement);
    for (const value of results) checkShape(value, dims, statement);
    if (statement.kind === "if")
      for (const block of blocksOf(statement)) {
        block.yields.forEach((value, i) => note(value as Value, sides.get(results[i]!), statement));
        for (const inner of block.statements.toReversed()) visit(inner);
      }
    if (statement.kind !== "op") return;
    const taken = valuesUsedBy(statement);
    const around = [...results, ...taken];
    const [side, other] = new Set(around.flatMap((value) => sideOf(value, dims) ?? sides.get(value) ?? []));
    if (other) notSpecializable("it combines scores with what the sum has", statement.at);
    for (const value of taken) note(value, side, statement);
  };
  const note = (value: Value, side: Side | undefined, { at }: Statement): void => {
    if (!side || !isColumn(value)) return;
    if ((sides.get(value) ?? side) !== side)
      notSpecializable("both the scores and the sum take one column; write it twice, with .col at each", at);
    sides.set(value, side);
  };
  for (const statement of statements.toReversed()) visit(statement);
  return sides;
}

/** Whether the op folds rows of the sum, so that its result lies as the sum's rows do. */
export function reducesAccumulator({ op, operands }: OpStatement, dims: Dims): boolean {
  return (
    op.proof.foldSemantics !== undefined &&
    operands.some((each) => each !== undefined && sideOf(each as Value, dims) === "sum")
  );
}

export function sideOf(value: Value, { columns, width }: Dims): Side | undefined {
  const shape = shapeOf(value);
  const last = shape.length === 2 ? shape[1] : undefined;
  return last === columns ? "scores" : last === width ? "sum" : undefined;
}

function checkShape(value: Value, { rows, columns, width }: Dims, { at }: Statement): void {
  const shape = shapeOf(value);
  const [first, second] = shape;
  const isKnown =
    shape.length === 0 ||
    (shape.length === 1 && [rows, columns, width].includes(first!)) ||
    (shape.length === 2 && [rows, 1].includes(first!) && [columns, width, 1].includes(second!));
  if (!isKnown)
    notSpecializable(`it has a tile of [${shape.join(", ")}], which is neither of its rows nor of its columns`, at);
}

const isColumn = (value: Value): boolean => shapeOf(value).length === 2 && shapeOf(value)[1] === 1;

export function shapeOf({ type }: Value): readonly Dim[] {
  return type?.kind === "tile" || type?.kind === "pointer" ? type.shape : [];
}
