/** Whether rows of tiles are independent, so that two groups of warps may compute half of the rows each. */
import { isLiteral, operandOf, type OpStatement, type Value } from "../../../ir/nodes.js";
import { typedArguments } from "../../../ir/typed.js";
import { valuesIn } from "../../../ir/walk.js";
import { number, symbol } from "../../../symbolic/term.js";
import type { Dim } from "../../../types/shape.js";
import { notSpecializable } from "./not-specializable.js";

/**
 * @param rows the dimension of the rows.
 * @param isPadded whether columns beyond the tensors' hold zeros, so that a row may be folded.
 * @throws Unsuited at the first statement that mixes rows, or folds columns that it may not.
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
    const { op, operands, results, at } = this.statement;
    const tiles = operands.flatMap((operand) => (operand ? valuesIn(operand) : []));
    for (const value of [...tiles, ...results])
      if (dimsOf(value).filter((dim) => dim === this.rows).length > 1)
        notSpecializable(`it has a tile with ${this.rows} on two axes, one of which is the rows`, at);
    const taken = tiles.filter((value) => this.#rowAxis(value) >= 0);
    if (op.proof.foldSemantics && !isPadded && tiles.some((value) => dimsOf(value).length > 1))
      notSpecializable("it folds columns, and an index wraps that decides which columns there are", at);
    if (taken.length === 0 || op.effect !== "pure") return;
    if (results.some((value) => this.#rowAxis(value) < 0)) notSpecializable("it puts rows together", at);
    if (!this.#keepsRows(taken)) notSpecializable(`tl.${op.name} may mix rows`, at);
  }

  #keepsRows(taken: readonly Value[]): boolean {
    const { op, options, results } = this.statement;
    if (op.proof.foldSemantics) return this.#foldsWithin(taken[0]!);
    // A rule for terms, or for what lanes hold, is one for the same lanes of the operands.
    const isLanewise = op.facts.lanewise || op.proof.term !== undefined || op.proof.classTransfer !== undefined;
    if (isLanewise && !op.proof.lane) return true;
    const leads = [...taken, ...results].every((value) => this.#rowAxis(value) === 0);
    if (op.facts.preservesLeadingAxes && leads && Object.keys(options).length === 0) return true;
    return results.length === 1 && this.#movesWithin(taken[0]!, results[0]!);
  }

  /** A fold along another axis than the rows'. */
  #foldsWithin(folded: Value): boolean {
    const axis = this.#axis();
    const rank = dimsOf(folded).length;
    return axis !== undefined && (axis < 0 ? axis + rank : axis) !== this.#rowAxis(folded);
  }

  #axis(): number | undefined {
    const given = operandOf(this.statement, "axis") ?? this.statement.options["axis"];
    return given !== undefined && isLiteral(given) ? Number(given.value) : undefined;
  }

  /** Axes in another order, or new ones: a lane's row is the same before and after. */
  #movesWithin(from: Value, to: Value): boolean {
    const { op } = this.statement;
    if (!op.proof.lane) return false;
    const lane = dimsOf(to).map((_, axis) => symbol(`lane ${axis}`));
    const sizes = (value: Value) => dimsOf(value).map((dim) => (typeof dim === "number" ? number(dim) : symbol(dim)));
    const before = op.proof.lane(lane, { args: typedArguments(this.statement), from: sizes(from), to: sizes(to) });
    return before?.[this.#rowAxis(from)] === lane[this.#rowAxis(to)];
  }

  #rowAxis(value: Value): number {
    return dimsOf(value).indexOf(this.rows);
  }
}

function dimsOf({ type }: Value): readonly Dim[] {
  return type.kind === "tile" || type.kind === "pointer" ? type.shape : [];
}
