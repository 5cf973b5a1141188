/**
 * Quotients and remainders of program ids and iterations alone, such as the row and the column of a program's tile.
 * Many accesses with different lanes share them, so facts about them are derived once, at the level of their innermost
 * program id or iteration.
 */
import { symbolsIn, type Term, type TermKind, termsIn } from "../../symbolic/term.js";
import { isNaturalDivision } from "../algebra/division.js";
import { polynomialOf } from "../algebra/interpret.js";
import type { FactSet } from "../algebra/facts.js";
import { levelsOf } from "./levels.js";
import type { SymbolicModel } from "./model.js";

const DIVISIONS: ReadonlySet<TermKind> = new Set(["quotient", "remainder", "floorQuotient", "floorRemainder"]);

const cache = new WeakMap<SymbolicModel, ReadonlyMap<string, readonly Term[]>>();

/** The quotients and remainders whose innermost program id or iteration belongs to a level, operands first. */
export function divisionsAt(model: SymbolicModel, level: string): readonly Term[] {
  let divisions = cache.get(model);
  if (!divisions) cache.set(model, (divisions = divisionsOf(model)));
  return divisions.get(level) ?? [];
}

function divisionsOf({ accesses, environment }: SymbolicModel): ReadonlyMap<string, readonly Term[]> {
  const byLevel = new Map<string, Set<Term>>();
  for (const { axes, mask, path, scope } of accesses) {
    const levels = levelsOf(path, scope);
    for (const term of termsIn(mask, ...axes.map(({ index }) => index))) {
      if (!DIVISIONS.has(term.kind)) continue;
      const used = [...symbolsIn(term)].filter((name) => scope.includes(name) || environment.ranges.has(name));
      // A lane has no level. A term of sizes alone belongs to a level inside programs, where the grid is known to be
      // nonempty.
      const innermost = Math.max(
        -1,
        ...used.map((name) => (scope.includes(name) ? scope.indexOf(name) + 1 : Infinity)),
      );
      const key = levels[innermost]?.key;
      if (key === undefined) continue;
      const terms = byLevel.get(key);
      if (terms) terms.add(term);
      else byLevel.set(key, new Set([term]));
    }
  }
  return new Map([...byLevel].map(([key, terms]) => [key, [...terms].toSorted((x, y) => x.id - y.id)]));
}

/**
 * Derives a division's facts here, unless an inner level knows more: if an operand may be negative or depends on a
 * condition.
 */
export function divide(facts: FactSet, term: Term): void {
  const dependsOnInner = (part: Term): boolean =>
    part.kind === "choice" || part.kind === "call" || (DIVISIONS.has(part.kind) && !facts.seen.get(part));
  if ([...termsIn(...term.operands)].some(dependsOnInner)) return;
  const [dividend, divisor] = term.operands.map((part) => polynomialOf(facts, part));
  if (dividend && divisor && isNaturalDivision(facts, dividend, divisor)) polynomialOf(facts, term);
}
