/** Checks that rows of tiles are independent, so that two warp groups may compute half of the rows each. */
import { isLiteral, operandOf, type OpStatement, type Value } from "../../../ir/nodes.js";
import type { Op } from "../../../ir/op.js";
import { valuesIn, typedArguments } from "../../../ir/walk.js";
import { number, symbol } from "../../../symbolic/term.js";
import type { Dim } from "../../../types/shape.js";
import { notSpecializable } from "./not-specializable.js";

/**
 * @param rows The dim of the rows.
 * @param isPadded True if columns past the tensors' bounds are zero, so that a row may be reduced.
 * @throws {@link NotSpecializable} at the first statement that mixes rows or reduces wrapped columns.
 */
export function checkRows(statements: readonly OpStatement[], rows: Dim, isPadded: boolean): void {
  for (const statement of statements) new RowCheck(statement, rows).check(isPadded);
}

class RowCheck {
  constructor(
    readonly statement: OpStatement,
    readonly rows: Dim,
  ) {}

  check(isPadded: boolean): void {
    const { op, operands, results, location: at } = this.statement;
    const tiles = operands.flatMap((operand) => (operand ? valuesIn(operand) : []));
    for (const value of [...tiles, ...results])
      if (dimsOf(value).filter((dim) => dim === this.rows).length > 1)
        notSpecializable(`it has a tile with ${this.rows} on two axes, one of which is the rows`, at);
    const rowOperands = tiles.filter((value) => this.#rowAxis(value) >= 0);
    if (op.proof.foldSemantics && !isPadded && tiles.some((value) => dimsOf(value).length > 1))
      notSpecializable("it folds columns, and an index wraps that decides which columns there are", at);
    const [source] = rowOperands;
    if (!source || op.effect !== "pure") return;
    if (results.some((value) => this.#rowAxis(value) < 0)) notSpecializable("it combines rows", at);
    if (!this.#isRowwise(source, rowOperands)) notSpecializable(`tl.${op.name} may mix rows`, at);
  }

  #isRowwise(source: Value, rowOperands: readonly Value[]): boolean {
    const { op, options, results } = this.statement;
    if (op.proof.foldSemantics) return this.#isFoldWithinRow(source);
    if (isLanewise(op)) return true;
    const hasLeadingRows = [...rowOperands, ...results].every((value) => this.#rowAxis(value) === 0);
    if (op.facts.preservesLeadingAxes && hasLeadingRows && Object.keys(options).length === 0) return true;
    const [result, extra] = results;
    return result !== undefined && !extra && this.#isMoveWithinRow(source, result);
  }

  /** True for a fold along another axis than the rows. */
  #isFoldWithinRow(foldOperand: Value): boolean {
    const axis = this.#axis();
    const rank = dimsOf(foldOperand).length;
    return axis !== undefined && (axis < 0 ? axis + rank : axis) !== this.#rowAxis(foldOperand);
  }

  #axis(): number | undefined {
    const argument = operandOf(this.statement, "axis") ?? this.statement.options["axis"];
    return argument !== undefined && isLiteral(argument) ? Number(argument.value) : undefined;
  }

  /** True for an op that permutes or adds axes: a lane's row is the same in source and result. */
  #isMoveWithinRow(source: Value, result: Value): boolean {
    const { op } = this.statement;
    if (!op.proof.lane) return false;
    const lane = dimsOf(result).map((_, axis) => symbol(`lane ${axis}`));
    const sizes = (value: Value) => dimsOf(value).map((dim) => (typeof dim === "number" ? number(dim) : symbol(dim)));
    const sourceLane = op.proof.lane(lane, {
      args: typedArguments(this.statement),
      from: sizes(source),
      to: sizes(result),
    });
    return sourceLane?.[this.#rowAxis(source)] === lane[this.#rowAxis(result)];
  }

  #rowAxis(value: Value): number {
    return dimsOf(value).indexOf(this.rows);
  }
}

/** True if each lane of the result follows from the same lanes of the operands. */
export function isLanewise({ facts, proof }: Op): boolean {
  // An op with a term or a class transfer combines only the same lanes of its operands.
  const isCombined = facts.lanewise === true || proof.term !== undefined || proof.classTransfer !== undefined;
  return isCombined && !proof.lane;
}

function dimsOf({ type }: Value): readonly Dim[] {
  return type.kind === "tile" || type.kind === "pointer" ? type.shape : [];
}
