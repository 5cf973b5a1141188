/** Decides whether a polynomial is nonnegative under a set of facts: by intervals, sums, products and case splits. */
import { contradict } from "./contradiction.js";
import { type FactSet } from "./facts.js";
import { constantOf, isConstant, ONE, opposite, type Polynomial, subtract } from "./polynomial.js";
import { products } from "./products.js";
import { atLeastZero, type CaseSplit, type Condition } from "./conditions.js";

/**
 * The rules to try: `intervals`; also linear combinations (`sums`); also `products` of conditions; also nested `cases`.
 */
export type ProofEffort = "intervals" | "sums" | "products" | "cases";

const DEPTH = { intervals: 0, sums: 0, products: 2, cases: 4 } as const;
/** The number of case splits to try at each depth, the most relevant ones. */
const WIDTH = 4;

export function provesNonNegative(facts: FactSet, p: Polynomial, effort: ProofEffort): boolean {
  if (!facts.budget.spend(1)) return false;
  if (facts.impossible) return true;
  if (isConstant(p) && constantOf(p) >= 0) return true;
  if (isConstant(p) && effort !== "cases") return false;
  const lowerBound = facts.least(p);
  if (lowerBound !== undefined && lowerBound >= 0) return true;
  if (effort === "intervals" || facts.samples.refute(p)) return false;
  const negated = subtract(opposite(p), ONE);
  if (contradictsSums(facts, negated)) return true;
  if (effort === "sums" || facts.samples.sampleMore().refute(p)) return false;
  if (facts.samples.canSatisfy(atLeastZero(negated))) return false;
  return contradictsProducts(facts, negated, effort) || new NestedCaseSplit(negated, effort).isImpossible(facts);
}

/** Proves that `p >= 0` contradicts the facts. */
function isImpossible(facts: FactSet, p: Polynomial, effort: ProofEffort): boolean {
  return contradictsSums(facts, p) || contradictsProducts(facts, p, effort);
}

function contradictsSums(facts: FactSet, p: Polynomial): boolean {
  return contradict([...facts.atLeastZeros(), p], facts.zeros(), facts.budget);
}

function contradictsProducts(facts: FactSet, p: Polynomial, effort: ProofEffort): boolean {
  const derived = products(facts, p, effort === "cases");
  if (!derived) return false;
  const [atLeastZero, zero] = [facts.atLeastZeros(), facts.zeros()];
  return contradict([...atLeastZero, p, ...derived.atLeastZero], [...zero, ...derived.zero], facts.budget);
}

/** Nested case splits. A combination of cases is tried in one order only. */
class NestedCaseSplit {
  readonly #results = new Map<string, { readonly holds: boolean; readonly steps: number }>();

  constructor(
    readonly p: Polynomial,
    readonly effort: ProofEffort,
  ) {}

  /** `chosen` maps the index of each case split that is decided to the index of its case. */
  isImpossible(facts: FactSet, chosen: ReadonlyMap<number, number> = new Map()): boolean {
    const depth = DEPTH[this.effort] - chosen.size;
    if (depth <= 0 || facts.budget.isExhausted) return false;
    const relevantAtoms = atomsNear(facts, this.p);
    const ranked = facts.cases
      .map((split, index) => ({
        each: split,
        place: index,
        score: chosen.has(index) ? 0 : relevance(split, relevantAtoms),
      }))
      .filter(({ place: index, score }) => score > 0 || (chosen.size === 0 && !chosen.has(index)))
      .sort((x, y) => y.score - x.score);
    return ranked
      .slice(0, WIDTH)
      .some(({ each: split, place: index }) =>
        split.cases.every((conditions, i) => this.#isImpossibleWith(facts, conditions, new Map(chosen).set(index, i))),
      );
  }

  #isImpossibleWith(facts: FactSet, conditions: readonly Condition[], chosen: ReadonlyMap<number, number>): boolean {
    const { budget } = facts;
    const key = [...chosen]
      .map(([index, i]) => `${index}.${i}`)
      .sort()
      .join();
    const cached = this.#results.get(key);
    // A cached result costs its steps again, so that a verdict does not depend on the cache.
    if (cached) {
      budget.spend(cached.steps);
      return cached.holds;
    }
    const start = budget.remaining;
    const caseFacts = facts.child();
    for (const condition of conditions) caseFacts.add(condition);
    const holds =
      caseFacts.impossible || isImpossible(caseFacts, this.p, this.effort) || this.isImpossible(caseFacts, chosen);
    this.#results.set(key, { holds, steps: start - budget.remaining });
    return holds;
  }
}

/** The atoms that are connected to those of a polynomial through at most two conditions. */
function atomsNear(facts: FactSet, p: Polynomial): ReadonlySet<string> {
  const reachableAtoms = new Set(p.atoms);
  for (let round = 0; round < 2 && reachableAtoms.size <= 60; round++) {
    const connected = facts.conditions
      .map((condition) => condition.p.atoms)
      .filter((atoms) => atoms.some((name) => reachableAtoms.has(name)));
    for (const atoms of connected) for (const name of atoms) reachableAtoms.add(name);
  }
  return reachableAtoms;
}

function relevance({ atoms, cases }: CaseSplit, relevantAtoms: ReadonlySet<string>): number {
  if (atoms.length > 0) return atoms.some((name) => relevantAtoms.has(name)) ? 2 : 0;
  const isRelated = cases.some((conditions) =>
    conditions.some(({ p }) => p.atoms.some((name) => relevantAtoms.has(name))),
  );
  return isRelated ? 2 : 1;
}
