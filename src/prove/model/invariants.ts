/**
 * State of a loop that no formula gives, but that keeps within bounds: it begins there, and a turn that begins there ends
 * there. A binary search keeps `0 <= low <= N` that way.
 */
import { andTerm, atLeast, atMost, below, number, symbol, symbolsIn, type Term } from "../../symbolic/term.js";
import { Budget } from "../algebra/budget.js";
import { assume, entails } from "../algebra/interpret.js";
import { FactSet } from "../algebra/facts.js";
import { monotoneFunctions } from "./partitions.js";
import type { Environment } from "./symbolic-environment.js";
import { at, type TermTile } from "./symbolic.js";

/** State at the start of the first turn and at the end of any; `mark` is the function that it is at the start of any. */
export interface StateSnapshot {
  readonly mark: string;
  readonly initial: TermTile;
  readonly next: TermTile;
}

/** What holds of a value of the state. */
export type Invariant = (value: Term) => Term;

interface Candidate {
  readonly of: StateSnapshot;
  readonly holds: Invariant;
  /** What says the same and more. */
  readonly stronger?: Candidate;
}

const STEPS = 10_000;
/** Sizes that state is compared with. */
const SIZES = 5;

/** What holds of each state in all turns; `path` leads to where a turn ends. */
export function inferInvariants(
  environment: Environment,
  states: readonly StateSnapshot[],
  path: readonly Term[],
): ReadonlyMap<string, readonly Invariant[]> {
  const budget = new Budget(STEPS);
  const before = knowledgeAt(environment, budget, []);
  let kept = holding(
    states.flatMap((of) => candidatesFor(environment, of)),
    ({ of, holds }) => provesIn(before, of.initial, holds),
  );
  for (let left = 0; left !== kept.length && kept.length > 0;) {
    left = kept.length;
    const known = knowledgeAt(environment, budget, kept);
    for (const condition of path) assume(known, condition);
    kept = holding(kept, ({ of, holds }) => provesIn(known, of.next, holds));
  }
  return new Map(states.map((of) => [of.mark, kept.flatMap((each) => (each.of === of ? [each.holds] : []))] as const));
}

/** The candidates that hold; one that a stronger one implies is not asked about. */
function holding(candidates: readonly Candidate[], holds: (candidate: Candidate) => boolean): readonly Candidate[] {
  const kept = new Set<Candidate>();
  for (const each of candidates) if ((each.stronger && kept.has(each.stronger)) || holds(each)) kept.add(each);
  return [...kept];
}

/** Whether something certainly holds of each lane of a tile. */
function provesIn(known: FactSet, tile: TermTile, holds: Invariant): boolean {
  const lane = probesOf(tile);
  const inside = known.child();
  tile.shape.forEach((dim, axis) => assume(inside, andTerm(atLeast(lane[axis]!, number(0)), below(lane[axis]!, dim))));
  return entails(inside, holds(at(tile, lane)));
}

const probesOf = ({ shape }: TermTile): readonly Term[] => shape.map((_, axis) => symbol(`probe ${axis}`));

/** Where programs run and turns are counted, with candidates as what holds of their state. */
function knowledgeAt(environment: Environment, budget: Budget, assumed: readonly Candidate[]): FactSet {
  const { launch, scope, ranges } = environment;
  const known = new FactSet({
    budget,
    rises: monotoneFunctions(environment),
    callFacts: (name, given, value, inProgram) => [
      ...environment.factsOf(name, given, value, inProgram),
      ...assumed.flatMap(({ of, holds }) => (of.mark === name ? [holds(value)] : [])),
    ],
  });
  known.inProgram = true;
  for (const fact of launch.facts) assume(known, fact);
  for (const it of scope) {
    const range = ranges.get(it.name);
    assume(known, range ? andTerm(atLeast(it, range.from), below(it, range.to)) : atLeast(it, number(0)));
  }
  return known;
}

/** What may hold of state: it is not negative, and below a size that it is computed with, or as large at most. */
function candidatesFor({ launch }: Environment, of: StateSnapshot): readonly Candidate[] {
  const { initial, next } = of;
  const named = symbolsIn(...[initial, next].map((tile) => at(tile, probesOf(tile))));
  const sizes = [...named].filter((name) => launch.chosen.has(name)).slice(0, SIZES);
  const within = sizes.flatMap((name): readonly Candidate[] => {
    const stronger: Candidate = { of, holds: (value) => below(value, symbol(name)) };
    return [stronger, { of, holds: (value) => atMost(value, symbol(name)), stronger }];
  });
  return [{ of, holds: (value) => atLeast(value, number(0)) }, ...within];
}
