/** What is known where an access stands: of the launch, of its programs and turns, on its path, and of its active lanes. */
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
    more: readonly Term[] = [],
    callFacts?: CallFacts,
  ) {
    const { environment, launch } = model;
    this.#launch = new FactSet({
      budget,
      callFacts: callFacts ?? environment.factsOf,
      rises: monotoneFunctions(model),
    });
    for (const fact of [...launch.facts, ...more]) assume(this.#launch, fact);
  }

  /** Forgets what was looked at with no steps left: another obligation may see more. */
  forget(): void {
    this.#paths.clear();
    this.#levels.clear();
    this.#active.clear();
  }

  /** What holds of every launch. */
  launch(): FactSet {
    return this.#launch;
  }

  /** What holds where a path leads, for any lane. */
  onPath(path: readonly Term[], scope: readonly string[], lanes: readonly string[] = []): FactSet {
    const key = `${path.map(({ id }) => id).join()} | ${[...scope, ...lanes].join()}`;
    let known = this.#paths.get(key);
    if (known) return known;
    known = levelsOf(path, scope).reduce((outer, level) => this.#at(level, outer), this.#launch);
    if (lanes.length > 0) known = known.child();
    for (const condition of this.rangesOf(lanes)) assume(known, condition);
    this.#paths.set(key, known);
    return known;
  }

  /** What holds from a program or a turn on: accesses that go on differently share what is found out here. */
  #at({ key, name, conditions }: ScopeLevel, outer: FactSet): FactSet {
    let known = this.#levels.get(key);
    if (known) return known;
    known = outer.child();
    if (name !== undefined) known.inProgram = true;
    for (const condition of [...(name === undefined ? [] : this.rangesOf([name])), ...conditions])
      assume(known, condition);
    for (const term of divisionsAt(this.model, key)) divide(known, term);
    this.#levels.set(key, known);
    return known;
  }

  /** What holds of an access's active lanes. */
  active(access: Access): FactSet {
    let known = this.#active.get(access);
    if (known) return known;
    known = this.onPath(access.path, access.scope, lanesOf(access)).child();
    assume(known, access.mask);
    this.#active.set(access, known);
    return known;
  }

  /** Program ids, turns and lanes lie in their ranges. */
  rangesOf(names: readonly string[]): readonly Term[] {
    return names.flatMap((name) => {
      const range = this.model.environment.ranges.get(name);
      const it = symbol(name);
      return range ? [atLeast(it, range.from), below(it, range.to)] : [atLeast(it, number(0))];
    });
  }
}

/** The lanes that an access's place and mask depend on. */
export function lanesOf({ axes, mask, lanes }: Access): readonly string[] {
  const used = symbolsIn(mask, ...axes.map(({ index }) => index));
  return lanes.filter((name) => used.has(name));
}
