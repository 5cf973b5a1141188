/** What is known at a place of the kernel, as conditions on polynomials, with the intervals that follow directly. */
import type { Term } from "../../symbolic/term.js";
import { CopyOnWriteMap } from "./copy-on-write-map.js";
import type { Budget } from "./budget.js";
import { floorQuotient, type Integer, plus, times } from "./exact-integer.js";
import { type Monomial, monomialOf, UNIT, without } from "./monomial.js";
import { CounterexampleCache } from "./counterexample-cache.js";
import { add, constantOf, isConstant, ONE, Polynomial, subtract, tightened } from "./polynomial.js";

/** `p >= 0`, or `p = 0` if it is `exact`. */
export interface Condition {
  readonly p: Polynomial;
  readonly exact: boolean;
}

export const atLeastZero = (p: Polynomial): Condition => ({ p, exact: false });
export const isZero = (p: Polynomial): Condition => ({ p, exact: true });

/** One of these lists of conditions holds, which talk about `atoms`. */
export interface CaseSplit {
  readonly atoms: readonly string[];
  readonly cases: readonly (readonly Condition[])[];
}

/** What an atom stands for, where it is no symbol: `dividend = divisor * quotient + remainder`, or an unknown function. */
export type Definition =
  | {
      readonly kind: "division";
      readonly dividend: Polynomial;
      readonly divisor: Polynomial;
      readonly quotient: string;
      readonly remainder: string;
      /** By what the quotient is found among what has an atom, where the divisor is positive. */
      readonly key: string | undefined;
    }
  | {
      readonly kind: "extreme";
      readonly of: "least" | "greatest";
      readonly x: Polynomial;
      readonly y: Polynomial;
      readonly name: string;
    }
  | { readonly kind: "choice" }
  | { readonly kind: "call"; readonly name: string; readonly given: readonly Polynomial[] };

type Defined<Kind extends Definition["kind"]> = Extract<Definition, { readonly kind: Kind }>;

/** The truths that hold of an unknown function's value, given its arguments, where a program runs or before. */
export type CallFacts = (name: string, given: readonly Term[], value: Term, inProgram: boolean) => readonly Term[];

/** Whether an unknown function of one argument is 0 before 0 and never falls. */
export type MonotoneFunction = (name: string) => boolean;

/** Either end is undefined where none is known. */
export interface Interval {
  readonly least: Integer | undefined;
  readonly most: Integer | undefined;
}

/** The first conditions, as many as `of` says, by their kind. */
interface Parted {
  readonly of: number;
  readonly atLeastZero: readonly Polynomial[];
  readonly zero: readonly Polynomial[];
}

const ANY: Interval = { least: undefined, most: undefined };

export class FactSet {
  readonly conditions: Condition[];
  readonly cases: CaseSplit[];
  /** The polynomial of each term that was seen. */
  readonly seen: CopyOnWriteMap<Term, Polynomial>;
  /** Quotients, extremes and calls that have an atom, by what they are computed from. */
  readonly named: CopyOnWriteMap<string, Polynomial>;
  /** The term that each atom stands for. */
  readonly definitions: Map<string, Definition>;
  readonly budget: Budget;
  readonly callFacts: CallFacts;
  readonly rises: MonotoneFunction;
  /** Whether the conditions contradict each other: nothing runs here. */
  impossible: boolean;
  /** Whether this is known of a place in a program; else of a launch, which may have no program. */
  inProgram: boolean;
  readonly points: CounterexampleCache;
  readonly #intervals: Map<string, Interval>;
  readonly #keys: Set<string>;
  readonly #count: { atoms: number };
  #parts: Parted | undefined;

  constructor(
    from: { readonly budget: Budget; readonly callFacts: CallFacts; readonly rises?: MonotoneFunction } | FactSet,
  ) {
    const parent = from instanceof FactSet ? from : undefined;
    this.budget = from.budget;
    this.callFacts = from.callFacts;
    this.rises = from.rises ?? (() => false);
    this.conditions = [...(parent?.conditions ?? [])];
    this.cases = [...(parent?.cases ?? [])];
    this.seen = new CopyOnWriteMap(parent?.seen);
    this.named = new CopyOnWriteMap(parent?.named);
    this.definitions = parent?.definitions ?? new Map();
    this.impossible = parent?.impossible ?? false;
    this.inProgram = parent?.inProgram ?? false;
    this.#intervals = new Map(parent?.intervals);
    this.#keys = new Set(parent?.keys);
    this.#count = parent?.count ?? { atoms: 0 };
    this.points = new CounterexampleCache(this, parent?.points);
  }

  /** The same knowledge, to which more can be added. */
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

  /** An atom of no symbol's name. */
  fresh(): string {
    return `$${this.#count.atoms++}`;
  }

  atLeastZeros(): readonly Polynomial[] {
    return this.#parted().atLeastZero;
  }
  zeros(): readonly Polynomial[] {
    return this.#parted().zero;
  }

  /** Conditions are only ever added. */
  #parted(): Parted {
    const { conditions } = this;
    if (this.#parts?.of !== conditions.length)
      this.#parts = {
        of: conditions.length,
        atLeastZero: conditions.flatMap(({ p, exact }) => (exact ? [] : [p])),
        zero: conditions.flatMap(({ p, exact }) => (exact ? [p] : [])),
      };
    return this.#parts;
  }

  add({ p: given, exact }: Condition): void {
    const p = exact ? given : tightened(given);
    if (isConstant(p)) {
      if (exact ? constantOf(p) !== 0 : constantOf(p) < 0) this.impossible = true;
      return;
    }
    const key = `${exact} ${p.key}`;
    if (this.#keys.has(key)) return;
    this.#keys.add(key);
    this.conditions.push({ p, exact });
    this.#note(p, exact);
    if (!exact) this.#divide(p);
  }

  /** The definition of an atom, where a monomial is one. */
  definitionOf({ degree, atoms }: Monomial): Definition | undefined {
    return degree === 1 ? this.definitions.get(atoms[0]!) : undefined;
  }

  /** The numbers that a monomial lies between. */
  interval({ atoms }: Monomial): Interval {
    let product: Interval = { least: 1, most: 1 };
    for (const each of atoms) product = productOf(product, this.#intervals.get(each) ?? ANY);
    return product;
  }

  /** A number that a polynomial is never below, by intervals alone. */
  least({ monomials, coefficients }: Polynomial): Integer | undefined {
    let total: Integer = 0;
    for (let i = 0; i < monomials.length; i++) {
      const { least, most } = this.interval(monomials[i]!);
      const by = coefficients[i]!;
      const end = by > 0 ? least : most;
      if (end === undefined) return undefined;
      total = plus(total, times(by, end));
    }
    return total;
  }

  /** Intervals from conditions on a single atom. */
  #note(p: Polynomial, exact: boolean): void {
    const place = p.monomials[0] === UNIT ? 1 : 0;
    const monomial = p.monomials[place];
    if (monomial?.degree !== 1 || p.size > 2 || (p.size === 2 && !p.has(UNIT))) return;
    const [name] = monomial.atoms as [string];
    const by = p.coefficients[place]!;
    const base = constantOf(p);
    const { least, most } = this.#intervals.get(name) ?? ANY;
    const lower = by > 0 || exact ? ceil(-base, by) : undefined;
    const upper = by < 0 || exact ? floor(-base, by) : undefined;
    this.#intervals.set(name, { least: larger(least, lower), most: smaller(most, upper) });
  }

  /** `B * x - B - 1 >= 0` with `B >= 1` says more: `x - 2 >= 0`, for integers. */
  #divide(p: Polynomial): void {
    if (p.size < 3 || constantOf(p) >= 0) return;
    const monomials = p.monomials.filter((monomial) => monomial !== UNIT);
    const shared = monomials[0]!.atoms.find((name) => monomials.every(({ atoms }) => atoms.includes(name)));
    const { least } = shared === undefined ? ANY : (this.#intervals.get(shared) ?? ANY);
    if (shared === undefined || least === undefined || least < 1) return;
    const divisor = monomialOf([shared]);
    const divided = new Polynomial(
      monomials.map((monomial) => without(monomial, divisor)!),
      monomials.map((monomial) => p.of(monomial)),
    );
    this.add(atLeastZero(subtract(divided, ONE)));
  }
}

/** By what quotients, remainders, and the smaller or larger of two are found among those that have an atom. */
export const internKey = {
  quotient: (dividend: Polynomial, divisor: Polynomial) => `quotient ${dividend.key} / ${divisor.key}`,
  remainder: (dividend: Polynomial, divisor: Polynomial) => `remainder ${dividend.key} / ${divisor.key}`,
  extreme: (of: "least" | "greatest", x: Polynomial, y: Polynomial) => `${of} ${x.key} | ${y.key}`,
} as const;

/** Whether the conditions of a definition, which another case may have made, hold here. */
export function isDefinedHere(known: FactSet, definition: Defined<"division" | "extreme">): boolean {
  const [key, name] =
    definition.kind === "division"
      ? [internKey.quotient(definition.dividend, definition.divisor), definition.quotient]
      : [internKey.extreme(definition.of, definition.x, definition.y), definition.name];
  return known.named.get(key)?.of(monomialOf([name])) === 1;
}

/** Whether `dividend = divisor * quotient + remainder` holds here, of a dividend of any sign. */
export const isDivision = ({ named }: FactSet, { key, quotient }: Defined<"division">): boolean =>
  key !== undefined && named.get(key)?.of(monomialOf([quotient])) === 1;

/** `x >= y + 1`, as a condition. */
export const isAbove = (x: Polynomial, y: Polynomial): Condition => atLeastZero(add(subtract(x, y), ONE, -1));

function productOf(x: Interval, y: Interval): Interval {
  if (x.least === 1 && x.most === 1) return y;
  if (x.least !== undefined && x.least >= 0 && y.least !== undefined && y.least >= 0) {
    const most = x.most === undefined || y.most === undefined ? undefined : times(x.most, y.most);
    return { least: times(x.least, y.least), most };
  }
  if (x.least === undefined || x.most === undefined || y.least === undefined || y.most === undefined) return ANY;
  const [first, ...more] = [
    times(x.least, y.least),
    times(x.least, y.most),
    times(x.most, y.least),
    times(x.most, y.most),
  ];
  return {
    least: more.reduce((a, b) => (a < b ? a : b), first!),
    most: more.reduce((a, b) => (a > b ? a : b), first!),
  };
}

const floor = (x: Integer, y: Integer): Integer => (y < 0 ? floorQuotient(-x, -y) : floorQuotient(x, y));
const ceil = (x: Integer, y: Integer): Integer => -floor(-x, y);
const larger = (x: Integer | undefined, y: Integer | undefined) =>
  x === undefined || (y !== undefined && y > x) ? y : x;
const smaller = (x: Integer | undefined, y: Integer | undefined) =>
  x === undefined || (y !== undefined && y < x) ? y : x;
