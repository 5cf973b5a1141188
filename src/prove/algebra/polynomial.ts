/** Polynomials with integer coefficients over atoms. */

/** Products of atoms. Equal products are one object. */

export interface Monomial {
  /** The factors, sorted and with repetition. Empty for the constant monomial. */
  readonly atoms: readonly string[];
  readonly degree: number;
  /** A number in order of creation. */
  readonly id: number;
  /** A 32-bit hash. */
  readonly hash: number;
  /** The products with other monomials, by their ids. A proof multiplies the same few monomials many times. */
  readonly products: Map<number, Monomial>;
}

function make(atoms: readonly string[], text: string, id: number): Monomial {
  let hash = 7;
  for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
  return { atoms, degree: atoms.length, id, hash: hash | 1, products: new Map() };
}

/** The constant monomial. */
export const UNIT = make([], "", 0);

const interned = new Map<string, Monomial>();
let nextId = 1;

/**
 * Runs a function that creates monomials and clears the table afterwards, because a long-running process proves many
 * kernels.
 */
export function withMonomials<T>(run: () => T): T {
  try {
    return run();
  } finally {
    interned.clear();
    UNIT.products.clear();
    nextId = 1;
  }
}

/** The largest id plus one. */
export const monomialCount = (): number => nextId;

/** The product of these atoms, which must be sorted. */
export function monomialOf(atoms: readonly string[]): Monomial {
  if (atoms.length === 0) return UNIT;
  const text = atoms.join("*");
  let monomial = interned.get(text);
  if (monomial === undefined) interned.set(text, (monomial = make(atoms, text, nextId++)));
  return monomial;
}

/** The atom that a monomial consists of, or undefined. */
export function asAtom({ atoms }: Monomial): string | undefined {
  const [atom, ...more] = atoms;
  return more.length === 0 ? atom : undefined;
}

/** The product of two monomials. */
export function multiplyMonomials(x: Monomial, y: Monomial): Monomial {
  if (x === UNIT) return y;
  if (y === UNIT) return x;
  let product = x.products.get(y.id);
  if (product === undefined) {
    product = monomialOf([...x.atoms, ...y.atoms].sort());
    x.products.set(y.id, product);
  }
  return product;
}

/** The quotient of two monomials. Undefined if a factor of the divisor is missing. */
export function divideMonomial(dividend: Monomial, divisor: Monomial): Monomial | undefined {
  if (divisor === UNIT) return dividend;
  if (divisor.degree > dividend.degree) return undefined;
  if (divisor === dividend) return UNIT;
  const remaining = [...dividend.atoms];
  for (const atom of divisor.atoms) {
    const index = remaining.indexOf(atom);
    if (index < 0) return undefined;
    remaining.splice(index, 1);
  }
  return monomialOf(remaining);
}

/**
 * Exact integers of any size. Number arithmetic is many times faster than bigint arithmetic, so an integer is a number
 * if it is safe, else a bigint. Equal integers are therefore `===`, and `<` compares both kinds.
 */
export type Integer = number | bigint;

const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER);

export const integer = (x: bigint): Integer => (x <= MAX_SAFE && x >= -MAX_SAFE ? Number(x) : x);

// A sum or a product that is not exact in floating point exceeds every safe integer.

export function plus(x: Integer, y: Integer): Integer {
  if (typeof x === "number" && typeof y === "number") {
    const total = x + y;
    if (Number.isSafeInteger(total)) return total;
  }
  return integer(BigInt(x) + BigInt(y));
}

export function times(x: Integer, y: Integer): Integer {
  if (typeof x === "number" && typeof y === "number") {
    const product = x * y;
    if (Number.isSafeInteger(product)) return product;
  }
  return integer(BigInt(x) * BigInt(y));
}

/** The remainder of `x` divided by `y`, from 0 to below the magnitude of `y`. */
export function remainderOf(x: Integer, y: Integer): Integer {
  if (typeof x === "number" && typeof y === "number") {
    const remainder = x % y;
    return remainder < 0 ? remainder + Math.abs(y) : remainder;
  }
  const remainder = BigInt(x) % BigInt(y);
  return integer(remainder < 0n ? remainder + BigInt(magnitude(y)) : remainder);
}

/** `x / y`, if `y` divides `x`. */
export function exactQuotient(x: Integer, y: Integer): Integer {
  if (typeof x === "number" && typeof y === "number") return x / y;
  return integer(BigInt(x) / BigInt(y));
}

/** The largest integer that is at most `x / y`, for `y > 0`. */
export const floorQuotient = (x: Integer, y: Integer): Integer => exactQuotient(plus(x, -remainderOf(x, y)), y);

export const magnitude = (x: Integer): Integer => (x < 0 ? -x : x);

export function gcd(x: Integer, y: Integer): Integer {
  let [a, b] = [magnitude(x), magnitude(y)];
  while (b !== 0) [a, b] = [b, remainderOf(a, b)];
  return a;
}

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

// Conditions on polynomials, and the definitions of the atoms in them.

/** `p >= 0`, or `p = 0` if it is an equation. */
export interface Condition {
  readonly p: Polynomial;
  readonly isEquation: boolean;
}

export const atLeastZero = (p: Polynomial): Condition => ({ p, isEquation: false });

export const isZero = (p: Polynomial): Condition => ({ p, isEquation: true });

/** A disjunction: one of these lists of conditions is true. `atoms` are the atoms that it defines. */
export interface CaseSplit {
  readonly atoms: readonly string[];
  readonly cases: readonly (readonly Condition[])[];
}

/**
 * The definition of an atom that is not a symbol: a division `dividend = divisor * quotient + remainder`, a minimum or
 * maximum, a conditional, or an uninterpreted function.
 */
export type Definition =
  | {
      readonly kind: "division";
      readonly dividend: Polynomial;
      readonly divisor: Polynomial;
      readonly quotient: string;
      readonly remainder: string;
      /** The key under which the quotient is interned, if the divisor is positive. */
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
  | { readonly kind: "call"; readonly name: string; readonly args: readonly Polynomial[] };

export interface DefinedConditions {
  readonly conditions: readonly Condition[];
  readonly cases: readonly CaseSplit[];
  /** The definition of each atom. */
  readonly definitions: ReadonlyMap<string, Definition>;
}
