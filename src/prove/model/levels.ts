/** The nesting of programs and iterations around a program point, with the conditions that each level adds. */
import { symbolsIn, type Term } from "../../symbolic/term.js";

export interface ScopeLevel {
  /** Identifies the facts of this level and of those around it. */
  readonly key: string;
  /** The program id or iteration. Undefined for the outermost level. */
  readonly name: string | undefined;
  /** The path conditions that depend on no inner level. */
  readonly conditions: readonly Term[];
}

/** The levels of a path, from the outermost to the one at which all of its conditions are defined. */
export function levelsOf(path: readonly Term[], scope: readonly string[]): readonly ScopeLevel[] {
  const levels: ScopeLevel[] = [];
  const inner = new Set(scope);
  let [key, remaining] = ["", path];
  for (const name of [undefined, ...scope]) {
    if (name !== undefined) inner.delete(name);
    const dependsOnInner = (condition: Term): boolean =>
      [...symbolsIn(condition)].some((symbolName) => inner.has(symbolName));
    const conditions = remaining.filter((condition) => !dependsOnInner(condition));
    remaining = remaining.filter(dependsOnInner);
    key = `${key} | ${name ?? ""} ${conditions.map(({ id }) => id).join()}`;
    levels.push({ key, name, conditions });
  }
  return levels;
}
