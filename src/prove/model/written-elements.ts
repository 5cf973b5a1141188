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
} from "../../symbolic/term.js";
import { assume, entails } from "../algebra/interpret.js";
import type { FactSet } from "../algebra/facts.js";
import { zip } from "../algebra/zip.js";
import type { Access } from "./accesses.js";
import type { FactScopes } from "./fact-scopes.js";
import { invert } from "./inverse.js";
import { variablesOf } from "./same-element.js";

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
