/** What reductions, scans and products make of lanes, and whether lanes that a mask left out change what the others give. */
import { typedArguments } from "../ir/typed.js";
import { type Kinds, kindsIn, NONE, NOTHING, total, ZERO } from "../terms/kinds.js";
import { above, below, number, type Term } from "../terms/term.js";
import { type Diagram, mentions, type Path, pathsOf } from "./diagrams.js";
import type { OpStep } from "./flow.js";
import {
  closure,
  combined,
  disturbing,
  folded,
  type FoldRule,
  generic,
  held,
  type Held,
  isNothing,
  givenKinds,
  kindsOf,
} from "./held.js";
import { heldAt, type HeldTile, heldTile } from "./held-tile.js";
import type { PaddingLanes } from "./padding-lanes.js";
import { isFloatType } from "./padding-literals.js";
import { isOne } from "./symbolic.js";

export class PaddingFolds {
  constructor(readonly lanes: PaddingLanes) {}

  fold(step: OpStep): HeldTile | undefined {
    const { form } = step.statement.op.proof.folds!;
    if (form === "contraction") return this.#product(step);
    const [operand] = this.lanes.operands(step).values();
    if (!operand) return undefined;
    return form === "reduction" ? this.#reduction(step, operand) : this.#scan(step, operand);
  }

  #ruleOf({ statement: { op, results } }: OpStep): FoldRule {
    const { folds, neutral } = op.proof;
    const type = results[0]!.type;
    const isNeutral = (held: Kinds, beside: Kinds) => neutral?.(held, beside, false) ?? false;
    return { kinds: folds!.kinds, neutral: isNeutral, generic: generic(type) };
  }

  /** An axis among the arguments, counted from the front; undefined stands for all. */
  #axisOf({ statement }: OpStep, rank: number, missing: number | undefined): number | undefined {
    const args = typedArguments(statement);
    const given = (args["axis"] ?? args["dim"])?.literal;
    const axis = given === undefined ? missing : Number(given);
    return axis !== undefined && axis < 0 ? axis + rank : axis;
  }

  #reduction(step: OpStep, x: HeldTile): HeldTile {
    const { lanes } = this;
    const { statement } = step;
    const rank = x.shape.length;
    const axis = this.#axisOf(step, rank, undefined);
    const isOver = (each: number) => axis === undefined || each === axis;
    const along = x.shape.map((size, each) =>
      lanes.model.environment.lane(`fold ${statement.results[0]!.id} ${each}`, size),
    );
    const rule = this.#ruleOf(step);
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
        x.at(full),
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

  /** What lanes along some axes give together. */
  #together(step: OpStep, rule: FoldRule, diagram: Diagram, along: readonly Term[], notes: boolean): Diagram {
    const isInner = mentions(new Set(along.map(({ name }) => name)));
    return this.lanes.diagrams.outer(diagram, isInner, (inner, outer) =>
      folded(rule, this.#taken(step, rule, pathsOf(inner, outer), notes)),
    );
  }

  /** What the lanes of a fold hold that may exist; notes those that change what the others give. */
  #taken(step: OpStep, rule: FoldRule, paths: readonly Path[], notes: boolean): Held {
    const { lanes } = this;
    const union = (of: readonly Path[]) => of.reduce((all, { held: each }) => all | each, NONE);
    const bad = disturbing(rule, union(paths));
    const isBad = ({ held: of }: Path) => isNothing(of) || (kindsOf(of, "left") & bad) !== NONE;
    const kept = paths.filter((path) => !isBad(path) || lanes.isPossible(step, path.conditions));
    const all = union(kept);
    if (!notes) return all;
    const others = givenKinds(all) !== NONE;
    if (others && kindsOf(all, "left") !== NONE) lanes.note(step, undefined, NONE);
    const left = disturbing(rule, all);
    for (const path of kept) {
      const holds = (kindsOf(path.held, "left") & left) | (isNothing(path.held) ? NOTHING : NONE);
      if (holds !== NONE) lanes.note(step, path.conditions, holds);
    }
    return all;
  }

  /** A scan, whose lanes depend on those before, or a normalisation, whose lanes depend on all. */
  #scan(step: OpStep, x: HeldTile): HeldTile {
    const { lanes } = this;
    const { statement } = step;
    const { options, op } = statement;
    const axis = this.#axisOf(step, x.shape.length, 0)!;
    const name = `fold ${statement.results[0]!.id}`;
    const other = lanes.model.environment.lane(name, x.shape[axis]!);
    const rule = this.#ruleOf(step);
    const isOrdered = op.proof.folds!.form === "scan";
    const reverse = typedArguments(statement)["reverse"]?.literal === true && options["reverse"] !== undefined;
    const before = (own: Term): readonly Term[] => (isOrdered ? [reverse ? above(other, own) : below(other, own)] : []);
    const at = (lane: readonly Term[], notes: boolean): Diagram => {
      const own = x.at(lane);
      const live = pathsOf(own).filter(({ held: of }) => givenKinds(of) !== NONE);
      // Of the lanes that are left out, those count that come before a lane that is not.
      const paths = pathsOf(x.at(lane.with(axis, other))).flatMap((path): readonly Path[] => {
        const { left, rest } = apart(path);
        const reached = live.map(({ conditions }) => [...conditions, ...path.conditions, ...before(lane[axis]!)]);
        const found = reached.find((conditions) => left !== NONE && lanes.isPossible(step, conditions));
        return [{ ...path, held: rest }, ...(found ? [{ conditions: found, held: left }] : [])];
      });
      const all = this.#taken(step, rule, paths, notes);
      const changed = isNothing(all) ? NOTHING : NONE;
      const given = givenKinds(all);
      return lanes.diagrams.combine(([each]) => scanned(rule, isOrdered, each!, given, changed), [own]);
    };
    if (!lanes.isTrial) at(lanes.model.environment.lanes(`result ${statement.results[0]!.id}`, x.shape), true);
    return heldTile(x.shape, (lane) => at(lane, false));
  }

  /** The product of two tiles: sums over the inner dimension. */
  #product(step: OpStep): HeldTile | undefined {
    const { lanes } = this;
    const { statement } = step;
    const { op, results } = statement;
    const tiles = lanes.operands(step);
    const [a, b, acc] = ["a", "b", "acc"].map((name) => tiles.get(name));
    if (!a || !b) return undefined;
    const rule = this.#ruleOf(step);
    const context = { args: typedArguments(statement), float: isFloatType(results[0]!.type) };
    const factors = {
      kinds: ([x, y]: readonly Kinds[]) => op.proof.holds!({ a: x!, b: y! }, context),
      generic: rule.generic,
      same: [0, 1],
    };
    const sums = {
      kinds: ([x, y]: readonly Kinds[]) => total(x!, y!),
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
      const products = lanes.diagrams.combine((ends) => combined(factors, ends), [x, y]);
      const sum = this.#together(step, rule, products, [inner], notes);
      return acc ? lanes.diagrams.combine((ends) => combined(sums, ends), [sum, heldAt(acc, lane)]) : sum;
    };
    if (!lanes.isTrial) at(lanes.model.environment.lanes(`result ${results[0]!.id}`, shape), true);
    return heldTile(shape, (lane) => at(lane, false));
  }
}

const isZero = (of: Kinds): boolean => of === ZERO;

/** What a path's lanes hold, those that were left out or hold nothing apart. */
function apart({ held: of }: Path): { readonly left: Held; readonly rest: Held } {
  const nothing = isNothing(of);
  const left = nothing ? of : held("left", kindsOf(of, "left"));
  return { left, rest: nothing ? NONE : of & ~left };
}

/** What a lane of a scan holds, by what it held before and what the others give it. */
function scanned(rule: FoldRule, isOrdered: boolean, own: Held, given: Kinds, nothing: Kinds): Held {
  const [live, left, plain] = (["live", "left", "plain"] as const).map((source) => kindsOf(own, source)) as [
    Kinds,
    Kinds,
    Kinds,
  ];
  const make = (kinds: Kinds): Kinds => {
    const all = (isOrdered ? closure(rule, kinds | given) : each(rule, kinds)) & ~NOTHING;
    return all | (kinds & NOTHING) | nothing;
  };
  return (
    (live === NONE ? NONE : held("live", make(live))) |
    (left === NONE ? NONE : held("left", make(left))) |
    (plain === NONE ? NONE : held("plain", make(plain)))
  );
}

/** What a normalisation makes of each kind. */
function each({ kinds: rule, generic: numbers }: FoldRule, kinds: Kinds): Kinds {
  if (!rule) return numbers;
  return kindsIn(kinds & ~NOTHING).reduce((all, kind) => all | rule(kind, kind), NONE);
}
