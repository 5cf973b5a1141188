/**
 * Which arguments of `exp` are bounded: numbers, what is certainly not positive, and differences with a maximum of which
 * the other operand is an element.
 */
import { difference, substitute, symbolsIn, type Term } from "../../symbolic/term.js";
import { canonical, linearIn, mentions } from "./integer-form.js";
import type { Normalizer } from "./normalizer.js";
import {
  type Atom,
  type Factor,
  factorsOf,
  type Fold,
  type Monomial,
  monomial,
  multiplyPolynomials,
  negatePolynomial,
  numberOf,
  partsOf,
  type Polynomial,
  polynomialOf,
  samePolynomial,
  scalePolynomial,
  subtractPolynomials,
} from "./polynomial.js";
import { isEven, isNegative, opposite, toNumber } from "./rational.js";

/** Beyond this exponent float32 overflows, and its inverse underflows. */
const LARGEST_EXPONENT = 80;
const MAX_CANDIDATES = 6;

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
  return [...p.values()].some((each) => {
    const maximum = isNegative(each.coefficient) ? maximumIn(each) : undefined;
    return maximum !== undefined && isBelowMaximum(p, each, maximum, scope);
  });
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
    const [only, ...more] = factorsOf(operand);
    return only?.atom.kind === "fold" && more.length === 0
      ? isElement(only.atom.fold, unit, rest, isOperand, scope)
      : false;
  });
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

/** True if values of the variables make two sums equal. */
export function isInstance(
  variables: readonly string[],
  pattern: Polynomial,
  target: Polynomial,
  { normalizer, given }: Pick<ExponentScope, "normalizer" | "given">,
): boolean {
  return assignments(variables, pattern, target).some((by) =>
    samePolynomial(normalizer.substitute(pattern, by, given), target),
  );
}

/** Candidates for the values of variables: what stands in their places in the indices of another sum. */
function assignments(
  variables: readonly string[],
  pattern: Polynomial,
  target: Polynomial,
): readonly ReadonlyMap<string, Term>[] {
  const [patternElements, targetElements] = [elementsIn(pattern), elementsIn(target)];
  return variables.reduce<readonly ReadonlyMap<string, Term>[]>(
    (sofar, variable) => {
      const values = candidatesOf(variable, variables, patternElements, targetElements);
      if (!patternElements.some(({ index }) => index.some((term) => mentions(term, variable)))) return sofar;
      return sofar.flatMap((by) => values.map((value) => new Map([...by, [variable, value] as const])));
    },
    [new Map()],
  );
}

type Element = Extract<Atom, { kind: "input" | "state" }>;

const elementsIn = (p: Polynomial): readonly Element[] =>
  factorsOf(p).flatMap(({ atom }) =>
    atom.kind === "input" || atom.kind === "state" ? [atom] : partsOf(atom).flatMap(elementsIn),
  );

function candidatesOf(
  variable: string,
  variables: readonly string[],
  pattern: readonly Element[],
  target: readonly Element[],
): readonly Term[] {
  const found = pattern.flatMap(({ name, index }) =>
    index.flatMap((term, axis) => {
      const form = linearIn(term, variable);
      if (!form || form.factor.kind !== "number" || form.factor.value !== 1n) return [];
      if (variables.some((other) => mentions(form.rest, other))) return [];
      return target.flatMap((other) => {
        const place = other.name === name ? other.index[axis] : undefined;
        return place ? [canonical(difference(place, form.rest))] : [];
      });
    }),
  );
  return [...new Set(found)].slice(0, MAX_CANDIDATES);
}
