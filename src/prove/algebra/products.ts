/**
 * Products of conditions: from `x >= 0` and `y >= 0` follows `x * y >= 0`, which linear reasoning cannot know. Only products
 * that talk about monomials which occur already, or bring in one, are worth having.
 */
import type { Integer } from "./exact-integer.js";
import type { FactSet } from "./facts.js";
import { joined, type Monomial, monomialOf, UNIT, without } from "./monomial.js";
import { constant, constantOf, multiply, type Polynomial, PolynomialSet, single, subtract } from "./polynomial.js";

export interface Products {
  readonly atLeastZero: readonly Polynomial[];
  readonly zero: readonly Polynomial[];
}

/** Limits such as 2^31 stay out of products: as numbers, and as the symbol that stands for it. */
const LARGE = 2 ** 24;
/** The name of 2^31. */
export const LIMIT = "2**31";
const MOST = 260;
const DEGREE = 4;
/** Terms of a condition that is still multiplied. */
const LONG = 8;
const SHORT = 6;

const isLarge = ({ coefficients }: Polynomial): boolean => coefficients.some((by) => by > LARGE || by < -LARGE);
const isNatural = (least: Integer | undefined): boolean => least !== undefined && least >= 0;

/** Products that may help to contradict `goal >= 0`; undefined if nothing that is known is a product. */
export function products(known: FactSet, goal: Polynomial, deep: boolean): Products | undefined {
  const search = new Search(known, goal, deep);
  return search.run();
}

class Search {
  readonly #conditions: readonly Polynomial[];
  readonly #equations: readonly Polynomial[];
  readonly #goal: Polynomial;
  /** Monomials of degree 2 and more that occur. */
  readonly #monomials = new Set<Monomial>();
  /** Multipliers that are never negative, by the monomial that they multiply with. */
  readonly #factors = new Map<Monomial, Polynomial>();
  readonly #seen: PolynomialSet;
  readonly #found: { readonly atLeastZero: Polynomial[]; readonly zero: Polynomial[] } = { atLeastZero: [], zero: [] };

  constructor(
    readonly known: FactSet,
    goal: Polynomial,
    readonly deep: boolean,
  ) {
    this.#conditions = known.atLeastZeros().filter((p) => !isLarge(p));
    this.#equations = known.zeros();
    this.#goal = isLarge(goal) ? subtract(goal, constant(constantOf(goal))) : goal;
    this.#seen = new PolynomialSet(this.#conditions);
    for (const p of [...this.#conditions, ...this.#equations, this.#goal]) this.#note(p);
  }

  run(): Products | undefined {
    if (this.#monomials.size === 0) return undefined;
    this.#chooseFactors();
    const ofGoal = this.#multiplyGoal();
    this.#boundMonomials();
    this.#multiplyConditions(ofGoal);
    if (this.deep)
      for (const p of this.#conditions) {
        if (this.#isFull) break;
        if (p.size <= 5) this.#keep(multiply(p, this.#goal), 0);
      }
    const { atLeastZero, zero } = this.#found;
    return atLeastZero.length + zero.length > 0 ? this.#found : undefined;
  }

  get #isFull(): boolean {
    return this.#found.atLeastZero.length + this.#found.zero.length > MOST;
  }

  #note(p: Polynomial): void {
    for (const monomial of p.monomials) if (monomial.degree >= 2) this.#monomials.add(monomial);
  }

  #isNew(monomial: Monomial): boolean {
    return monomial.degree >= 2 && !this.#monomials.has(monomial);
  }

  /** Whether all of a product's monomials but `most` occur. */
  #brings(p: Polynomial, most: number): boolean {
    let left = most;
    for (const monomial of p.monomials) if (this.#isNew(monomial) && left-- <= 0) return false;
    return true;
  }

  /**
   * Keeps the product of a condition with what `monomial` multiplies if all of its monomials occur. Those of `p` occur, so
   * what is new does not cancel, and most products need not be made.
   */
  #keepTimes(p: Polynomial, monomial: Monomial, factor: Polynomial): void {
    for (const each of p.monomials) if (this.#isNew(joined(each, monomial))) return;
    this.#keep(multiply(p, factor), 0);
  }

  /** Keeps a product if it brings in no more than `most` monomials. */
  #keep(p: Polynomial, most: number, zero = false): boolean {
    if (p.size === 0 || !this.#brings(p, most)) return false;
    if (!this.#seen.add(p)) return false;
    (zero ? this.#found.zero : this.#found.atLeastZero).push(p);
    return true;
  }

  /**
   * Each atom of a product whose least value is known, less that value; and the cofactor of a monomial of the goal in one
   * that occurs.
   */
  #chooseFactors(): void {
    const addFactor = (monomial: Monomial): void => {
      const { least } = this.known.interval(monomial);
      if (least === undefined || this.#factors.has(monomial)) return;
      this.#factors.set(monomial, subtract(single(monomial), constant(least)));
    };
    for (const { atoms } of this.#monomials) for (const name of atoms) addFactor(monomialOf([name]));
    for (const part of this.#goal.monomials)
      for (const whole of part === UNIT ? [] : this.#monomials) {
        if (whole.degree < part.degree + 2) continue;
        const cofactor = without(whole, part);
        if (cofactor !== undefined && isNatural(this.known.interval(cofactor).least)) addFactor(cofactor);
      }
  }

  #multiplyGoal(): readonly Polynomial[] {
    const made = [...this.#factors.values()]
      .map((factor) => multiply(this.#goal, factor))
      .filter((p) => p.monomials.every(({ degree }) => degree <= DEGREE))
      .filter((p) => this.#keep(p, 1));
    made.forEach((p) => this.#note(p));
    return made;
  }

  /** For a monomial `x * y` that matters, each short condition on `x` times `y`; and so on for what that brings in. */
  #boundMonomials(): void {
    const conditions = byAtom(this.#conditions);
    const equations = byAtom(this.#equations);
    let open = this.#monomialsThatMatter();
    const done = new Set<Monomial>();
    for (let round = 0; round < (this.deep ? 3 : 2) && open.size > 0; round++) {
      const next = new Set<Monomial>();
      const take = (p: Polynomial, zero: boolean): void => {
        if (p.monomials.some(({ degree }) => degree > DEGREE)) return;
        this.#keep(p, Infinity, zero);
        for (const each of p.monomials) if (this.#isNew(each)) next.add(each);
      };
      for (const monomial of open) {
        if (done.has(monomial)) continue;
        done.add(monomial);
        for (const name of monomial.atoms) {
          if (name === LIMIT) continue;
          const factor = monomialOf([name]);
          const cofactor = without(monomial, factor)!;
          const by = single(cofactor);
          if (isNatural(this.known.interval(cofactor).least))
            for (const p of conditions.get(factor) ?? []) take(multiply(p, by), false);
          for (const p of equations.get(factor) ?? []) take(multiply(p, by), true);
        }
        if (this.#isFull) return;
      }
      open = next;
    }
    for (const p of [...this.#found.atLeastZero, ...this.#found.zero]) this.#note(p);
  }

  #monomialsThatMatter(): ReadonlySet<Monomial> {
    const own = new Set(this.#goal.monomials.filter(({ degree }) => degree >= 2));
    if (!this.deep) return own;
    const matter = new Set(own);
    for (const p of this.#conditions) {
      if (p.size > SHORT || !p.monomials.some((m) => own.has(m) || (m.degree === 1 && this.#goal.has(m)))) continue;
      for (const monomial of p.monomials) if (monomial.degree >= 2 && matter.size < 8) matter.add(monomial);
    }
    return matter;
  }

  #multiplyConditions(ofGoal: readonly Polynomial[]): void {
    let pool: readonly Polynomial[] = [...this.#conditions, ...this.#found.atLeastZero];
    for (let round = 0; round < (this.deep ? 2 : 1); round++) {
      for (const [monomial, factor] of this.#factors) {
        for (const p of pool) if (p.size <= LONG) this.#keepTimes(p, monomial, factor);
        const by = single(monomial);
        for (const p of this.#equations) if (p.size <= LONG) this.#keep(multiply(p, by), round === 0 ? 1 : 0, true);
        if (this.#isFull) break;
      }
      this.#found.zero.forEach((p) => this.#note(p));
      pool = [...this.#conditions, ...ofGoal];
    }
  }
}

/** Short polynomials by the atoms that are terms of theirs. */
function byAtom(list: readonly Polynomial[]): ReadonlyMap<Monomial, readonly Polynomial[]> {
  const found = new Map<Monomial, Polynomial[]>();
  for (const p of list)
    for (const monomial of p.size <= SHORT ? p.monomials : []) {
      if (monomial.degree !== 1) continue;
      const same = found.get(monomial);
      if (same) same.push(p);
      else found.set(monomial, [p]);
    }
  return found;
}
