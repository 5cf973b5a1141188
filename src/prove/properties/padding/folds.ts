/** What reductions, scans and products make of lanes, and whether lanes that a mask left out change what the others give. */
import { type FunctionIR, isFunction, isList, type OpStatement } from "../../../ir/nodes.js";
import { typedArguments } from "../../../ir/typed.js";
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
import { type Diagram, dependsOn, type DiagramPath, pathsOf, unionOf } from "./decision-diagrams.js";
import type { OpStep } from "../../model/events.js";
import {
  combineFixpoint,
  applyElementwise,
  nonNeutralPadding,
  foldResult,
  type FoldRule,
  genericClasses,
  abstractLane,
  type AbstractLane,
  mayBePoison,
  activeClasses,
  classesFrom,
} from "./abstract-lane.js";
import { broadcastAbstractLane, type AbstractTile, heldTile } from "./abstract-tile.js";
import type { PaddingLanes } from "./analysis.js";
import { isFloatType } from "./literals.js";
import { at as termAt, isOne } from "../../model/symbolic.js";

export class FoldTransfer {
  constructor(readonly lanes: PaddingLanes) {}

  fold(step: OpStep): AbstractTile | undefined {
    const { operands, op, results } = step.statement;
    const { form } = op.proof.foldSemantics!;
    if (form === "contraction") return this.#product(step);
    if (form === "packed") return this.#packed(step);
    const along = (x: AbstractTile) => (form === "reduction" ? this.#reduction(step, x) : this.#scan(step, x));
    const [first] = operands;
    // Of several tiles that are folded together nothing is known but that lanes meet.
    if (isList(first)) {
      for (const each of first) along(this.lanes.held(each, results[0]!.type));
      return undefined;
    }
    const [operand] = this.lanes.operands(step).values();
    return operand && along(operand);
  }

  /** An axis among the arguments, counted from the front; undefined stands for all. */
  #axisOf({ statement }: OpStep, rank: number, missing: number | undefined): number | undefined {
    const args = typedArguments(statement);
    const given = (args["axis"] ?? args["dim"])?.literal;
    const axis = given === undefined ? missing : Number(given);
    return axis !== undefined && axis < 0 ? axis + rank : axis;
  }

  #reduction(step: OpStep, x: AbstractTile): AbstractTile {
    const { lanes } = this;
    const { statement } = step;
    const rank = x.shape.length;
    const axis = this.#axisOf(step, rank, undefined);
    const isOver = (each: number) => axis === undefined || each === axis;
    const along = x.shape.map((size, each) =>
      lanes.model.environment.lane(`fold ${statement.results[0]!.id} ${each}`, size),
    );
    const rule = foldRuleOf(statement);
    const takesPart = this.#partOf(step);
    const shape = lanes.model.environment.shape(statement.results[0]!.type);
    const keeps = shape.length === rank;
    const at = (lane: readonly Term[], notes: boolean): Diagram => {
      const outer = [...lane];
      const full = along.map((own, each) => {
        if (keeps) return isOver(each) ? own : lane[each]!;
        return isOver(each) ? own : outer.shift()!;
      });
      return this.#together(
        step,
        rule,
        takesPart(x.at(full), full),
        along.filter((_, each) => isOver(each)),
        notes,
      );
    };
    if (!lanes.isTrial) at(lanes.model.environment.lanes(`result ${statement.results[0]!.id}`, shape), true);
    return heldTile(shape, (lane) =>
      at(
        lane.map((each, i) => (isOne(shape[i]!) ? number(0) : each)),
        false,
      ),
    );
  }

  /** Only the lanes that a mask of the op's own leaves in. */
  #partOf({ statement: { op, options } }: OpStep): (x: Diagram, lane: readonly Term[]) => Diagram {
    const { diagrams, model } = this.lanes;
    const { mask } = op.proof.foldSemantics!;
    const given = mask === undefined ? undefined : options[mask];
    const truth = given && model.environment.terms(given);
    if (!truth) return (x) => x;
    return (x, lane) => diagrams.branch(asTruth(termAt(truth, lane)), x, diagrams.end(EMPTY));
  }

  /** What lanes along some axes give together. */
  #together(step: OpStep, rule: FoldRule, diagram: Diagram, along: readonly Term[], notes: boolean): Diagram {
    const isInner = dependsOn(new Set(along.map(({ name }) => name)));
    return this.lanes.diagrams.outer(diagram, isInner, (inner, outer) =>
      foldResult(rule, this.#taken(step, rule, pathsOf(inner, outer), notes)),
    );
  }

  /** What the lanes of a fold hold that may exist; notes those that change what the others give. */
  #taken(step: OpStep, rule: FoldRule, paths: readonly DiagramPath[], notes: boolean): AbstractLane {
    const { lanes } = this;
    const union = (of: readonly DiagramPath[]) => of.reduce((all, { held: each }) => all | each, EMPTY);
    const bad = nonNeutralPadding(rule, union(paths));
    const isBad = ({ held: of }: DiagramPath) => mayBePoison(of) || (classesFrom(of, "left") & bad) !== EMPTY;
    const kept = paths.filter((path) => !isBad(path) || lanes.isPossible(step, path.conditions));
    const all = union(kept);
    // Where every lane of a fold is left out or holds nothing, no other is changed: who takes the result answers for it.
    if (!notes || kept.every(({ held: of }) => mayBePoison(of) || activeClasses(of) === EMPTY)) return all;
    const others = activeClasses(all) !== EMPTY;
    if (others && classesFrom(all, "left") !== EMPTY) lanes.note(step, undefined, EMPTY);
    const left = nonNeutralPadding(rule, all);
    for (const path of kept) {
      const holds = (classesFrom(path.held, "left") & left) | (mayBePoison(path.held) ? POISON : EMPTY);
      if (holds !== EMPTY) lanes.note(step, path.conditions, holds);
    }
    return all;
  }

  /** A scan, whose lanes depend on those before, or a normalization, whose lanes depend on all. */
  #scan(step: OpStep, x: AbstractTile): AbstractTile {
    const { lanes } = this;
    const { statement } = step;
    const { options, op } = statement;
    const shape = lanes.model.environment.shape(statement.results[0]!.type);
    const axis = this.#axisOf(step, x.shape.length, op.proof.foldSemantics!.axis ?? 0)!;
    const name = `fold ${statement.results[0]!.id}`;
    const other = lanes.model.environment.lane(name, x.shape[axis]!);
    const rule = foldRuleOf(statement);
    const isOrdered = op.proof.foldSemantics!.form === "scan";
    const reverse = typedArguments(statement)["reverse"]?.literal === true && options["reverse"] !== undefined;
    const before = (own: Term): readonly Term[] => (isOrdered ? [reverse ? above(other, own) : below(other, own)] : []);
    const at = (lane: readonly Term[], notes: boolean): Diagram => {
      const own = x.at(lane);
      const live = pathsOf(own).filter(({ held: of }) => activeClasses(of) !== EMPTY);
      // Of the lanes that are left out, those count that come before a lane that is not.
      const paths = pathsOf(x.at(lane.with(axis, other))).flatMap((path): readonly DiagramPath[] => {
        const { left, rest } = apart(path);
        const reached = live.map(({ conditions }) => [...conditions, ...path.conditions, ...before(lane[axis]!)]);
        const found = reached.find((conditions) => left !== EMPTY && lanes.isPossible(step, conditions));
        return [{ ...path, held: rest }, ...(found ? [{ conditions: found, held: left }] : [])];
      });
      const all = this.#taken(step, rule, paths, notes);
      const changed = mayBePoison(all) ? POISON : EMPTY;
      const given = activeClasses(all);
      return lanes.diagrams.combine(([each]) => scanned(rule, isOrdered, each!, given, changed), [own]);
    };
    if (!lanes.isTrial) at(lanes.model.environment.lanes(`result ${statement.results[0]!.id}`, shape), true);
    return heldTile(shape, (lane) => at(lane, false));
  }

  /** The product of two tiles: sums over the inner dimension. */
  #product(step: OpStep): AbstractTile | undefined {
    const { lanes } = this;
    const { statement } = step;
    const { op, results } = statement;
    const tiles = lanes.operands(step);
    const [a, b, acc] = ["a", "b", "acc"].map((name) => tiles.get(name));
    if (!a || !b) return undefined;
    const rule = foldRuleOf(statement);
    const context = { args: typedArguments(statement), float: isFloatType(results[0]!.type) };
    const factors = {
      kinds: ([x, y]: readonly NumberClasses[]) => op.proof.classTransfer!({ a: x!, b: y! }, context),
      generic: rule.generic,
      same: [0, 1],
    };
    const sums = {
      kinds: ([x, y]: readonly NumberClasses[]) => addClasses(x!, y!),
      neutral: isZero,
      generic: rule.generic,
      same: [0, 1],
    };
    const inner = lanes.model.environment.lane(`fold ${results[0]!.id}`, a.shape.at(-1)!);
    const shape = lanes.model.environment.shape(results[0]!.type);
    const at = (lane: readonly Term[], notes: boolean): Diagram => {
      const [rows, column] = [lane.slice(0, -1), lane.at(-1)!];
      const x = a.at([...rows, inner]);
      const y = b.at([...rows.slice(0, -1), inner, column]);
      const products = lanes.diagrams.combine((ends) => applyElementwise(factors, ends), [x, y]);
      const sum = this.#together(step, rule, products, [inner], notes);
      return acc
        ? lanes.diagrams.combine((ends) => applyElementwise(sums, ends), [sum, broadcastAbstractLane(acc, lane)])
        : sum;
    };
    if (!lanes.isTrial) at(lanes.model.environment.lanes(`result ${results[0]!.id}`, shape), true);
    return heldTile(shape, (lane) => at(lane, false));
  }

  /** A product whose sides have shapes of their own: the elements of each, times their scales, meet along its inner axis. */
  #packed(step: OpStep): AbstractTile {
    const { model, diagrams } = this.lanes;
    const { op, results } = step.statement;
    const [result] = results;
    const tiles = this.lanes.operands(step);
    const rule = foldRuleOf(step.statement);
    const context = { args: typedArguments(step.statement), float: true };
    const scaled = {
      kinds: ([x, y]: readonly NumberClasses[]) => op.proof.classTransfer!({ lhs: x!, lhsScale: y! }, context),
      generic: rule.generic,
      same: [0, 1],
    };
    let all = EMPTY;
    for (const { of, inner, scale } of op.proof.foldSemantics!.sides!) {
      const [x, scales] = [tiles.get(of)!, tiles.get(scale)];
      const lane = model.environment.lanes(`fold ${result!.id} ${of}`, x.shape);
      const along = lane.at(inner)!;
      const outer = lane.filter((each) => each !== along);
      const place = scales && groupOf(along, x.shape.at(inner)!, scales.shape.at(-1)!);
      const own = x.at(lane);
      const elements = scales
        ? diagrams.combine(
            (ends) => applyElementwise(scaled, ends),
            [own, scales.at([...outer, place ?? model.environment.lane(`any ${of}`, scales.shape.at(-1)!)])],
          )
        : own;
      all |= unionOf(this.#together(step, rule, elements, [along], !this.lanes.isTrial));
    }
    const acc = tiles.get("acc");
    if (acc) all |= unionOf(acc.at(model.environment.lanes(`any ${result!.id}`, acc.shape)));
    const left = classesFrom(all, "left");
    const padding = left === EMPTY ? EMPTY : abstractLane("left", ANY_VALUE | (left & POISON));
    const shape = model.environment.shape(result!.type);
    return heldTile(shape, () => diagrams.end(abstractLane("live", rule.generic) | padding));
  }
}

/** The group that an element is in, where all are of one size; undefined where that is not seen. */
function groupOf(lane: Term, elements: Term, groups: Term): Term | undefined {
  if (isNumber(elements) && isNumber(groups)) return quotient(lane, number(elements.value / groups.value), true);
  const [size, other, ...more] = elements.kind === "product" ? elements.parts : [];
  return size && isNumber(size) && other === groups && more.length === 0 ? quotient(lane, size, true) : undefined;
}

/** How an op puts two lanes together: as its record says, or as the function does that it calls. */
export function foldRuleOf(statement: OpStatement): FoldRule {
  const { op, operands, results } = statement;
  const numbers = genericClasses(results[0]!.type);
  const combine = operands.find(isFunction);
  if (combine) return ruleOfFunction(combine.function, numbers);
  const { foldSemantics: folds, isNeutral: neutral } = op.proof;
  const args = typedArguments(statement);
  const isNeutral = (held: NumberClasses, beside: NumberClasses) => neutral?.(held, beside, false, args) ?? false;
  return { kinds: folds!.kinds, neutral: isNeutral, generic: numbers };
}

/** A function that is one op of its two parameters has that op's rules; others are not followed. */
function ruleOfFunction({ params, body: { statements, yields } }: FunctionIR, numbers: NumberClasses): FoldRule {
  const [statement] = statements;
  const isOne =
    statement?.kind === "op" &&
    statements.length === 1 &&
    params.length === 2 &&
    yields.length === 1 &&
    yields[0] === statement.results[0] &&
    statement.operands.length === 2 &&
    params.every((param) => statement.operands.includes(param));
  if (!isOne) return { kinds: undefined, neutral: () => false, generic: numbers };
  const { classTransfer: holds, isNeutral: neutral } = statement.op.proof;
  const [x, y] = Object.keys(statement.op.operands) as [string, string];
  const context = { args: typedArguments(statement), float: isFloatType(statement.results[0]!.type) };
  return {
    kinds: holds && ((a, b) => holds({ [x]: a, [y]: b }, context)),
    neutral: (held, beside) => neutral?.(held, beside, false) ?? false,
    generic: numbers,
  };
}

const isZero = (of: NumberClasses): boolean => of === ZERO;

/** What a path's lanes hold, those that were left out or hold nothing apart. */
function apart({ held: of }: DiagramPath): { readonly left: AbstractLane; readonly rest: AbstractLane } {
  const nothing = mayBePoison(of);
  const left = nothing ? of : abstractLane("left", classesFrom(of, "left"));
  return { left, rest: nothing ? EMPTY : of & ~left };
}

/** What a lane of a scan holds, by what it held before and what the others give it. */
function scanned(
  rule: FoldRule,
  isOrdered: boolean,
  own: AbstractLane,
  given: NumberClasses,
  nothing: NumberClasses,
): AbstractLane {
  const [live, left, plain] = (["live", "left", "plain"] as const).map((source) => classesFrom(own, source)) as [
    NumberClasses,
    NumberClasses,
    NumberClasses,
  ];
  const make = (kinds: NumberClasses): NumberClasses => {
    const all = (isOrdered ? combineFixpoint(rule, kinds | given) : each(rule, kinds)) & ~POISON;
    return all | (kinds & POISON) | nothing;
  };
  return (
    (live === EMPTY ? EMPTY : abstractLane("live", make(live))) |
    (left === EMPTY ? EMPTY : abstractLane("left", make(left))) |
    (plain === EMPTY ? EMPTY : abstractLane("plain", make(plain)))
  );
}

/** What a normalization makes of each kind. */
function each({ kinds: rule, generic: numbers }: FoldRule, kinds: NumberClasses): NumberClasses {
  if (!rule) return numbers;
  return classesIn(kinds & ~POISON).reduce((all, kind) => all | rule(kind, kind), EMPTY);
}
