/** The transfer functions of elementwise ops. */
import { isLiteral, operandOf, operandIndex } from "../../../ir/nodes.js";
import { typedArguments, typeOfArgument } from "../../../ir/typed.js";
import { ANY_VALUE, asFloat, type NumberClasses, EMPTY, POISON, ONE, ZERO } from "../../../symbolic/number-class.js";
import { asTruth, type Term } from "../../../symbolic/term.js";
import { type Diagram, unionOf } from "./decision-diagrams.js";
import type { OpStep } from "../../model/events.js";
import {
  applyElementwise,
  genericClasses,
  abstractLane,
  type AbstractLane,
  mayBePoison,
  classesFrom,
  refineTo,
  selectedLane,
  trustedLane,
} from "./abstract-lane.js";
import { broadcastAbstractLane, type AbstractTile, memoizedTile } from "./abstract-tile.js";
import type { PaddingAnalysis } from "./analysis.js";
import { isFloatType, isIntegerType, isTruthType } from "./literals.js";
import { at as termAt, type TermTile } from "../../model/symbolic.js";

export class ElementwiseTransfer {
  constructor(readonly lanes: PaddingAnalysis) {}

  /** Applies an op that computes each lane from the same lane of its operands. */
  apply(step: OpStep): AbstractTile | undefined {
    const { statement } = step;
    const { op, results } = statement;
    const [result] = results;
    if (!result) return undefined;
    const operands = [...this.lanes.operands(step)];
    const args = operands.map(([name]) => operandOf(statement, name));
    const float = isFloatType(result.type);
    const context = { args: typedArguments(statement), isFloat: float };
    const widens = args.map((arg) => float && isIntegerType(typeOfArgument(arg!)));
    const rule = op.proof.classTransfer;
    const passes = op.facts.isIdentity && operands.length === 1;
    const lanes = {
      transfer: rule
        ? (classes: readonly NumberClasses[]) =>
            rule(
              Object.fromEntries(operands.map(([name], i) => [name, widens[i] ? asFloat(classes[i]!) : classes[i]!])),
              context,
            )
        : passes
          ? ([classes]: readonly NumberClasses[]) => classes ?? ANY_VALUE
          : undefined,
      isNeutral: op.proof.isNeutral,
      generic: genericClasses(result.type),
      firstOccurrence: args.map((each) => args.indexOf(each)),
    };
    const truthOperands = operands.map(([name], i) =>
      isTruthType(typeOfArgument(args[i]!)) ? step.terms[operandIndex(op, name)] : undefined,
    );
    return memoizedTile(this.lanes.model.environment.shape(result.type), (lane) =>
      this.lanes.diagrams.combine(
        (ends) => applyElementwise(lanes, ends),
        this.#refineTruths(
          operands.map(([, tile]) => broadcastAbstractLane(tile, lane)),
          truthOperands,
          lane,
        ),
      ),
    );
  }

  /**
   * Refines truth operands next to masked operands by their condition: `found & (cols < N)` is 0 in lanes where `cols <
   * N` is false. Masked operands are not refined, because their padding comes from the load and no term describes it.
   */
  #refineTruths(
    operands: readonly Diagram[],
    truths: readonly (TermTile | undefined)[],
    lane: readonly Term[],
  ): readonly Diagram[] {
    const { diagrams } = this.lanes;
    const isMasked = operands.map((each) => classesFrom(unionOf(each), "masked") !== EMPTY);
    if (!isMasked.includes(true)) return operands;
    return operands.map((each, i) => {
      const truth = truths[i];
      if (!truth || isMasked[i]) return each;
      const [refinedTrue, refinedFalse] = [ONE, ZERO].map((numberClass) =>
        diagrams.combine(([laneValue]) => refineTo(laneValue!, numberClass), [each]),
      );
      return diagrams.branch(asTruth(termAt(truth, lane)), refinedTrue!, refinedFalse!);
    });
  }

  /** Applies `tl.trusted`: masked lanes count as data. */
  trusted(step: OpStep): AbstractTile | undefined {
    const tile = this.apply(step);
    const { statement } = step;
    const reason = operandOf(statement, statement.op.proof.trustedOperand);
    if (!tile || !isLiteral(reason) || statement.results[0]!.type.kind !== "tile") return tile;
    const numbers = genericClasses(statement.results[0]!.type);
    const lanes = this.lanes.model.environment.lanes(`trusted ${statement.results[0]!.id}`, tile.shape);
    if (!this.lanes.isTrial && classesFrom(unionOf(tile.at(lanes)), "masked") !== EMPTY)
      this.lanes.waived.set(statement, `${reason.value}`);
    return memoizedTile(tile.shape, (lane) =>
      this.lanes.diagrams.combine(([each]) => trustedLane(each!, numbers), [tile.at(lane)]),
    );
  }

  /** Applies `tl.where`: selects an operand by the condition. */
  where(step: OpStep): AbstractTile | undefined {
    const { op, results } = step.statement;
    const [result] = results;
    const { condition, then, otherwise } = op.proof.selectOperands!;
    const tiles = this.lanes.operands(step);
    const [c, x, y] = [condition, then, otherwise].map((name) => tiles.get(name));
    const truth = step.terms[operandIndex(op, condition)];
    if (!result || !c || !x || !y) return undefined;
    return memoizedTile(this.lanes.model.environment.shape(result.type), (lane) => {
      const sides = [x, y].map((side) => broadcastAbstractLane(side, lane)) as [Diagram, Diagram];
      const [a, b] = [sides, sides.toReversed()].map((each) =>
        this.lanes.diagrams.combine(([selected, unselected]) => selectedLane(selected!, unselected!), each),
      ) as [Diagram, Diagram];
      const selection = truth
        ? this.lanes.diagrams.branch(asTruth(termAt(truth, lane)), a, b)
        : this.lanes.diagrams.join(a, b);
      const poisonIfConditionIs = ([selected, conditionLane]: readonly AbstractLane[]) =>
        mayBePoison(conditionLane!) ? abstractLane("masked", POISON) : selected!;
      return this.lanes.diagrams.combine(poisonIfConditionIs, [selection, broadcastAbstractLane(c, lane)]);
    });
  }
}
