/** The elements of a tensor that a store writes, as conditions on their index. */
import {
  andTerm,
  atLeast,
  below,
  conditionsOf,
  equal,
  number,
  substitute,
  symbol,
  type Term,
  difference,
  FALSE,
} from "../../symbolic/term.js";
import { assume, entails, polynomialOf } from "../algebra/interpret.js";
import type { FactSet } from "../algebra/facts.js";
import { zip } from "../algebra/zip.js";
import type { Access } from "./accesses.js";
import type { FactScopes } from "./fact-scopes.js";
import { invert } from "./inverse.js";
import { provesDigits, radixesOf } from "../algebra/division.js";
import { provesNonNegative } from "../algebra/non-negativity.js";
import { isEqual, ONE, opposite, type Polynomial, subtract, isZero } from "../algebra/polynomial.js";

/** The conditions under which the program, iteration and lane that the inverse suggests write the element. */
export function conditionsToWrite(scopes: FactScopes, store: Access, elements: readonly string[]): readonly Term[] {
  const { axes, mask, path } = store;
  const { model } = scopes;
  const variables = variablesOf(store);
  const equations = zip(axes, elements).map(([{ index }, element]) => ({ index, target: symbol(element) }));
  const inverse = invert(model, scopes.active(store), variables, equations);
  const firstOf = (name: string): Term => model.environment.ranges.get(name)?.from ?? number(0);
  const values = new Map(variables.map((name) => [name, inverse.get(name) ?? firstOf(name)]));
  const conditions = [
    ...scopes.rangesOf(variables),
    ...path,
    mask,
    ...equations.map(({ index, target }) => equal(index, target)),
  ];
  return conditions.map((condition) => substitute(condition, values)).flatMap(conditionsOf);
}

/** Proves a condition and adds it to the facts, so that it helps to prove the following conditions. */
export function proveAndAssume(facts: FactSet, condition: Term): boolean {
  if (!entails(facts, condition)) return false;
  assume(facts, condition);
  return true;
}

/**
 * The condition that is true for exactly the elements that a store writes. Undefined if nothing shows that it is.
 * `necessary` is true for each of them.
 */
export function writtenWhere(
  scopes: FactScopes,
  store: Access,
  elements: readonly string[],
  necessary: Term,
): Term | undefined {
  if (store.mayBeSkipped || store.missing !== undefined) return undefined;
  const inside = zip(store.axes, elements).flatMap(([{ size }, element]) => [
    atLeast(symbol(element), number(0)),
    below(symbol(element), size),
  ]);
  const facts = scopes.launch().child();
  for (const condition of [...inside, necessary]) assume(facts, condition);
  const open = conditionsToWrite(scopes, store, elements).filter((condition) => !proveAndAssume(facts, condition));
  const own = new Map(zip(store.axes, elements).map(([{ index }, element]) => [element, index]));
  const active = scopes.active(store).child();
  for (const condition of inside) assume(active, substitute(condition, own));
  return open.every((condition) => entails(active, substitute(condition, own)))
    ? andTerm(necessary, ...open)
    : undefined;
}

// Two accesses of one element, as facts about the variables of both.

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

// Loads of a tensor that the kernel updates: whether a program may have written an element before it reads it. That no
// other program writes the element is what `race` shows.

/** A write that is executed before a load: `isAbove` in the code of one iteration, or in an earlier iteration only. */
interface EarlierWrite {
  readonly write: Access;
  readonly isAbove: boolean;
}

/** Proves that a program has not written the elements that it loads. */
export const readsOldElements = (scopes: FactScopes, load: Access, earlier: readonly EarlierWrite[]): boolean =>
  load.missing === undefined && earlier.every((each) => isOfOtherElements(scopes, load, each));

function isOfOtherElements(scopes: FactScopes, load: Access, { write, isAbove }: EarlierWrite): boolean {
  if (write.missing !== undefined || write.tensor !== load.tensor) return false;
  const programs = scopes.model.launch.program.map(({ name }) => name);
  const shared = write.scope.filter((name) => load.scope.includes(name));
  const loops = shared.filter((name) => !programs.includes(name));
  // The first loop in which both differ has an earlier iteration of the write.
  const differences = loops.map((loop) => ({ same: shared.slice(0, shared.indexOf(loop)), loop }));
  return [...differences, ...(isAbove ? [{ same: shared, loop: undefined }] : [])].every(({ same, loop }) => {
    const second = primed(variablesOf(write).filter((name) => !same.includes(name)));
    const order = loop === undefined ? [] : [below(second.get(loop) ?? symbol(loop), symbol(loop))];
    return (
      areApart(pairFacts(scopes, load, write, second, order), load, write, second) ||
      entails(sameElementFacts(scopes, load, write, second, order), FALSE)
    );
  });
}
