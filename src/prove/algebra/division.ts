/** Quotients and remainders of polynomials: simplified if that is provable, else atoms with Euclid's equation. */
import { provesNonNegative, type ProofEffort } from "./non-negativity.js";
import { isDefinedHere, internKey, type FactSet } from "./facts.js";
import {
  add,
  atom,
  constant,
  constantOf,
  type Division,
  divisions,
  isConstant,
  isEqual,
  multiply,
  ONE,
  opposite,
  type Polynomial,
  scale,
  subtract,
  ZERO,
  single,
  exactQuotient,
  type Integer,
  plus,
  remainderOf,
  times,
  magnitude,
  UNIT,
  divideMonomial,
  monomialOf,
  atLeastZero,
  type Definition,
  isZero,
} from "./polynomial.js";
import { boundQuotient } from "./quotient-bounds.js";

export interface QuotientAndRemainder {
  readonly quotient: Polynomial;
  readonly remainder: Polynomial;
}

/**
 * Divides polynomials. With `floors` the quotient rounds down as in Python, else toward zero, with a remainder of the
 * dividend's sign.
 */
export function divide(
  facts: FactSet,
  dividend: Polynomial,
  divisor: Polynomial,
  floors: boolean,
): QuotientAndRemainder {
  if (isEqual(divisor, ONE)) return { quotient: dividend, remainder: ZERO };
  const [quotientKey, remainderKey] = [internKey.quotient(dividend, divisor), internKey.remainder(dividend, divisor)];
  const same = internedDivision(facts, quotientKey, remainderKey);
  if (same) return same;
  const isPositive = isPositiveDivisor(facts, divisor);
  if (!isPositive || !isNaturalDividend(facts, dividend))
    return (
      (isPositive && divideAnySign(facts, dividend, divisor, floors)) ||
      divideUnknownSigns(facts, dividend, divisor, floors, isPositive)
    );
  const result = simplify(facts, dividend, divisor) ?? divideWithAtoms(facts, dividend, divisor);
  facts.interned.set(quotientKey, result.quotient);
  facts.interned.set(remainderKey, result.remainder);
  return result;
}

function internedDivision(
  { interned }: FactSet,
  quotientKey: string,
  remainderKey: string,
): QuotientAndRemainder | undefined {
  const [quotient, remainder] = [interned.get(quotientKey), interned.get(remainderKey)];
  return quotient && remainder && { quotient, remainder };
}

/** True if the dividend is provably nonnegative and the divisor positive. */
export const isNaturalDivision = (facts: FactSet, dividend: Polynomial, divisor: Polynomial): boolean =>
  isPositiveDivisor(facts, divisor) && isNaturalDividend(facts, dividend);

const isPositiveDivisor = (facts: FactSet, divisor: Polynomial): boolean =>
  proveAndRecord(facts, subtract(divisor, ONE));
const isNaturalDividend = (facts: FactSet, dividend: Polynomial): boolean => proveAndRecord(facts, dividend);

/** Proves that a polynomial is nonnegative. A result that is not obvious from intervals becomes a condition. */
function proveAndRecord(facts: FactSet, p: Polynomial): boolean {
  if (!provesNonNegative(facts, p, "products")) return false;
  const lowerBound = facts.least(p);
  if (lowerBound === undefined || lowerBound < 0) facts.add(atLeastZero(p));
  return true;
}

/**
 * An exact division for any sign of the dividend. With `floors` it also drops a remainder that is provably below the
 * divisor.
 */
function divideAnySign(
  facts: FactSet,
  dividend: Polynomial,
  divisor: Polynomial,
  floors: boolean,
): QuotientAndRemainder | undefined {
  for (const { quotient, rest } of divisions(dividend, divisor)) {
    if (rest.size === 0) return { quotient, remainder: ZERO };
    if (!floors || !provesNonNegative(facts, rest, "sums")) continue;
    if (provesNonNegative(facts, subtract(subtract(divisor, ONE), rest), "sums")) return { quotient, remainder: rest };
  }
  return undefined;
}

/** A division whose dividend may be negative, or whose divisor may not be positive. */
function divideUnknownSigns(
  facts: FactSet,
  dividend: Polynomial,
  divisor: Polynomial,
  floors: boolean,
  isPositive: boolean,
): QuotientAndRemainder {
  const key = `${floors} ${dividend.key} / ${divisor.key}`;
  const same = internedDivision(facts, `quotient ${key}`, `remainder ${key}`);
  if (same) return same;
  const { quotient, remainder } = divisionAtoms(facts, dividend, divisor, isPositive ? `quotient ${key}` : undefined);
  if (isPositive) {
    const [q, r] = [quotient, remainder];
    facts.add(isZero(subtract(dividend, add(multiply(divisor, q), r))));
    facts.add(atLeastZero(subtract(subtract(divisor, ONE), r)));
    facts.add(atLeastZero(floors ? r : subtract(add(divisor, r), ONE)));
    const isNegative = atLeastZero(subtract(opposite(dividend), ONE));
    const nonPositiveQuotient = floors ? subtract(opposite(q), ONE) : opposite(q);
    facts.cases.push({
      atoms: [...q.atoms, ...r.atoms],
      cases: [
        [atLeastZero(dividend), atLeastZero(r), atLeastZero(q)],
        [isNegative, atLeastZero(nonPositiveQuotient), ...(floors ? [] : [atLeastZero(opposite(r))])],
      ],
    });
  }
  facts.interned.set(`quotient ${key}`, quotient);
  facts.interned.set(`remainder ${key}`, remainder);
  return { quotient, remainder };
}

/** The unique `dividend = divisor * Q + R` with `0 <= R < divisor`. An `R` that is too large is divided again. */
function simplify(facts: FactSet, dividend: Polynomial, divisor: Polynomial): QuotientAndRemainder | undefined {
  const [expandedForm, unfoldedForm] = otherForms(facts, dividend, divisor);
  const trivialDivision: Division = { quotient: ZERO, rest: dividend };
  const candidates = [dividend, expandedForm, unfoldedForm].flatMap((form) => (form ? divisions(form, divisor) : []));
  for (const candidate of [...candidates, trivialDivision]) {
    const { quotient, rest } = withNonNegativeRest(candidate, divisor);
    if (provesNonNegative(facts, rest, "products")) {
      if (provesNonNegative(facts, subtract(subtract(divisor, ONE), rest), "products"))
        return { quotient, remainder: rest };
      if (!isConstant(quotient) && provesNonNegative(facts, quotient, "sums")) {
        const inner = divide(facts, rest, divisor, false);
        return { quotient: add(quotient, inner.quotient), remainder: inner.remainder };
      }
    }
  }
  return undefined;
}

/** Rewrites `divisor * q - 1` to `divisor * (q - 1) + divisor - 1`, the last element of the previous block. */
function withNonNegativeRest(division: Division, divisor: Polynomial): Division {
  const { quotient, rest } = division;
  if (!isConstant(rest) || constantOf(rest) >= 0) return division;
  return { quotient: subtract(quotient, ONE), rest: add(rest, divisor) };
}

/**
 * The dividend with remainders by this divisor expanded to their dividends, and that form with dividends written as `b
 * * q + r`.
 */
function otherForms(facts: FactSet, dividend: Polynomial, divisor: Polynomial): readonly (Polynomial | undefined)[] {
  const key = divisor.key;
  let form = dividend;
  for (let round = 0; round < 4; round++) {
    const remainders = form.terms.flatMap(({ monomial, coefficient }) => {
      const definition = facts.definitionOf(monomial);
      const isRemainder = definition?.kind === "division" && definition.remainder === monomial.atoms[0];
      return isRemainder && definition.divisor.key === key && isDefinedHere(facts, definition)
        ? [{ definition, coefficient }]
        : [];
    });
    const [first] = remainders;
    if (!first) break;
    const { definition, coefficient } = first;
    const removed = subtract(form, scale(atom(definition.remainder), coefficient));
    const replacement = subtract(definition.dividend, multiply(definition.divisor, atom(definition.quotient)));
    form = add(removed, replacement, coefficient);
  }
  return form === dividend ? [] : [form, unfoldDividends(facts, form)];
}

/** Replaces dividends that occur as a whole by `divisor * quotient + remainder`. */
function unfoldDividends(facts: FactSet, p: Polynomial): Polynomial | undefined {
  const used = new Set<Definition>();
  let result = p;
  for (let round = 0; round < 4; round++) {
    const occurrence = findDividend(facts, result, used);
    if (!occurrence) break;
    const { definition, factor } = occurrence;
    used.add(definition);
    const replacement = add(multiply(definition.divisor, atom(definition.quotient)), atom(definition.remainder));
    result = add(subtract(result, scale(definition.dividend, factor)), replacement, factor);
  }
  return used.size > 0 ? result : undefined;
}

/** The first division whose dividend occurs in a polynomial, with the factor of its occurrence. */
function findDividend(facts: FactSet, p: Polynomial, used: ReadonlySet<Definition>) {
  for (const [name, definition] of facts.definitions) {
    if (definition.kind !== "division" || definition.quotient !== name || used.has(definition)) continue;
    const factor = isDefinedHere(facts, definition) ? factorWithin(definition.dividend, p) : undefined;
    if (factor !== undefined) return { definition, factor };
  }
  return undefined;
}

/** The factor by which all terms of a polynomial, except its constant, occur in another. */
function factorWithin(divisor: Polynomial, p: Polynomial): Integer | undefined {
  let factor: Integer | undefined;
  for (const { monomial, coefficient } of divisor.terms) {
    if (monomial === UNIT) continue;
    const wholeCoefficient = p.coefficientOf(monomial);
    if (factor === undefined) {
      if (wholeCoefficient === 0 || remainderOf(wholeCoefficient, coefficient) !== 0) return undefined;
      factor = exactQuotient(wholeCoefficient, coefficient);
    }
    if (wholeCoefficient !== times(coefficient, factor)) return undefined;
  }
  return factor;
}

function divisionAtoms(
  facts: FactSet,
  dividend: Polynomial,
  divisor: Polynomial,
  key: string | undefined,
): QuotientAndRemainder {
  const [quotient, remainder] = [facts.freshAtom(), facts.freshAtom()];
  const definition = { kind: "division", dividend, divisor, quotient, remainder, key } as const;
  facts.definitions.set(quotient, definition);
  facts.definitions.set(remainder, definition);
  return { quotient: atom(quotient), remainder: atom(remainder) };
}

/** New atoms for the quotient and the remainder of a nonnegative dividend and a positive divisor. */
function divideWithAtoms(facts: FactSet, dividend: Polynomial, divisor: Polynomial): QuotientAndRemainder {
  if (isConstant(dividend) && isConstant(divisor)) {
    const rest = remainderOf(constantOf(dividend), constantOf(divisor));
    const whole = exactQuotient(plus(constantOf(dividend), -rest), constantOf(divisor));
    return { quotient: constant(whole), remainder: constant(rest) };
  }
  const { quotient, remainder } = divisionAtoms(facts, dividend, divisor, internKey.quotient(dividend, divisor));
  facts.add(isZero(subtract(dividend, add(multiply(divisor, quotient), remainder))));
  for (const p of [
    remainder,
    subtract(subtract(divisor, ONE), remainder),
    quotient,
    subtract(dividend, quotient),
    subtract(dividend, remainder),
  ])
    facts.add(atLeastZero(p));
  boundQuotient(facts, { dividend, divisor, quotient, remainder }, (other) => simplify(facts, other, divisor));
  return { quotient, remainder };
}

// Digits of a polynomial: `radix * quotient + rest` with a rest from 0 to below the radix.

/** The digits of a polynomial, if its rest is shown to be one. */
export function provesDigits(
  facts: FactSet,
  p: Polynomial,
  radix: Polynomial,
  effort: ProofEffort,
): Division | undefined {
  const [division] = divisions(p, radix);
  if (!division || division.quotient.size === 0) return undefined;
  const { quotient: high, rest: low } = division;
  const isDigit = (digit: Polynomial): boolean =>
    provesNonNegative(facts, digit, effort) && provesNonNegative(facts, subtract(subtract(radix, ONE), digit), effort);
  if (isDigit(low)) return division;
  // Lanes may count down from the end of a block, as `-1 - lane`.
  const shifted = add(low, radix);
  return constantOf(low) < 0 && isDigit(shifted) ? { quotient: subtract(high, ONE), rest: shifted } : undefined;
}

/** The radixes that a polynomial may have: the factor of each atom, the highest degree first. */
export function radixesOf(p: Polynomial): readonly Polynomial[] {
  const radixes = new Map<string, Polynomial>();
  for (const { monomial, coefficient } of p.terms)
    for (const atom of new Set(monomial.atoms)) {
      const factor = divideMonomial(monomial, monomialOf([atom]));
      if (!factor || (factor === UNIT && magnitude(coefficient) === 1)) continue;
      const radix = single(factor, magnitude(coefficient));
      radixes.set(radix.key, radix);
    }
  return [...radixes.values()].toSorted((x, y) => degreeOf(y) - degreeOf(x));
}

const degreeOf = ({ monomials: [first] }: Polynomial): number => first?.degree ?? 0;
