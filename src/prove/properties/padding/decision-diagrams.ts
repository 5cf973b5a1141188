/**
 * Ordered decision diagrams (MTBDDs) over conditions, with an {@link AbstractLane} at each terminal. Equal diagrams are
 * one object. A condition and its negation share a node, so an author's mask and an equivalent condition in another
 * form are recognized as equal.
 */
import {
  atLeast,
  below,
  difference,
  isNumber,
  not,
  number,
  product,
  substitute,
  sum,
  symbolsIn,
  type Term,
} from "../../../symbolic/term.js";
import type { AbstractLane } from "./abstract-lane.js";
import { broadcastLane } from "../../model/symbolic-environment.js";

export type Diagram = (Terminal | Decision) & {
  readonly id: number;
  /** The number of terminals, counted once for each path. */
  readonly terminals: number;
};

interface Terminal {
  readonly condition: undefined;
  readonly lane: AbstractLane;
}

interface Decision {
  readonly condition: Condition;
  readonly then: Diagram;
  readonly otherwise: Diagram;
}

/** A lane for each diagram. */
type LanesOf<Diagrams extends readonly Diagram[]> = { readonly [Index in keyof Diagrams]: AbstractLane };

/** `Σ factor · term + constant >= 0`, or any other truth value. */
interface Condition {
  readonly holds: Term;
  readonly fails: Term;
  readonly id: number;
}

/** A terminal, with the conditions on the path to it. */
export interface DiagramPath {
  readonly conditions: readonly Term[];
  readonly lane: AbstractLane;
}

/** Diagrams with more terminals are joined into a single terminal. */
const MAX_TERMINALS = 48;

export class DecisionDiagrams {
  readonly #nodes = new Map<string, Diagram>();
  readonly #conditions = new Map<string, Condition>();
  readonly #normalized = new Map<Term, { readonly condition: Condition; readonly isOpposite: boolean }>();

  terminal(lane: AbstractLane): Diagram {
    return this.#intern(`${lane}`, { condition: undefined, lane }, 1);
  }

  #intern(key: string, diagram: Terminal | Decision, terminals: number): Diagram {
    let node = this.#nodes.get(key);
    if (!node) this.#nodes.set(key, (node = { ...diagram, id: this.#nodes.size, terminals }));
    return node;
  }

  node(condition: Condition, then: Diagram, otherwise: Diagram): Diagram {
    if (then === otherwise) return then;
    const key = `${condition.id} ? ${then.id} : ${otherwise.id}`;
    return this.#intern(key, { condition, then, otherwise }, then.terminals + otherwise.terminals);
  }

  /** The diagram `then` where a condition is true, and `otherwise` where it is false. */
  branch(truth: Term, then: Diagram, otherwise: Diagram): Diagram {
    if (then === otherwise) return then;
    if (truth.kind === "true") return then;
    if (truth.kind === "false") return otherwise;
    if (truth.kind === "all")
      return truth.operands.reduceRight((result, part) => this.branch(part, result, otherwise), then);
    if (truth.kind === "some")
      return truth.operands.reduceRight((result, part) => this.branch(part, then, result), otherwise);
    if (truth.kind === "not") return this.branch(truth.operands[0], otherwise, then);
    const { condition, isOpposite } = this.#condition(truth);
    return this.#split(condition, isOpposite ? otherwise : then, isOpposite ? then : otherwise);
  }

  #split(condition: Condition, then: Diagram, otherwise: Diagram): Diagram {
    const top = topOf(condition, then.condition, otherwise.condition);
    if (top === condition)
      return this.node(condition, cofactorAtTop(then, top, true), cofactorAtTop(otherwise, top, false));
    const cofactor = (holds: boolean) =>
      this.#split(condition, cofactorAtTop(then, top, holds), cofactorAtTop(otherwise, top, holds));
    return this.node(top, cofactor(true), cofactor(false));
  }

  #condition(truth: Term): { readonly condition: Condition; readonly isOpposite: boolean } {
    let normalized = this.#normalized.get(truth);
    if (!normalized) this.#normalized.set(truth, (normalized = this.#normalize(truth)));
    return normalized;
  }

  #normalize(truth: Term): { readonly condition: Condition; readonly isOpposite: boolean } {
    const internCondition = (key: string, holds: Term, fails: Term): Condition => {
      let condition = this.#conditions.get(key);
      if (!condition) this.#conditions.set(key, (condition = { holds, fails, id: this.#conditions.size }));
      return condition;
    };
    if (truth.kind !== "atMost")
      return { condition: internCondition(`${truth.id}`, truth, not(truth)), isOpposite: false };
    const [x, y] = truth.operands;
    const { factors, constant } = linear(difference(y, x));
    const [leading] = factors;
    // p + c >= 0 is the opposite of -p - c - 1 >= 0.
    const isOpposite = leading !== undefined && leading[1] < 0n;
    const sign = isOpposite ? -1n : 1n;
    const offset = isOpposite ? -constant - 1n : constant;
    const key = `${factors.map(([term, factor]) => `${factor * sign}*${term.id}`).join("+")}>=${-offset}`;
    const p = sum(...factors.map(([term, factor]) => product(number(factor * sign), term)));
    return { condition: internCondition(key, atLeast(p, number(-offset)), below(p, number(-offset))), isOpposite };
  }

  /** The diagram whose terminals a rule computes from those of several diagrams. */
  combine<Diagrams extends readonly Diagram[]>(
    rule: (...lanes: LanesOf<Diagrams>) => AbstractLane,
    diagrams: readonly [...Diagrams],
  ): Diagram {
    const cache = new Map<string, Diagram>();
    const visit = (tuple: readonly Diagram[]): Diagram => {
      const key = tuple.map(({ id }) => id).join();
      let result = cache.get(key);
      if (result) return result;
      const [condition, ...otherConditions] = tuple.flatMap((diagram) => diagram.condition ?? []);
      if (!condition) result = this.terminal(rule(...(tuple.map(unionOf) as LanesOf<Diagrams>)));
      else {
        const top = topOf(condition, ...otherConditions);
        const cofactor = (holds: boolean) => visit(tuple.map((diagram) => cofactorAtTop(diagram, top, holds)));
        result = this.node(top, cofactor(true), cofactor(false));
      }
      cache.set(key, result);
      return result;
    };
    return this.small(visit(diagrams));
  }

  /** The join of several diagrams. */
  join(...diagrams: readonly Diagram[]): Diagram {
    return this.combine((...lanes) => lanes.reduce((result, lane) => result | lane, 0), diagrams);
  }

  /** Existentially quantifies conditions: the join over both of their outcomes. */
  forget(diagram: Diagram, shouldForget: (condition: Term) => boolean): Diagram {
    if (!diagram.condition) return diagram;
    const [a, b] = [this.forget(diagram.then, shouldForget), this.forget(diagram.otherwise, shouldForget)];
    return shouldForget(diagram.condition.holds) ? this.join(a, b) : this.#split(diagram.condition, a, b);
  }

  /** The diagram with symbols in its conditions replaced. */
  substitute(diagram: Diagram, replacements: ReadonlyMap<string, Term>): Diagram {
    if (!diagram.condition) return diagram;
    const [a, b] = [this.substitute(diagram.then, replacements), this.substitute(diagram.otherwise, replacements)];
    return this.branch(substitute(diagram.condition.holds, replacements), a, b);
  }

  /** Moves outer conditions to the top, then replaces the diagram of inner conditions below each path by a terminal. */
  outer(
    diagram: Diagram,
    isInner: (condition: Term) => boolean,
    reduce: (inner: Diagram, outer: readonly Term[]) => AbstractLane,
    outerPath: readonly Term[] = [],
  ): Diagram {
    const condition = firstOf(diagram, (candidate) => !isInner(candidate.holds));
    if (!condition) return this.terminal(reduce(diagram, outerPath));
    const cofactor = (holds: boolean) =>
      this.outer(restrict(this, diagram, condition, holds), isInner, reduce, [
        ...outerPath,
        holds ? condition.holds : condition.fails,
      ]);
    return this.small(this.#split(condition, cofactor(true), cofactor(false)));
  }

  small(diagram: Diagram): Diagram {
    return diagram.terminals <= MAX_TERMINALS ? diagram : this.terminal(unionOf(diagram));
  }
}

/** The first of some conditions in the order of diagrams. */
const topOf = (condition: Condition, ...more: readonly (Condition | undefined)[]): Condition =>
  more.reduce<Condition>((top, each) => (each && each.id < top.id ? each : top), condition);

/** The cofactor of a diagram, for a condition that is at or above its top. */
function cofactorAtTop(diagram: Diagram, condition: Condition, holds: boolean): Diagram {
  if (diagram.condition !== condition) return diagram;
  return holds ? diagram.then : diagram.otherwise;
}

function restrict(diagrams: DecisionDiagrams, diagram: Diagram, condition: Condition, holds: boolean): Diagram {
  if (!diagram.condition || diagram.condition.id > condition.id) return diagram;
  if (diagram.condition === condition) return cofactorAtTop(diagram, condition, holds);
  const restrictArm = (child: Diagram) => restrict(diagrams, child, condition, holds);
  return diagrams.node(diagram.condition, restrictArm(diagram.then), restrictArm(diagram.otherwise));
}

function firstOf(diagram: Diagram, matches: (condition: Condition) => boolean): Condition | undefined {
  if (!diagram.condition || matches(diagram.condition)) return diagram.condition;
  return firstOf(diagram.then, matches) ?? firstOf(diagram.otherwise, matches);
}

export function unionOf(diagram: Diagram): AbstractLane {
  return diagram.condition ? unionOf(diagram.then) | unionOf(diagram.otherwise) : diagram.lane;
}

/** The paths to the terminals. */
export function pathsOf(diagram: Diagram, prefix: readonly Term[] = []): readonly DiagramPath[] {
  if (!diagram.condition) return [{ conditions: prefix, lane: diagram.lane }];
  const { condition, then, otherwise } = diagram;
  return [...pathsOf(then, [...prefix, condition.holds]), ...pathsOf(otherwise, [...prefix, condition.fails])];
}

/** Returns a test for conditions that depend on any of these symbols. */
export const dependsOn =
  (names: ReadonlySet<string>) =>
  (condition: Term): boolean =>
    [...symbolsIn(condition)].some((name) => names.has(name));

/** A sum as factors of terms, in the order of their ids, and a constant. */
function linear(term: Term): { readonly factors: readonly (readonly [Term, bigint])[]; readonly constant: bigint } {
  const factors = new Map<Term, bigint>();
  let constant = 0n;
  const add = (part: Term, by: bigint): void => {
    if (part.kind === "sum") for (const each of part.operands) add(each, by);
    else if (isNumber(part)) constant += part.value * by;
    else if (part.kind === "product" && isNumber(part.operands[0])) {
      const [factor, ...rest] = part.operands;
      add(product(...rest), by * factor.value);
    } else factors.set(part, (factors.get(part) ?? 0n) + by);
  };
  add(term, 1n);
  const sorted = [...factors].filter(([, by]) => by !== 0n).sort(([x], [y]) => x.id - y.id);
  return { factors: sorted, constant };
}

// The abstract value of a tile in the padding analysis.

export interface AbstractTile {
  readonly shape: readonly Term[];
  /** The length of the chain of tiles that evaluating a lane may recurse through. */
  readonly depth: number;
  at(lane: readonly Term[]): Diagram;
}

/**
 * The limit on {@link AbstractTile.depth}. A deeper tile is evaluated eagerly, for a symbolic lane, because lazy
 * evaluation recurses on JavaScript's stack.
 */
export const MAX_LAZY_DEPTH = 200;

/** The tile, one level deeper than its operands. */
export const withDepth = (tile: AbstractTile, ...operands: readonly (AbstractTile | undefined)[]): AbstractTile => ({
  ...tile,
  depth: 1 + Math.max(0, ...operands.map((each) => each?.depth ?? 0)),
});

/** A tile that memoizes its lanes. */
export function memoizedTile(shape: readonly Term[], laneAt: (lane: readonly Term[]) => Diagram): AbstractTile {
  const cache = new Map<string, Diagram>();
  return {
    shape,
    depth: 0,
    at(lane) {
      const key = lane.map(({ id }) => id).join();
      let diagram = cache.get(key);
      if (!diagram) cache.set(key, (diagram = laneAt(lane)));
      return diagram;
    },
  };
}

/** The lane of an operand that broadcasts to a lane of the result. */
export const broadcastAbstractLane = (x: AbstractTile, lane: readonly Term[]): Diagram =>
  x.at(broadcastLane(x.shape, lane));
