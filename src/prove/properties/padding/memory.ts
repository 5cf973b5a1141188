/** What loads put into lanes that are off, and whether accesses take lanes without a value. */
import { type Argument, isList, type Value } from "../../../ir/nodes.js";
import { NAN, EMPTY, POISON, ZERO } from "../../../symbolic/number-class.js";
import type { Term } from "../../../symbolic/term.js";
import type { Type } from "../../../types/types.js";
import { pathsOf, unionOf } from "./decision-diagrams.js";
import type { OpStep } from "../../model/events.js";
import { genericClasses, abstractLane, mayBePoison, classesFrom, maskedOff } from "./abstract-lane.js";
import { broadcastAbstractLane, type AbstractTile, heldTile } from "./abstract-tile.js";
import type { PaddingLanes } from "./analysis.js";
import { inBoundsCondition } from "../../model/accesses.js";

export class MemoryTransfer {
  constructor(readonly lanes: PaddingLanes) {}

  /** Notes what an access takes that has no value, and gives what it loads. */
  reach(step: OpStep): AbstractTile | undefined {
    const { statement, access } = step;
    const { reaches } = statement.op.proof;
    const { mask } = statement.options;
    const inside = inBoundsCondition(access!.axes);
    const { offsets, rows, column } = reaches!;
    const type = statement.results[0]?.type ?? { kind: "none" };
    this.#reached(step, mask, type, inside);
    Object.keys(statement.op.operands).forEach((name, i) => {
      const operand = statement.operands[i];
      // Where the block of a descriptor starts has lanes of its own.
      if ([offsets, rows, column].includes(name)) this.#starts(step, operand);
      else this.#reached(step, operand, type, access!.mask);
    });
    const [result] = statement.results;
    return result && this.#loaded(step, result);
  }

  #starts(step: OpStep, argument: Argument | undefined): void {
    if (argument === undefined || this.lanes.isTrial) return;
    const unset = this.lanes.unsetIn(step, argument);
    if (unset) this.lanes.note(step, unset, POISON);
  }

  /** What an access takes must have a value in every lane where a condition holds. */
  #reached(step: OpStep, argument: Argument | undefined, type: Type, where: Term): void {
    if (argument === undefined || isList(argument) || this.lanes.isTrial) return;
    const { lane } = step.access!;
    const tile = this.lanes.held(argument, type);
    if (tile.shape.length > lane.length) return;
    const each = broadcastAbstractLane(tile, lane);
    if (mayBePoison(unionOf(each))) this.lanes.note(step, undefined, EMPTY);
    const known = this.lanes.diagrams.branch(where, each, this.lanes.diagrams.end(EMPTY));
    for (const { conditions, held: of } of pathsOf(known)) {
      if (!mayBePoison(of) || !this.lanes.isPossible(step, conditions)) continue;
      if (this.lanes.origin && (classesFrom(of, "left") & POISON) === EMPTY) {
        const { given, variables } = this.lanes.origin;
        this.#noteFrom(step, [...conditions, ...given], variables);
      } else this.lanes.note(step, conditions, POISON);
    }
  }

  #noteFrom(step: OpStep, conditions: readonly Term[], variables: readonly string[]): void {
    this.lanes.note(step, conditions, POISON);
    const meeting = this.lanes.leaks.get(step.statement);
    if (meeting)
      this.lanes.leaks.set(step.statement, {
        ...meeting,
        variables: [...new Set([...meeting.variables, ...variables])],
      });
  }

  /** What a load gives: data, or what it puts into lanes that are off. */
  #loaded({ statement, access }: OpStep, result: Value): AbstractTile {
    const { diagrams, model } = this.lanes;
    const { mask, other } = statement.options;
    const shape = model.environment.shape(result.type);
    const data = diagrams.end(abstractLane("live", genericClasses(result.type)));
    const padding = access!.tensor?.kind === "tensor" && access!.tensor.padding === "nan" ? NAN : ZERO;
    const nothing = diagrams.end(abstractLane("left", POISON));
    const [zero, rest] = [diagrams.end(abstractLane("left", padding)), other && this.lanes.held(other, result.type)];
    const { lane: own, axes } = access!;
    if (own.length !== shape.length) {
      const off = rest
        ? broadcastAbstractLane(rest, model.environment.lanes(`any ${result.id}`, shape))
        : mask === undefined
          ? data
          : nothing;
      return this.lanes.constant(shape, abstractLane("live", genericClasses(result.type)) | maskedOff(unionOf(off)));
    }
    const on = diagrams.branch(access!.mask, data, diagrams.end(EMPTY));
    const names = own.map(({ name }) => name);
    const isAtomic = statement.op.effect === "atomic";
    return heldTile(shape, (lane) => {
      const by = new Map(names.map((name, axis) => [name, lane[axis]!]));
      const off = isAtomic
        ? nothing
        : rest
          ? diagrams.combine(([each]) => maskedOff(each!), [broadcastAbstractLane(rest, lane)])
          : mask === undefined
            ? zero
            : diagrams.substitute(diagrams.branch(inBoundsCondition(axes), nothing, zero), by);
      return diagrams.combine(([x, y]) => (x === EMPTY ? y! : x!), [diagrams.substitute(on, by), off]);
    });
  }
}
