/** Decides whether a polynomial is never negative where something is known: by intervals, sums, products and cases. */
import { contradict } from "./contradiction.js";
import { type Cases, Knowledge } from "./knowledge.js";
import { atomsOf, constantOf, isConstant, ONE, type Polynomial, scale, subtract } from "./polynomial.js";
import { products } from "./products.js";

/** How much is tried: `intervals`; `sums` of conditions; also `products` of them; also `cases`, one within another. */
export type Effort = "intervals" | "sums" | "products" | "cases";

const DEPTH = { intervals: 0, sums: 0, products: 2, cases: 4 } as const;
/** The cases that are tried at each depth: those that have most to do with the question. */
const WIDTH = 4;

export function isAtLeastZero(known: Knowledge, p: Polynomial, effort: Effort): boolean {
  if (!known.budget.spend(1)) return false;
  if (known.impossible) return true;
  if (isConstant(p) && constantOf(p) >= 0n) return true;
  if (isConstant(p) && effort !== "cases") return false;
  const least = known.least(p);
  if (least !== undefined && least >= 0n) return true;
  if (effort === "intervals") return false;
  const opposite = subtract(scale(p, -1n), ONE);
  return isImpossible(known, opposite, effort) || isImpossibleInCases(known, opposite, effort, DEPTH[effort]);
}

/** Whether `p >= 0` contradicts what is known. */
function isImpossible(known: Knowledge, p: Polynomial, effort: Effort): boolean {
  const [atLeastZero, zero] = [known.atLeastZeros(), known.zeros()];
  if (contradict([...atLeastZero, p], zero, known.budget)) return true;
  if (effort === "sums") return false;
  const more = products(known, p, effort === "cases");
  return (
    more !== undefined && contradict([...atLeastZero, p, ...more.atLeastZero], [...zero, ...more.zero], known.budget)
  );
}

function isImpossibleInCases(
  known: Knowledge,
  p: Polynomial,
  effort: Effort,
  depth: number,
  used: ReadonlySet<Cases> = new Set(),
): boolean {
  if (depth === 0 || known.budget.spent) return false;
  const near = atomsNear(known, p);
  const ranked = known.cases
    .filter((each) => !used.has(each))
    .map((each) => ({ each, score: relevance(each, near) }))
    .filter(({ score }) => score > 0 || depth === DEPTH[effort])
    .sort((x, y) => y.score - x.score);
  return ranked.slice(0, WIDTH).some(({ each }) =>
    each.cases.every((conditions) => {
      const inside = known.child();
      for (const condition of conditions) inside.add(condition);
      if (inside.impossible || isImpossible(inside, p, effort)) return true;
      return isImpossibleInCases(inside, p, effort, depth - 1, new Set(used).add(each));
    }),
  );
}

/** The atoms that are connected to those of a polynomial within two conditions. */
function atomsNear(known: Knowledge, p: Polynomial): ReadonlySet<string> {
  const near = new Set([...p.keys()].flatMap(atomsOf));
  for (let round = 0; round < 2 && near.size <= 60; round++) {
    const found = known.conditions
      .map((condition) => [...condition.p.keys()].flatMap(atomsOf))
      .filter((atoms) => atoms.some((name) => near.has(name)));
    for (const name of found.flat()) near.add(name);
  }
  return near;
}

function relevance({ atoms, cases }: Cases, near: ReadonlySet<string>): number {
  if (atoms.length > 0) return atoms.some((name) => near.has(name)) ? 2 : 0;
  const mentions = cases.some((conditions) =>
    conditions.some(({ p }) => [...p.keys()].some((monomial) => atomsOf(monomial).some((name) => near.has(name)))),
  );
  return mentions ? 2 : 1;
}
