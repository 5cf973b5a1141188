/** What is found out of the state that a loop changes: its body is followed on trial, to see what a turn makes of it. */
import type { Variable } from "../../ir/nodes.js";
import type { Term } from "../../symbolic/term.js";
import { affineState, incrementOf, isInteger, previousIteration, iterationStart } from "./affine-state.js";
import { type Invariant, inferInvariants, type StateSnapshot } from "./invariants.js";
import { stridedState } from "./strided-state.js";
import type { Symbolic } from "./symbolic.js";
import type { Environment } from "./symbolic-environment.js";

/** A loop whose turns count from 0. */
export interface Loop {
  readonly variables: readonly Variable[];
  /** The state before its first turn. */
  readonly initial: ReadonlyMap<Variable, Symbolic>;
  readonly turn: Term;
  /** Follows the body with the state that a turn starts with, and looks at where it ends. */
  readonly trial: (start: (variable: Variable) => Symbolic, look: () => void) => void;
}

/** In trials of as many loops around it, a loop is not tried: its state is unknown there. Each level would multiply the work. */
const MOST_TRIALS = 4;

export interface LoopState {
  /** The state after so many turns, where it follows from their number. */
  readonly formulas: ReadonlyMap<Variable, (turns: Term) => Symbolic | undefined>;
  /** What holds of other state in all turns. */
  readonly invariants: ReadonlyMap<Variable, readonly Invariant[]>;
}

export function stateOfLoop(environment: Environment, { variables, initial, turn, trial }: Loop): LoopState {
  const marks = new Map<Variable, string>();
  for (const variable of variables) {
    const { kind } = initial.get(variable)!;
    if (kind === "terms" || kind === "pointer") marks.set(variable, `state ${environment.nameOf(variable)}`);
  }
  const formulas = new Map<Variable, (turns: Term) => Symbolic | undefined>();
  const invariants = new Map<Variable, readonly Invariant[]>();
  const start = (variable: Variable): Symbolic =>
    formulas.get(variable)?.(turn) ??
    iterationStart(environment, initial.get(variable)!, marks.get(variable), variable);
  const findFormulas = (): void => {
    const found = [...marks].flatMap(([variable, mark]) => {
      if (formulas.has(variable)) return [];
      const [from, next] = [initial.get(variable)!, environment.state.get(variable)!];
      const by = incrementOf(environment, next, variable, mark, turn);
      const formula = by ? (turns: Term) => affineState(from, by, turns) : previousIteration(from, next, turn);
      return formula ? [[variable, formula] as const] : [];
    });
    for (const [variable, formula] of found) formulas.set(variable, formula);
  };
  const findInvariants = (): void => {
    const open = [...marks].flatMap(([variable, mark]) => {
      const [from, next] = [initial.get(variable)!, environment.state.get(variable)!];
      const isOpen = !formulas.has(variable) && isInteger(from) && isInteger(next);
      return isOpen ? [[variable, { mark, initial: from, next } satisfies StateSnapshot] as const] : [];
    });
    if (open.length === 0) return;
    const found = inferInvariants(
      environment,
      open.map(([, turned]) => turned),
      environment.path,
    );
    for (const [variable, turned] of open) {
      const holds = found.get(turned.mark)!;
      invariants.set(variable, holds);
      const formula = stridedState(environment, turned, turn, holds);
      if (formula) formulas.set(variable, formula);
    }
  };
  if (marks.size === 0 || environment.trial >= MOST_TRIALS) return { formulas, invariants };
  trial(start, findFormulas);
  // What is open hangs on what has a formula: it is looked at once more with that.
  if (formulas.size < marks.size)
    trial(start, () => {
      findFormulas();
      findInvariants();
    });
  return { formulas, invariants };
}
