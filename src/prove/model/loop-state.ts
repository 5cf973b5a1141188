/** Analyzes the variables that a loop assigns. A trial execution of its body shows how an iteration changes them. */
import type { Variable } from "../../ir/nodes.js";
import type { Term } from "../../symbolic/term.js";
import { affineState, incrementOf, isInteger, previousIteration, iterationStart } from "./affine-state.js";
import { hasDecreasingMeasure } from "./decreasing-measure.js";
import { type Invariant, inferInvariants } from "./invariants.js";
import { stridedState } from "./strided-state.js";
import { type Symbolic, UNKNOWN } from "./symbolic.js";
import { zip } from "../algebra/zip.js";
import type { Environment } from "./symbolic-environment.js";

/** A loop whose iterations count from 0. */
export interface Loop {
  readonly variables: readonly Variable[];
  /** The state before the first iteration. */
  readonly initial: ReadonlyMap<Variable, Symbolic>;
  readonly iteration: Term;
  /** Runs the body with the state at the start of an iteration, and calls `look` at its end. */
  readonly trial: (start: (variable: Variable) => Symbolic, look: () => void) => void;
  /** For a loop without a count: the condition of an iteration, in the last trial. */
  readonly condition: (() => Term) | undefined;
}

/**
 * The limit on nested trials. In a loop nested more deeply, the state is unknown, because each level would multiply the
 * work.
 */
const MAX_NESTED_TRIALS = 4;

export interface LoopState {
  /** The closed form of the state after a number of iterations, if there is one. */
  readonly formulas: ReadonlyMap<Variable, (iterations: Term) => Symbolic | undefined>;
  /** The invariants of the other state. */
  readonly invariants: ReadonlyMap<Variable, readonly Invariant[]>;
  /** True if a loop with a condition is shown to end. */
  readonly ends: boolean;
}

export function stateOfLoop(environment: Environment, loop: Loop): LoopState {
  const { variables, initial, iteration, trial, condition } = loop;
  const tracked = variables.flatMap((variable) => {
    const from = initial.get(variable);
    const isTracked = from?.kind === "terms" || from?.kind === "pointer";
    return isTracked ? [{ variable, from, functionName: `state ${environment.nameOf(variable)}` }] : [];
  });
  const formulas = new Map<Variable, (iterations: Term) => Symbolic | undefined>();
  const invariants = new Map<Variable, readonly Invariant[]>();
  const start = (variable: Variable): Symbolic => {
    const state = tracked.find((each) => each.variable === variable);
    return formulas.get(variable)?.(iteration) ?? (state ? iterationStart(environment, state) : UNKNOWN);
  };
  const findFormulas = (): void => {
    const newFormulas = tracked.flatMap(({ variable, from, functionName }) => {
      if (formulas.has(variable)) return [];
      const next = environment.state.get(variable) ?? UNKNOWN;
      const increment = incrementOf(environment, next, variable, functionName, iteration);
      const formula = increment
        ? (iterations: Term) => affineState(from, increment, iterations)
        : previousIteration(from, next, iteration);
      return formula ? [[variable, formula] as const] : [];
    });
    for (const [variable, formula] of newFormulas) formulas.set(variable, formula);
  };
  const findInvariants = (): void => {
    const snapshots = tracked.flatMap(({ variable, from, functionName }) => {
      const next = environment.state.get(variable) ?? UNKNOWN;
      const hasNoFormula = !formulas.has(variable) && isInteger(from) && isInteger(next);
      return hasNoFormula ? [{ variable, mark: functionName, initial: from, next }] : [];
    });
    if (snapshots.length === 0) return;
    const inferred = inferInvariants(environment, snapshots, environment.path);
    for (const [snapshot, variableInvariants] of zip(snapshots, inferred)) {
      const { variable } = snapshot;
      invariants.set(variable, variableInvariants);
      const formula = stridedState(environment, snapshot, iteration, variableInvariants);
      if (formula) formulas.set(variable, formula);
    }
  };
  if (tracked.length === 0 || environment.trial >= MAX_NESTED_TRIALS) return { formulas, invariants, ends: false };
  trial(start, findFormulas);
  // Variables without a formula may depend on those with one, so a second trial uses the formulas found.
  if (formulas.size < tracked.length)
    trial(start, () => {
      findFormulas();
      findInvariants();
    });
  return {
    formulas,
    invariants,
    ends: condition !== undefined && environment.trial === 0 && isShownToEnd(environment, loop, tracked),
  };
}

interface TrackedVariable {
  readonly variable: Variable;
  readonly from: Symbolic;
  readonly functionName: string;
}

/** True if a loop with a condition is shown to end. Closed forms of its variables are not used. */
function isShownToEnd(
  environment: Environment,
  { iteration, trial, condition }: Loop,
  tracked: readonly TrackedVariable[],
): boolean {
  let ends = false;
  const start = (variable: Variable): Symbolic => {
    const state = tracked.find((each) => each.variable === variable);
    return state ? iterationStart(environment, state) : UNKNOWN;
  };
  trial(start, () => {
    const snapshots = tracked.flatMap(({ variable, from, functionName: mark }) => {
      const next = environment.state.get(variable) ?? UNKNOWN;
      return isInteger(from) && isInteger(next) ? [{ mark, initial: from, next }] : [];
    });
    ends =
      condition !== undefined && hasDecreasingMeasure(environment, { continues: condition(), iteration, snapshots });
  });
  return ends;
}
