/**
 * Points where all that is known holds. What is negative at one of them cannot be shown not to be, and most questions are
 * answered so, for a fraction of what the search for a proof would cost. Nothing is ever proved by a point: where one is
 * missing a search takes longer, and a point that were wrong could only leave something open.
 */
import { RandomSource } from "./draws.js";
import type { CaseSplit, Condition, Definition, FactSet } from "./facts.js";
import type { Monomial } from "./monomial.js";
import type { Polynomial } from "./polynomial.js";

/** A value for each atom. */
type Point = Map<string, number>;

/** How many are kept. */
const WANTED = 6;
/** How many searches may find none before it is given up. */
const MISSES = 3;
/** Conditions that have to come in before points are looked for again, where none was found. */
const MORE = 8;

export class CounterexampleCache {
  #points: Point[] = [];
  #conditions = 0;
  #cases = 0;
  #isInherited = false;
  /** The number of conditions for which points were last drawn. */
  #drawnAt = -MORE;
  readonly #before: { readonly conditions: number; readonly cases: number };

  constructor(
    readonly known: FactSet,
    readonly parent: CounterexampleCache | undefined,
  ) {
    this.#before = { conditions: known.conditions.length, cases: known.cases.length };
  }

  /** A point where a polynomial is negative. */
  refuting(p: Polynomial): ReadonlyMap<string, number> | undefined {
    this.#renew();
    return this.#points.find((point) => new Evaluation(this.known, point).value(p) < 0);
  }

  /** The same with more points, where there are few. */
  more(): this {
    this.#renew();
    const { known } = this;
    if (known.conditions.length < this.#drawnAt + MORE) return this;
    this.#drawnAt = known.conditions.length;
    let misses = 0;
    for (let seed = 0; seed < WANTED && misses < MISSES && this.#points.length < WANTED; seed++) {
      const point: Point = new Map();
      if (new Search(known, point, seed).meets(known.conditions, known.cases)) this.#points.push(point);
      else misses++;
    }
    return this;
  }

  /** Takes the points over from what this knowledge was made of. */
  #inherit(): void {
    this.#isInherited = true;
    const { parent } = this;
    if (!parent) return;
    parent.#renew();
    this.#points = parent.#points.map((point) => new Map(point));
    this.#conditions = Math.min(parent.#conditions, this.#before.conditions);
    this.#cases = Math.min(parent.#cases, this.#before.cases);
  }

  /** Conditions are only ever added: points have to meet those that came in. */
  #renew(): void {
    if (!this.#isInherited) this.#inherit();
    const { known } = this;
    const [conditions, cases] = [known.conditions.slice(this.#conditions), known.cases.slice(this.#cases)];
    if (conditions.length === 0 && cases.length === 0) return;
    this.#points = this.#points.filter((point, i) => new Search(known, point, i).meets(conditions, cases));
    [this.#conditions, this.#cases] = [known.conditions.length, known.cases.length];
  }
}

/** The values of polynomials at a point; NaN where an atom has none, or where a number is too large to be exact. */
class Evaluation {
  constructor(
    readonly known: FactSet,
    readonly point: Point,
  ) {}

  value({ monomials, coefficients }: Polynomial): number {
    let total = 0;
    for (let i = 0; i < monomials.length; i++) total += Number(coefficients[i]) * this.#product(monomials[i]!);
    return Math.abs(total) <= Number.MAX_SAFE_INTEGER ? total : NaN;
  }

  #product({ atoms }: Monomial): number {
    let product = 1;
    for (const name of atoms) product *= this.point.get(name) ?? this.#defined(name);
    return product;
  }

  /** The value of an atom of which no condition speaks: it is computed from others, or it may have any. */
  #defined(name: string): number {
    const [value = -1] = this.valuesOf(name);
    return value;
  }

  /** The values that an atom may have by its definition. */
  valuesOf(name: string): readonly number[] {
    const definition = this.known.definitions.get(name);
    if (definition?.kind === "extreme") {
      const [x, y] = [this.value(definition.x), this.value(definition.y)];
      return [definition.of === "least" ? Math.min(x, y) : Math.max(x, y)];
    }
    if (definition?.kind !== "division") return [];
    const [x, y] = [this.value(definition.dividend), this.value(definition.divisor)];
    if (name === definition.remainder) return [x - y * (this.point.get(definition.quotient) ?? Math.trunc(x / y))];
    // Of a negative number, it is not known here whether the quotient floors.
    return x < 0 ? [Math.trunc(x / y), Math.floor(x / y)] : [Math.trunc(x / y)];
  }

  holds({ p, exact }: Condition): boolean {
    const value = this.value(p);
    return exact ? value === 0 : value >= 0;
  }

  /** `p` as `by * name + rest`, where that is what it is. */
  linearIn(name: string, { monomials, coefficients }: Polynomial): { by: number; rest: number } | undefined {
    let [by, rest] = [0, 0];
    for (let i = 0; i < monomials.length; i++) {
      const { atoms } = monomials[i]!;
      let value = Number(coefficients[i]);
      let times = 0;
      for (const each of atoms)
        if (each === name) times++;
        else value *= this.point.get(each) ?? NaN;
      if (times > 1) return undefined;
      if (times === 1) by += value;
      else rest += value;
    }
    return { by, rest };
  }
}

const isComputed = (definition: Definition | undefined): boolean =>
  definition?.kind === "division" || definition?.kind === "extreme";

/** An atom that needs a value, with what can be checked as soon as it has one. */
interface Place {
  readonly name: string;
  readonly conditions: Condition[];
  readonly cases: CaseSplit[];
}

/** Gives atoms values one after another, so that conditions hold. */
class Search {
  readonly #places: Place[] = [];
  readonly #order = new Map<string, number>();
  readonly #at: Evaluation;
  readonly #draws: RandomSource;
  #left = 0;

  constructor(
    readonly known: FactSet,
    readonly point: Point,
    readonly seed: number,
  ) {
    this.#at = new Evaluation(known, point);
    this.#draws = new RandomSource(seed);
  }

  meets(conditions: readonly Condition[], cases: readonly CaseSplit[]): boolean {
    this.#placeDefined(conditions, cases);
    for (const condition of conditions) {
      const place = this.#lastOf(condition.p);
      if (place) place.conditions.push(condition);
      else if (!this.#at.holds(condition)) return false;
    }
    for (const each of cases) {
      const places = each.cases.flatMap((list) => list.map(({ p }) => this.#lastOf(p)));
      const last = places.reduce((x, y) => (this.#rank(y) > this.#rank(x) ? y : x), undefined);
      if (last) last.cases.push(each);
      else if (!this.#isOneOf(each)) return false;
    }
    this.#left = 30 + 2 * this.#places.length;
    return this.#assign(0);
  }

  /**
   * What is computed from others comes first, in the order in which it was met, with what it is computed from: a turn that
   * has to lie below a number of blocks gets its value after the blocks.
   */
  #placeDefined(conditions: readonly Condition[], cases: readonly CaseSplit[]): void {
    const { definitions } = this.known;
    const defined = new Set<string>();
    const note = ({ p }: Condition): void => {
      for (const name of p.atoms) if (isComputed(definitions.get(name)) && !this.point.has(name)) defined.add(name);
    };
    conditions.forEach(note);
    for (const each of cases) for (const list of each.cases) list.forEach(note);
    const places = new Map([...definitions.keys()].map((name, i) => [name, i]));
    for (const name of [...defined].sort((x, y) => places.get(x)! - places.get(y)!)) this.#placeOf(name);
  }

  #rank(place: Place | undefined): number {
    return place ? this.#order.get(place.name)! : -1;
  }

  /** The place of the atom that gets its value last; undefined if all have one. */
  #lastOf({ atoms }: Polynomial): Place | undefined {
    let last = -1;
    for (const name of atoms) last = Math.max(last, this.#placeOf(name));
    return this.#places[last];
  }

  /** What an atom is computed from comes before it. */
  #placeOf(name: string): number {
    if (this.point.has(name)) return -1;
    const known = this.#order.get(name);
    if (known !== undefined) return known;
    const definition = this.known.definitions.get(name);
    if (definition?.kind === "division") {
      this.#lastOf(definition.dividend);
      this.#lastOf(definition.divisor);
      if (name === definition.remainder) this.#placeOf(definition.quotient);
    } else if (definition?.kind === "extreme") {
      this.#lastOf(definition.x);
      this.#lastOf(definition.y);
    }
    this.#order.set(name, this.#places.length);
    return this.#places.push({ name, conditions: [], cases: [] }) - 1;
  }

  #isOneOf({ cases }: CaseSplit): boolean {
    return cases.some((conditions) => conditions.every((each) => this.#at.holds(each)));
  }

  #assign(index: number): boolean {
    const place = this.#places[index];
    if (!place) return true;
    const { name, conditions, cases } = place;
    for (const value of this.#valuesFor(place)) {
      if (this.#left-- <= 0) break;
      this.point.set(name, value);
      const fits = conditions.every((each) => this.#at.holds(each)) && cases.every((each) => this.#isOneOf(each));
      if (fits && this.#assign(index + 1)) return true;
    }
    this.point.delete(name);
    return false;
  }

  #valuesFor({ name, conditions, cases }: Place): readonly number[] {
    const defined = this.#at.valuesOf(name);
    if (defined.length > 0) return defined;
    let [least, most] = [-Infinity, Infinity];
    for (const { p, exact } of conditions) {
      const { by, rest } = this.#at.linearIn(name, p) ?? { by: 0, rest: 0 };
      if (by > 0 || (exact && by < 0)) least = Math.max(least, Math.ceil(-rest / by));
      if (by < 0 || (exact && by > 0)) most = Math.min(most, Math.floor(-rest / by));
    }
    // A value that a case names is hardly found by chance.
    const named = cases.flatMap((each) =>
      each.cases.flatMap((list) =>
        list.flatMap(({ p, exact }) => {
          const { by, rest } = (exact && this.#at.linearIn(name, p)) || { by: 0, rest: 0 };
          return by === 0 ? [] : [-rest / by];
        }),
      ),
    );
    return [...named.filter((value) => value >= least && value <= most), ...this.#draws.between(least, most)];
  }
}
