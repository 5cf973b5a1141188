/** The transfer functions of elementwise ops. */
import { isLiteral, operandOf, type OpStatement } from "../../../ir/nodes.js";
import { typedArguments, typeOfArgument } from "../../../ir/typed.js";
import { asFloat, type NumberClasses, EMPTY, POISON, ONE, ZERO } from "../../../symbolic/number-class.js";
import { asTruth, type Term } from "../../../symbolic/term.js";
import { type Diagram, unionOf } from "./decision-diagrams.js";
import type { OpStep } from "../../model/events.js";
import {
  applyElementwise,
  type ElementwiseRule,
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
import type { Operand, PaddingAnalysis } from "./analysis.js";
import { isFloatType, isIntegerType, isTruthType, typeOfResult } from "./literals.js";
import { at as termAt } from "../../model/symbolic.js";
import { zip } from "../../algebra/zip.js";

export class ElementwiseTransfer {
  constructor(readonly lanes: PaddingAnalysis) {}

  /** Applies an op that computes each lane from the same lane of its operands. */
  apply(step: OpStep): AbstractTile | undefined {
    const { statement } = step;
    const { op, results } = statement;
    const [result] = results;
    if (!result) return undefined;
    const operands = [...this.lanes.operands(step).values()];
    const args = operands.map(({ argument }) => argument);
    const rule = {
      transfer: transferOf(statement, operands),
      isNeutral: op.proof.isNeutral,
      generic: genericClasses(result.type),
      firstOccurrence: args.map((each) => args.indexOf(each)),
    };
    return memoizedTile(this.lanes.model.environment.shape(result.type), (lane) =>
      this.lanes.diagrams.combine((...ends) => applyElementwise(rule, ends), this.#refineTruths(operands, lane)),
    );
  }

  /**
   * Refines truth operands next to masked operands by their condition: `found & (cols < N)` is 0 in lanes where `cols <
   * N` is false. Masked operands are not refined, because their padding comes from the load and no term describes it.
   */
  #refineTruths(operands: readonly Operand[], lane: readonly Term[]): readonly Diagram[] {
    const { diagrams } = this.lanes;
    const isMasked = (diagram: Diagram) => classesFrom(unionOf(diagram), "masked") !== EMPTY;
    const operandLanes = operands.map(({ tile }) => broadcastAbstractLane(tile, lane));
    if (!operandLanes.some(isMasked)) return operandLanes;
    return zip(operands, operandLanes).map(([{ argument, terms }, each]) => {
      if (!terms || !isTruthType(typeOfArgument(argument)) || isMasked(each)) return each;
      const refined = (numberClass: NumberClasses) =>
        diagrams.combine((laneValue) => refineTo(laneValue, numberClass), [each]);
      return diagrams.branch(asTruth(termAt(terms, lane)), refined(ONE), refined(ZERO));
    });
  }

  /** Applies `tl.trusted`: masked lanes count as data. */
  trusted(step: OpStep): AbstractTile | undefined {
    const tile = this.apply(step);
    const { statement } = step;
    const reason = operandOf(statement, statement.op.proof.trustedOperand);
    const [result] = statement.results;
    if (!tile || !isLiteral(reason) || result?.type.kind !== "tile") return tile;
    const numbers = genericClasses(result.type);
    const lanes = this.lanes.model.environment.lanes(`trusted ${result.id}`, tile.shape);
    if (!this.lanes.isTrial && classesFrom(unionOf(tile.at(lanes)), "masked") !== EMPTY)
      this.lanes.waived.set(statement, `${reason.value}`);
    return memoizedTile(tile.shape, (lane) =>
      this.lanes.diagrams.combine((each) => trustedLane(each, numbers), [tile.at(lane)]),
    );
  }

  /** Applies `tl.where`: selects an operand by the condition. */
  where(
    step: OpStep,
    operandNames: { readonly condition: string; readonly then: string; readonly otherwise: string },
  ): AbstractTile | undefined {
    const [result] = step.statement.results;
    const operands = this.lanes.operands(step);
    const [condition, then, otherwise] = [
      operands.get(operandNames.condition),
      operands.get(operandNames.then),
      operands.get(operandNames.otherwise),
    ];
    if (!result || !condition || !then || !otherwise) return undefined;
    const { diagrams } = this.lanes;
    return memoizedTile(this.lanes.model.environment.shape(result.type), (lane) => {
      const [x, y] = [broadcastAbstractLane(then.tile, lane), broadcastAbstractLane(otherwise.tile, lane)];
      const [a, b] = [diagrams.combine(selectedLane, [x, y]), diagrams.combine(selectedLane, [y, x])];
      const selection = condition.terms
        ? diagrams.branch(asTruth(termAt(condition.terms, lane)), a, b)
        : diagrams.join(a, b);
      const poisonIfConditionIs = (selected: AbstractLane, conditionLane: AbstractLane) =>
        mayBePoison(conditionLane) ? abstractLane("masked", POISON) : selected;
      return diagrams.combine(poisonIfConditionIs, [selection, broadcastAbstractLane(condition.tile, lane)]);
    });
  }
}

/** The transfer function of an op: its rule, in which integers widen to a float result, or the identity. */
function transferOf(statement: OpStatement, operands: readonly Operand[]): ElementwiseRule["transfer"] {
  const { op } = statement;
  const { classTransfer } = op.proof;
  if (!classTransfer) return op.facts.isIdentity && operands.length === 1 ? (classes) => classes : undefined;
  const isFloat = isFloatType(typeOfResult(statement));
  const context = { args: typedArguments(statement), isFloat };
  const parts = operands.map(({ name, argument }) => ({
    name,
    widens: isFloat && isIntegerType(typeOfArgument(argument)),
  }));
  return (...classes) =>
    classTransfer(
      Object.fromEntries(zip(parts, classes).map(([{ name, widens }, each]) => [name, widens ? asFloat(each) : each])),
      context,
    );
}
