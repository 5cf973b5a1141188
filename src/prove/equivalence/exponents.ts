/**
 * Which arguments of `exp` are bounded: numbers, what is certainly not positive, and differences with a maximum of which
 * the other operand is an element.
 */
import { substitute, symbol, symbolsIn, type Term } from "../../symbolic/term.js";
import { assignments, isElementOf } from "./indices.js";
import { canonical } from "./integer-form.js";
import { isPositiveSum } from "./functions.js";
import type { Normalizer } from "./normalizer.js";
import { freshName } from "./real.js";
import {
  addPolynomials,
  type Factor,
  type Fold,
  type Monomial,
  monomial,
  multiplyPolynomials,
  negatePolynomial,
  numberOf,
  onlyAtom,
  onlyFactor,
  onlyMonomial,
  type Polynomial,
  polynomialOf,
  samePolynomial,
  scalePolynomial,
  subtractPolynomials,
  withoutFactor,
} from "./polynomial.js";
import { inverse, isEven, isNegative, isOne, opposite, toNumber } from "./rational.js";

/** Beyond this exponent float32 overflows, and its inverse underflows. */
const LARGEST_EXPONENT = 80;

export interface ExponentScope {
  readonly normalizer: Normalizer;
  readonly given: readonly Term[];
  /** Polynomials that are not positive where the exponent is used. */
  readonly nonpositive: readonly Polynomial[];
  /** Variables of the sums around the exponent, and iterations. */
  readonly bound: ReadonlySet<string>;
}

/** True if an argument of `exp` is shown to be bounded above. */
export function isBoundedExponent(p: Polynomial, scope: ExponentScope): boolean {
  const value = numberOf(p);
  if (value) return Math.abs(toNumber(value)) <= LARGEST_EXPONENT;
  if (isSumOfNonnegative(negatePolynomial(p))) return true;
  if (scope.nonpositive.some((fact) => isMultiple(p, fact))) return true;
  const isBelow = [...p.values()].some((each) => {
    if (isBelowLogarithm(p, each, scope)) return true;
    const maximum = isNegative(each.coefficient) ? maximumIn(each) : undefined;
    return maximum !== undefined && isBelowMaximum(p, each, maximum, scope);
  });
  if (isBelow) return true;
  const parts = partsOfMaximum(p, scope);
  return (
    parts?.every(({ part, domain }) => isBoundedExponent(part, { ...scope, given: [...scope.given, ...domain] })) ===
    true
  );
}

/** True if a sum has no negative term: absolute values, even powers and powers of `exp` with positive numbers. */
const isSumOfNonnegative = (p: Polynomial): boolean =>
  [...p.values()].every(
    ({ coefficient, factors }) => !isNegative(coefficient) && [...factors.values()].every(isNonnegative),
  );

function isNonnegative({ atom, exponent }: Factor): boolean {
  if (isEven(exponent)) return true;
  if (atom.kind === "exp" || atom.kind === "constant" || atom.kind === "base") return true;
  return atom.kind === "function" && atom.name === "abs";
}

/** True if `p` is `c·(x - log Σ y)` where `exp(x)` is one of the positive summands. */
function isBelowLogarithm(p: Polynomial, own: Monomial, { normalizer, given }: ExponentScope): boolean {
  const factor = isNegative(own.coefficient) ? onlyFactor(own) : undefined;
  const { atom } = factor ?? {};
  if (atom?.kind !== "function" || atom.name !== "log" || !factor || !isOne(factor.exponent)) return false;
  const sum = onlyAtom(atom.operands[0] ?? p);
  if (sum?.kind !== "fold" || !isPositiveSum(sum.fold.body, normalizer.positivity(given))) return false;
  const rest = scalePolynomial(subtractPolynomials(p, polynomialOf(own)), inverse(opposite(own.coefficient)));
  return isElementOf(normalizer.functionOf("exp", [rest], given), sum.fold, normalizer, given);
}

/** The exponents of which a maximum in an exponent is the greatest, with the domain of each. */
function partsOfMaximum(p: Polynomial, { normalizer, given }: ExponentScope) {
  for (const own of p.values()) {
    const maximum = isNegative(own.coefficient) ? undefined : maximumIn(own);
    if (!maximum || !isOne(maximum.exponent)) continue;
    const rest = subtractPolynomials(p, polynomialOf(own));
    const unit = polynomialOf(withoutFactor(own, maximum.atom.id));
    const partOf = (operand: Polynomial) => addPolynomials(rest, multiplyPolynomials(unit, operand));
    const { atom } = maximum;
    if (atom.kind === "function") return atom.operands.map((operand) => ({ part: partOf(operand), domain: [] }));
    if (atom.kind !== "fold") continue;
    const by = new Map(atom.fold.variables.map((name) => [name, symbol(freshName("k"))]));
    const domain = atom.fold.domain.map((each) => normalizer.indices.rewrite(substitute(each, by)));
    return [{ part: partOf(normalizer.substitute(atom.fold.body, by, [...given, ...domain])), domain }];
  }
  return undefined;
}

/** True if the quotient of two sums is a positive number. */
function isMultiple(p: Polynomial, fact: Polynomial): boolean {
  const [own, other] = [[...p.values()][0], [...fact.values()][0]];
  const same = own && [...fact.values()].find(({ key }) => key === own.key);
  if (!own || !other || !same || p.size !== fact.size) return false;
  const ratio = toNumber(own.coefficient) / toNumber(same.coefficient);
  if (!(ratio > 0)) return false;
  return samePolynomial(scalePolynomial(fact, own.coefficient), scalePolynomial(p, same.coefficient));
}

/** The maximum in a monomial whose other factors are positive constants. */
function maximumIn({ factors }: Monomial): Factor | undefined {
  const list = [...factors.values()];
  const isMaximum = ({ atom }: Factor) =>
    (atom.kind === "fold" && atom.fold.kind === "maximum") || (atom.kind === "function" && atom.name === "maximum");
  const [maximum, ...more] = list.filter(isMaximum);
  const constants = list.filter(({ atom }) => atom.kind === "constant" || atom.kind === "base");
  return maximum && more.length === 0 && constants.length === list.length - 1 ? maximum : undefined;
}

/** True if `p` is `c·u·(element - maximum)` and a number, where u is a positive constant. */
function isBelowMaximum(p: Polynomial, own: Monomial, maximum: Factor, scope: ExponentScope): boolean {
  const rest = subtractPolynomials(p, polynomialOf(own));
  const unit = polynomialOf(
    monomial(
      opposite(own.coefficient),
      [...own.factors.values()].filter((each) => each !== maximum),
    ),
  );
  const isOperand = (operand: Polynomial): boolean => {
    const residual = numberOf(subtractPolynomials(rest, multiplyPolynomials(unit, operand)));
    return residual !== undefined && Math.abs(toNumber(residual)) <= LARGEST_EXPONENT;
  };
  const { atom } = maximum;
  if (atom.kind === "fold") return isElement(atom.fold, unit, rest, isOperand, scope);
  if (atom.kind !== "function") return false;
  // A maximum with a number may be far above all elements, and powers of all of them are then 0.
  if (atom.operands.some((operand) => numberOf(operand) !== undefined)) return false;
  return atom.operands.some((operand) => {
    if (isOperand(operand)) return true;
    const scaled = scaledMaximum(operand, scope);
    if (!scaled) return false;
    const isScaled = (body: Polynomial): boolean => isOperand(multiplyPolynomials(scaled.by, body));
    return isElement(scaled.fold, unit, rest, isScaled, scope);
  });
}

/** A maximum times what is certainly positive. */
function scaledMaximum(operand: Polynomial, { normalizer, given }: ExponentScope) {
  const only = onlyMonomial(operand);
  const maxima = [...(only?.factors.values() ?? [])].filter(({ atom }) => atom.kind === "fold");
  const [maximum, ...more] = maxima;
  if (!only || maximum?.atom.kind !== "fold" || more.length > 0 || !isOne(maximum.exponent)) return undefined;
  const by = polynomialOf(withoutFactor(only, maximum.atom.id));
  return isPositiveSum(by, normalizer.positivity(given)) ? { fold: maximum.atom.fold, by } : undefined;
}

/** True if `rest` is `unit` times the body of a maximum for some values of its variables. */
function isElement(
  fold: Fold,
  unit: Polynomial,
  rest: Polynomial,
  isOperand: (operand: Polynomial) => boolean,
  { normalizer, given, bound }: ExponentScope,
): boolean {
  return assignments(fold.variables, fold.body, rest).some((by) => {
    // A maximum over more than the elements of a sum may be far above all of them.
    const isOfSum = (term: Term) => bound.size === 0 || [...symbolsIn(term)].some((name) => bound.has(name));
    if (![...by.values()].every(isOfSum)) return false;
    const isInside = fold.domain.every((each) =>
      normalizer.entailment.proves(given, canonical(substitute(normalizer.indices.rewrite(each), by))),
    );
    return isInside && isOperand(normalizer.substitute(fold.body, by, given));
  });
}
