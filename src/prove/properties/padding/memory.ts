/** The transfer functions of loads and stores, and the check that accesses use no poison. */
import { type Argument, isList, type Value } from "../../../ir/nodes.js";
import { NAN, EMPTY, POISON, ZERO } from "../../../symbolic/number-class.js";
import type { Term } from "../../../symbolic/term.js";
import type { Type } from "../../../types/types.js";
import { pathsOf, unionOf } from "./decision-diagrams.js";
import type { OpStep } from "../../model/events.js";
import { genericClasses, abstractLane, mayBePoison, classesFrom, maskedOff } from "./abstract-lane.js";
import { broadcastAbstractLane, type AbstractTile, memoizedTile } from "./abstract-tile.js";
import type { PaddingAnalysis } from "./analysis.js";
import { inBoundsCondition } from "../../model/accesses.js";

export class MemoryTransfer {
  constructor(readonly lanes: PaddingAnalysis) {}

  /** Records poison that an access uses, and returns the tile that it loads. */
  apply(step: OpStep): AbstractTile | undefined {
    const { statement, access } = step;
    const { memoryOperands: reaches } = statement.op.proof;
    const { mask } = statement.options;
    const inBounds = inBoundsCondition(access!.axes);
    const { offsets, rows, column } = reaches!;
    const type = statement.results[0]?.type ?? { kind: "none" };
    this.#checkOperand(step, mask, type, inBounds);
    Object.keys(statement.op.operands).forEach((name, i) => {
      const operand = statement.operands[i];
      // The start of a descriptor's block has its own lanes, apart from those of the block.
      if ([offsets, rows, column].includes(name)) this.#checkStart(step, operand);
      else this.#checkOperand(step, operand, type, access!.mask);
    });
    const [result] = statement.results;
    return result && this.#load(step, result);
  }

  #checkStart(step: OpStep, argument: Argument | undefined): void {
    if (argument === undefined || this.lanes.isTrial) return;
    const conditions = this.lanes.poisonConditions(step, argument);
    if (conditions) this.lanes.record(step, conditions, POISON);
  }

  /** Records poison in the lanes of an operand in which a condition holds. */
  #checkOperand(step: OpStep, argument: Argument | undefined, type: Type, condition: Term): void {
    if (argument === undefined || isList(argument) || this.lanes.isTrial) return;
    const { lane } = step.access!;
    const tile = this.lanes.tileOf(argument, type);
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
  #load({ statement, access }: OpStep, result: Value): AbstractTile {
    const { diagrams, model } = this.lanes;
    const { mask, other } = statement.options;
    const shape = model.environment.shape(result.type);
    const data = diagrams.terminal(abstractLane("data", genericClasses(result.type)));
    const padding = access!.tensor?.kind === "tensor" && access!.tensor.padding === "nan" ? NAN : ZERO;
    const poison = diagrams.terminal(abstractLane("masked", POISON));
    const [zero, otherTile] = [
      diagrams.terminal(abstractLane("masked", padding)),
      other && this.lanes.tileOf(other, result.type),
    ];
    const { lane: accessLane, axes } = access!;
    if (accessLane.length !== shape.length) {
      const masked = otherTile
        ? broadcastAbstractLane(otherTile, model.environment.lanes(`any ${result.id}`, shape))
        : mask === undefined
          ? data
          : poison;
      return this.lanes.constant(shape, abstractLane("data", genericClasses(result.type)) | maskedOff(unionOf(masked)));
    }
    const active = diagrams.branch(access!.mask, data, diagrams.terminal(EMPTY));
    const names = accessLane.map(({ name }) => name);
    const isAtomic = statement.op.effect === "atomic";
    return memoizedTile(shape, (lane) => {
      const replacements = new Map(names.map((name, axis) => [name, lane[axis]!]));
      const masked = isAtomic
        ? poison
        : otherTile
          ? diagrams.combine(([each]) => maskedOff(each!), [broadcastAbstractLane(otherTile, lane)])
          : mask === undefined
            ? zero
            : diagrams.substitute(diagrams.branch(inBoundsCondition(axes), poison, zero), replacements);
      return diagrams.combine(([x, y]) => (x === EMPTY ? y! : x!), [diagrams.substitute(active, replacements), masked]);
    });
  }
}
