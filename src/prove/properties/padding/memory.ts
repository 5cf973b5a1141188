/** The transfer functions of loads and stores, and the check that accesses use no poison. */
import { type Argument, isList, type Value } from "../../../ir/nodes.js";
import { NAN, EMPTY, POISON, ZERO } from "../../../symbolic/number-class.js";
import type { Term } from "../../../symbolic/term.js";
import { type Diagram, pathsOf, unionOf } from "./decision-diagrams.js";
import type { OpStep } from "../../model/events.js";
import { genericClasses, abstractLane, mayBePoison, classesFrom, maskedOff } from "./abstract-lane.js";
import { broadcastAbstractLane, type AbstractTile, memoizedTile } from "./abstract-tile.js";
import type { PaddingAnalysis } from "./analysis.js";
import { typeOfResult } from "./literals.js";
import { type Access, inBoundsCondition } from "../../model/accesses.js";
import { laneReplacements } from "../../model/symbolic.js";

export class MemoryTransfer {
  constructor(readonly lanes: PaddingAnalysis) {}

  /** Records poison that an access uses, and returns the tile that it loads. */
  apply(step: OpStep, access: Access): AbstractTile | undefined {
    const { statement } = step;
    const { offsets, rows, column } = access.memoryOperands;
    this.#checkOperand(step, access, statement.options["mask"], inBoundsCondition(access.axes));
    Object.keys(statement.op.operands).forEach((name, i) => {
      const operand = statement.operands[i];
      // The start of a descriptor's block has its own lanes, apart from those of the block.
      if ([offsets, rows, column].includes(name)) this.#checkStart(step, operand);
      else this.#checkOperand(step, access, operand, access.mask);
    });
    const [result] = statement.results;
    return result && this.#load(access, result);
  }

  #checkStart(step: OpStep, argument: Argument | undefined): void {
    if (argument === undefined || this.lanes.isTrial) return;
    const conditions = this.lanes.poisonConditions(step, argument);
    if (conditions) this.lanes.record(step, conditions, POISON);
  }

  /** Records poison in the lanes of an operand in which a condition holds. */
  #checkOperand(step: OpStep, { lane }: Access, argument: Argument | undefined, condition: Term): void {
    if (argument === undefined || isList(argument) || this.lanes.isTrial) return;
    const tile = this.lanes.tileOf(argument, typeOfResult(step.statement));
    if (tile.shape.length > lane.length) return;
    const diagram = broadcastAbstractLane(tile, lane);
    if (mayBePoison(unionOf(diagram))) this.lanes.record(step, undefined, EMPTY);
    const activeDiagram = this.lanes.diagrams.branch(condition, diagram, this.lanes.diagrams.terminal(EMPTY));
    for (const { conditions, lane: laneValue } of pathsOf(activeDiagram)) {
      if (!mayBePoison(laneValue) || !this.lanes.isPossible(step, conditions)) continue;
      if (this.lanes.origin && (classesFrom(laneValue, "masked") & POISON) === EMPTY) {
        const { facts, variables } = this.lanes.origin;
        this.#recordFromOrigin(step, [...conditions, ...facts], variables);
      } else this.lanes.record(step, conditions, POISON);
    }
  }

  #recordFromOrigin(step: OpStep, conditions: readonly Term[], variables: readonly string[]): void {
    this.lanes.record(step, conditions, POISON);
    const leak = this.lanes.leaks.get(step.statement);
    if (leak)
      this.lanes.leaks.set(step.statement, {
        ...leak,
        variables: [...new Set([...leak.variables, ...variables])],
      });
  }

  /** The tile that a load returns: data in active lanes, and the padding of masked lanes. */
  #load({ statement, tensor, axes, mask, lane: accessLane }: Access, result: Value): AbstractTile {
    const { diagrams, model } = this.lanes;
    const { mask: explicitMask, other } = statement.options;
    const shape = model.environment.shape(result.type);
    const data = diagrams.terminal(abstractLane("data", genericClasses(result.type)));
    const padding = tensor?.kind === "tensor" && tensor.padding === "nan" ? NAN : ZERO;
    const poison = diagrams.terminal(abstractLane("masked", POISON));
    const zero = diagrams.terminal(abstractLane("masked", padding));
    const otherTile = other && this.lanes.tileOf(other, result.type);
    if (accessLane.length !== shape.length) {
      const withoutOther = explicitMask === undefined ? data : poison;
      const masked = otherTile
        ? broadcastAbstractLane(otherTile, model.environment.lanes(`any ${result.id}`, shape))
        : withoutOther;
      return this.lanes.constant(shape, abstractLane("data", genericClasses(result.type)) | maskedOff(unionOf(masked)));
    }
    const active = diagrams.branch(mask, data, diagrams.terminal(EMPTY));
    const maskedAt = (lane: readonly Term[], replacements: ReadonlyMap<string, Term>): Diagram => {
      if (statement.op.effect === "atomic") return poison;
      if (otherTile) return diagrams.combine(maskedOff, [broadcastAbstractLane(otherTile, lane)]);
      if (explicitMask === undefined) return zero;
      return diagrams.substitute(diagrams.branch(inBoundsCondition(axes), poison, zero), replacements);
    };
    return memoizedTile(shape, (lane) => {
      const replacements = laneReplacements(accessLane, lane);
      return diagrams.combine(
        (activeLane, maskedLane) => (activeLane === EMPTY ? maskedLane : activeLane),
        [diagrams.substitute(active, replacements), maskedAt(lane, replacements)],
      );
    });
  }
}
