/** Two accesses of one element, as facts about the variables of both. */
import { equal, substitute, symbol, type Term } from "../../symbolic/term.js";
import { assume } from "../algebra/interpret.js";
import type { FactSet } from "../algebra/facts.js";
import { zip } from "../algebra/zip.js";
import type { Access } from "../model/accesses.js";
import type { FactScopes } from "../model/fact-scopes.js";

/** The programs, iterations and lanes of an access. */
export const variablesOf = ({ scope, lanes }: Access): readonly string[] => [...scope, ...lanes];

/** Other names for variables of the second access. */
export const primed = (names: readonly string[]): ReadonlyMap<string, Term> =>
  new Map(names.map((name) => [name, symbol(`${name}'`)]));

/** The facts if both accesses are of one element. `second` has the names of the partner's variables that may differ. */
export function sameElementFacts(
  scopes: FactScopes,
  access: Access,
  partner: Access,
  second: ReadonlyMap<string, Term>,
  order: readonly Term[] = [],
): FactSet {
  const facts = scopes.active(access).child();
  const { path, mask, axes } = partner;
  for (const condition of order) assume(facts, condition);
  for (const condition of [...scopes.rangesOf(variablesOf(partner)), ...path, mask])
    assume(facts, substitute(condition, second));
  for (const [axis, partnerAxis] of zip(access.axes, axes))
    assume(facts, equal(axis.index, substitute(partnerAxis.index, second)));
  return facts;
}
