/** Exact rational numbers. */
import { gcd, integer } from "../algebra/polynomial.js";

/** What no rule covers. It ends the comparison of an output, whose verdict is unknown. */
export class NoRule extends Error {}

export function noRule(what: string): never {
  throw new NoRule(what);
}

/** The limit on digits, beyond which nothing is computed. */
const MAX_SIZE = 10n ** 400n;
const MAX_EXPONENT = 256n;

/** A fraction in lowest terms with a positive denominator. */
export interface Rational {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

export function rational(numerator: bigint | number, denominator: bigint | number = 1n): Rational {
  const [n, d] = [BigInt(numerator), BigInt(denominator)];
  if (d === 0n) throw new RangeError("a fraction has the denominator 0");
  const divisor = BigInt(gcd(integer(n), integer(d))) * (d < 0n ? -1n : 1n);
  const result = { numerator: n / divisor, denominator: d / divisor };
  if (result.denominator > MAX_SIZE || result.numerator > MAX_SIZE || -result.numerator > MAX_SIZE)
    noRule("numbers with too many digits");
  return result;
}

export const ZERO = rational(0n);
export const ONE = rational(1n);
export const MINUS_ONE = rational(-1n);
export const HALF = rational(1n, 2n);

export const plus = (x: Rational, y: Rational): Rational =>
  rational(x.numerator * y.denominator + y.numerator * x.denominator, x.denominator * y.denominator);
export const times = (x: Rational, y: Rational): Rational =>
  rational(x.numerator * y.numerator, x.denominator * y.denominator);
export const opposite = (x: Rational): Rational => ({ numerator: -x.numerator, denominator: x.denominator });
export const inverse = (x: Rational): Rational => rational(x.denominator, x.numerator);
export const isZero = ({ numerator }: Rational): boolean => numerator === 0n;
export const isOne = ({ numerator, denominator }: Rational): boolean => numerator === 1n && denominator === 1n;
export const isInteger = ({ denominator }: Rational): boolean => denominator === 1n;
export const isPositive = ({ numerator }: Rational): boolean => numerator > 0n;
export const isNegative = ({ numerator }: Rational): boolean => numerator < 0n;
export const isEven = ({ numerator, denominator }: Rational): boolean => denominator === 1n && numerator % 2n === 0n;
export const isLess = (x: Rational, y: Rational): boolean => x.numerator * y.denominator < y.numerator * x.denominator;
export const sameRational = (x: Rational, y: Rational): boolean =>
  x.numerator === y.numerator && x.denominator === y.denominator;
export const minimum = (x: Rational, y: Rational): Rational => (isLess(y, x) ? y : x);
export const toNumber = ({ numerator, denominator }: Rational): number => Number(numerator) / Number(denominator);
export const textOf = ({ numerator, denominator }: Rational): string =>
  denominator === 1n ? String(numerator) : `${numerator}/${denominator}`;

/** The largest integer that is not above a number. */
export function floorOf({ numerator, denominator }: Rational): bigint {
  const truncated = numerator / denominator;
  return truncated * denominator > numerator ? truncated - 1n : truncated;
}

/** An integer power; the exponent of 0 is not negative. */
export function integerPower(x: Rational, exponent: bigint): Rational {
  const base = exponent < 0n ? inverse(x) : x;
  const size = exponent < 0n ? -exponent : exponent;
  if (size > MAX_EXPONENT) noRule("a power that is too large");
  return rational(base.numerator ** size, base.denominator ** size);
}

const MAX_DENOMINATOR = 4096;

/**
 * The simplest number that a literal may stand for: a fraction with a small denominator that rounds to the same
 * float64, such as `1 / 3`, or the decimal that JavaScript prints.
 */
export function rationalOf(value: number): Rational {
  if (Number.isInteger(value)) return rational(BigInt(value));
  for (let denominator = 2; denominator <= MAX_DENOMINATOR; denominator++) {
    const numerator = Math.round(value * denominator);
    if (numerator !== 0 && numerator / denominator === value) return rational(numerator, denominator);
  }
  const [mantissa = "0", exponent = "0"] = String(value).split("e");
  const [whole = "0", fraction = ""] = mantissa.split(".");
  const scale = Number(exponent) - fraction.length;
  const digits = BigInt(whole + fraction);
  return scale >= 0 ? rational(digits * 10n ** BigInt(scale)) : rational(digits, 10n ** BigInt(-scale));
}

/** The root of a nonnegative number if it is rational. */
export function rootOf({ numerator, denominator }: Rational, degree: bigint): Rational | undefined {
  const [n, d] = [integerRoot(numerator, degree), integerRoot(denominator, degree)];
  return n === undefined || d === undefined ? undefined : rational(n, d);
}

function integerRoot(x: bigint, degree: bigint): bigint | undefined {
  if (x < 0n || degree > MAX_EXPONENT) return undefined;
  let [low, high] = [0n, x + 1n];
  while (high - low > 1n) {
    const middle = (low + high) / 2n;
    if (middle ** degree <= x) low = middle;
    else high = middle;
  }
  return low ** degree === x ? low : undefined;
}
