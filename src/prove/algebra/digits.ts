/** Digits of a polynomial: `radix * quotient + rest` with a rest from 0 to below the radix. */
import type { FactSet } from "./facts.js";
import { magnitude } from "./exact-integer.js";
import { divideMonomial, monomialOf, UNIT } from "./monomial.js";
import { type ProofEffort, provesNonNegative } from "./non-negativity.js";
import { add, constantOf, type Division, divisions, ONE, type Polynomial, single, subtract } from "./polynomial.js";

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
