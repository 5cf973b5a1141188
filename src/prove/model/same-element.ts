/** Two accesses of one element, as facts about the variables of both. */
import { difference, equal, substitute, symbol, type Term } from "../../symbolic/term.js";
import { isZero } from "../algebra/conditions.js";
import { assume, polynomialOf } from "../algebra/interpret.js";
import { provesDigits, radixesOf } from "../algebra/digits.js";
import { provesNonNegative } from "../algebra/non-negativity.js";
import { isEqual, ONE, opposite, type Polynomial, subtract } from "../algebra/polynomial.js";
import type { FactSet } from "../algebra/facts.js";
import { zip } from "../algebra/zip.js";
import type { Access } from "./accesses.js";
import type { FactScopes } from "./fact-scopes.js";

/** The programs, iterations and lanes of an access. */
export const variablesOf = ({ scope, lanes }: Access): readonly string[] => [...scope, ...lanes];

/** Other names for variables of the second access. */
export const primed = (names: readonly string[]): ReadonlyMap<string, Term> =>
  new Map(names.map((name) => [name, symbol(`${name}'`)]));

/** The facts at two accesses. `second` has the names of the partner's variables that may differ. */
export function pairFacts(
  scopes: FactScopes,
  access: Access,
  partner: Access,
  second: ReadonlyMap<string, Term>,
  order: readonly Term[] = [],
): FactSet {
  const facts = scopes.active(access).child();
  const { path, mask } = partner;
  for (const condition of order) assume(facts, condition);
  for (const condition of [...scopes.rangesOf(variablesOf(partner)), ...path, mask])
    assume(facts, substitute(condition, second));
  return facts;
}

/** The facts of {@link pairFacts} if both accesses are of one element. */
export function sameElementFacts(...pair: Parameters<typeof pairFacts>): FactSet {
  const facts = pairFacts(...pair);
  const [, access, partner, second] = pair;
  for (const [axis, partnerAxis] of zip(access.axes, partner.axes)) {
    const [index, partnerIndex] = [axis.index, substitute(partnerAxis.index, second)];
    assume(facts, equal(index, partnerIndex));
    assumeEqualDigits(facts, polynomialOf(facts, index), polynomialOf(facts, partnerIndex));
  }
  return facts;
}

/** Proves that one index is less than the other on some axis. */
export function areApart(facts: FactSet, access: Access, partner: Access, second: ReadonlyMap<string, Term>): boolean {
  return zip(access.axes, partner.axes).some(([{ index }, other]) => {
    const distance = polynomialOf(facts, difference(substitute(other.index, second), index));
    return [distance, opposite(distance)].some((p) => provesNonNegative(facts, subtract(p, ONE), "products"));
  });
}

/** Equal numbers have equal digits: `R * high + low` with `0 <= low < R` determines both. */
function assumeEqualDigits(facts: FactSet, x: Polynomial, y: Polynomial): void {
  if (isEqual(x, y)) return;
  for (const radix of radixesOf(x)) {
    const [digits, otherDigits] = [x, y].map((p) => provesDigits(facts, p, radix, "sums"));
    if (!digits || !otherDigits) continue;
    facts.add(isZero(subtract(digits.quotient, otherDigits.quotient)));
    facts.add(isZero(subtract(digits.rest, otherDigits.rest)));
    assumeEqualDigits(facts, digits.quotient, otherDigits.quotient);
    assumeEqualDigits(facts, digits.rest, otherDigits.rest);
    return;
  }
}
