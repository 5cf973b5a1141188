/**
 * Sample points that satisfy all facts. A polynomial that is negative at one of them cannot be proved nonnegative,
 * which answers most queries at a fraction of the cost of a proof search. A sample point never proves anything. A
 * missing point only costs time, and a wrong one could only leave an obligation unproved.
 */
import type { Polynomial, Monomial, CaseSplit, Condition, DefinedConditions, Definition } from "./polynomial.js";

/** A seeded pseudorandom source, so that results are reproducible. */
class RandomSource {
  #state: number;

  constructor(readonly seed: number) {
    this.#state = (seed + 1) * 0x9e3779b1;
  }

  #below(end: number): number {
    this.#state = (Math.imul(this.#state, 0x19660d) + 0x3c6ef35f) | 0;
    return (this.#state >>> 8) % end;
  }

  #choose(...choices: readonly [number, ...number[]]): number {
    return choices[this.#below(choices.length)] ?? choices[0];
  }

  /** A few integers of a range, including its ends. Empty if the range is empty. */
  sampleRange(lower: number, upper: number): readonly number[] {
    if (lower > upper) return [];
    const from = Number.isFinite(lower) ? lower : Math.min(upper, 0);
    const to = Math.min(upper, from + this.#choose(4, 100, 1000));
    const interior = from + this.#below(to - from + 1);
    // Sizes 0 and 1 are special. Facts that are refuted at larger sizes are more general.
    if (this.seed % 2 === 0 && upper === Infinity) return [...new Set([interior, to, from])];
    const end = Number.isFinite(upper) ? upper : to;
    return [...new Set([this.#choose(from, interior, to, end), interior, from, end])];
  }
}

/** A value for each atom. */
type Point = Map<string, number>;

/** The number of points to keep. */
const MAX_POINTS = 6;
/** The number of failed searches after which sampling stops. */
const MAX_MISSES = 3;
/** The number of other points that are tried near the points that there are. */
const MAX_MOVES = 24;
/** The number of new conditions before sampling is tried again. */
const RESAMPLE_AFTER = 8;

export class CounterexampleCache {
  #points: Point[] = [];
  #conditions = 0;
  #cases = 0;
  #isInherited = false;
  /** The number of conditions at the last sampling. */
  #sampledAt = -RESAMPLE_AFTER;
  readonly #inherited: { readonly conditions: number; readonly cases: number };

  constructor(
    readonly facts: DefinedConditions,
    readonly parent: CounterexampleCache | undefined,
  ) {
    this.#inherited = { conditions: facts.conditions.length, cases: facts.cases.length };
  }

  /** A point at which a polynomial is negative. */
  refute(p: Polynomial): ReadonlyMap<string, number> | undefined {
    this.#update();
    return this.#points.find((point) => new Evaluation(this.facts, point).value(p) < 0);
  }

  /** Samples more points if there are few. */
  sampleMore(): this {
    this.#update();
    const { facts } = this;
    if (facts.conditions.length < this.#sampledAt + RESAMPLE_AFTER) return this;
    this.#sampledAt = facts.conditions.length;
    let misses = 0;
    for (let seed = 0; seed < MAX_POINTS && misses < MAX_MISSES && this.#points.length < MAX_POINTS; seed++) {
      const point: Point = new Map();
      if (this.#extend(point, seed, facts.conditions, facts.cases)) this.#points.push(point);
      else misses++;
    }
    return this;
  }

  /** True if another point is found, at which a goal is also true. */
  canSatisfy(goal: Condition): boolean {
    this.#update();
    const points = this.#pointsNear([goal]);
    this.#points = [...points, ...this.#points].slice(0, MAX_POINTS);
    return points.length > 0;
  }

  /** Gives a point values for the atoms that it lacks. True if all conditions are then true. */
  #extend(point: Point, seed: number, conditions: readonly Condition[], cases: readonly CaseSplit[]): boolean {
    return new PointSearch(this.facts, point, seed).satisfy(conditions, cases);
  }

  /** The first point that satisfies all facts after the atoms of these conditions have other values. */
  #pointsNear(goals: readonly Condition[]): Point[] {
    const { facts } = this;
    const atoms = goals.flatMap(({ p }) => p.atoms);
    for (let seed = 0; seed < MAX_MOVES; seed++) {
      const point = this.#points[seed % this.#points.length];
      if (!point) return [];
      const candidate = withoutAtoms(facts, point, atoms);
      if (this.#extend(candidate, seed, [...goals, ...facts.conditions], facts.cases)) return [candidate];
    }
    return [];
  }

  /** Copies the points of the parent's cache. */
  #inherit(): void {
    this.#isInherited = true;
    const { parent } = this;
    if (!parent) return;
    parent.#update();
    this.#points = parent.#points.map((point) => new Map(point));
    this.#conditions = Math.min(parent.#conditions, this.#inherited.conditions);
    this.#cases = Math.min(parent.#cases, this.#inherited.cases);
  }

  /** Conditions are only added, so the points must satisfy the new ones. */
  #update(): void {
    if (!this.#isInherited) this.#inherit();
    const { facts } = this;
    const [conditions, cases] = [facts.conditions.slice(this.#conditions), facts.cases.slice(this.#cases)];
    if (conditions.length === 0 && cases.length === 0) return;
    // Without a point, each query below here would cost a proof search.
    const points = this.#points
      .map((point) => new Map(point))
      .filter((point, i) => this.#extend(point, i, conditions, cases));
    this.#points = points.length > 0 ? points : this.#pointsNear(conditions);
    [this.#conditions, this.#cases] = [facts.conditions.length, facts.cases.length];
  }
}

/** The values of polynomials at a point. NaN if an atom has no value or a result is not exact. */
class Evaluation {
  constructor(
    readonly facts: DefinedConditions,
    readonly point: Point,
  ) {}

  value({ terms }: Polynomial): number {
    let total = 0;
    for (const { monomial, coefficient } of terms) total += Number(coefficient) * this.#product(monomial);
    return Math.abs(total) <= Number.MAX_SAFE_INTEGER ? total : NaN;
  }

  #product({ atoms }: Monomial): number {
    let product = 1;
    for (const name of atoms) product *= this.point.get(name) ?? this.#valueByDefinition(name);
    return product;
  }

  /** The value of an atom that no condition mentions. It is computed from its definition, or arbitrary. */
  #valueByDefinition(name: string): number {
    const [value = -1] = this.valuesOf(name);
    return value;
  }

  /** The values that an atom's definition permits. */
  valuesOf(name: string): readonly number[] {
    const definition = this.facts.definitions.get(name);
    if (definition?.kind === "extreme") {
      const [x, y] = [this.value(definition.x), this.value(definition.y)];
      return [definition.of === "least" ? Math.min(x, y) : Math.max(x, y)];
    }
    if (definition?.kind !== "division") return [];
    const [x, y] = [this.value(definition.dividend), this.value(definition.divisor)];
    if (name === definition.remainder) return [x - y * (this.point.get(definition.quotient) ?? Math.trunc(x / y))];
    // For a negative dividend, the definition does not say whether the quotient floors or truncates.
    return x < 0 ? [Math.trunc(x / y), Math.floor(x / y)] : [Math.trunc(x / y)];
  }

  holds({ p, isEquation: exact }: Condition): boolean {
    const value = this.value(p);
    return exact ? value === 0 : value >= 0;
  }

  /** Decomposes `p` into `by * name + rest`. Undefined if it is not linear in `name`. */
  linearIn(name: string, { terms }: Polynomial): { coefficient: number; remainder: number } | undefined {
    let [coefficient, remainder] = [0, 0];
    for (const term of terms) {
      let value = Number(term.coefficient);
      let degree = 0;
      for (const factor of term.monomial.atoms)
        if (factor === name) degree++;
        else value *= this.point.get(factor) ?? NaN;
      if (degree > 1) return undefined;
      if (degree === 1) coefficient += value;
      else remainder += value;
    }
    return { coefficient, remainder };
  }
}

/** A point without the values of some atoms, and of those that are computed from them. */
function withoutAtoms({ definitions }: DefinedConditions, point: Point, atoms: readonly string[]): Point {
  const dropped = new Set(atoms);
  // An atom is defined after those that it is computed from.
  for (const [name, definition] of definitions)
    if (operandsOf(definition).some((p) => p.atoms.some((atom) => dropped.has(atom)))) dropped.add(name);
  return new Map([...point].filter(([name]) => !dropped.has(name)));
}

function operandsOf(definition: Definition): readonly Polynomial[] {
  if (definition.kind === "division") return [definition.dividend, definition.divisor];
  return definition.kind === "extreme" ? [definition.x, definition.y] : [];
}

const isComputed = (definition: Definition | undefined): boolean =>
  definition?.kind === "division" || definition?.kind === "extreme";

/** An atom that needs a value, with the conditions that can be checked once it has one. */
interface Assignment {
  readonly name: string;
  /** Its place in the order of assignments. */
  readonly index: number;
  readonly conditions: Condition[];
  readonly cases: CaseSplit[];
}

const later = (x: Assignment | undefined, y: Assignment | undefined): Assignment | undefined =>
  (y?.index ?? -1) > (x?.index ?? -1) ? y : x;

/** A backtracking search that assigns values to atoms so that all conditions are true. */
class PointSearch {
  readonly #assignments: Assignment[] = [];
  readonly #assignmentsByName = new Map<string, Assignment>();
  readonly #evaluation: Evaluation;
  readonly #random: RandomSource;
  #remainingSteps = 0;

  constructor(
    readonly facts: DefinedConditions,
    readonly point: Point,
    readonly seed: number,
  ) {
    this.#evaluation = new Evaluation(facts, point);
    this.#random = new RandomSource(seed);
  }

  satisfy(conditions: readonly Condition[], cases: readonly CaseSplit[]): boolean {
    this.#addDefinedAtoms(conditions, cases);
    for (const condition of conditions) {
      const assignment = this.#lastAssignment(condition.p);
      if (assignment) assignment.conditions.push(condition);
      else if (!this.#evaluation.holds(condition)) return false;
    }
    for (const split of cases) {
      const lastAssignments = split.cases.flatMap((list) => list.map(({ p }) => this.#lastAssignment(p)));
      const assignment = lastAssignments.reduce(later, undefined);
      if (assignment) assignment.cases.push(split);
      else if (!this.#satisfiesCase(split)) return false;
    }
    this.#remainingSteps = 30 + 2 * this.#assignments.length;
    return this.#assign(0);
  }

  /**
   * Adds computed atoms first, in order of definition, each after its operands. An iteration number that is bounded by
   * a number of blocks thus gets its value after the blocks.
   */
  #addDefinedAtoms(conditions: readonly Condition[], cases: readonly CaseSplit[]): void {
    const { definitions } = this.facts;
    const defined = new Set<string>();
    const addDefined = ({ p }: Condition): void => {
      for (const name of p.atoms) if (isComputed(definitions.get(name)) && !this.point.has(name)) defined.add(name);
    };
    conditions.forEach(addDefined);
    for (const split of cases) for (const list of split.cases) list.forEach(addDefined);
    for (const name of definitions.keys()) if (defined.has(name)) this.#assignmentOf(name);
  }

  /** The assignment of the atom that gets its value last. Undefined if all atoms have values. */
  #lastAssignment({ atoms }: Polynomial): Assignment | undefined {
    let last: Assignment | undefined;
    for (const name of atoms) last = later(last, this.#assignmentOf(name));
    return last;
  }

  /** An atom's assignment, which comes after those of its operands. Undefined if the atom has a value. */
  #assignmentOf(name: string): Assignment | undefined {
    if (this.point.has(name)) return undefined;
    const existing = this.#assignmentsByName.get(name);
    if (existing) return existing;
    const definition = this.facts.definitions.get(name);
    if (definition?.kind === "division") {
      this.#lastAssignment(definition.dividend);
      this.#lastAssignment(definition.divisor);
      if (name === definition.remainder) this.#assignmentOf(definition.quotient);
    } else if (definition?.kind === "extreme") {
      this.#lastAssignment(definition.x);
      this.#lastAssignment(definition.y);
    }
    const assignment = { name, index: this.#assignments.length, conditions: [], cases: [] };
    this.#assignmentsByName.set(name, assignment);
    this.#assignments.push(assignment);
    return assignment;
  }

  #satisfiesCase({ cases }: CaseSplit): boolean {
    return cases.some((conditions) => conditions.every((condition) => this.#evaluation.holds(condition)));
  }

  #assign(index: number): boolean {
    const assignment = this.#assignments[index];
    if (!assignment) return true;
    const { name, conditions, cases } = assignment;
    for (const value of this.#valuesFor(assignment)) {
      if (this.#remainingSteps-- <= 0) break;
      this.point.set(name, value);
      const isSatisfied =
        conditions.every((each) => this.#evaluation.holds(each)) && cases.every((each) => this.#satisfiesCase(each));
      if (isSatisfied && this.#assign(index + 1)) return true;
    }
    this.point.delete(name);
    return false;
  }

  #valuesFor({ name, conditions, cases }: Assignment): readonly number[] {
    const definedValues = this.#evaluation.valuesOf(name);
    if (definedValues.length > 0) return definedValues;
    let [lower, upper] = [-Infinity, Infinity];
    for (const { p, isEquation: exact } of conditions) {
      const { coefficient, remainder } = this.#evaluation.linearIn(name, p) ?? { coefficient: 0, remainder: 0 };
      if (coefficient > 0 || (exact && coefficient < 0)) lower = Math.max(lower, Math.ceil(-remainder / coefficient));
      if (coefficient < 0 || (exact && coefficient > 0)) upper = Math.min(upper, Math.floor(-remainder / coefficient));
    }
    // Random values rarely hit a value that a case requires.
    const requiredValues = cases.flatMap((split) =>
      split.cases.flatMap((list) =>
        list.flatMap(({ p, isEquation: exact }) => {
          const { coefficient, remainder } = (exact && this.#evaluation.linearIn(name, p)) || {
            coefficient: 0,
            remainder: 0,
          };
          return coefficient === 0 ? [] : [-remainder / coefficient];
        }),
      ),
    );
    return [
      ...requiredValues.filter((value) => value >= lower && value <= upper),
      ...this.#random.sampleRange(lower, upper),
    ];
  }
}
