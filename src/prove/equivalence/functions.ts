/** Functions of normal forms. Each keeps to identities of real arithmetic that `rules.ts` lists. */
import {
  type Atom,
  type AtomFunction,
  addPolynomials,
  atomOf,
  atomPolynomial,
  constantPolynomial,
  expandSums,
  type Factor,
  leadingMonomial,
  type Monomial,
  monomial,
  multiplyMonomials,
  multiplyPolynomials,
  negatePolynomial,
  NOTHING,
  numberOf,
  onlyAtom,
  onlyMonomial,
  type Polynomial,
  polynomialKey,
  polynomialOf,
  samePolynomial,
  scalePolynomial,
  subtractPolynomials,
  UNIT,
  withCoefficient,
} from "./polynomial.js";
import {
  integerPower,
  inverse,
  isEven,
  isInteger,
  isLess,
  isNegative,
  isOne,
  isPositive,
  isZero,
  minimum,
  MINUS_ONE,
  ONE,
  opposite,
  type Rational,
  rational,
  rootOf,
  times,
  ZERO,
  noRule,
} from "./rational.js";
import {
  add,
  apply,
  constant,
  divide,
  multiply,
  negate,
  type Real,
  real,
  reciprocal,
  squareRoot,
  subtract,
  zero,
  inverseRoot,
} from "./real.js";

/** True if an atom is certainly positive. */
export type Positivity = (atom: Atom) => boolean;

/** The largest integer power that is multiplied out. */
const MAX_EXPANDED = 6n;

/** True if a sum has positive terms only. */
export const isPositiveSum = (p: Polynomial, isPositiveAtom: Positivity): boolean =>
  p.size > 0 &&
  [...p.values()].every(
    ({ coefficient, factors }) =>
      isPositive(coefficient) && [...factors.values()].every(({ atom }) => isPositiveAtom(atom)),
  );

// ---- powers -----------------------------------------------------------------------------------------------------------

/** A power of a sum. A fractional power splits over factors that are certainly positive. */
export function powerOf(p: Polynomial, exponent: Rational, isPositiveAtom: Positivity): Polynomial {
  if (isZero(exponent)) return UNIT;
  if (isOne(exponent)) return p;
  if (p.size === 0) return isPositive(exponent) ? NOTHING : noRule("a division by 0");
  if (isInteger(exponent) && isPositive(exponent) && exponent.numerator <= MAX_EXPANDED) {
    let result = p;
    for (let i = 1n; i < exponent.numerator; i++) result = multiplyPolynomials(result, p);
    return result;
  }
  const splits = ({ atom, exponent: own }: Factor) =>
    isInteger(exponent) || isPositiveAtom(atom) || (isOne(own) && atom.kind === "base");
  const common = commonFactors([...p.values()], splits);
  const rest = [...p.values()].map((each) =>
    multiplyMonomials(
      each,
      monomial(
        ONE,
        common.map(({ atom, exponent: own }) => ({ atom, exponent: opposite(own) })),
      ),
    ),
  );
  const outside = monomial(
    ONE,
    common.map(({ atom, exponent: own }) => ({ atom, exponent: times(own, exponent) })),
  );
  return multiplyPolynomials(polynomialOf(outside), powerOfPrimitive(polynomialOf(...rest), exponent, isPositiveAtom));
}

/** The factors that all monomials share, and those powers of `exp` that leave none with a negative exponent. */
function commonFactors(monomials: readonly Monomial[], splits: (factor: Factor) => boolean): readonly Factor[] {
  const atoms = new Map(monomials.flatMap(({ factors }) => [...factors].map(([id, { atom }]) => [id, atom] as const)));
  return [...atoms].flatMap(([id, atom]): readonly Factor[] => {
    const exponents = monomials.map(({ factors }) => factors.get(id)?.exponent ?? ZERO);
    const least = exponents.reduce(minimum);
    const greatest = exponents.reduce((x, y) => (isLess(x, y) ? y : x));
    const isShared = isPositive(least) || isNegative(greatest);
    if (!isShared && atom.kind !== "exp") return [];
    const exponent = isNegative(greatest) && atom.kind !== "exp" ? greatest : least;
    const factor = { atom, exponent };
    return !isZero(exponent) && splits(factor) ? [factor] : [];
  });
}

/** A power of a sum without common factors. */
function powerOfPrimitive(p: Polynomial, exponent: Rational, isPositiveAtom: Positivity): Polynomial {
  const lead = leadingMonomial(p);
  if (!lead) return NOTHING;
  const takesLead = isInteger(exponent) || isPositive(lead.coefficient);
  const factor = takesLead ? powerOfNumber(lead.coefficient, exponent) : UNIT;
  const rest = takesLead ? scalePolynomial(p, inverse(lead.coefficient)) : p;
  const value = numberOf(rest);
  if (value !== undefined && isOne(value)) return factor;
  const only = onlyMonomial(rest);
  const atom = onlyAtom(rest) ?? atomOf({ kind: "sum", of: rest });
  const power =
    only && isInteger(exponent)
      ? polynomialOf(
          monomial(
            integerPower(only.coefficient, exponent.numerator),
            [...only.factors.values()].map((each) => ({ ...each, exponent: times(each.exponent, exponent) })),
          ),
        )
      : foldedPower(only, atom, exponent, isPositiveAtom);
  return multiplyPolynomials(factor, power);
}

/** `(x^2)^(1/2)` is no power of x, but `(x^(1/2))^(1/2)` is one. */
function foldedPower(
  only: Monomial | undefined,
  atom: Atom,
  exponent: Rational,
  isPositiveAtom: Positivity,
): Polynomial {
  const [factor, ...more] = only ? only.factors.values() : [];
  const isRoot = factor !== undefined && !isInteger(factor.exponent) && !isEven(rational(factor.exponent.numerator));
  if (only && factor && more.length === 0 && isOne(only.coefficient) && (isRoot || isPositiveAtom(factor.atom)))
    return expandSums(atomPolynomial(factor.atom, times(factor.exponent, exponent)));
  return expandSums(atomPolynomial(atom, exponent));
}

/** A power of a number: rational if its root is, else a power of its numerator and denominator. */
function powerOfNumber(value: Rational, exponent: Rational): Polynomial {
  if (isInteger(exponent)) return constantPolynomial(integerPower(value, exponent.numerator));
  const root = rootOf(value, exponent.denominator);
  if (root) return constantPolynomial(integerPower(root, exponent.numerator));
  const factors = [
    { value: rational(value.numerator), exponent },
    { value: rational(value.denominator), exponent: opposite(exponent) },
  ].filter((each) => !isOne(each.value));
  return polynomialOf(
    monomial(
      ONE,
      factors.map((each) => ({ atom: atomOf({ kind: "base", value: each.value }), exponent: each.exponent })),
    ),
  );
}

// ---- exp and log ------------------------------------------------------------------------------------------------------

/** `exp` of a sum: the product of a power of `exp` for each summand. `exp(c · log x)` is `x^c`. */
export function expOf(p: Polynomial, isPositiveAtom: Positivity): Polynomial {
  return [...p.values()].reduce((result, each) => {
    const unscaled = polynomialOf(withCoefficient(each, ONE));
    const atom = onlyAtom(unscaled);
    const logged = atom?.kind === "function" && atom.name === "log" ? atom.operands[0] : undefined;
    const base = logged && powerOf(logged, each.coefficient, isPositiveAtom);
    const byTwo = base ? undefined : powerOfTwo(each);
    const exp = base ?? byTwo ?? atomPolynomial(atomOf({ kind: "exp", of: unscaled }), each.coefficient);
    return multiplyPolynomials(result, exp);
  }, UNIT);
}

/** `exp(c · ln 2)` is `2^c`. */
function powerOfTwo({ factors, coefficient }: Monomial): Polynomial | undefined {
  const [factor, ...more] = factors.values();
  const isLog = factor?.atom.kind === "constant" && factor.atom.name === "ln 2" && isOne(factor.exponent);
  return isLog && more.length === 0 ? powerOfNumber(rational(2n), coefficient) : undefined;
}

/** `log` of a product: the sum of the logarithms of its positive factors and of the rest. */
export function logOf(p: Polynomial, isPositiveAtom: Positivity): Polynomial {
  const only = onlyMonomial(p);
  if (!only) return shiftedLog(p, isPositiveAtom);
  const parts: Polynomial[] = [];
  const rest: Factor[] = [];
  for (const factor of only.factors.values()) {
    const { atom, exponent } = factor;
    if (atom.kind === "exp") parts.push(scalePolynomial(atom.of, exponent));
    else if (isPositiveAtom(atom)) parts.push(scalePolynomial(logAtom(atomPolynomial(atom)), exponent));
    else rest.push(factor);
  }
  if (!isPositive(only.coefficient))
    return addPolynomials(...parts, logAtom(polynomialOf(monomial(only.coefficient, rest))));
  return addPolynomials(
    ...parts,
    logOfNumber(only.coefficient),
    rest.length > 0 ? logAtom(polynomialOf(monomial(ONE, rest))) : NOTHING,
  );
}

/** `log(exp(m)·s)` is `m + log s` also where the common factor of a sum is a power of `exp`. */
function shiftedLog(p: Polynomial, isPositiveAtom: Positivity): Polynomial {
  const common = commonFactors([...p.values()], ({ atom }) => atom.kind === "exp");
  if (common.length === 0) return logAtom(p);
  const divisor = monomial(
    ONE,
    common.map(({ atom, exponent }) => ({ atom, exponent: opposite(exponent) })),
  );
  const rest = polynomialOf(...[...p.values()].map((each) => multiplyMonomials(each, divisor)));
  return addPolynomials(logOf(polynomialOf(monomial(ONE, common)), isPositiveAtom), logAtom(rest));
}

function logAtom(p: Polynomial): Polynomial {
  const value = numberOf(p);
  if (value !== undefined && isPositive(value)) return logOfNumber(value);
  return atomPolynomial(atomOf({ kind: "function", name: "log", operands: [p] }));
}

function logOfNumber(value: Rational): Polynomial {
  if (isOne(value)) return NOTHING;
  return atomPolynomial(
    sameNumber(value, 2n)
      ? atomOf({ kind: "constant", name: "ln 2" })
      : atomOf({ kind: "function", name: "log", operands: [constantPolynomial(value)] }),
  );
}

const sameNumber = ({ numerator, denominator }: Rational, value: bigint): boolean =>
  denominator === 1n && numerator === value;

// ---- maximum, abs and comparisons -------------------------------------------------------------------------------------

export const functionAtom = (name: AtomFunction, ...operands: readonly Polynomial[]): Polynomial =>
  atomPolynomial(atomOf({ kind: "function", name, operands }));

/** The maximum of several, flattened, sorted and without repetition. `max(x, -x)` is `|x|`. */
export function maximumOf(...operands: readonly Polynomial[]): Polynomial {
  const flat = operands.flatMap((p): readonly Polynomial[] => {
    const atom = onlyAtom(p);
    return atom?.kind === "function" && atom.name === "maximum" ? atom.operands : [p];
  });
  const distinct = [...new Map(flat.map((p) => [polynomialKey(p), p])).entries()]
    .toSorted(([x], [y]) => (x < y ? -1 : 1))
    .map(([, p]) => p);
  const [first = NOTHING, second, ...more] = distinct;
  if (second === undefined) return first;
  const numbers = distinct.map(numberOf);
  if (more.length === 0) {
    const [x, y] = numbers;
    if (x && y) return isLess(x, y) ? second : first;
    if (samePolynomial(first, negatePolynomial(second))) return absOf(first);
  }
  return functionAtom("maximum", ...distinct);
}

const minimumOf = (...operands: readonly Polynomial[]): Polynomial =>
  negatePolynomial(maximumOf(...operands.map(negatePolynomial)));

/** `|c · x| = |c| · |x|`. */
export function absOf(p: Polynomial): Polynomial {
  const lead = leadingMonomial(p);
  if (!lead) return NOTHING;
  const size = isNegative(lead.coefficient) ? opposite(lead.coefficient) : lead.coefficient;
  const primitive = scalePolynomial(p, inverse(lead.coefficient));
  const value = numberOf(primitive);
  return scalePolynomial(value ? UNIT : functionAtom("abs", primitive), size);
}

/** An odd function of a sum whose leading coefficient is positive. */
export function oddFunction(name: "erf" | "sin" | "asin", p: Polynomial): Polynomial {
  const lead = leadingMonomial(p);
  if (!lead) return NOTHING;
  return isNegative(lead.coefficient)
    ? negatePolynomial(functionAtom(name, negatePolynomial(p)))
    : functionAtom(name, p);
}

export function cosOf(p: Polynomial): Polynomial {
  const lead = leadingMonomial(p);
  if (!lead) return UNIT;
  return functionAtom("cos", isNegative(lead.coefficient) ? negatePolynomial(p) : p);
}

export function sigmoidOf(p: Polynomial, isPositiveAtom: Positivity): Polynomial {
  return powerOf(addPolynomials(UNIT, expOf(negatePolynomial(p), isPositiveAtom)), MINUS_ONE, isPositiveAtom);
}

/** `tanh x = 2 · sigmoid(2 x) - 1`. */
export function tanhOf(p: Polynomial, isPositiveAtom: Positivity): Polynomial {
  const two = rational(2n);
  return addPolynomials(
    scalePolynomial(sigmoidOf(scalePolynomial(p, two), isPositiveAtom), two),
    constantPolynomial(MINUS_ONE),
  );
}

/** `x > y ? then : otherwise` or `x = y ? …`. Where the results differ by `x - y`, the greater decides. */
export function comparisonOf(
  operator: "greater" | "equal",
  apart: Polynomial,
  then: Polynomial,
  otherwise: Polynomial,
): Polynomial {
  if (samePolynomial(then, otherwise)) return then;
  const value = numberOf(apart);
  if (value) {
    const holds = operator === "greater" ? isPositive(value) : isZero(value);
    return holds ? then : otherwise;
  }
  const gain = subtractPolynomials(then, otherwise);
  if (operator === "greater" && samePolynomial(gain, apart)) return maximumOf(then, otherwise);
  if (operator === "greater" && samePolynomial(gain, negatePolynomial(apart))) return minimumOf(then, otherwise);
  const lead = leadingMonomial(apart)?.coefficient ?? ONE;
  const positiveLead = isNegative(lead) && operator === "greater" ? opposite(lead) : lead;
  return functionAtom(operator, scalePolynomial(apart, inverse(positiveLead)), then, otherwise);
}

// The real functions that ops compute in each lane. An op without a rule has an unknown result.

const LN_2 = constant("ln 2");

/** Base-2 exponentials and logarithms are those of base e with a factor. */
export const exp2Of = (x: Real): Real => apply("exp", multiply(LN_2, x));
const log2Of = (x: Real): Real => multiply(reciprocal(LN_2), apply("log", x));

export const unaryRules: Readonly<Record<string, (x: Real) => Real>> = {
  neg: negate,
  abs: (x) => apply("abs", x),
  exp: (x) => apply("exp", x),
  exp2: exp2Of,
  log: (x) => apply("log", x),
  log2: log2Of,
  sqrt: squareRoot,
  sqrtRn: squareRoot,
  rsqrt: inverseRoot,
  erf: (x) => apply("erf", x),
  sin: (x) => apply("sin", x),
  cos: (x) => apply("cos", x),
  floor: (x) => apply("floor", x),
  ceil: (x) => apply("ceil", x),
  sigmoid: (x) => apply("sigmoid", x),
  relu: (x) => apply("maximum", x, zero),
  libdeviceExp: (x) => apply("exp", x),
  libdeviceExp2: exp2Of,
  libdeviceLog: (x) => apply("log", x),
  libdeviceLog2: log2Of,
  libdeviceSqrt: squareRoot,
  libdeviceRsqrt: inverseRoot,
  libdeviceErf: (x) => apply("erf", x),
  libdeviceTanh: (x) => apply("tanh", x),
  libdeviceAsin: (x) => apply("asin", x),
  libdeviceSin: (x) => apply("sin", x),
  libdeviceCos: (x) => apply("cos", x),
  libdeviceAbs: (x) => apply("abs", x),
  libdeviceLog1p: (x) => apply("log", add(real(rational(1n)), x)),
  libdeviceExpm1: (x) => subtract(apply("exp", x), real(rational(1n))),
};

export const binaryRules: Readonly<Record<string, (x: Real, y: Real) => Real>> = {
  add,
  sub: subtract,
  mul: multiply,
  div: divide,
  divRn: divide,
  fdiv: divide,
  maximum: (x, y) => apply("maximum", x, y),
  minimum: (x, y) => apply("minimum", x, y),
};

interface ComparisonRule {
  readonly operator: "greater" | "equal";
  /** True if the operands change places. */
  readonly swaps?: boolean;
  /** True if the negation of the comparison holds. */
  readonly negates?: boolean;
}

export const comparisonRules: Readonly<Record<string, ComparisonRule>> = {
  gt: { operator: "greater" },
  lt: { operator: "greater", swaps: true },
  le: { operator: "greater", negates: true },
  ge: { operator: "greater", swaps: true, negates: true },
  eq: { operator: "equal" },
  ne: { operator: "equal", negates: true },
};

/** One of two values, by a comparison of real numbers. */
export function compared(
  { operator, swaps, negates }: ComparisonRule,
  x: Real,
  y: Real,
  then: Real,
  otherwise: Real,
): Real {
  const [left, right] = swaps === true ? [y, x] : [x, y];
  const [first, second] = negates === true ? [otherwise, then] : [then, otherwise];
  return { kind: "comparison", operator, x: left, y: right, then: first, otherwise: second };
}

export type ReductionRule = "sum" | "maximum" | "minimum";

export const reductionRules: Readonly<Record<string, ReductionRule>> = { sum: "sum", max: "maximum", min: "minimum" };
