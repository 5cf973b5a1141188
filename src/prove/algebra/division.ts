/** Quotients and remainders of polynomials: simplified where that is certain, else as atoms with Euclid's equation. */
import { provesNonNegative } from "./non-negativity.js";
import { atLeastZero, type Definition, isDefinedHere, isZero, internKey, type FactSet } from "./facts.js";
import { exactQuotient, type Integer, plus, remainderOf, times } from "./exact-integer.js";
import { UNIT } from "./monomial.js";
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
} from "./polynomial.js";
import { boundQuotient } from "./quotient-bounds.js";

export interface Divided {
  readonly quotient: Polynomial;
  readonly remainder: Polynomial;
}

/** `floors` as Python does; else it truncates, with a remainder of the dividend's sign. */
export function divide(known: FactSet, dividend: Polynomial, divisor: Polynomial, floors: boolean): Divided {
  if (isEqual(divisor, ONE)) return { quotient: dividend, remainder: ZERO };
  const [quotientKey, remainderKey] = [internKey.quotient(dividend, divisor), internKey.remainder(dividend, divisor)];
  const same = known.named.get(quotientKey);
  if (same) return { quotient: same, remainder: known.named.get(remainderKey)! };
  const isPositive = isPositiveDivisor(known, divisor);
  if (!isPositive || !isNaturalDividend(known, dividend))
    return (
      (isPositive && divideAnySign(known, dividend, divisor, floors)) ||
      divideUnsure(known, dividend, divisor, floors, isPositive)
    );
  const result = simplified(known, dividend, divisor) ?? named(known, dividend, divisor);
  known.named.set(quotientKey, result.quotient);
  known.named.set(remainderKey, result.remainder);
  return result;
}

/** Whether a quotient and a remainder lie where those of natural numbers do. */
export const areNatural = (known: FactSet, dividend: Polynomial, divisor: Polynomial): boolean =>
  isPositiveDivisor(known, divisor) && isNaturalDividend(known, dividend);

const isPositiveDivisor = (known: FactSet, divisor: Polynomial): boolean => learns(known, subtract(divisor, ONE));
const isNaturalDividend = (known: FactSet, dividend: Polynomial): boolean => learns(known, dividend);

/** Whether something is certainly not negative: what was hard to find out is a condition from now on. */
function learns(known: FactSet, p: Polynomial): boolean {
  if (!provesNonNegative(known, p, "products")) return false;
  const least = known.least(p);
  if (least === undefined || least < 0) known.add(atLeastZero(p));
  return true;
}

/** An exact quotient, whatever the dividend's sign; one that floors also leaves out a rest below the divisor. */
function divideAnySign(
  known: FactSet,
  dividend: Polynomial,
  divisor: Polynomial,
  floors: boolean,
): Divided | undefined {
  for (const { quotient, rest } of divisions(dividend, divisor)) {
    if (rest.size === 0) return { quotient, remainder: ZERO };
    if (!floors || !provesNonNegative(known, rest, "sums")) continue;
    if (provesNonNegative(known, subtract(subtract(divisor, ONE), rest), "sums")) return { quotient, remainder: rest };
  }
  return undefined;
}

/** A division whose dividend may be negative, or whose divisor may be anything. */
function divideUnsure(
  known: FactSet,
  dividend: Polynomial,
  divisor: Polynomial,
  floors: boolean,
  isPositive: boolean,
): Divided {
  const key = `${floors} ${dividend.key} / ${divisor.key}`;
  const same = known.named.get(`quotient ${key}`);
  if (same) return { quotient: same, remainder: known.named.get(`remainder ${key}`)! };
  const { quotient, remainder } = atoms(known, dividend, divisor, isPositive ? `quotient ${key}` : undefined);
  if (isPositive) {
    const [q, r] = [quotient, remainder];
    known.add(isZero(subtract(dividend, add(multiply(divisor, q), r))));
    known.add(atLeastZero(subtract(subtract(divisor, ONE), r)));
    known.add(atLeastZero(floors ? r : subtract(add(divisor, r), ONE)));
    const isNegative = atLeastZero(subtract(opposite(dividend), ONE));
    const below = floors ? subtract(opposite(q), ONE) : opposite(q);
    known.cases.push({
      atoms: [...q.atoms, ...r.atoms],
      cases: [
        [atLeastZero(dividend), atLeastZero(r), atLeastZero(q)],
        [isNegative, atLeastZero(below), ...(floors ? [] : [atLeastZero(opposite(r))])],
      ],
    });
  }
  known.named.set(`quotient ${key}`, quotient);
  known.named.set(`remainder ${key}`, remainder);
  return { quotient, remainder };
}

/** `dividend = divisor * Q + R` with `0 <= R < divisor` is unique; where R is too large, it is divided in turn. */
function simplified(known: FactSet, dividend: Polynomial, divisor: Polynomial): Divided | undefined {
  const [plain, unfolded] = otherForms(known, dividend, divisor);
  const whole: Division = { quotient: ZERO, rest: dividend };
  const ways = [dividend, plain, unfolded].flatMap((form) => (form ? divisions(form, divisor) : []));
  for (const way of [...ways, whole]) {
    const { quotient, rest } = withoutDebt(way, divisor);
    if (provesNonNegative(known, rest, "products")) {
      if (provesNonNegative(known, subtract(subtract(divisor, ONE), rest), "products"))
        return { quotient, remainder: rest };
      if (!isConstant(quotient) && provesNonNegative(known, quotient, "sums")) {
        const inner = divide(known, rest, divisor, false);
        return { quotient: add(quotient, inner.quotient), remainder: inner.remainder };
      }
    }
  }
  return undefined;
}

/** `divisor * q - 1` is `divisor * (q - 1) + divisor - 1`: the last element of the block before. */
function withoutDebt(division: Division, divisor: Polynomial): Division {
  const { quotient, rest } = division;
  if (!isConstant(rest) || constantOf(rest) >= 0) return division;
  return { quotient: subtract(quotient, ONE), rest: add(rest, divisor) };
}

/** The dividend with remainders by the same divisor as their dividends, and that with dividends as `b * q + r`. */
function otherForms(known: FactSet, dividend: Polynomial, divisor: Polynomial): readonly (Polynomial | undefined)[] {
  const key = divisor.key;
  let plain = dividend;
  for (let turn = 0; turn < 4; turn++) {
    const found = [...plain].flatMap(([monomial, by]) => {
      const definition = known.definitionOf(monomial);
      const fits = definition?.kind === "division" && definition.remainder === monomial.atoms[0];
      return fits && definition.divisor.key === key && isDefinedHere(known, definition) ? [{ definition, by }] : [];
    });
    const [first] = found;
    if (!first) break;
    const { definition, by } = first;
    const removed = subtract(plain, scale(atom(definition.remainder), by));
    const replacement = subtract(definition.dividend, multiply(definition.divisor, atom(definition.quotient)));
    plain = add(removed, replacement, by);
  }
  return plain === dividend ? [] : [plain, unfolded(known, plain)];
}

/** Replaces dividends that occur as a whole by `divisor * quotient + remainder`. */
function unfolded(known: FactSet, p: Polynomial): Polynomial | undefined {
  const used = new Set<Definition>();
  let result = p;
  for (let turn = 0; turn < 4; turn++) {
    const found = [...known.definitions].find(
      ([name, each]) =>
        each.kind === "division" &&
        each.quotient === name &&
        !used.has(each) &&
        isDefinedHere(known, each) &&
        timesWithin(each.dividend, result) !== undefined,
    )?.[1];
    if (found?.kind !== "division") break;
    used.add(found);
    const by = timesWithin(found.dividend, result)!;
    const parts = add(multiply(found.divisor, atom(found.quotient)), atom(found.remainder));
    result = add(subtract(result, scale(found.dividend, by)), parts, by);
  }
  return used.size > 0 ? result : undefined;
}

/** How often all terms of a polynomial, but its constant, occur in another. */
function timesWithin(part: Polynomial, whole: Polynomial): Integer | undefined {
  let by: Integer | undefined;
  for (let i = 0; i < part.size; i++) {
    const [monomial, each] = [part.monomials[i]!, part.coefficients[i]!];
    if (monomial === UNIT) continue;
    const there = whole.of(monomial);
    if (by === undefined) {
      if (there === 0 || remainderOf(there, each) !== 0) return undefined;
      by = exactQuotient(there, each);
    }
    if (there !== times(each, by)) return undefined;
  }
  return by;
}

function atoms(known: FactSet, dividend: Polynomial, divisor: Polynomial, key: string | undefined): Divided {
  const [quotient, remainder] = [known.fresh(), known.fresh()];
  const definition = { kind: "division", dividend, divisor, quotient, remainder, key } as const;
  known.definitions.set(quotient, definition);
  known.definitions.set(remainder, definition);
  return { quotient: atom(quotient), remainder: atom(remainder) };
}

/** New atoms for the quotient and the remainder, of a dividend `>= 0` and a divisor `>= 1`. */
function named(known: FactSet, dividend: Polynomial, divisor: Polynomial): Divided {
  if (isConstant(dividend) && isConstant(divisor)) {
    const rest = remainderOf(constantOf(dividend), constantOf(divisor));
    const whole = exactQuotient(plus(constantOf(dividend), -rest), constantOf(divisor));
    return { quotient: constant(whole), remainder: constant(rest) };
  }
  const { quotient, remainder } = atoms(known, dividend, divisor, internKey.quotient(dividend, divisor));
  known.add(isZero(subtract(dividend, add(multiply(divisor, quotient), remainder))));
  for (const p of [
    remainder,
    subtract(subtract(divisor, ONE), remainder),
    quotient,
    subtract(dividend, quotient),
    subtract(dividend, remainder),
  ])
    known.add(atLeastZero(p));
  boundQuotient(known, { dividend, divisor, quotient, remainder }, (other) => simplified(known, other, divisor));
  return { quotient, remainder };
}
