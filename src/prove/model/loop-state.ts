/** Analyzes the variables that a loop assigns. A trial execution of its body shows how an iteration changes them. */
import type { Variable } from "../../ir/nodes.js";
import type { Term } from "../../symbolic/term.js";
import { affineState, incrementOf, isInteger, previousIteration, iterationStart } from "./affine-state.js";
import { type Invariant, inferInvariants, type StateSnapshot } from "./invariants.js";
import { stridedState } from "./strided-state.js";
import type { Symbolic } from "./symbolic.js";
import type { Environment } from "./symbolic-environment.js";

/** A loop whose iterations count from 0. */
export interface Loop {
  readonly variables: readonly Variable[];
  /** The state before the first iteration. */
  readonly initial: ReadonlyMap<Variable, Symbolic>;
  readonly iteration: Term;
  /** Runs the body with the state at the start of an iteration, and calls `look` at its end. */
  readonly trial: (start: (variable: Variable) => Symbolic, look: () => void) => void;
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
}

export function stateOfLoop(environment: Environment, { variables, initial, iteration, trial }: Loop): LoopState {
  const functionNames = new Map<Variable, string>();
  for (const variable of variables) {
    const { kind } = initial.get(variable)!;
    if (kind === "terms" || kind === "pointer") functionNames.set(variable, `state ${environment.nameOf(variable)}`);
  }
  const formulas = new Map<Variable, (iterations: Term) => Symbolic | undefined>();
  const invariants = new Map<Variable, readonly Invariant[]>();
  const start = (variable: Variable): Symbolic =>
    formulas.get(variable)?.(iteration) ??
    iterationStart(environment, initial.get(variable)!, functionNames.get(variable), variable);
  const findFormulas = (): void => {
    const newFormulas = [...functionNames].flatMap(([variable, functionName]) => {
      if (formulas.has(variable)) return [];
      const [from, next] = [initial.get(variable)!, environment.state.get(variable)!];
      const increment = incrementOf(environment, next, variable, functionName, iteration);
      const formula = increment
        ? (iterations: Term) => affineState(from, increment, iterations)
        : previousIteration(from, next, iteration);
      return formula ? [[variable, formula] as const] : [];
    });
    for (const [variable, formula] of newFormulas) formulas.set(variable, formula);
  };
  const findInvariants = (): void => {
    const snapshots = [...functionNames].flatMap(([variable, functionName]) => {
      const [from, next] = [initial.get(variable)!, environment.state.get(variable)!];
      const hasNoFormula = !formulas.has(variable) && isInteger(from) && isInteger(next);
      return hasNoFormula
        ? [[variable, { mark: functionName, initial: from, next } satisfies StateSnapshot] as const]
        : [];
    });
    if (snapshots.length === 0) return;
    const inferred = inferInvariants(
      environment,
      snapshots.map(([, snapshot]) => snapshot),
      environment.path,
    );
    for (const [variable, snapshot] of snapshots) {
      const variableInvariants = inferred.get(snapshot.mark)!;
      invariants.set(variable, variableInvariants);
      const formula = stridedState(environment, snapshot, iteration, variableInvariants);
      if (formula) formulas.set(variable, formula);
    }
  };
  if (functionNames.size === 0 || environment.trial >= MAX_NESTED_TRIALS) return { formulas, invariants };
  trial(start, findFormulas);
  // Variables without a formula may depend on those with one, so a second trial uses the formulas found.
  if (formulas.size < functionNames.size)
    trial(start, () => {
      findFormulas();
      findInvariants();
    });
  return { formulas, invariants };
}
