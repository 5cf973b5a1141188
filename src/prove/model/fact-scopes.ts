/**
 * The facts at the program points of a kernel: of the launch, its programs and iterations, the path, and an access's
 * active lanes.
 */
import { atLeast, below, number, symbol, symbolsIn, type Term, type TermKind, termsIn } from "../../symbolic/term.js";
import type { Budget } from "../algebra/budget.js";
import { assume, polynomialOf } from "../algebra/interpret.js";
import { type CallFacts, FactSet } from "../algebra/facts.js";
import type { SymbolicModel } from "./model.js";
import { monotoneFunctions } from "./partitions.js";
import type { Access } from "./accesses.js";
import { isNaturalDivision } from "../algebra/division.js";

// The nesting of programs and iterations around a program point, with the conditions that each level adds.

interface ScopeLevel {
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

// Quotients and remainders of program ids and iterations alone, such as the row and the column of a program's tile.
// Many accesses with different lanes share them, so facts about them are derived once, at the level of their innermost
// program id or iteration.

const DIVISIONS: ReadonlySet<TermKind> = new Set(["quotient", "remainder", "floorQuotient", "floorRemainder"]);

const cache = new WeakMap<SymbolicModel, ReadonlyMap<string, readonly Term[]>>();

/** The quotients and remainders whose innermost program id or iteration belongs to a level, operands first. */
function divisionsAt(model: SymbolicModel, level: string): readonly Term[] {
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

export class FactScopes {
  readonly #paths = new Map<string, FactSet>();
  readonly #levels = new Map<string, FactSet>();
  readonly #active = new Map<Access, FactSet>();
  readonly #launch: FactSet;

  constructor(
    readonly model: SymbolicModel,
    readonly budget: Budget,
    additional: readonly Term[] = [],
    callFacts?: CallFacts,
  ) {
    const { environment, launch } = model;
    this.#launch = new FactSet({
      budget,
      callFacts: callFacts ?? environment.factsOf,
      rises: monotoneFunctions(model),
    });
    for (const fact of [...launch.facts, ...additional]) assume(this.#launch, fact);
  }

  /** Clears facts that were computed with an exhausted budget: another obligation may prove more. */
  forget(): void {
    this.#paths.clear();
    this.#levels.clear();
    this.#active.clear();
  }

  /** The facts of every launch. */
  launch(): FactSet {
    return this.#launch;
  }

  /** The facts on a path, for any lane. */
  onPath(path: readonly Term[], scope: readonly string[], lanes: readonly string[] = []): FactSet {
    const key = `${path.map(({ id }) => id).join()} | ${[...scope, ...lanes].join()}`;
    let facts = this.#paths.get(key);
    if (facts) return facts;
    facts = levelsOf(path, scope).reduce((outer, level) => this.#atLevel(level, outer), this.#launch);
    if (lanes.length > 0) facts = facts.child();
    for (const condition of this.rangesOf(lanes)) assume(facts, condition);
    this.#paths.set(key, facts);
    return facts;
  }

  /** The facts of a program or an iteration. All accesses below it share the results of proofs made here. */
  #atLevel({ key, name, conditions }: ScopeLevel, outer: FactSet): FactSet {
    let facts = this.#levels.get(key);
    if (facts) return facts;
    facts = outer.child();
    if (name !== undefined) facts.inProgram = true;
    for (const condition of [...(name === undefined ? [] : this.rangesOf([name])), ...conditions])
      assume(facts, condition);
    for (const term of divisionsAt(this.model, key)) divide(facts, term);
    this.#levels.set(key, facts);
    return facts;
  }

  /** The facts of an access's active lanes. */
  active(access: Access): FactSet {
    let facts = this.#active.get(access);
    if (facts) return facts;
    facts = this.onPath(access.path, access.scope, lanesOf(access)).child();
    assume(facts, access.mask);
    this.#active.set(access, facts);
    return facts;
  }

  /** The ranges of program ids, iterations and lanes as conditions. */
  rangesOf(names: readonly string[]): readonly Term[] {
    return names.flatMap((name) => {
      const range = this.model.environment.ranges.get(name);
      const variable = symbol(name);
      return range ? [atLeast(variable, range.from), below(variable, range.to)] : [atLeast(variable, number(0))];
    });
  }
}

/** The lanes that an access's index and mask depend on. */
function lanesOf({ axes, mask, lanes }: Access): readonly string[] {
  const used = symbolsIn(mask, ...axes.map(({ index }) => index));
  return lanes.filter((name) => used.has(name));
}
