/** The facts at a program point as conditions on polynomials, with the intervals that follow directly. */
import type { Term } from "../../symbolic/term.js";
import type { Budget } from "./budget.js";
import { CounterexampleCache } from "./counterexample-cache.js";
import {
  atom,
  constantOf,
  divisions,
  isConstant,
  ONE,
  type Polynomial,
  subtract,
  tighten,
  floorQuotient,
  type Integer,
  plus,
  times,
  asAtom,
  type Monomial,
  monomialOf,
  UNIT,
  type Condition,
  atLeastZero,
  type CaseSplit,
  type Definition,
} from "./polynomial.js";

/** A map that shares its entries with its copies until one of them changes. Most copies are only read. */
export class CopyOnWriteMap<Key, Value> {
  #entries: Map<Key, Value>;
  #isShared: boolean;

  constructor(source?: CopyOnWriteMap<Key, Value>) {
    this.#entries = source ? source.#entries : new Map();
    this.#isShared = source !== undefined;
    if (source) source.#isShared = true;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  set(key: Key, value: Value): void {
    if (this.#isShared) [this.#entries, this.#isShared] = [new Map(this.#entries), false];
    this.#entries.set(key, value);
  }
}

type Defined<Kind extends Definition["kind"]> = Extract<Definition, { readonly kind: Kind }>;

/** The facts about an uninterpreted function's value, from its arguments. `inProgram` is true inside a program. */
export type CallFacts = (name: string, args: readonly Term[], value: Term, inProgram: boolean) => readonly Term[];

/** True for an uninterpreted function of one argument that is 0 before index 0 and never decreases. */
export type MonotoneFunction = (name: string) => boolean;

/** An unknown end is undefined. */
export interface Interval {
  readonly min: Integer | undefined;
  readonly max: Integer | undefined;
}

/** The first `of` conditions, by kind. */
interface ConditionsByKind {
  readonly of: number;
  readonly atLeastZero: readonly Polynomial[];
  readonly zero: readonly Polynomial[];
}

const ANY: Interval = { min: undefined, max: undefined };

export class FactSet {
  readonly conditions: Condition[];
  readonly cases: CaseSplit[];
  /** The polynomial of each interpreted term. */
  readonly seen: CopyOnWriteMap<Term, Polynomial>;
  /** Interned quotients, minima, maxima, conditionals and calls, by what they are computed from. */
  readonly interned: CopyOnWriteMap<string, Polynomial>;
  /** The definition of each atom. */
  readonly definitions: Map<string, Definition>;
  readonly budget: Budget;
  readonly callFacts: CallFacts;
  readonly rises: MonotoneFunction;
  /** True if the facts contradict each other: this point is unreachable. */
  impossible: boolean;
  /** True for facts inside a program. Facts of a launch also cover an empty grid. */
  inProgram: boolean;
  readonly samples: CounterexampleCache;
  readonly #intervals: Map<string, Interval>;
  readonly #keys: Set<string>;
  readonly #count: { atoms: number };
  #parts: ConditionsByKind | undefined;

  constructor(
    source: { readonly budget: Budget; readonly callFacts: CallFacts; readonly rises?: MonotoneFunction } | FactSet,
  ) {
    const parent = source instanceof FactSet ? source : undefined;
    this.budget = source.budget;
    this.callFacts = source.callFacts;
    this.rises = source.rises ?? (() => false);
    this.conditions = [...(parent?.conditions ?? [])];
    this.cases = [...(parent?.cases ?? [])];
    this.seen = new CopyOnWriteMap(parent?.seen);
    this.interned = new CopyOnWriteMap(parent?.interned);
    this.definitions = parent?.definitions ?? new Map();
    this.impossible = parent?.impossible ?? false;
    this.inProgram = parent?.inProgram ?? false;
    this.#intervals = new Map(parent?.intervals);
    this.#keys = new Set(parent?.keys);
    this.#count = parent?.count ?? { atoms: 0 };
    this.samples = new CounterexampleCache(this, parent?.samples);
  }

  /** A copy to which facts can be added. */
  child(): FactSet {
    return new FactSet(this);
  }

  get intervals(): ReadonlyMap<string, Interval> {
    return this.#intervals;
  }
  get keys(): ReadonlySet<string> {
    return this.#keys;
  }
  get count(): { atoms: number } {
    return this.#count;
  }

  /** A new atom, distinct from every symbol. */
  freshAtom(): string {
    return `$${this.#count.atoms++}`;
  }

  atLeastZeros(): readonly Polynomial[] {
    return this.#conditionsByKind().atLeastZero;
  }
  zeros(): readonly Polynomial[] {
    return this.#conditionsByKind().zero;
  }

  /** Conditions are only added, never removed, so their number identifies the cache. */
  #conditionsByKind(): ConditionsByKind {
    const { conditions } = this;
    if (this.#parts?.of !== conditions.length)
      this.#parts = {
        of: conditions.length,
        atLeastZero: conditions.flatMap(({ p, isEquation: exact }) => (exact ? [] : [p])),
        zero: conditions.flatMap(({ p, isEquation: exact }) => (exact ? [p] : [])),
      };
    return this.#parts;
  }

  add({ p: unreduced, isEquation: exact }: Condition): void {
    const p = exact ? unreduced : tighten(unreduced);
    if (isConstant(p)) {
      if (exact ? constantOf(p) !== 0 : constantOf(p) < 0) this.impossible = true;
      return;
    }
    const key = `${exact} ${p.key}`;
    if (this.#keys.has(key)) return;
    this.#keys.add(key);
    this.conditions.push({ p, isEquation: exact });
    this.#updateInterval(p, exact);
    if (!exact) this.#divide(p);
  }

  /** The definition of a monomial that is a single atom. */
  definitionOf(monomial: Monomial): Definition | undefined {
    const name = asAtom(monomial);
    return name === undefined ? undefined : this.definitions.get(name);
  }

  /** The interval of a monomial. */
  interval({ atoms }: Monomial): Interval {
    let product: Interval = { min: 1, max: 1 };
    for (const atom of atoms) product = productOf(product, this.#intervals.get(atom) ?? ANY);
    return product;
  }

  /** A lower bound of a polynomial, from intervals alone. */
  least({ terms }: Polynomial): Integer | undefined {
    let total: Integer = 0;
    for (const { monomial, coefficient } of terms) {
      const { min: least, max: most } = this.interval(monomial);
      const bound = coefficient > 0 ? least : most;
      if (bound === undefined) return undefined;
      total = plus(total, times(coefficient, bound));
    }
    return total;
  }

  /** Updates the interval of an atom from a condition on it alone. */
  #updateInterval(p: Polynomial, exact: boolean): void {
    if (p.size > 2) return;
    const [term, ...more] = p.terms.filter(({ monomial }) => monomial !== UNIT);
    const name = term && asAtom(term.monomial);
    if (!term || name === undefined || more.length > 0) return;
    const { coefficient } = term;
    const base = constantOf(p);
    const { min: least, max: most } = this.#intervals.get(name) ?? ANY;
    const lower = coefficient > 0 || exact ? ceil(-base, coefficient) : undefined;
    const upper = coefficient < 0 || exact ? floor(-base, coefficient) : undefined;
    this.#intervals.set(name, { min: larger(least, lower), max: smaller(most, upper) });
  }

  /** Divides a condition by a shared factor: with `B >= 1`, `B * x - B - 1 >= 0` implies `x - 2 >= 0` for integers. */
  #divide(p: Polynomial): void {
    if (p.size < 3 || constantOf(p) >= 0) return;
    const [first, ...more] = p.terms.filter(({ monomial }) => monomial !== UNIT);
    const shared = first?.monomial.atoms.find((name) => more.every(({ monomial }) => monomial.atoms.includes(name)));
    const { min: least } = shared === undefined ? ANY : (this.#intervals.get(shared) ?? ANY);
    if (shared === undefined || least === undefined || least < 1) return;
    for (const { quotient } of divisions(p, atom(shared))) this.add(atLeastZero(subtract(quotient, ONE)));
  }
}

/** The keys of interned quotients, remainders, minima and maxima. */
export const internKey = {
  quotient: (dividend: Polynomial, divisor: Polynomial) => `quotient ${dividend.key} / ${divisor.key}`,
  remainder: (dividend: Polynomial, divisor: Polynomial) => `remainder ${dividend.key} / ${divisor.key}`,
  extreme: (of: "least" | "greatest", x: Polynomial, y: Polynomial) => `${of} ${x.key} | ${y.key}`,
} as const;

/** True if a definition's side conditions are true here. Another case may have created it. */
export function isDefinedHere(facts: FactSet, definition: Defined<"division" | "extreme">): boolean {
  const [key, name] =
    definition.kind === "division"
      ? [internKey.quotient(definition.dividend, definition.divisor), definition.quotient]
      : [internKey.extreme(definition.of, definition.x, definition.y), definition.name];
  return facts.interned.get(key)?.coefficientOf(monomialOf([name])) === 1;
}

/** True if `dividend = divisor * quotient + remainder` is true here, for a dividend of any sign. */
export const isDivision = ({ interned: named }: FactSet, { key, quotient }: Defined<"division">): boolean =>
  key !== undefined && named.get(key)?.coefficientOf(monomialOf([quotient])) === 1;

function productOf(x: Interval, y: Interval): Interval {
  if (x.min === 1 && x.max === 1) return y;
  if (x.min !== undefined && x.min >= 0 && y.min !== undefined && y.min >= 0) {
    const most = x.max === undefined || y.max === undefined ? undefined : times(x.max, y.max);
    return { min: times(x.min, y.min), max: most };
  }
  if (x.min === undefined || x.max === undefined || y.min === undefined || y.max === undefined) return ANY;
  const products = [times(x.min, y.min), times(x.min, y.max), times(x.max, y.min), times(x.max, y.max)];
  return { min: products.reduce((a, b) => (a < b ? a : b)), max: products.reduce((a, b) => (a > b ? a : b)) };
}

const floor = (x: Integer, y: Integer): Integer => (y < 0 ? floorQuotient(-x, -y) : floorQuotient(x, y));
const ceil = (x: Integer, y: Integer): Integer => -floor(-x, y);
const larger = (x: Integer | undefined, y: Integer | undefined) =>
  x === undefined || (y !== undefined && y > x) ? y : x;
const smaller = (x: Integer | undefined, y: Integer | undefined) =>
  x === undefined || (y !== undefined && y < x) ? y : x;
