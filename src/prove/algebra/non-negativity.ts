/** Decides whether a polynomial is nonnegative under a set of facts: by intervals, sums, products and case splits. */
import { contradict } from "./contradiction.js";
import type { FactSet } from "./facts.js";
import {
  constantOf,
  isConstant,
  ONE,
  opposite,
  type Polynomial,
  subtract,
  constant,
  multiply,
  PolynomialSet,
  single,
  type Integer,
  multiplyMonomials,
  type Monomial,
  monomialOf,
  UNIT,
  divideMonomial,
  atLeastZero,
  type CaseSplit,
  type Condition,
} from "./polynomial.js";
// Products of conditions: `x >= 0` and `y >= 0` imply `x * y >= 0`, which linear reasoning cannot derive. Only products
// are kept that contain existing monomials, or introduce one.

interface Products {
  readonly atLeastZero: readonly Polynomial[];
  readonly zero: readonly Polynomial[];
}

/** Large limits such as 2^31 are excluded from products, both as numbers and as the symbol {@link LIMIT}. */
const LARGE = 2 ** 24;
/** The symbol that represents 2^31. */
export const LIMIT = "2**31";
const MAX_PRODUCTS = 260;
const MAX_DEGREE = 4;
/** The maximum number of terms of a condition that is multiplied. */
const MAX_TERMS = 8;
const MAX_TERMS_SHORT = 6;

const isLarge = ({ terms }: Polynomial): boolean =>
  terms.some(({ coefficient }) => coefficient > LARGE || coefficient < -LARGE);
const isNonNegative = (lowerBound: Integer | undefined): boolean => lowerBound !== undefined && lowerBound >= 0;

/** Products that may help to contradict `goal >= 0`. Undefined if no existing monomial is a product. */
function products(facts: FactSet, goal: Polynomial, deep: boolean): Products | undefined {
  const search = new ProductSearch(facts, goal, deep);
  return search.run();
}

class ProductSearch {
  readonly #conditions: readonly Polynomial[];
  readonly #equations: readonly Polynomial[];
  readonly #goal: Polynomial;
  /** The existing monomials of degree 2 and more. */
  readonly #monomials = new Set<Monomial>();
  /** Nonnegative multipliers, by their leading monomial. */
  readonly #factors = new Map<Monomial, Polynomial>();
  readonly #seen: PolynomialSet;
  readonly #products: { readonly atLeastZero: Polynomial[]; readonly zero: Polynomial[] } = {
    atLeastZero: [],
    zero: [],
  };

  constructor(
    readonly facts: FactSet,
    goal: Polynomial,
    readonly deep: boolean,
  ) {
    this.#conditions = facts.atLeastZeros().filter((p) => !isLarge(p));
    this.#equations = facts.zeros();
    this.#goal = isLarge(goal) ? subtract(goal, constant(constantOf(goal))) : goal;
    this.#seen = new PolynomialSet(this.#conditions);
    for (const p of [...this.#conditions, ...this.#equations, this.#goal]) this.#addMonomials(p);
  }

  run(): Products | undefined {
    if (this.#monomials.size === 0) return undefined;
    this.#chooseFactors();
    const goalProducts = this.#multiplyGoal();
    this.#boundMonomials();
    this.#multiplyConditions(goalProducts);
    if (this.deep)
      for (const p of this.#conditions) {
        if (this.#isFull) break;
        if (p.size <= 5) this.#keep(multiply(p, this.#goal), 0);
      }
    const { atLeastZero, zero } = this.#products;
    return atLeastZero.length + zero.length > 0 ? this.#products : undefined;
  }

  get #isFull(): boolean {
    return this.#products.atLeastZero.length + this.#products.zero.length > MAX_PRODUCTS;
  }

  #addMonomials(p: Polynomial): void {
    for (const monomial of p.monomials) if (monomial.degree >= 2) this.#monomials.add(monomial);
  }

  #isNew(monomial: Monomial): boolean {
    return monomial.degree >= 2 && !this.#monomials.has(monomial);
  }

  /** True if at most `most` monomials of a product are new. */
  #introducesAtMost(p: Polynomial, limit: number): boolean {
    let remaining = limit;
    for (const monomial of p.monomials) if (this.#isNew(monomial) && remaining-- <= 0) return false;
    return true;
  }

  /**
   * Keeps the product of a condition with a factor if all of its monomials exist. Those of `p` exist, so new ones do
   * not cancel, and most products need not be computed.
   */
  #keepTimes(p: Polynomial, monomial: Monomial, factor: Polynomial): void {
    for (const term of p.monomials) if (this.#isNew(multiplyMonomials(term, monomial))) return;
    this.#keep(multiply(p, factor), 0);
  }

  /** Keeps a product that introduces at most `most` monomials. */
  #keep(p: Polynomial, limit: number, zero = false): boolean {
    if (p.size === 0 || !this.#introducesAtMost(p, limit)) return false;
    if (!this.#seen.add(p)) return false;
    (zero ? this.#products.zero : this.#products.atLeastZero).push(p);
    return true;
  }

  /**
   * Chooses the factors: each atom of a product minus its lower bound, and cofactors of the goal's monomials in
   * existing ones.
   */
  #chooseFactors(): void {
    const addFactor = (monomial: Monomial): void => {
      const { min: least } = this.facts.interval(monomial);
      if (least === undefined || this.#factors.has(monomial)) return;
      this.#factors.set(monomial, subtract(single(monomial), constant(least)));
    };
    for (const { atoms } of this.#monomials) for (const name of atoms) addFactor(monomialOf([name]));
    for (const goalMonomial of this.#goal.monomials)
      for (const product of goalMonomial === UNIT ? [] : this.#monomials) {
        if (product.degree < goalMonomial.degree + 2) continue;
        const cofactor = divideMonomial(product, goalMonomial);
        if (cofactor !== undefined && isNonNegative(this.facts.interval(cofactor).min)) addFactor(cofactor);
      }
  }

  #multiplyGoal(): readonly Polynomial[] {
    const goalProducts = [...this.#factors.values()]
      .map((factor) => multiply(this.#goal, factor))
      .filter((p) => p.monomials.every(({ degree }) => degree <= MAX_DEGREE))
      .filter((p) => this.#keep(p, 1));
    goalProducts.forEach((p) => this.#addMonomials(p));
    return goalProducts;
  }

  /**
   * Multiplies short conditions on `x` by `y` for each relevant monomial `x * y`, and repeats this for new monomials.
   */
  #boundMonomials(): void {
    const conditions = byAtom(this.#conditions);
    const equations = byAtom(this.#equations);
    let pending = this.#relevantMonomials();
    const done = new Set<Monomial>();
    for (let round = 0; round < (this.deep ? 3 : 2) && pending.size > 0; round++) {
      const next = new Set<Monomial>();
      const addProduct = (p: Polynomial, zero: boolean): void => {
        if (p.monomials.some(({ degree }) => degree > MAX_DEGREE)) return;
        this.#keep(p, Infinity, zero);
        for (const productMonomial of p.monomials) if (this.#isNew(productMonomial)) next.add(productMonomial);
      };
      for (const monomial of pending) {
        if (done.has(monomial)) continue;
        done.add(monomial);
        for (const [i, name] of monomial.atoms.entries()) {
          if (name === LIMIT) continue;
          const factor = monomialOf([name]);
          const cofactor = monomialOf(monomial.atoms.toSpliced(i, 1));
          const cofactorPolynomial = single(cofactor);
          if (isNonNegative(this.facts.interval(cofactor).min))
            for (const p of conditions.get(factor) ?? []) addProduct(multiply(p, cofactorPolynomial), false);
          for (const p of equations.get(factor) ?? []) addProduct(multiply(p, cofactorPolynomial), true);
        }
        if (this.#isFull) return;
      }
      pending = next;
    }
    for (const p of [...this.#products.atLeastZero, ...this.#products.zero]) this.#addMonomials(p);
  }

  #relevantMonomials(): ReadonlySet<Monomial> {
    const goalMonomials = new Set(this.#goal.monomials.filter(({ degree }) => degree >= 2));
    if (!this.deep) return goalMonomials;
    const relevant = new Set(goalMonomials);
    for (const p of this.#conditions) {
      if (
        p.size > MAX_TERMS_SHORT ||
        !p.monomials.some((m) => goalMonomials.has(m) || (m.degree === 1 && this.#goal.has(m)))
      )
        continue;
      for (const monomial of p.monomials) if (monomial.degree >= 2 && relevant.size < 8) relevant.add(monomial);
    }
    return relevant;
  }

  #multiplyConditions(ofGoal: readonly Polynomial[]): void {
    let pool: readonly Polynomial[] = [...this.#conditions, ...this.#products.atLeastZero];
    for (let round = 0; round < (this.deep ? 2 : 1); round++) {
      for (const [monomial, factor] of this.#factors) {
        for (const p of pool) if (p.size <= MAX_TERMS) this.#keepTimes(p, monomial, factor);
        const monomialPolynomial = single(monomial);
        for (const p of this.#equations)
          if (p.size <= MAX_TERMS) this.#keep(multiply(p, monomialPolynomial), round === 0 ? 1 : 0, true);
        if (this.#isFull) break;
      }
      this.#products.zero.forEach((p) => this.#addMonomials(p));
      pool = [...this.#conditions, ...ofGoal];
    }
  }
}

/** Short polynomials, by the atoms that are terms of them. */
function byAtom(list: readonly Polynomial[]): ReadonlyMap<Monomial, readonly Polynomial[]> {
  const result = new Map<Monomial, Polynomial[]>();
  for (const p of list)
    for (const monomial of p.size <= MAX_TERMS_SHORT ? p.monomials : []) {
      if (monomial.degree !== 1) continue;
      const polynomials = result.get(monomial);
      if (polynomials) polynomials.push(p);
      else result.set(monomial, [p]);
    }
  return result;
}

/**
 * The rules to try: `intervals`; also linear combinations (`sums`); also `products` of conditions; also nested `cases`.
 */
export type ProofEffort = "intervals" | "sums" | "products" | "cases";

const DEPTH = { intervals: 0, sums: 0, products: 2, cases: 4 } as const;
/** The number of case splits to try at each depth, the most relevant ones. */
const WIDTH = 4;

export function provesNonNegative(facts: FactSet, p: Polynomial, effort: ProofEffort): boolean {
  if (!facts.budget.spend(1)) return false;
  if (facts.impossible) return true;
  if (isConstant(p) && constantOf(p) >= 0) return true;
  if (isConstant(p) && effort !== "cases") return false;
  const lowerBound = facts.least(p);
  if (lowerBound !== undefined && lowerBound >= 0) return true;
  if (effort === "intervals" || facts.samples.refute(p)) return false;
  const negated = subtract(opposite(p), ONE);
  if (contradictsSums(facts, negated)) return true;
  if (effort === "sums" || facts.samples.sampleMore().refute(p)) return false;
  if (facts.samples.canSatisfy(atLeastZero(negated))) return false;
  return contradictsProducts(facts, negated, effort) || new NestedCaseSplit(negated, effort).isImpossible(facts);
}

/** Proves that `p >= 0` contradicts the facts. */
function isImpossible(facts: FactSet, p: Polynomial, effort: ProofEffort): boolean {
  return contradictsSums(facts, p) || contradictsProducts(facts, p, effort);
}

function contradictsSums(facts: FactSet, p: Polynomial): boolean {
  return contradict([...facts.atLeastZeros(), p], facts.zeros(), facts.budget);
}

function contradictsProducts(facts: FactSet, p: Polynomial, effort: ProofEffort): boolean {
  const derived = products(facts, p, effort === "cases");
  if (!derived) return false;
  const [atLeastZero, zero] = [facts.atLeastZeros(), facts.zeros()];
  return contradict([...atLeastZero, p, ...derived.atLeastZero], [...zero, ...derived.zero], facts.budget);
}

/** Nested case splits. A combination of cases is tried in one order only. */
class NestedCaseSplit {
  readonly #results = new Map<string, { readonly holds: boolean; readonly steps: number }>();

  constructor(
    readonly p: Polynomial,
    readonly effort: ProofEffort,
  ) {}

  /** `chosen` maps the index of each case split that is decided to the index of its case. */
  isImpossible(facts: FactSet, chosen: ReadonlyMap<number, number> = new Map()): boolean {
    const depth = DEPTH[this.effort] - chosen.size;
    if (depth <= 0 || facts.budget.isExhausted) return false;
    const relevantAtoms = atomsNear(facts, this.p);
    const ranked = facts.cases
      .map((split, index) => ({
        each: split,
        place: index,
        score: chosen.has(index) ? 0 : relevance(split, relevantAtoms),
      }))
      .filter(({ place: index, score }) => score > 0 || (chosen.size === 0 && !chosen.has(index)))
      .sort((x, y) => y.score - x.score);
    return ranked
      .slice(0, WIDTH)
      .some(({ each: split, place: index }) =>
        split.cases.every((conditions, i) => this.#isImpossibleWith(facts, conditions, new Map(chosen).set(index, i))),
      );
  }

  #isImpossibleWith(facts: FactSet, conditions: readonly Condition[], chosen: ReadonlyMap<number, number>): boolean {
    const { budget } = facts;
    const key = [...chosen]
      .map(([index, i]) => `${index}.${i}`)
      .sort()
      .join();
    const cached = this.#results.get(key);
    // A cached result costs its steps again, so that a verdict does not depend on the cache.
    if (cached) {
      budget.spend(cached.steps);
      return cached.holds;
    }
    const start = budget.remaining;
    const caseFacts = facts.child();
    for (const condition of conditions) caseFacts.add(condition);
    const holds =
      caseFacts.impossible || isImpossible(caseFacts, this.p, this.effort) || this.isImpossible(caseFacts, chosen);
    this.#results.set(key, { holds, steps: start - budget.remaining });
    return holds;
  }
}

/** The atoms that are connected to those of a polynomial through at most two conditions. */
function atomsNear(facts: FactSet, p: Polynomial): ReadonlySet<string> {
  const reachableAtoms = new Set(p.atoms);
  for (let round = 0; round < 2 && reachableAtoms.size <= 60; round++) {
    const connected = facts.conditions
      .map((condition) => condition.p.atoms)
      .filter((atoms) => atoms.some((name) => reachableAtoms.has(name)));
    for (const atoms of connected) for (const name of atoms) reachableAtoms.add(name);
  }
  return reachableAtoms;
}

function relevance({ atoms, cases }: CaseSplit, relevantAtoms: ReadonlySet<string>): number {
  if (atoms.length > 0) return atoms.some((name) => relevantAtoms.has(name)) ? 2 : 0;
  const isRelated = cases.some((conditions) =>
    conditions.some(({ p }) => p.atoms.some((name) => relevantAtoms.has(name))),
  );
  return isRelated ? 2 : 1;
}
