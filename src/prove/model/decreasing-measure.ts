/**
 * Termination of `while` loops. A loop ends if each iteration decreases an integer that its condition bounds from
 * below: `high - low` of `low < high`.
 */
import { atLeast, conditionsOf, difference, number, substitute, sum, type Term, termsIn } from "../../symbolic/term.js";
import { Budget } from "../algebra/budget.js";
import { assume, entails } from "../algebra/interpret.js";
import { zip } from "../algebra/zip.js";
import { isState } from "./affine-state.js";
import { factsInLoop, inferInvariants, type StateSnapshot } from "./invariants.js";
import type { Environment } from "./symbolic-environment.js";

interface LoopStep {
  /** The condition at the start of an iteration. */
  readonly continues: Term;
  readonly iteration: Term;
  readonly snapshots: readonly StateSnapshot[];
}

const STEPS = 4_000;

/** True if an iteration decreases a measure. `environment` is at the end of an iteration. */
export function hasDecreasingMeasure(environment: Environment, { continues, iteration, snapshots }: LoopStep): boolean {
  const invariants = zip(snapshots, inferInvariants(environment, snapshots, environment.path));
  const assumed = invariants.flatMap(([{ mark }, ofState]) => ofState.map((invariant) => ({ mark, invariant })));
  const facts = factsInLoop(environment, new Budget(STEPS), assumed);
  for (const condition of environment.path) assume(facts, condition);
  const next = new Map(
    [...termsIn(continues)].flatMap((term) => {
      const state = snapshots.find(({ mark, next }) => term.name === mark && next.shape.length === 0);
      return state ? [[term, state.next.at([])] as const] : [];
    }),
  );
  const nextIteration = new Map([[iteration.name, sum(iteration, number(1))]]);
  return measuresOf(continues).some((measure) => {
    // Other state may change in any way.
    if ([...termsIn(measure)].some((term) => isState(term) && !next.has(term))) return false;
    const decrease = difference(measure, substitute(measure, nextIteration, new Map(next)));
    return entails(facts, atLeast(decrease, number(1)));
  });
}

/** Integers that are not negative while the condition holds. */
const measuresOf = (condition: Term): readonly Term[] =>
  conditionsOf(condition).flatMap(({ kind, operands }) =>
    kind === "atMost" ? [difference(operands[1], operands[0])] : [],
  );
