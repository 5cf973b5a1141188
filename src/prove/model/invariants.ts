/**
 * Loop invariants of variables without a closed form: bounds that the initial value satisfies and that each iteration
 * preserves. A binary search keeps `0 <= low <= N` that way. Candidates are guessed and then checked together, as in
 * Houdini.
 */
import { andTerm, atLeast, atMost, below, number, symbol, symbolsIn, type Term } from "../../symbolic/term.js";
import { Budget } from "../algebra/budget.js";
import { zip } from "../algebra/zip.js";
import { assume, entails } from "../algebra/interpret.js";
import { FactSet } from "../algebra/facts.js";
import { monotoneFunctions } from "./partitions.js";
import { type Environment, at, type TermTile } from "./symbolic-environment.js";

/**
 * A loop-carried variable before the loop and at the end of an iteration. `mark` is the uninterpreted function that
 * represents it at the start of an iteration.
 */
export interface StateSnapshot {
  readonly mark: string;
  readonly initial: TermTile;
  readonly next: TermTile;
}

/** A condition on the value of a variable. */
export type Invariant = (value: Term) => Term;

interface Candidate {
  readonly snapshot: StateSnapshot;
  readonly invariant: Invariant;
  /** A candidate that implies this one. */
  readonly stronger?: Candidate;
}

const STEPS = 10_000;
/** The maximum number of sizes that a variable is compared with. */
const SIZES = 5;

/** The invariants of each variable. `path` is the path condition at the end of an iteration. */
export function inferInvariants(
  environment: Environment,
  states: readonly StateSnapshot[],
  path: readonly Term[],
): readonly (readonly Invariant[])[] {
  const budget = new Budget(STEPS);
  const initialFacts = factsInLoop(environment, budget, []);
  let candidates = filterCandidates(
    states.flatMap((snapshot) => candidatesFor(environment, snapshot)),
    ({ snapshot, invariant }) => provesIn(initialFacts, snapshot.initial, invariant),
  );
  for (let previousCount = 0; previousCount !== candidates.length && candidates.length > 0;) {
    previousCount = candidates.length;
    const assumed = candidates.map(({ snapshot: { mark }, invariant }) => ({ mark, invariant }));
    const facts = factsInLoop(environment, budget, assumed);
    for (const condition of path) assume(facts, condition);
    candidates = filterCandidates(candidates, ({ snapshot, invariant }) => provesIn(facts, snapshot.next, invariant));
  }
  return states.map((snapshot) => candidates.flatMap((each) => (each.snapshot === snapshot ? [each.invariant] : [])));
}

/** The candidates that a test accepts. A candidate that an accepted one implies is not tested. */
function filterCandidates(
  candidates: readonly Candidate[],
  isPreserved: (candidate: Candidate) => boolean,
): readonly Candidate[] {
  const accepted = new Set<Candidate>();
  for (const candidate of candidates)
    if ((candidate.stronger && accepted.has(candidate.stronger)) || isPreserved(candidate)) accepted.add(candidate);
  return [...accepted];
}

/** Proves an invariant for each lane of a tile. */
function provesIn(facts: FactSet, tile: TermTile, invariant: Invariant): boolean {
  const lane = probesOf(tile);
  const laneFacts = facts.child();
  for (const [dim, index] of zip(tile.shape, lane))
    assume(laneFacts, andTerm(atLeast(index, number(0)), below(index, dim)));
  return entails(laneFacts, invariant(at(tile, lane)));
}

const probesOf = ({ shape }: TermTile): readonly Term[] => shape.map((_, axis) => symbol(`probe ${axis}`));

/** An assumption about the values of a variable's mark. */
export interface AssumedInvariant {
  readonly mark: string;
  readonly invariant: Invariant;
}

/** The facts inside the loop, including assumptions about its variables. */
export function factsInLoop(environment: Environment, budget: Budget, assumed: readonly AssumedInvariant[]): FactSet {
  const { launch, scope, ranges } = environment;
  const facts = new FactSet({
    budget,
    rises: monotoneFunctions(environment),
    callFacts: (name, args, value, inProgram) => [
      ...environment.factsOf(name, args, value, inProgram),
      ...assumed.flatMap(({ mark, invariant }) => (mark === name ? [invariant(value)] : [])),
    ],
  });
  facts.inProgram = true;
  for (const fact of launch.facts) assume(facts, fact);
  for (const variable of scope) {
    const range = ranges.get(variable.name);
    assume(
      facts,
      range ? andTerm(atLeast(variable, range.from), below(variable, range.to)) : atLeast(variable, number(0)),
    );
  }
  return facts;
}

/** Candidate invariants: nonnegative, and less than or at most a size that the variable is computed with. */
function candidatesFor({ launch }: Environment, snapshot: StateSnapshot): readonly Candidate[] {
  const { initial, next } = snapshot;
  const symbols = symbolsIn(...[initial, next].map((tile) => at(tile, probesOf(tile))));
  const sizes = [...symbols].filter((name) => launch.chosen.has(name)).slice(0, SIZES);
  const upperBounds = sizes.flatMap((name): readonly Candidate[] => {
    const stronger: Candidate = { snapshot, invariant: (value) => below(value, symbol(name)) };
    return [stronger, { snapshot, invariant: (value) => atMost(value, symbol(name)), stronger }];
  });
  return [{ snapshot, invariant: (value) => atLeast(value, number(0)) }, ...upperBounds];
}
