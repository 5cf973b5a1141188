/** The programs and turns around a place of the kernel, one within another, with the conditions that come in with each. */
import { symbolsIn, type Term } from "../../symbolic/term.js";

export interface ScopeLevel {
  /** Says all that holds here: this level, and those around it. */
  readonly key: string;
  /** The program or the turn; of the first level none. */
  readonly name: string | undefined;
  /** The conditions on the path that speak of nothing further in. */
  readonly conditions: readonly Term[];
}

/** The levels of a path, from the outermost to the one where all of its conditions hold. */
export function levelsOf(path: readonly Term[], scope: readonly string[]): readonly ScopeLevel[] {
  const levels: ScopeLevel[] = [];
  const inner = new Set(scope);
  let [key, left] = ["", path];
  for (const name of [undefined, ...scope]) {
    if (name !== undefined) inner.delete(name);
    const waits = (condition: Term): boolean => [...symbolsIn(condition)].some((each) => inner.has(each));
    const conditions = left.filter((condition) => !waits(condition));
    left = left.filter(waits);
    key = `${key} | ${name ?? ""} ${conditions.map(({ id }) => id).join()}`;
    levels.push({ key, name, conditions });
  }
  return levels;
}
