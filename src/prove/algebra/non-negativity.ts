/** Decides whether a polynomial is never negative where something is known: by intervals, sums, products and cases. */
import { contradict } from "./contradiction.js";
import { type CaseSplit, type Condition, type FactSet } from "./facts.js";
import { constantOf, isConstant, ONE, opposite, type Polynomial, subtract } from "./polynomial.js";
import { products } from "./products.js";

/** How much is tried: `intervals`; `sums` of conditions; also `products` of them; also `cases`, one within another. */
export type ProofEffort = "intervals" | "sums" | "products" | "cases";

const DEPTH = { intervals: 0, sums: 0, products: 2, cases: 4 } as const;
/** The cases that are tried at each depth: those that have most to do with the question. */
const WIDTH = 4;

export function provesNonNegative(known: FactSet, p: Polynomial, effort: ProofEffort): boolean {
  if (!known.budget.spend(1)) return false;
  if (known.impossible) return true;
  if (isConstant(p) && constantOf(p) >= 0) return true;
  if (isConstant(p) && effort !== "cases") return false;
  const least = known.least(p);
  if (least !== undefined && least >= 0) return true;
  if (effort === "intervals" || known.points.refuting(p)) return false;
  const negated = subtract(opposite(p), ONE);
  if (contradictsSums(known, negated)) return true;
  if (effort === "sums" || known.points.more().refuting(p)) return false;
  return contradictsProducts(known, negated, effort) || new Split(negated, effort).isImpossible(known);
}

/** Whether `p >= 0` contradicts what is known. */
function isImpossible(known: FactSet, p: Polynomial, effort: ProofEffort): boolean {
  return contradictsSums(known, p) || contradictsProducts(known, p, effort);
}

function contradictsSums(known: FactSet, p: Polynomial): boolean {
  return contradict([...known.atLeastZeros(), p], known.zeros(), known.budget);
}

function contradictsProducts(known: FactSet, p: Polynomial, effort: ProofEffort): boolean {
  const more = products(known, p, effort === "cases");
  if (!more) return false;
  const [atLeastZero, zero] = [known.atLeastZeros(), known.zeros()];
  return contradict([...atLeastZero, p, ...more.atLeastZero], [...zero, ...more.zero], known.budget);
}

/** Splits into cases, one within another. What is tried in one order is not tried again in another. */
class Split {
  readonly #tried = new Map<string, { readonly holds: boolean; readonly steps: number }>();

  constructor(
    readonly p: Polynomial,
    readonly effort: ProofEffort,
  ) {}

  /** `chosen` has the place of each list of cases that holds already, with the place of the case. */
  isImpossible(known: FactSet, chosen: ReadonlyMap<number, number> = new Map()): boolean {
    const depth = DEPTH[this.effort] - chosen.size;
    if (depth <= 0 || known.budget.spent) return false;
    const near = atomsNear(known, this.p);
    const ranked = known.cases
      .map((each, place) => ({ each, place, score: chosen.has(place) ? 0 : relevance(each, near) }))
      .filter(({ place, score }) => score > 0 || (chosen.size === 0 && !chosen.has(place)))
      .sort((x, y) => y.score - x.score);
    return ranked
      .slice(0, WIDTH)
      .some(({ each, place }) =>
        each.cases.every((conditions, i) => this.#isImpossibleWith(known, conditions, new Map(chosen).set(place, i))),
      );
  }

  #isImpossibleWith(known: FactSet, more: readonly Condition[], chosen: ReadonlyMap<number, number>): boolean {
    const { budget } = known;
    const key = [...chosen]
      .map(([place, i]) => `${place}.${i}`)
      .sort()
      .join();
    const before = this.#tried.get(key);
    // A step is a step, also where the answer is known: what is proved does not depend on what is remembered.
    if (before) {
      budget.spend(before.steps);
      return before.holds;
    }
    const start = budget.left;
    const inside = known.child();
    for (const condition of more) inside.add(condition);
    const holds = inside.impossible || isImpossible(inside, this.p, this.effort) || this.isImpossible(inside, chosen);
    this.#tried.set(key, { holds, steps: start - budget.left });
    return holds;
  }
}

/** The atoms that are connected to those of a polynomial within two conditions. */
function atomsNear(known: FactSet, p: Polynomial): ReadonlySet<string> {
  const near = new Set(p.atoms);
  for (let round = 0; round < 2 && near.size <= 60; round++) {
    const found = known.conditions
      .map((condition) => condition.p.atoms)
      .filter((atoms) => atoms.some((name) => near.has(name)));
    for (const atoms of found) for (const name of atoms) near.add(name);
  }
  return near;
}

function relevance({ atoms, cases }: CaseSplit, near: ReadonlySet<string>): number {
  if (atoms.length > 0) return atoms.some((name) => near.has(name)) ? 2 : 0;
  const mentions = cases.some((conditions) => conditions.some(({ p }) => p.atoms.some((name) => near.has(name))));
  return mentions ? 2 : 1;
}
