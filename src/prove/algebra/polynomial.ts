/** Polynomials with integer coefficients over atoms. */
import { exactQuotient, floorQuotient, gcd, type Integer, integer, plus, remainderOf, times } from "./exact-integer.js";
import { joined, type Monomial, monomialOf, UNIT, without } from "./monomial.js";

/** A sum of monomials, each with a coefficient that is not 0. There are few of them, so that a list is searched. */
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

  /** The coefficient of a monomial: 0 where it does not occur. */
  of(monomial: Monomial): Integer {
    const place = this.monomials.indexOf(monomial);
    return place < 0 ? 0 : this.coefficients[place]!;
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

  /** Equal for equal polynomials. */
  get key(): string {
    return (this.#key ??= this.monomials
      .map(({ id }, i) => `${this.coefficients[i]}.${id}`)
      .sort()
      .join("+"));
  }

  /** Equal for equal polynomials, and far cheaper to make than a key. */
  get hash(): number {
    if (this.#hash === undefined) {
      let hash = 0;
      for (let i = 0; i < this.size; i++) {
        const own = this.monomials[i]!.hash;
        const by = this.coefficients[i]!;
        const low = typeof by === "number" ? by | 0 : Number(BigInt.asIntN(32, by));
        hash = (hash + Math.imul(own, Math.imul(low, 0x9e3779b1) ^ own)) | 0;
      }
      this.#hash = hash;
    }
    return this.#hash;
  }
}

export const ZERO = new Polynomial([], []);
export const constant = (value: Integer): Polynomial => {
  const by = typeof value === "bigint" ? integer(value) : value;
  return by === 0 ? ZERO : new Polynomial([UNIT], [by]);
};
export const ONE = constant(1);
/** A monomial alone. */
export const single = (monomial: Monomial, by: Integer = 1): Polynomial => new Polynomial([monomial], [by]);
export const atom = (name: string): Polynomial => single(monomialOf([name]));

export const constantOf = (p: Polynomial): Integer => p.of(UNIT);
export const isConstant = (p: Polynomial): boolean => p.size === 0 || (p.size === 1 && p.monomials[0] === UNIT);

/** Those terms of a polynomial that a test accepts. */
export function partOf(p: Polynomial, test: (monomial: Monomial, by: Integer) => boolean): Polynomial {
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
  return x.monomials.every((monomial, i) => y.of(monomial) === x.coefficients[i]);
}

/** Different polynomials, where only their number matters. */
export class PolynomialSet {
  readonly #byHash = new Map<number, Polynomial[]>();

  constructor(of: Iterable<Polynomial> = []) {
    for (const p of of) this.add(p);
  }

  /** Whether there was none that equals it. */
  add(p: Polynomial): boolean {
    const same = this.#byHash.get(p.hash);
    if (!same) this.#byHash.set(p.hash, [p]);
    else if (same.some((each) => isEqual(each, p))) return false;
    else same.push(p);
    return true;
  }
}

/** Adds `by * monomial` to a sum that is being made. */
function addTerm(monomials: Monomial[], coefficients: Integer[], monomial: Monomial, by: Integer): void {
  const place = monomials.indexOf(monomial);
  if (place < 0) {
    monomials.push(monomial);
    coefficients.push(by);
    return;
  }
  const total = plus(coefficients[place]!, by);
  if (total !== 0) coefficients[place] = total;
  else {
    monomials.splice(place, 1);
    coefficients.splice(place, 1);
  }
}

/** `x + by * y` */
export function add(x: Polynomial, y: Polynomial, by: Integer = 1): Polynomial {
  if (y.size === 0 || by === 0) return x;
  const [monomials, coefficients] = [x.monomials.slice(), x.coefficients.slice()];
  for (let i = 0; i < y.size; i++) addTerm(monomials, coefficients, y.monomials[i]!, times(by, y.coefficients[i]!));
  return new Polynomial(monomials, coefficients);
}

export const subtract = (x: Polynomial, y: Polynomial): Polynomial => add(x, y, -1);

export function scale(p: Polynomial, by: Integer): Polynomial {
  if (by === 1) return p;
  if (by === 0) return ZERO;
  return new Polynomial(
    p.monomials,
    p.coefficients.map((each) => times(each, by)),
  );
}

export const opposite = (p: Polynomial): Polynomial => scale(p, -1);

export function multiply(x: Polynomial, y: Polynomial): Polynomial {
  const [monomials, coefficients]: [Monomial[], Integer[]] = [[], []];
  for (let i = 0; i < x.size; i++)
    for (let j = 0; j < y.size; j++) {
      const monomial = joined(x.monomials[i]!, y.monomials[j]!);
      addTerm(monomials, coefficients, monomial, times(x.coefficients[i]!, y.coefficients[j]!));
    }
  return new Polynomial(monomials, coefficients);
}

export interface Division {
  readonly quotient: Polynomial;
  readonly rest: Polynomial;
}

/** `p = coefficient * monomial * quotient + rest`: divides each term; constants by Euclid. */
function divideByTerm(p: Polynomial, monomial: Monomial, coefficient: Integer): Division {
  const quotient: [Monomial[], Integer[]] = [[], []];
  const rest: [Monomial[], Integer[]] = [[], []];
  for (let i = 0; i < p.size; i++) {
    const [each, by] = [p.monomials[i]!, p.coefficients[i]!];
    const left = each === UNIT && monomial !== UNIT ? undefined : without(each, monomial);
    const remainder = left === undefined ? by : remainderOf(by, coefficient);
    if (left === undefined || (remainder !== 0 && each !== UNIT)) {
      addTerm(...rest, each, by);
      continue;
    }
    if (by !== remainder) addTerm(...quotient, left, exactQuotient(plus(by, -remainder), coefficient));
    if (remainder !== 0) addTerm(...rest, each, remainder);
  }
  return { quotient: new Polynomial(...quotient), rest: new Polynomial(...rest) };
}

/** `p = divisor * quotient + rest`, in the ways that are worth a try: by each term of a sum as the leading one. */
export function divisions(p: Polynomial, divisor: Polynomial): readonly Division[] {
  if (divisor.size === 1) {
    const divided = divideByTerm(p, divisor.monomials[0]!, divisor.coefficients[0]!);
    return divided.quotient.size > 0 ? [divided] : [];
  }
  return divisor.monomials.flatMap((monomial, i) => {
    const coefficient = divisor.coefficients[i]!;
    if (monomial === UNIT || (coefficient !== 1 && coefficient !== -1)) return [];
    let [quotient, rest]: [Polynomial, Polynomial] = [ZERO, p];
    for (let turn = 0; turn < 6; turn++) {
      const step = divideByTerm(rest, monomial, coefficient).quotient;
      if (step.size === 0) break;
      quotient = add(quotient, step);
      rest = subtract(rest, multiply(divisor, step));
      if (rest.size > 12) return [];
    }
    return quotient.size > 0 ? [{ quotient, rest }] : [];
  });
}

/** For integers, `p >= 0` is this `>= 0` too: divided by what all coefficients share, with the constant rounded down. */
export function tightened(p: Polynomial): Polynomial {
  let shared: Integer = 0;
  for (let i = 0; i < p.size && shared !== 1; i++)
    if (p.monomials[i] !== UNIT) shared = gcd(shared, p.coefficients[i]!);
  if (shared <= 1) return p;
  const [monomials, coefficients]: [Monomial[], Integer[]] = [[], []];
  for (let i = 0; i < p.size; i++) {
    if (p.monomials[i] === UNIT) continue;
    monomials.push(p.monomials[i]!);
    coefficients.push(exactQuotient(p.coefficients[i]!, shared));
  }
  const rounded = floorQuotient(constantOf(p), shared);
  if (rounded !== 0) {
    monomials.push(UNIT);
    coefficients.push(rounded);
  }
  return new Polynomial(monomials, coefficients);
}
