/** Polynomials with integer coefficients over atoms. */
import { exactQuotient, floorQuotient, gcd, type Integer, integer, plus, remainderOf, times } from "./exact-integer.js";
import { multiplyMonomials, type Monomial, monomialOf, UNIT, divideMonomial } from "./monomial.js";

/** A sum of monomials with nonzero coefficients. It has few of them, so lookups search a list. */
export class Polynomial {
  #key: string | undefined;
  #hash: number | undefined;
  #atoms: readonly string[] | undefined;

  /** `coefficients[i]` belongs to `monomials[i]`. */
  constructor(
    readonly monomials: readonly Monomial[],
    readonly coefficients: readonly Integer[],
  ) {}

  get size(): number {
    return this.monomials.length;
  }

  /** The coefficient of a monomial, or 0. */
  coefficientOf(monomial: Monomial): Integer {
    const index = this.monomials.indexOf(monomial);
    return index < 0 ? 0 : this.coefficients[index]!;
  }

  has(monomial: Monomial): boolean {
    return this.monomials.includes(monomial);
  }

  *[Symbol.iterator](): Iterator<readonly [Monomial, Integer]> {
    for (let i = 0; i < this.size; i++) yield [this.monomials[i]!, this.coefficients[i]!];
  }

  /** The atoms of all monomials, each once. */
  get atoms(): readonly string[] {
    return (this.#atoms ??= [...new Set(this.monomials.flatMap(({ atoms }) => atoms))]);
  }

  /** Equal for equal polynomials only. */
  get key(): string {
    return (this.#key ??= this.monomials
      .map(({ id }, i) => `${this.coefficients[i]}.${id}`)
      .sort()
      .join("+"));
  }

  /** Equal for equal polynomials, and much cheaper to compute than a key. */
  get hash(): number {
    if (this.#hash === undefined) {
      let hash = 0;
      for (let i = 0; i < this.size; i++) {
        const monomialHash = this.monomials[i]!.hash;
        const coefficient = this.coefficients[i]!;
        const low = typeof coefficient === "number" ? coefficient | 0 : Number(BigInt.asIntN(32, coefficient));
        hash = (hash + Math.imul(monomialHash, Math.imul(low, 0x9e3779b1) ^ monomialHash)) | 0;
      }
      this.#hash = hash;
    }
    return this.#hash;
  }
}

export const ZERO = new Polynomial([], []);
export const constant = (value: Integer): Polynomial => {
  const coefficient = typeof value === "bigint" ? integer(value) : value;
  return coefficient === 0 ? ZERO : new Polynomial([UNIT], [coefficient]);
};
export const ONE = constant(1);
/** The polynomial of one monomial. */
export const single = (monomial: Monomial, coefficient: Integer = 1): Polynomial =>
  new Polynomial([monomial], [coefficient]);
export const atom = (name: string): Polynomial => single(monomialOf([name]));

export const constantOf = (p: Polynomial): Integer => p.coefficientOf(UNIT);
export const isConstant = (p: Polynomial): boolean => p.size === 0 || (p.size === 1 && p.monomials[0] === UNIT);

/** The terms of a polynomial that a test accepts. */
export function partOf(p: Polynomial, test: (monomial: Monomial, coefficient: Integer) => boolean): Polynomial {
  const [monomials, coefficients]: [Monomial[], Integer[]] = [[], []];
  for (let i = 0; i < p.size; i++) {
    if (!test(p.monomials[i]!, p.coefficients[i]!)) continue;
    monomials.push(p.monomials[i]!);
    coefficients.push(p.coefficients[i]!);
  }
  return new Polynomial(monomials, coefficients);
}

export function isEqual(x: Polynomial, y: Polynomial): boolean {
  if (x === y) return true;
  if (x.size !== y.size || x.hash !== y.hash) return false;
  return x.monomials.every((monomial, i) => y.coefficientOf(monomial) === x.coefficients[i]);
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

/** Adds `by * monomial` to a sum under construction. */
function addTerm(monomials: Monomial[], coefficients: Integer[], monomial: Monomial, coefficient: Integer): void {
  const index = monomials.indexOf(monomial);
  if (index < 0) {
    monomials.push(monomial);
    coefficients.push(coefficient);
    return;
  }
  const total = plus(coefficients[index]!, coefficient);
  if (total !== 0) coefficients[index] = total;
  else {
    monomials.splice(index, 1);
    coefficients.splice(index, 1);
  }
}

/** `x + by * y` */
export function add(x: Polynomial, y: Polynomial, factor: Integer = 1): Polynomial {
  if (y.size === 0 || factor === 0) return x;
  const [monomials, coefficients] = [x.monomials.slice(), x.coefficients.slice()];
  for (let i = 0; i < y.size; i++) addTerm(monomials, coefficients, y.monomials[i]!, times(factor, y.coefficients[i]!));
  return new Polynomial(monomials, coefficients);
}

export const subtract = (x: Polynomial, y: Polynomial): Polynomial => add(x, y, -1);

export function scale(p: Polynomial, factor: Integer): Polynomial {
  if (factor === 1) return p;
  if (factor === 0) return ZERO;
  return new Polynomial(
    p.monomials,
    p.coefficients.map((coefficient) => times(coefficient, factor)),
  );
}

export const opposite = (p: Polynomial): Polynomial => scale(p, -1);

export function multiply(x: Polynomial, y: Polynomial): Polynomial {
  const [monomials, coefficients]: [Monomial[], Integer[]] = [[], []];
  for (let i = 0; i < x.size; i++)
    for (let j = 0; j < y.size; j++) {
      const monomial = multiplyMonomials(x.monomials[i]!, y.monomials[j]!);
      addTerm(monomials, coefficients, monomial, times(x.coefficients[i]!, y.coefficients[j]!));
    }
  return new Polynomial(monomials, coefficients);
}

export interface Division {
  readonly quotient: Polynomial;
  readonly rest: Polynomial;
}

/** `p = coefficient * monomial * quotient + rest`: divides each term. Constants are divided with remainder. */
function divideByTerm(p: Polynomial, monomial: Monomial, coefficient: Integer): Division {
  const quotient: [Monomial[], Integer[]] = [[], []];
  const rest: [Monomial[], Integer[]] = [[], []];
  for (let i = 0; i < p.size; i++) {
    const [term, termCoefficient] = [p.monomials[i]!, p.coefficients[i]!];
    const reducedTerm = term === UNIT && monomial !== UNIT ? undefined : divideMonomial(term, monomial);
    const remainder = reducedTerm === undefined ? termCoefficient : remainderOf(termCoefficient, coefficient);
    if (reducedTerm === undefined || (remainder !== 0 && term !== UNIT)) {
      addTerm(...rest, term, termCoefficient);
      continue;
    }
    if (termCoefficient !== remainder)
      addTerm(...quotient, reducedTerm, exactQuotient(plus(termCoefficient, -remainder), coefficient));
    if (remainder !== 0) addTerm(...rest, term, remainder);
  }
  return { quotient: new Polynomial(...quotient), rest: new Polynomial(...rest) };
}

/** Candidates for `p = divisor * quotient + rest`, with each term of the divisor as the leading one. */
export function divisions(p: Polynomial, divisor: Polynomial): readonly Division[] {
  if (divisor.size === 1) {
    const divided = divideByTerm(p, divisor.monomials[0]!, divisor.coefficients[0]!);
    return divided.quotient.size > 0 ? [divided] : [];
  }
  return divisor.monomials.flatMap((monomial, i) => {
    const coefficient = divisor.coefficients[i]!;
    if (monomial === UNIT || (coefficient !== 1 && coefficient !== -1)) return [];
    let [quotient, rest]: [Polynomial, Polynomial] = [ZERO, p];
    for (let round = 0; round < 6; round++) {
      const step = divideByTerm(rest, monomial, coefficient).quotient;
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
  for (let i = 0; i < p.size && divisor !== 1; i++)
    if (p.monomials[i] !== UNIT) divisor = gcd(divisor, p.coefficients[i]!);
  if (divisor <= 1) return p;
  const [monomials, coefficients]: [Monomial[], Integer[]] = [[], []];
  for (let i = 0; i < p.size; i++) {
    if (p.monomials[i] === UNIT) continue;
    monomials.push(p.monomials[i]!);
    coefficients.push(exactQuotient(p.coefficients[i]!, divisor));
  }
  const rounded = floorQuotient(constantOf(p), divisor);
  if (rounded !== 0) {
    monomials.push(UNIT);
    coefficients.push(rounded);
  }
  return new Polynomial(monomials, coefficients);
}
