/** The transfer functions of elementwise ops. */
import { isLiteral, operandOf, type OpStatement, type Argument, isList, type Value } from "../../../ir/nodes.js";
import { typedArguments, typeOfArgument } from "../../../ir/walk.js";
import { asFloat, type NumberClasses, EMPTY, POISON, ONE, ZERO, NAN } from "../../../symbolic/number-class.js";
import { asTruth, type Term } from "../../../symbolic/term.js";
import {
  type Diagram,
  unionOf,
  broadcastAbstractLane,
  type AbstractTile,
  memoizedTile,
  pathsOf,
} from "./decision-diagrams.js";
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
  isFloatType,
  isIntegerType,
  isTruthType,
  typeOfResult,
  maskedOff,
} from "./abstract-lane.js";
import type { Operand, PaddingAnalysis } from "./analysis.js";
import { at as termAt, laneReplacements } from "../../model/symbolic-environment.js";
import { zip } from "../../algebra/zip.js";
import { type Access, inBoundsCondition } from "../../model/accesses.js";

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

// The transfer functions of loads and stores, and the check that accesses use no poison.

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
