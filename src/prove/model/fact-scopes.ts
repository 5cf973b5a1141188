/**
 * The facts at the program points of a kernel: of the launch, its programs and iterations, the path, and an access's
 * active lanes.
 */
import { atLeast, below, number, symbol, symbolsIn, type Term } from "../../symbolic/term.js";
import type { Budget } from "../algebra/budget.js";
import { assume } from "../algebra/interpret.js";
import { type CallFacts, FactSet } from "../algebra/facts.js";
import { type ScopeLevel, levelsOf } from "./levels.js";
import type { SymbolicModel } from "./model.js";
import { monotoneFunctions } from "./partitions.js";
import type { Access } from "./accesses.js";
import { divide, divisionsAt } from "./shared-divisions.js";

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
export function lanesOf({ axes, mask, lanes }: Access): readonly string[] {
  const used = symbolsIn(mask, ...axes.map(({ index }) => index));
  return lanes.filter((name) => used.has(name));
}
