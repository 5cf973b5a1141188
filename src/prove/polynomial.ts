/** Polynomials with integer coefficients over atoms. */

/** Coefficients by monomial: its atoms in order, joined by `*`. The constant's monomial is empty. */
export type Polynomial = ReadonlyMap<string, bigint>;

export const ZERO: Polynomial = new Map();
export const constant = (value: bigint): Polynomial => (value === 0n ? ZERO : new Map([["", value]]));
export const ONE: Polynomial = constant(1n);
export const atom = (name: string): Polynomial => new Map([[name, 1n]]);

const NO_ATOMS: readonly string[] = [];
/** A proof asks for the same few monomials again and again. */
const knownAtoms = new Map<string, readonly string[]>();
const MOST_KNOWN = 100_000;

export function atomsOf(monomial: string): readonly string[] {
  if (monomial === "") return NO_ATOMS;
  let atoms = knownAtoms.get(monomial);
  if (!atoms) {
    if (knownAtoms.size >= MOST_KNOWN) knownAtoms.clear();
    knownAtoms.set(monomial, (atoms = monomial.split("*")));
  }
  return atoms;
}

const knownAtomsIn = new WeakMap<Polynomial, readonly string[]>();

/** The atoms of all monomials, each once. */
export function atomsIn(p: Polynomial): readonly string[] {
  let atoms = knownAtomsIn.get(p);
  if (!atoms) knownAtomsIn.set(p, (atoms = [...new Set([...p.keys()].flatMap(atomsOf))]));
  return atoms;
}

export const degreeOf = (monomial: string): number => atomsOf(monomial).length;
export const constantOf = (p: Polynomial): bigint => p.get("") ?? 0n;
export const isConstant = (p: Polynomial): boolean => p.size === 0 || (p.size === 1 && p.has(""));
const keys = new WeakMap<Polynomial, string>();

/** Equal for equal polynomials. */
export function keyOf(p: Polynomial): string {
  let key = keys.get(p);
  if (key === undefined) {
    const terms: string[] = [];
    for (const [monomial, by] of p) terms.push(`${digits(by)}.${monomial}`);
    keys.set(p, (key = terms.sort().join("+")));
  }
  return key;
}

/** Different polynomials, where only their number matters: comparing hashes is far cheaper than making keys. */
export class PolynomialSet {
  readonly #byHash = new Map<number, Polynomial[]>();

  constructor(of: Iterable<Polynomial> = []) {
    for (const p of of) this.add(p);
  }

  /** Whether there was none that equals it. */
  add(p: Polynomial): boolean {
    const hash = hashOf(p);
    const same = this.#byHash.get(hash);
    if (!same) this.#byHash.set(hash, [p]);
    else if (same.some((each) => isEqual(each, p))) return false;
    else same.push(p);
    return true;
  }
}

const hashes = new Map<string, number>();

function hashOf(p: Polynomial): number {
  let hash = 0;
  for (const [monomial, by] of p) {
    let own = hashes.get(monomial);
    if (own === undefined) {
      if (hashes.size >= MOST_KNOWN) hashes.clear();
      own = 7;
      for (let i = 0; i < monomial.length; i++) own = (Math.imul(own, 31) + monomial.charCodeAt(i)) | 0;
      hashes.set(monomial, own);
    }
    hash = (hash + Math.imul(own | 1, Math.imul(Number(BigInt.asIntN(32, by)), 0x9e3779b1) ^ own)) | 0;
  }
  return hash;
}

function isEqual(x: Polynomial, y: Polynomial): boolean {
  if (x.size !== y.size) return false;
  for (const [monomial, by] of x) if (y.get(monomial) !== by) return false;
  return true;
}

/** A bigint takes far longer to write than a number. */
const digits = (by: bigint): string => (by < 1_000_000n && by > -1_000_000n ? Number(by) : by).toString();

/** `x + by * y` */
export function add(x: Polynomial, y: Polynomial, by = 1n): Polynomial {
  const result = new Map(x);
  for (const [monomial, coefficient] of y) {
    const total = (result.get(monomial) ?? 0n) + by * coefficient;
    if (total === 0n) result.delete(monomial);
    else result.set(monomial, total);
  }
  return result;
}

export const subtract = (x: Polynomial, y: Polynomial): Polynomial => add(x, y, -1n);

export function scale(p: Polynomial, by: bigint): Polynomial {
  return by === 0n ? ZERO : new Map([...p].map(([monomial, coefficient]) => [monomial, coefficient * by]));
}

/** A proof multiplies the same few monomials again and again, too. */
const products = new Map<string, Map<string, string>>();
let knownProducts = 0;

/** The product of two monomials. */
export function joined(x: string, y: string): string {
  if (x === "") return y;
  if (y === "") return x;
  let ofX = products.get(x);
  if (ofX === undefined) products.set(x, (ofX = new Map()));
  let product = ofX.get(y);
  if (product === undefined) {
    if (knownProducts++ >= MOST_KNOWN) {
      products.clear();
      products.set(x, (ofX = new Map()));
      knownProducts = 0;
    }
    ofX.set(y, (product = [...atomsOf(x), ...atomsOf(y)].sort().join("*")));
  }
  return product;
}

export function multiply(x: Polynomial, y: Polynomial): Polynomial {
  const result = new Map<string, bigint>();
  for (const [a, m] of x)
    for (const [b, n] of y) {
      const monomial = joined(a, b);
      const total = (result.get(monomial) ?? 0n) + m * n;
      if (total === 0n) result.delete(monomial);
      else result.set(monomial, total);
    }
  return result;
}

/** What is left of a monomial without the atoms of another, or undefined if it lacks one. */
export function without(monomial: string, divisor: string): string | undefined {
  const rest = [...atomsOf(monomial)];
  for (const each of atomsOf(divisor)) {
    const place = rest.indexOf(each);
    if (place < 0) return undefined;
    rest.splice(place, 1);
  }
  return rest.join("*");
}

export interface Division {
  readonly quotient: Polynomial;
  readonly rest: Polynomial;
}

/** `p = coefficient * monomial * quotient + rest`: divides each term; constants by Euclid. */
function divideByTerm(p: Polynomial, [monomial, coefficient]: readonly [string, bigint]): Division {
  const quotient = new Map<string, bigint>();
  const rest = new Map<string, bigint>();
  for (const [each, by] of p) {
    const left = each === "" && monomial !== "" ? undefined : without(each, monomial);
    const exact = left !== undefined && by % coefficient === 0n;
    if (left === undefined || (!exact && each !== "")) {
      rest.set(each, by);
      continue;
    }
    const remainder = exact ? 0n : euclid(by, coefficient);
    if (by !== remainder) quotient.set(left, (by - remainder) / coefficient);
    if (remainder !== 0n) rest.set(each, remainder);
  }
  return { quotient, rest };
}

/** The remainder that is not negative. */
function euclid(x: bigint, y: bigint): bigint {
  const magnitude = y < 0n ? -y : y;
  return ((x % magnitude) + magnitude) % magnitude;
}

/** `p = divisor * quotient + rest`, in the ways that are worth a try: by each term of a sum as the leading one. */
export function divisions(p: Polynomial, divisor: Polynomial): readonly Division[] {
  if (divisor.size === 1) {
    const [term] = divisor;
    const divided = divideByTerm(p, term!);
    return divided.quotient.size > 0 ? [divided] : [];
  }
  return [...divisor].flatMap(([monomial, coefficient]) => {
    if (monomial === "" || (coefficient !== 1n && coefficient !== -1n)) return [];
    let [quotient, rest]: [Polynomial, Polynomial] = [ZERO, p];
    for (let turn = 0; turn < 6; turn++) {
      const step = divideByTerm(rest, [monomial, coefficient]).quotient;
      if (step.size === 0) break;
      quotient = add(quotient, step);
      rest = subtract(rest, multiply(divisor, step));
      if (rest.size > 12) return [];
    }
    return quotient.size > 0 ? [{ quotient, rest }] : [];
  });
}

export function gcd(x: bigint, y: bigint): bigint {
  let [a, b] = [x < 0n ? -x : x, y < 0n ? -y : y];
  while (b !== 0n) [a, b] = [b, a % b];
  return a;
}

/** For integers, `p >= 0` is this `>= 0` too: divided by what all coefficients share, with the constant rounded down. */
export function tightened(p: Polynomial): Polynomial {
  let shared = 0n;
  for (const [monomial, coefficient] of p) if (monomial !== "") shared = gcd(shared, coefficient);
  if (shared <= 1n) return p;
  const result = new Map<string, bigint>();
  for (const [monomial, coefficient] of p) if (monomial !== "") result.set(monomial, coefficient / shared);
  const base = constantOf(p);
  const rounded = (base - euclid(base, shared)) / shared;
  if (rounded !== 0n) result.set("", rounded);
  return result;
}
