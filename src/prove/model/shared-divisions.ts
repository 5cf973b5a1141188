/**
 * Quotients and remainders of programs and turns alone, such as the row and the column of a program's tile. Many accesses
 * share them, each with lanes of its own: what holds of them is found out once, where their last program or turn comes in.
 */
import { symbolsIn, type Term, type TermKind, termsIn } from "../../symbolic/term.js";
import { areNatural } from "../algebra/division.js";
import { polynomialOf } from "../algebra/interpret.js";
import type { FactSet } from "../algebra/facts.js";
import { levelsOf } from "./levels.js";
import type { SymbolicModel } from "./model.js";

const DIVISIONS: ReadonlySet<TermKind> = new Set(["quotient", "remainder", "floorQuotient", "floorRemainder"]);

const known = new WeakMap<SymbolicModel, ReadonlyMap<string, readonly Term[]>>();

/** The quotients and remainders whose last program or turn comes in at a level, what they are made of first. */
export function divisionsAt(model: SymbolicModel, level: string): readonly Term[] {
  let found = known.get(model);
  if (!found) known.set(model, (found = divisionsOf(model)));
  return found.get(level) ?? [];
}

function divisionsOf({ accesses, environment }: SymbolicModel): ReadonlyMap<string, readonly Term[]> {
  const found = new Map<string, Set<Term>>();
  for (const { axes, mask, path, scope } of accesses) {
    const levels = levelsOf(path, scope);
    for (const term of termsIn(mask, ...axes.map(({ index }) => index))) {
      if (!DIVISIONS.has(term.kind)) continue;
      const used = [...symbolsIn(term)].filter((name) => scope.includes(name) || environment.ranges.has(name));
      // A lane has no level. Of sizes alone, programs that run tell more than the launch does.
      const last = Math.max(-1, ...used.map((name) => (scope.includes(name) ? scope.indexOf(name) + 1 : Infinity)));
      const key = levels[last]?.key;
      if (key === undefined) continue;
      const here = found.get(key);
      if (here) here.add(term);
      else found.set(key, new Set([term]));
    }
  }
  return new Map([...found].map(([key, terms]) => [key, [...terms].toSorted((x, y) => x.id - y.id)]));
}

/** Divides here, unless more would be known further in: where something may be negative, or hangs on a condition. */
export function divide(here: FactSet, term: Term): void {
  const mayWait = (part: Term): boolean =>
    part.kind === "choice" || part.kind === "call" || (DIVISIONS.has(part.kind) && !here.seen.get(part));
  if ([...termsIn(...term.parts)].some(mayWait)) return;
  const [dividend, divisor] = term.parts.map((part) => polynomialOf(here, part));
  if (areNatural(here, dividend!, divisor!)) polynomialOf(here, term);
}
