/**
 * Loads of a tensor that the kernel updates: whether a program may have written an element before it reads it. That no
 * other program writes the element is what `race` shows.
 */
import { below, FALSE, symbol } from "../../symbolic/term.js";
import { entails } from "../algebra/interpret.js";
import type { Access } from "./accesses.js";
import type { FactScopes } from "./fact-scopes.js";
import { areApart, pairFacts, primed, sameElementFacts, variablesOf } from "./same-element.js";

/** A write that is executed before a load: `isAbove` in the code of one iteration, or in an earlier iteration only. */
export interface EarlierWrite {
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
