/**
 * What a lane holds, by conditions: ordered decision diagrams whose ends are {@link AbstractLane}. Equal diagrams are one object. A
 * condition and its opposite are one, so that a mask and what an author writes in other words meet.
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

export interface Diagram {
  /** Undefined at an end. */
  readonly condition: Condition | undefined;
  readonly then: Diagram | undefined;
  readonly otherwise: Diagram | undefined;
  /** Of an end. */
  readonly held: AbstractLane;
  readonly id: number;
  /** How many ends there are. */
  readonly ends: number;
}

/** `Σ factor · term + constant >= 0`, or any other truth value. */
interface Condition {
  readonly holds: Term;
  readonly fails: Term;
  readonly id: number;
}

/** An end of a diagram, with the conditions that lead to it. */
export interface DiagramPath {
  readonly conditions: readonly Term[];
  readonly held: AbstractLane;
}

/** Larger diagrams become one end, which holds what any of theirs does. */
const MOST_ENDS = 48;

export class DecisionDiagrams {
  readonly #made = new Map<string, Diagram>();
  readonly #conditions = new Map<string, Condition>();
  readonly #of = new Map<Term, { readonly condition: Condition; readonly isOpposite: boolean }>();

  end(held: AbstractLane): Diagram {
    return this.#make(`${held}`, { condition: undefined, then: undefined, otherwise: undefined, held, ends: 1 });
  }

  #make(key: string, diagram: Omit<Diagram, "id">): Diagram {
    let made = this.#made.get(key);
    if (!made) this.#made.set(key, (made = { ...diagram, id: this.#made.size }));
    return made;
  }

  #node(condition: Condition, then: Diagram, otherwise: Diagram): Diagram {
    if (then === otherwise) return then;
    const key = `${condition.id} ? ${then.id} : ${otherwise.id}`;
    return this.#make(key, { condition, then, otherwise, held: 0, ends: then.ends + otherwise.ends });
  }

  /** One diagram where a truth value holds, another where it does not. */
  branch(truth: Term, then: Diagram, otherwise: Diagram): Diagram {
    if (then === otherwise) return then;
    switch (truth.kind) {
      case "true":
        return then;
      case "false":
        return otherwise;
      case "all":
        return truth.parts.reduceRight((rest, part) => this.branch(part, rest, otherwise), then);
      case "some":
        return truth.parts.reduceRight((rest, part) => this.branch(part, then, rest), otherwise);
      case "not":
        return this.branch(truth.parts[0]!, otherwise, then);
      default: {
        const { condition, isOpposite } = this.#condition(truth);
        return this.#split(condition, isOpposite ? otherwise : then, isOpposite ? then : otherwise);
      }
    }
  }

  #split(condition: Condition, then: Diagram, otherwise: Diagram): Diagram {
    const top = [condition, then.condition, otherwise.condition].reduce((a, b) => (b && (!a || b.id < a.id) ? b : a))!;
    if (top === condition) return this.#node(condition, side(then, top, true), side(otherwise, top, false));
    const arm = (holds: boolean) => this.#split(condition, side(then, top, holds), side(otherwise, top, holds));
    return this.#node(top, arm(true), arm(false));
  }

  #condition(truth: Term): { readonly condition: Condition; readonly isOpposite: boolean } {
    let known = this.#of.get(truth);
    if (!known) this.#of.set(truth, (known = this.#normal(truth)));
    return known;
  }

  #normal(truth: Term): { readonly condition: Condition; readonly isOpposite: boolean } {
    const named = (key: string, holds: Term, fails: Term): Condition => {
      let condition = this.#conditions.get(key);
      if (!condition) this.#conditions.set(key, (condition = { holds, fails, id: this.#conditions.size }));
      return condition;
    };
    const [x, y] = truth.parts;
    if (truth.kind !== "atMost") return { condition: named(`${truth.id}`, truth, not(truth)), isOpposite: false };
    const { factors, constant } = linear(difference(y!, x!));
    const [leading] = factors;
    // p + c >= 0 is the opposite of -p - c - 1 >= 0.
    const isOpposite = leading !== undefined && leading[1] < 0n;
    const sign = isOpposite ? -1n : 1n;
    const rest = isOpposite ? -constant - 1n : constant;
    const key = `${factors.map(([term, by]) => `${by * sign}*${term.id}`).join("+")}>=${-rest}`;
    const p = sum(...factors.map(([term, by]) => product(number(by * sign), term)));
    return { condition: named(key, atLeast(p, number(-rest)), below(p, number(-rest))), isOpposite };
  }

  /** Ends that a rule makes of those of several diagrams. */
  combine(rule: (held: readonly AbstractLane[]) => AbstractLane, diagrams: readonly Diagram[]): Diagram {
    const known = new Map<string, Diagram>();
    const visit = (each: readonly Diagram[]): Diagram => {
      const key = each.map(({ id }) => id).join();
      let result = known.get(key);
      if (result) return result;
      const conditions = each.flatMap(({ condition }) => condition ?? []);
      if (conditions.length === 0) result = this.end(rule(each.map((diagram) => diagram.held)));
      else {
        const top = conditions.reduce((a, b) => (b.id < a.id ? b : a));
        const arm = (holds: boolean) => visit(each.map((diagram) => side(diagram, top, holds)));
        result = this.#node(top, arm(true), arm(false));
      }
      known.set(key, result);
      return result;
    };
    return this.small(visit(diagrams));
  }

  /** What may be held by any of several. */
  join(...diagrams: readonly Diagram[]): Diagram {
    return this.combine((held) => held.reduce((all, each) => all | each, 0), diagrams);
  }

  /** Without the conditions that a test finds: what may be held whether they hold or not. */
  forget(diagram: Diagram, isForgotten: (condition: Term) => boolean): Diagram {
    const { condition, then, otherwise } = diagram;
    if (!condition) return diagram;
    const [a, b] = [this.forget(then!, isForgotten), this.forget(otherwise!, isForgotten)];
    return isForgotten(condition.holds) ? this.join(a, b) : this.#split(condition, a, b);
  }

  /** With symbols replaced in its conditions. */
  substitute(diagram: Diagram, by: ReadonlyMap<string, Term>): Diagram {
    const { condition, then, otherwise } = diagram;
    if (!condition) return diagram;
    const [a, b] = [this.substitute(then!, by), this.substitute(otherwise!, by)];
    return this.branch(substitute(condition.holds, by), a, b);
  }

  /** A diagram of the conditions that lanes along some axes share; a rule gives its ends from what the lanes hold. */
  outer(
    diagram: Diagram,
    isInner: (condition: Term) => boolean,
    ends: (inner: Diagram, outer: readonly Term[]) => AbstractLane,
    before: readonly Term[] = [],
  ): Diagram {
    const condition = firstOf(diagram, (each) => !isInner(each.holds));
    if (!condition) return this.end(ends(diagram, before));
    const arm = (holds: boolean) =>
      this.outer(restricted(this, diagram, condition, holds), isInner, ends, [
        ...before,
        holds ? condition.holds : condition.fails,
      ]);
    return this.small(this.#split(condition, arm(true), arm(false)));
  }

  node(condition: Condition, then: Diagram, otherwise: Diagram): Diagram {
    return this.#node(condition, then, otherwise);
  }

  small(diagram: Diagram): Diagram {
    return diagram.ends <= MOST_ENDS ? diagram : this.end(unionOf(diagram));
  }
}

/** A diagram where its topmost condition, or none of its, is decided. */
function side(diagram: Diagram, condition: Condition, holds: boolean): Diagram {
  if (diagram.condition !== condition) return diagram;
  return holds ? diagram.then! : diagram.otherwise!;
}

function restricted(diagrams: DecisionDiagrams, diagram: Diagram, condition: Condition, holds: boolean): Diagram {
  if (!diagram.condition || diagram.condition.id > condition.id) return diagram;
  if (diagram.condition === condition) return side(diagram, condition, holds);
  const arm = (each: Diagram) => restricted(diagrams, each, condition, holds);
  return diagrams.node(diagram.condition, arm(diagram.then!), arm(diagram.otherwise!));
}

function firstOf(diagram: Diagram, matches: (condition: Condition) => boolean): Condition | undefined {
  const { condition, then, otherwise } = diagram;
  if (!condition || matches(condition)) return condition;
  return firstOf(then!, matches) ?? firstOf(otherwise!, matches);
}

export function unionOf({ condition, then, otherwise, held }: Diagram): AbstractLane {
  return condition ? unionOf(then!) | unionOf(otherwise!) : held;
}

/** The ends, each with the conditions on its way. */
export function pathsOf(
  { condition, then, otherwise, held }: Diagram,
  before: readonly Term[] = [],
): readonly DiagramPath[] {
  if (!condition) return [{ conditions: before, held }];
  return [...pathsOf(then!, [...before, condition.holds]), ...pathsOf(otherwise!, [...before, condition.fails])];
}

/** Whether a condition speaks of any of these symbols. */
export const dependsOn =
  (names: ReadonlySet<string>) =>
  (condition: Term): boolean =>
    [...symbolsIn(condition)].some((name) => names.has(name));

/** A sum as factors of terms, in the order of their ids, and a constant. */
function linear(term: Term): { readonly factors: readonly (readonly [Term, bigint])[]; readonly constant: bigint } {
  const factors = new Map<Term, bigint>();
  let constant = 0n;
  const add = (part: Term, by: bigint): void => {
    if (part.kind === "sum") for (const each of part.parts) add(each, by);
    else if (isNumber(part)) constant += part.value * by;
    else if (part.kind === "product" && isNumber(part.parts[0]!)) {
      const [factor, ...rest] = part.parts;
      add(product(...rest), by * factor!.value);
    } else factors.set(part, (factors.get(part) ?? 0n) + by);
  };
  add(term, 1n);
  const sorted = [...factors].filter(([, by]) => by !== 0n).sort(([x], [y]) => x.id - y.id);
  return { factors: sorted, constant };
}
