/** What ops make of the padding of their operands, lane by lane. */
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
import { broadcastAbstractLane, type AbstractTile, heldTile } from "./abstract-tile.js";
import type { PaddingLanes } from "./analysis.js";
import { isFloatType, isIntegerType, isTruthType } from "./literals.js";
import { at as termAt, type TermTile } from "../../model/symbolic.js";

export class ElementwiseTransfer {
  constructor(readonly lanes: PaddingLanes) {}

  /** Ops that compute each lane of the same lanes. */
  lanewise(step: OpStep): AbstractTile | undefined {
    const { statement } = step;
    const { op, results } = statement;
    const [result] = results;
    if (!result) return undefined;
    const named = [...this.lanes.operands(step)];
    const given = named.map(([name]) => operandOf(statement, name));
    const float = isFloatType(result.type);
    const context = { args: typedArguments(statement), float };
    const widens = given.map((each) => float && isIntegerType(typeOfArgument(each!)));
    const rule = op.proof.classTransfer;
    const passes = op.facts.isIdentity && named.length === 1;
    const lanes = {
      kinds: rule
        ? (kinds: readonly NumberClasses[]) =>
            rule(
              Object.fromEntries(named.map(([name], i) => [name, widens[i] ? asFloat(kinds[i]!) : kinds[i]!])),
              context,
            )
        : passes
          ? ([kinds]: readonly NumberClasses[]) => kinds ?? ANY_VALUE
          : undefined,
      neutral: op.proof.isNeutral,
      generic: genericClasses(result.type),
      same: given.map((each) => given.indexOf(each)),
    };
    const truths = named.map(([name], i) =>
      isTruthType(typeOfArgument(given[i]!)) ? step.terms[operandIndex(op, name)] : undefined,
    );
    return heldTile(this.lanes.model.environment.shape(result.type), (lane) =>
      this.lanes.diagrams.combine(
        (ends) => applyElementwise(lanes, ends),
        this.#decided(
          named.map(([, tile]) => broadcastAbstractLane(tile, lane)),
          truths,
          lane,
        ),
      ),
    );
  }

  /**
   * Operands, of which truth values beside left-out lanes are decided: `found & (cols < N)` holds 0 where `cols < N` fails.
   * Of left-out lanes no term speaks: they hold what the load puts there.
   */
  #decided(
    operands: readonly Diagram[],
    truths: readonly (TermTile | undefined)[],
    lane: readonly Term[],
  ): readonly Diagram[] {
    const { diagrams } = this.lanes;
    const left = operands.map((each) => classesFrom(unionOf(each), "left") !== EMPTY);
    if (!left.includes(true)) return operands;
    return operands.map((each, i) => {
      const truth = truths[i];
      if (!truth || left[i]) return each;
      const [yes, no] = [ONE, ZERO].map((kind) => diagrams.combine(([of]) => refineTo(of!, kind), [each]));
      return diagrams.branch(asTruth(termAt(truth, lane)), yes!, no!);
    });
  }

  /** What the author says of a value: the lanes that a mask left out count as data. */
  trusted(step: OpStep): AbstractTile | undefined {
    const tile = this.lanewise(step);
    const { statement } = step;
    const reason = operandOf(statement, statement.op.proof.trustedOperand);
    if (!tile || !isLiteral(reason) || statement.results[0]!.type.kind !== "tile") return tile;
    const numbers = genericClasses(statement.results[0]!.type);
    const lanes = this.lanes.model.environment.lanes(`trusted ${statement.results[0]!.id}`, tile.shape);
    if (!this.lanes.isTrial && classesFrom(unionOf(tile.at(lanes)), "left") !== EMPTY)
      this.lanes.waived.set(statement, `${reason.value}`);
    return heldTile(tile.shape, (lane) =>
      this.lanes.diagrams.combine(([each]) => trustedLane(each!, numbers), [tile.at(lane)]),
    );
  }

  /** Of `where`, the side that the condition picks. */
  picked(step: OpStep): AbstractTile | undefined {
    const { op, results } = step.statement;
    const [result] = results;
    const { condition, then, otherwise } = op.proof.selectOperands!;
    const tiles = this.lanes.operands(step);
    const [c, x, y] = [condition, then, otherwise].map((name) => tiles.get(name));
    const truth = step.terms[operandIndex(op, condition)];
    if (!result || !c || !x || !y) return undefined;
    return heldTile(this.lanes.model.environment.shape(result.type), (lane) => {
      const sides = [x, y].map((side) => broadcastAbstractLane(side, lane)) as [Diagram, Diagram];
      const [a, b] = [sides, sides.toReversed()].map((each) =>
        this.lanes.diagrams.combine(([side, other]) => selectedLane(side!, other!), each),
      ) as [Diagram, Diagram];
      const either = truth
        ? this.lanes.diagrams.branch(asTruth(termAt(truth, lane)), a, b)
        : this.lanes.diagrams.join(a, b);
      const unset = ([side, by]: readonly AbstractLane[]) => (mayBePoison(by!) ? abstractLane("left", POISON) : side!);
      return this.lanes.diagrams.combine(unset, [either, broadcastAbstractLane(c, lane)]);
    });
  }
}
