/** The transfer functions of reductions, scans and products. They record masked lanes that change a result. */
import { atAxis, checkedAxis } from "../../../types/dims.js";
import { type FunctionIR, isFunction, isList, type OpStatement, type Value } from "../../../ir/nodes.js";
import type { OpFold } from "../../../ir/op.js";
import { typedArguments } from "../../../ir/walk.js";
import {
  ANY_VALUE,
  type NumberClasses,
  classesIn,
  EMPTY,
  POISON,
  addClasses,
  ZERO,
} from "../../../symbolic/number-class.js";
import { above, asTruth, below, isNumber, number, quotient, type Term } from "../../../symbolic/term.js";
import {
  type Diagram,
  dependsOn,
  type DiagramPath,
  pathsOf,
  unionOf,
  broadcastAbstractLane,
  type AbstractTile,
  memoizedTile,
} from "./decision-diagrams.js";
import type { OpStep } from "../../model/events.js";
import {
  combineFixpoint,
  applyElementwise,
  nonNeutralPadding,
  PROVENANCES,
  foldResult,
  type FoldRule,
  genericClasses,
  abstractLane,
  type AbstractLane,
  mayBePoison,
  activeClasses,
  classesFrom,
  isFloatType,
  typeOfResult,
} from "./abstract-lane.js";
import type { PaddingAnalysis } from "./analysis.js";
import { at as termAt, broadcastLane } from "../../model/symbolic-environment.js";

/** An occurrence of a fold. */
interface Fold {
  readonly step: OpStep;
  readonly semantics: OpFold;
  readonly result: Value;
}

export class FoldTransfer {
  constructor(readonly lanes: PaddingAnalysis) {}

  fold(step: OpStep, semantics: OpFold): AbstractTile | undefined {
    const { operands, results } = step.statement;
    const [result] = results;
    if (!result) return undefined;
    const { form } = semantics;
    const fold = { step, semantics, result };
    if (form === "contraction") return this.#dot(fold);
    if (form === "packed") return this.#packed(fold);
    const foldTile = (x: AbstractTile) => (form === "reduction" ? this.#reduction(fold, x) : this.#scan(fold, x));
    const [first] = operands;
    // Folds over several tiles are not modeled. Only the masked lanes that reach them are recorded.
    if (isList(first)) {
      for (const each of first) foldTile(this.lanes.tileOf(each, result.type));
      return undefined;
    }
    const [operand] = this.lanes.operands(step).values();
    return operand && foldTile(operand.tile);
  }

  #reduction({ step, semantics, result }: Fold, x: AbstractTile): AbstractTile {
    const { lanes } = this;
    const { statement } = step;
    const rank = x.shape.length;
    const axis = axisOf(statement, rank);
    const isFolded = (i: number) => axis === undefined || i === axis;
    const foldLanes = x.shape.map((size, i) => lanes.model.environment.lane(`fold ${result.id} ${i}`, size));
    const rule = foldRuleOf(statement);
    const restrictToMask = this.#maskOf(statement, semantics);
    const shape = lanes.model.environment.shape(result.type);
    const keepsDims = shape.length === rank;
    const resultAt = (lane: readonly Term[], shouldRecord: boolean): Diagram => {
      const kept = keepsDims ? lane.filter((_, i) => !isFolded(i)) : lane;
      const full = foldLanes.reduce((each, foldLane, i) => (isFolded(i) ? each.toSpliced(i, 0, foldLane) : each), kept);
      return this.#reduceLanes(
        step,
        rule,
        restrictToMask(x.at(full), full),
        foldLanes.filter((_, i) => isFolded(i)),
        shouldRecord,
      );
    };
    if (!lanes.isTrial) resultAt(lanes.model.environment.lanes(`result ${result.id}`, shape), true);
    return memoizedTile(shape, (lane) => resultAt(broadcastLane(shape, lane), false));
  }

  /** Restricts a fold to the lanes of its own mask. */
  #maskOf({ options }: OpStatement, { mask }: OpFold): (x: Diagram, lane: readonly Term[]) => Diagram {
    const { diagrams, model } = this.lanes;
    const maskArgument = mask === undefined ? undefined : options[mask];
    const truth = maskArgument && model.environment.terms(maskArgument);
    if (!truth) return (x) => x;
    return (x, lane) => diagrams.branch(asTruth(termAt(truth, lane)), x, diagrams.terminal(EMPTY));
  }

  /** Reduces the lanes along some axes. */
  #reduceLanes(
    step: OpStep,
    rule: FoldRule,
    diagram: Diagram,
    foldLanes: readonly Term[],
    shouldRecord: boolean,
  ): Diagram {
    const isInner = dependsOn(new Set(foldLanes.map(({ name }) => name)));
    return this.lanes.diagrams.outer(diagram, isInner, (inner, outer) =>
      foldResult(rule, this.#joinLanes(step, rule, pathsOf(inner, outer), shouldRecord)),
    );
  }

  /** The join of a fold's lanes that may exist. Records the masked lanes that change the result. */
  #joinLanes(step: OpStep, rule: FoldRule, paths: readonly DiagramPath[], shouldRecord: boolean): AbstractLane {
    const { lanes } = this;
    const union = (members: readonly DiagramPath[]) => members.reduce((result, { lane }) => result | lane, EMPTY);
    const nonNeutral = nonNeutralPadding(rule, union(paths));
    const isHarmful = ({ lane }: DiagramPath) =>
      mayBePoison(lane) || (classesFrom(lane, "masked") & nonNeutral) !== EMPTY;
    const feasiblePaths = paths.filter((path) => !isHarmful(path) || lanes.isPossible(step, path.conditions));
    const joinedLanes = union(feasiblePaths);
    // If every lane of a fold is masked or poison, no active lane is changed. The use of the result is checked instead.
    if (!shouldRecord || feasiblePaths.every(({ lane }) => mayBePoison(lane) || activeClasses(lane) === EMPTY))
      return joinedLanes;
    const hasActive = activeClasses(joinedLanes) !== EMPTY;
    if (hasActive && classesFrom(joinedLanes, "masked") !== EMPTY) lanes.record(step, undefined, EMPTY);
    const nonNeutralClasses = nonNeutralPadding(rule, joinedLanes);
    for (const path of feasiblePaths) {
      const classes =
        (classesFrom(path.lane, "masked") & nonNeutralClasses) | (mayBePoison(path.lane) ? POISON : EMPTY);
      if (classes !== EMPTY) lanes.record(step, path.conditions, classes);
    }
    return joinedLanes;
  }

  /** A scan, whose lanes depend on the preceding lanes, or a normalization, whose lanes depend on all lanes. */
  #scan({ step, semantics, result }: Fold, x: AbstractTile): AbstractTile {
    const { lanes } = this;
    const { statement } = step;
    const shape = lanes.model.environment.shape(result.type);
    const rank = x.shape.length;
    const axis = axisOf(statement, rank) ?? fromFront(semantics.axis ?? 0, rank);
    const otherLane = lanes.model.environment.lane(`fold ${result.id}`, atAxis(x.shape, axis));
    const rule = foldRuleOf(statement);
    const isOrdered = semantics.form === "scan";
    const reverse =
      typedArguments(statement)["reverse"]?.literal === true && statement.options["reverse"] !== undefined;
    const precedes = (lane: Term): readonly Term[] =>
      isOrdered ? [reverse ? above(otherLane, lane) : below(otherLane, lane)] : [];
    const resultAt = (lane: readonly Term[], shouldRecord: boolean): Diagram => {
      const operandLane = x.at(lane);
      const activePaths = pathsOf(operandLane).filter(({ lane: laneValue }) => activeClasses(laneValue) !== EMPTY);
      // Masked lanes count only if they precede an active lane.
      const paths = pathsOf(x.at(lane.with(axis, otherLane))).flatMap((path): readonly DiagramPath[] => {
        const { masked, active } = splitMasked(path);
        const candidates = activePaths.map(({ conditions }) => [
          ...conditions,
          ...path.conditions,
          ...precedes(atAxis(lane, axis)),
        ]);
        const feasible = candidates.find((conditions) => masked !== EMPTY && lanes.isPossible(step, conditions));
        return [{ ...path, lane: active }, ...(feasible ? [{ conditions: feasible, lane: masked }] : [])];
      });
      const union = this.#joinLanes(step, rule, paths, shouldRecord);
      const poison = mayBePoison(union) ? POISON : EMPTY;
      const activeOthers = activeClasses(union);
      return lanes.diagrams.combine((each) => scanResult(rule, isOrdered, each, activeOthers, poison), [operandLane]);
    };
    if (!lanes.isTrial) resultAt(lanes.model.environment.lanes(`result ${result.id}`, shape), true);
    return memoizedTile(shape, (lane) => resultAt(lane, false));
  }

  /** The product of two tiles: sums of products along the inner dimension. */
  #dot({ step, result }: Fold): AbstractTile | undefined {
    const { lanes } = this;
    const { statement } = step;
    const { classTransfer } = statement.op.proof;
    const operands = lanes.operands(step);
    const [a, b, acc] = [operands.get("a")?.tile, operands.get("b")?.tile, operands.get("acc")?.tile];
    if (!a || !b) return undefined;
    const rule = foldRuleOf(statement);
    const context = { args: typedArguments(statement), isFloat: isFloatType(result.type) };
    const factors = {
      transfer: classTransfer && ((x: NumberClasses, y: NumberClasses) => classTransfer({ a: x, b: y }, context)),
      generic: rule.generic,
      firstOccurrence: [0, 1],
    };
    const sums = { transfer: addClasses, isNeutral: isZero, generic: rule.generic, firstOccurrence: [0, 1] };
    const inner = lanes.model.environment.lane(`fold ${result.id}`, atAxis(a.shape, a.shape.length - 1));
    const shape = lanes.model.environment.shape(result.type);
    const resultAt = (lane: readonly Term[], shouldRecord: boolean): Diagram => {
      const [rows, column] = [lane.slice(0, -1), atAxis(lane, lane.length - 1)];
      const x = a.at([...rows, inner]);
      const y = b.at([...rows.slice(0, -1), inner, column]);
      const products = lanes.diagrams.combine((...ends) => applyElementwise(factors, ends), [x, y]);
      const sum = this.#reduceLanes(step, rule, products, [inner], shouldRecord);
      return acc
        ? lanes.diagrams.combine((...ends) => applyElementwise(sums, ends), [sum, broadcastAbstractLane(acc, lane)])
        : sum;
    };
    if (!lanes.isTrial) resultAt(lanes.model.environment.lanes(`result ${result.id}`, shape), true);
    return memoizedTile(shape, (lane) => resultAt(lane, false));
  }

  /**
   * A scaled dot whose operands have different shapes. Each operand's elements, times their scales, are reduced along
   * its inner axis.
   */
  #packed({ step, semantics: { sides = [] }, result }: Fold): AbstractTile | undefined {
    const { model, diagrams } = this.lanes;
    const { classTransfer } = step.statement.op.proof;
    const operands = this.lanes.operands(step);
    const rule = foldRuleOf(step.statement);
    const context = { args: typedArguments(step.statement), isFloat: true };
    const scaled = {
      transfer:
        classTransfer && ((lhs: NumberClasses, lhsScale: NumberClasses) => classTransfer({ lhs, lhsScale }, context)),
      generic: rule.generic,
      firstOccurrence: [0, 1],
    };
    let union = EMPTY;
    for (const { operand: operandName, inner: innerAxis, scale } of sides) {
      const [x, scales] = [operands.get(operandName)?.tile, operands.get(scale)?.tile];
      if (!x) return undefined;
      const inner = checkedAxis(x.shape.length, innerAxis);
      const lane = model.environment.lanes(`fold ${result.id} ${operandName}`, x.shape);
      const innerLane = atAxis(lane, inner);
      const outer = lane.toSpliced(inner, 1);
      let elements = x.at(lane);
      if (scales) {
        const groups = atAxis(scales.shape, scales.shape.length - 1);
        const group =
          groupIndexOf(innerLane, atAxis(x.shape, inner), groups) ??
          model.environment.lane(`any ${operandName}`, groups);
        elements = diagrams.combine(
          (...ends) => applyElementwise(scaled, ends),
          [elements, scales.at([...outer, group])],
        );
      }
      union |= unionOf(this.#reduceLanes(step, rule, elements, [innerLane], !this.lanes.isTrial));
    }
    const acc = operands.get("acc")?.tile;
    if (acc) union |= unionOf(acc.at(model.environment.lanes(`any ${result.id}`, acc.shape)));
    const masked = classesFrom(union, "masked");
    const padding = masked === EMPTY ? EMPTY : abstractLane("masked", ANY_VALUE | (masked & POISON));
    const shape = model.environment.shape(result.type);
    return memoizedTile(shape, () => diagrams.terminal(abstractLane("data", rule.generic) | padding));
  }
}

/** The fold axis that a statement names, counted from the front. */
function axisOf(statement: OpStatement, rank: number): number | undefined {
  const args = typedArguments(statement);
  const literal = (args["axis"] ?? args["dim"])?.literal;
  return literal === undefined ? undefined : fromFront(Number(literal), rank);
}

const fromFront = (axis: number, rank: number): number => (axis < 0 ? axis + rank : axis);

/** The index of an element's scale group, if all groups have one known size. */
function groupIndexOf(lane: Term, elements: Term, groups: Term): Term | undefined {
  if (isNumber(elements) && isNumber(groups)) return quotient(lane, number(elements.value / groups.value), true);
  const [size, groupCount, ...more] = elements.kind === "product" ? elements.operands : [];
  return size && isNumber(size) && groupCount === groups && more.length === 0 ? quotient(lane, size, true) : undefined;
}

/** The combine rule of a fold: that of its op record, or of its combine function. */
export function foldRuleOf(statement: OpStatement): FoldRule {
  const { op, operands } = statement;
  const generic = genericClasses(typeOfResult(statement));
  const combine = operands.find(isFunction);
  if (combine) return ruleOfFunction(combine.function, generic);
  const { foldSemantics, isNeutral: neutral } = op.proof;
  const args = typedArguments(statement);
  const isNeutral = (masked: NumberClasses, active: NumberClasses) => neutral?.(masked, active, false, args) ?? false;
  return { combine: foldSemantics?.combineClasses, isNeutral, generic };
}

/** The rule of a combine function that is a single op of its two parameters. Other functions have no rule. */
function ruleOfFunction({ params, body: { statements, yields } }: FunctionIR, generic: NumberClasses): FoldRule {
  const [statement] = statements;
  const isSingleOp =
    statement?.kind === "op" &&
    statements.length === 1 &&
    params.length === 2 &&
    yields.length === 1 &&
    yields[0] === statement.results[0] &&
    statement.operands.length === 2 &&
    params.every((param) => statement.operands.includes(param));
  if (!isSingleOp) return { combine: undefined, isNeutral: () => false, generic };
  const { classTransfer: holds, isNeutral: neutral } = statement.op.proof;
  const [x, y] = Object.keys(statement.op.operands) as [string, string];
  const context = { args: typedArguments(statement), isFloat: isFloatType(typeOfResult(statement)) };
  return {
    combine: holds && ((a, b) => holds({ [x]: a, [y]: b }, context)),
    isNeutral: (masked, active) => neutral?.(masked, active, false) ?? false,
    generic,
  };
}

const isZero = (classes: NumberClasses): boolean => classes === ZERO;

/** Splits a path's lane into its masked or poison part and its active part. */
function splitMasked({ lane }: DiagramPath): { readonly masked: AbstractLane; readonly active: AbstractLane } {
  const isPoison = mayBePoison(lane);
  const masked = isPoison ? lane : abstractLane("masked", classesFrom(lane, "masked"));
  return { masked, active: isPoison ? EMPTY : lane & ~masked };
}

/** The lane of a scan's or a normalization's result, from the operand's lane and the classes of the other lanes. */
function scanResult(
  rule: FoldRule,
  isOrdered: boolean,
  lane: AbstractLane,
  otherClasses: NumberClasses,
  poison: NumberClasses,
): AbstractLane {
  const resultOf = (classes: NumberClasses): NumberClasses => {
    const result = (isOrdered ? combineFixpoint(rule, classes | otherClasses) : normalizeEach(rule, classes)) & ~POISON;
    return result | (classes & POISON) | poison;
  };
  return PROVENANCES.reduce((result, provenance) => {
    const classes = classesFrom(lane, provenance);
    return classes === EMPTY ? result : result | abstractLane(provenance, resultOf(classes));
  }, EMPTY);
}

/** The classes of a normalization's result, one input class at a time. */
function normalizeEach({ combine: rule, generic: numbers }: FoldRule, classes: NumberClasses): NumberClasses {
  if (!rule) return numbers;
  return classesIn(classes & ~POISON).reduce((result, numberClass) => result | rule(numberClass, numberClass), EMPTY);
}
