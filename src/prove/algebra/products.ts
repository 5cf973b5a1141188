/**
 * Products of conditions: `x >= 0` and `y >= 0` imply `x * y >= 0`, which linear reasoning cannot derive. Only products
 * are kept that contain existing monomials, or introduce one.
 */
import type { Integer } from "./exact-integer.js";
import type { FactSet } from "./facts.js";
import { multiplyMonomials, type Monomial, monomialOf, UNIT, divideMonomial } from "./monomial.js";
import { constant, constantOf, multiply, type Polynomial, PolynomialSet, single, subtract } from "./polynomial.js";

export interface Products {
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
export function products(facts: FactSet, goal: Polynomial, deep: boolean): Products | undefined {
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
