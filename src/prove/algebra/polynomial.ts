/** Polynomials with integer coefficients over atoms. */
import { exactQuotient, floorQuotient, gcd, type Integer, integer, plus, remainderOf, times } from "./exact-integer.js";
import { multiplyMonomials, type Monomial, monomialOf, UNIT, divideMonomial } from "./monomial.js";

/** A monomial times a coefficient, which is not 0. */
export interface PolynomialTerm {
  readonly monomial: Monomial;
  readonly coefficient: Integer;
}

/** A sum of terms with distinct monomials. It has few of them, so lookups search a list. */
export class Polynomial {
  #key: string | undefined;
  #hash: number | undefined;
  #monomials: readonly Monomial[] | undefined;
  #atoms: readonly string[] | undefined;

  constructor(readonly terms: readonly PolynomialTerm[]) {}

  get size(): number {
    return this.terms.length;
  }

  get monomials(): readonly Monomial[] {
    return (this.#monomials ??= this.terms.map(({ monomial }) => monomial));
  }

  /** The coefficient of a monomial, or 0. */
  coefficientOf(monomial: Monomial): Integer {
    for (const term of this.terms) if (term.monomial === monomial) return term.coefficient;
    return 0;
  }

  has(monomial: Monomial): boolean {
    return this.coefficientOf(monomial) !== 0;
  }

  /** The atoms of all monomials, each once. */
  get atoms(): readonly string[] {
    return (this.#atoms ??= [...new Set(this.monomials.flatMap(({ atoms }) => atoms))]);
  }

  /** Equal for equal polynomials only. */
  get key(): string {
    return (this.#key ??= this.terms
      .map(({ monomial, coefficient }) => `${coefficient}.${monomial.id}`)
      .sort()
      .join("+"));
  }

  /** Equal for equal polynomials, and much cheaper to compute than a key. */
  get hash(): number {
    if (this.#hash === undefined) {
      let hash = 0;
      for (const { monomial, coefficient } of this.terms) {
        const monomialHash = monomial.hash;
        const low = typeof coefficient === "number" ? coefficient | 0 : Number(BigInt.asIntN(32, coefficient));
        hash = (hash + Math.imul(monomialHash, Math.imul(low, 0x9e3779b1) ^ monomialHash)) | 0;
      }
      this.#hash = hash;
    }
    return this.#hash;
  }
}

export const ZERO = new Polynomial([]);
export const constant = (value: Integer): Polynomial => {
  const coefficient = typeof value === "bigint" ? integer(value) : value;
  return coefficient === 0 ? ZERO : single(UNIT, coefficient);
};
export const ONE = constant(1);
/** The polynomial of one monomial. */
export function single(monomial: Monomial, coefficient: Integer = 1): Polynomial {
  return new Polynomial([{ monomial, coefficient }]);
}
export const atom = (name: string): Polynomial => single(monomialOf([name]));

export const constantOf = (p: Polynomial): Integer => p.coefficientOf(UNIT);
export const isConstant = (p: Polynomial): boolean => p.size === 0 || (p.size === 1 && p.has(UNIT));

/** The monomial that a polynomial equals, or undefined. */
export function asMonomial({ terms }: Polynomial): Monomial | undefined {
  const [first, ...more] = terms;
  return first?.coefficient === 1 && more.length === 0 ? first.monomial : undefined;
}

export function isEqual(x: Polynomial, y: Polynomial): boolean {
  if (x === y) return true;
  if (x.size !== y.size || x.hash !== y.hash) return false;
  return x.terms.every(({ monomial, coefficient }) => y.coefficientOf(monomial) === coefficient);
}

/** A set of polynomials that only reports whether each is new. */
export class PolynomialSet {
  readonly #byHash = new Map<number, Polynomial[]>();

  constructor(polynomials: Iterable<Polynomial> = []) {
    for (const p of polynomials) this.add(p);
  }

  /** Adds a polynomial. Returns false if the set contains an equal one. */
  add(p: Polynomial): boolean {
    const bucket = this.#byHash.get(p.hash);
    if (!bucket) this.#byHash.set(p.hash, [p]);
    else if (bucket.some((existing) => isEqual(existing, p))) return false;
    else bucket.push(p);
    return true;
  }
}

/** Adds a term to a sum under construction. */
function addTerm(terms: PolynomialTerm[], monomial: Monomial, coefficient: Integer): void {
  const existing = terms.find((term) => term.monomial === monomial);
  if (!existing) {
    terms.push({ monomial, coefficient });
    return;
  }
  const index = terms.indexOf(existing);
  const total = plus(existing.coefficient, coefficient);
  if (total !== 0) terms[index] = { monomial, coefficient: total };
  else terms.splice(index, 1);
}

/** `x + by * y` */
export function add(x: Polynomial, y: Polynomial, factor: Integer = 1): Polynomial {
  if (y.size === 0 || factor === 0) return x;
  const terms = x.terms.slice();
  for (const { monomial, coefficient } of y.terms) addTerm(terms, monomial, times(factor, coefficient));
  return new Polynomial(terms);
}

export const subtract = (x: Polynomial, y: Polynomial): Polynomial => add(x, y, -1);

export function scale(p: Polynomial, factor: Integer): Polynomial {
  if (factor === 1) return p;
  if (factor === 0) return ZERO;
  return new Polynomial(
    p.terms.map(({ monomial, coefficient }) => ({ monomial, coefficient: times(coefficient, factor) })),
  );
}

export const opposite = (p: Polynomial): Polynomial => scale(p, -1);

export function multiply(x: Polynomial, y: Polynomial): Polynomial {
  const terms: PolynomialTerm[] = [];
  for (const left of x.terms)
    for (const right of y.terms) {
      const monomial = multiplyMonomials(left.monomial, right.monomial);
      addTerm(terms, monomial, times(left.coefficient, right.coefficient));
    }
  return new Polynomial(terms);
}

export interface Division {
  readonly quotient: Polynomial;
  readonly rest: Polynomial;
}

/** `p = coefficient * monomial * quotient + rest`: divides each term. Constants are divided with remainder. */
function divideByTerm(p: Polynomial, divisor: PolynomialTerm): Division {
  const quotient: PolynomialTerm[] = [];
  const rest: PolynomialTerm[] = [];
  for (const { monomial, coefficient } of p.terms) {
    const reduced =
      monomial === UNIT && divisor.monomial !== UNIT ? undefined : divideMonomial(monomial, divisor.monomial);
    const remainder = reduced === undefined ? coefficient : remainderOf(coefficient, divisor.coefficient);
    if (reduced === undefined || (remainder !== 0 && monomial !== UNIT)) {
      addTerm(rest, monomial, coefficient);
      continue;
    }
    if (coefficient !== remainder)
      addTerm(quotient, reduced, exactQuotient(plus(coefficient, -remainder), divisor.coefficient));
    if (remainder !== 0) addTerm(rest, monomial, remainder);
  }
  return { quotient: new Polynomial(quotient), rest: new Polynomial(rest) };
}

/** Candidates for `p = divisor * quotient + rest`, with each term of the divisor as the leading one. */
export function divisions(p: Polynomial, divisor: Polynomial): readonly Division[] {
  const [first, ...more] = divisor.terms;
  if (first && more.length === 0) {
    const divided = divideByTerm(p, first);
    return divided.quotient.size > 0 ? [divided] : [];
  }
  return divisor.terms.flatMap((leading) => {
    const { monomial, coefficient } = leading;
    if (monomial === UNIT || (coefficient !== 1 && coefficient !== -1)) return [];
    let [quotient, rest]: [Polynomial, Polynomial] = [ZERO, p];
    for (let round = 0; round < 6; round++) {
      const step = divideByTerm(rest, leading).quotient;
      if (step.size === 0) break;
      quotient = add(quotient, step);
      rest = subtract(rest, multiply(divisor, step));
      if (rest.size > 12) return [];
    }
    return quotient.size > 0 ? [{ quotient, rest }] : [];
  });
}

/** Divides `p >= 0` by the gcd of the coefficients and rounds the constant down, which is equivalent for integers. */
export function tighten(p: Polynomial): Polynomial {
  let divisor: Integer = 0;
  for (const { monomial, coefficient } of p.terms)
    if (monomial !== UNIT && divisor !== 1) divisor = gcd(divisor, coefficient);
  if (divisor <= 1) return p;
  const terms: PolynomialTerm[] = [];
  for (const { monomial, coefficient } of p.terms)
    if (monomial !== UNIT) terms.push({ monomial, coefficient: exactQuotient(coefficient, divisor) });
  const rounded = floorQuotient(constantOf(p), divisor);
  if (rounded !== 0) terms.push({ monomial: UNIT, coefficient: rounded });
  return new Polynomial(terms);
}
