/** Real expressions in fixed-point numbers of many bits. */
import { number, substitute, type Term } from "../../src/symbolic/term.js";
import type { Real } from "../../src/prove/equivalence/real.js";
import type { Rational } from "../../src/prove/equivalence/rational.js";
import { Valuation } from "../../src/prove/launch-search.js";

const BITS = 320n;
const ONE = 1n << BITS;
/** Sides that differ by less are equal. */
export const TOLERANCE = 1n << (BITS - 220n);

export interface Point {
  readonly sizes: ReadonlyMap<string, number>;
  input(name: string, index: readonly number[]): Rational;
}

const fixed = ({ numerator, denominator }: Rational): bigint => (numerator << BITS) / denominator;
const times = (x: bigint, y: bigint): bigint => (x * y) >> BITS;
const over = (x: bigint, y: bigint): bigint => (x << BITS) / y;

function exp(x: bigint): bigint {
  const halvings = 40n;
  const small = x >> halvings;
  let [term, total] = [ONE, ONE];
  for (let i = 1n; term !== 0n && i < 200n; i++) {
    term = times(term, small) / i;
    total += term;
  }
  for (let i = 0n; i < halvings; i++) total = times(total, total);
  return total;
}

function log(x: bigint): bigint {
  let y = BigInt(Math.round(Math.log(Number(x >> (BITS - 60n)) / 2 ** 60) * 2 ** 40)) << (BITS - 40n);
  for (let i = 0; i < 6; i++) {
    const e = exp(y);
    y += 2n * over(x - e, x + e);
  }
  return y;
}

function series(x: bigint, first: bigint, next: (i: bigint) => readonly [bigint, bigint]): bigint {
  const square = times(x, x);
  let [term, total] = [first, first];
  for (let i = 1n; term !== 0n && i < 2000n; i++) {
    const [numerator, denominator] = next(i);
    term = (times(term, square) * numerator) / denominator;
    total += term;
  }
  return total;
}

const sin = (x: bigint) => series(x, x, (i) => [-1n, 2n * i * (2n * i + 1n)]);
const cos = (x: bigint) => series(x, ONE, (i) => [-1n, 2n * i * (2n * i - 1n)]);
const asin = (x: bigint) => series(x, x, (i) => [(2n * i - 1n) ** 2n, 2n * i * (2n * i + 1n)]);
const PI = 6n * asin(ONE / 2n);

function squareRoot(x: bigint): bigint {
  let root = 1n << (BITS + 8n);
  for (let i = 0; i < 2000; i++) {
    const next = (root + (x << BITS) / root) >> 1n;
    if (next === root || next === root + 1n) break;
    root = next;
  }
  return root;
}

function erf(x: bigint): bigint {
  const square = times(x, x);
  let [power, total] = [x, x];
  for (let i = 1n; power !== 0n && i < 3000n; i++) {
    power = -times(power, square) / i;
    total += power / (2n * i + 1n);
  }
  return over(2n * total, squareRoot(PI));
}

/** A power by squaring, or of a square root. Other fractions have no rule here. */
function power(x: bigint, { numerator, denominator }: Rational): bigint {
  if (denominator !== 1n && denominator !== 2n) throw new Error("an exponent that is no half");
  const base = denominator === 2n ? squareRoot(x) : x;
  let result = ONE;
  for (let i = 0n; i < (numerator < 0n ? -numerator : numerator); i++) result = times(result, base);
  return numerator < 0n ? over(ONE, result) : result;
}

const functions: Readonly<Record<string, (...operands: readonly bigint[]) => bigint>> = {
  exp: (x = 0n) => exp(x),
  log: (x = 0n) => log(x),
  maximum: (x = 0n, y = 0n) => (x > y ? x : y),
  minimum: (x = 0n, y = 0n) => (x < y ? x : y),
  abs: (x = 0n) => (x < 0n ? -x : x),
  erf: (x = 0n) => erf(x),
  sin: (x = 0n) => sin(x),
  cos: (x = 0n) => cos(x),
  asin: (x = 0n) => asin(x),
  sigmoid: (x = 0n) => over(ONE, ONE + exp(-x)),
  tanh: (x = 0n) => ONE - over(2n * ONE, ONE + exp(2n * x)),
};

const constants = { "ln 2": () => log(2n * ONE), "ln 10": () => log(10n * ONE), π: () => PI } as const;
/** Below every number of a test. */
const INFINITE = -(1n << (2n * BITS));
const RANGE = 40;

/** The value of an expression at a point, as a fixed-point number. */
export function preciseValue(x: Real, point: Point, bound: ReadonlyMap<string, number> = new Map()): bigint {
  const inner = (part: Real) => preciseValue(part, point, bound);
  const values = new Valuation(new Map([...point.sizes, ...bound]));
  const integerOf = (term: Term): number => {
    const value = values.integer(term);
    if (value === undefined) throw new Error("an integer without a value");
    return value;
  };
  switch (x.kind) {
    case "number":
      return fixed(x.value);
    case "constant":
      return constants[x.name]();
    case "integer":
      return BigInt(integerOf(x.term)) << BITS;
    case "input":
      return fixed(point.input(x.name, x.index.map(integerOf)));
    case "add":
      return x.operands.reduce((total, each) => total + inner(each), 0n);
    case "multiply":
      return x.operands.reduce((total, each) => times(total, inner(each)), ONE);
    case "power":
      return power(inner(x.base), x.exponent);
    case "function":
      return functions[x.name]!(...x.operands.map(inner));
    case "fold": {
      const parts: bigint[] = [];
      for (let k = -RANGE; k < RANGE; k++) {
        const domain = substitute(x.domain, new Map([[x.variable, number(k)]]));
        if (values.truth(domain) !== true) continue;
        parts.push(preciseValue(x.body, point, new Map([...bound, [x.variable, k]])));
      }
      return x.fold === "sum" ? parts.reduce((a, b) => a + b, 0n) : parts.reduce((a, b) => (a > b ? a : b), INFINITE);
    }
    case "choice":
      return values.truth(x.condition) === true ? inner(x.then) : inner(x.otherwise);
    case "comparison": {
      const apart = inner(x.x) - inner(x.y);
      return (x.operator === "greater" ? apart > 0n : apart === 0n) ? inner(x.then) : inner(x.otherwise);
    }
    case "infinite":
      return INFINITE;
    case "undefined":
    case "state":
      throw new Error(`${x.kind} has no value`);
    default:
      return x satisfies never;
  }
}
