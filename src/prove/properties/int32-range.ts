/**
 * Decides whether a value stays in int32. It replaces small monomials by numbers, and splits a minimum or a maximum
 * into its operands.
 */
import type { Term } from "../../symbolic/term.js";
import type { Limits } from "../../types/limits.js";
import { provesNonNegative } from "../algebra/non-negativity.js";
import { times } from "../algebra/exact-integer.js";
import { polynomialOf } from "../algebra/interpret.js";
import { isDefinedHere, type FactSet } from "../algebra/facts.js";
import { type Monomial, UNIT } from "../algebra/monomial.js";
import { add, atom, constant, multiply, ONE, type Polynomial, single, subtract } from "../algebra/polynomial.js";
import { LIMIT } from "../algebra/products.js";
import { atLeastZero } from "../algebra/conditions.js";

export function fitsInt32(facts: FactSet, value: Term, { int32End }: Limits): boolean {
  const p = polynomialOf(facts, value);
  return isWithin(facts, p, "most", int32End) && isWithin(facts, p, "least", int32End);
}

/** Records that a value is in range, which bounds its quotients. */
export function recordInt32Range(facts: FactSet, value: Term): void {
  facts.add(atLeastZero(slack(polynomialOf(facts, value), "most")));
}

type End = "least" | "most";

function isWithin(facts: FactSet, p: Polynomial, end: End, int32End: number): boolean {
  const slacks = (value: Polynomial): readonly Polynomial[] => {
    const simplified = boundSmall(facts, value, end);
    return [simplified, ...(simplified === value ? [] : [value])].map((candidate) => slack(candidate, end));
  };
  const isProved = (value: Polynomial): boolean =>
    slacks(value).some((slack) => provesNonNegative(facts, slack, "products"));
  if (isProved(p)) return true;
  const branches = extremeBranches(facts, p);
  // Case splits cost far more, and most goals do not need one.
  if (
    (branches.length > 1 && branches.every(isProved)) ||
    slacks(p).some((slack) => provesNonNegative(facts, slack, "cases"))
  )
    return true;
  // Numeric bounds of a launch may limit the value below 2^31 although they are not related to its symbol.
  return provesNonNegative(facts, slack(p, end, constant(int32End)), "products");
}

/** The distance from an end of int32. */
function slack(p: Polynomial, end: End, limit: Polynomial = atom(LIMIT)): Polynomial {
  return end === "most" ? subtract(subtract(limit, ONE), p) : add(limit, p);
}

/** Polynomials of which one equals `p`: a minimum or maximum is replaced by each of its operands. */
function extremeBranches(facts: FactSet, p: Polynomial): readonly Polynomial[] {
  for (const { monomial, coefficient } of p.terms) {
    const definition = facts.definitionOf(monomial);
    const remainder = subtract(p, single(monomial, coefficient));
    if (definition?.kind === "extreme")
      return [definition.x, definition.y].flatMap((operand) =>
        extremeBranches(facts, add(remainder, operand, coefficient)),
      );
    const dividendOf = dividendOfProduct(facts, monomial);
    if (dividendOf) return extremeBranches(facts, add(remainder, dividendOf, coefficient));
  }
  return [p];
}

/** The dividend minus the remainder, for `divisor * quotient`, if the dividend contains a minimum or a maximum. */
function dividendOfProduct(facts: FactSet, monomial: Monomial): Polynomial | undefined {
  for (const name of monomial.degree > 1 ? monomial.atoms : []) {
    const definition = facts.definitions.get(name);
    if (definition?.kind !== "division" || definition.quotient !== name || !isDefinedHere(facts, definition)) continue;
    const { dividend, divisor, remainder } = definition;
    const isExtreme = dividend.monomials.some((term) => facts.definitionOf(term)?.kind === "extreme");
    if (isExtreme && multiply(divisor, atom(name)).key === single(monomial).key)
      return subtract(dividend, atom(remainder));
  }
  return undefined;
}

const SMALL_LIMIT = 2 ** 22;

/** Replaces monomials that are small for every shape, such as lanes, by their bounds. The result is a bound of `p`. */
function boundSmall(facts: FactSet, p: Polynomial, end: End): Polynomial {
  let result = p;
  for (const { monomial, coefficient } of p.terms) {
    if (monomial === UNIT) continue;
    const { min: least, max: most } = facts.interval(monomial);
    const bound = coefficient > 0 === (end === "most") ? most : least;
    const value = bound === undefined ? undefined : times(bound, coefficient);
    if (value === undefined || value > SMALL_LIMIT || value < -SMALL_LIMIT) continue;
    result = add(subtract(result, single(monomial, coefficient)), constant(value));
  }
  return result;
}
