/** What happens in a kernel, in order, for analyses that follow other things than terms: calls of helper functions are inlined. */
import type {
  FunctionIR,
  IfStatement,
  LetStatement,
  OpStatement,
  ReadStatement,
  Variable,
  WriteStatement,
} from "../../ir/nodes.js";
import type { Term } from "../../symbolic/term.js";
import type { Access } from "./accesses.js";
import type { TermTile } from "./symbolic.js";

export type Event = OpStep | LetStatement | ReadStatement | WriteStatement | CallStep | BranchStep | LoopStep;

export interface OpStep {
  readonly kind: "op";
  readonly statement: OpStatement;
  readonly access: Access | undefined;
  /** The operands that are terms where it happens; of an access none. */
  readonly terms: readonly (TermTile | undefined)[];
  /** The result, where it is a term. */
  readonly made: TermTile | undefined;
  readonly path: readonly Term[];
  /** Programs and turns, outer ones first. */
  readonly scope: readonly string[];
}

export interface CallStep {
  readonly kind: "call";
  readonly statement: OpStatement;
  readonly callee: FunctionIR;
  readonly steps: readonly Event[];
}

export interface Arm {
  readonly steps: readonly Event[];
  /** Whether it always ends the program. */
  readonly ended: boolean;
}

export interface BranchStep {
  readonly kind: "branch";
  readonly statement: IfStatement;
  readonly condition: Term;
  readonly then: Arm;
  readonly otherwise: Arm;
}

export interface LoopStep {
  readonly kind: "loop";
  readonly turn: Term;
  /** The state of outer blocks that it changes. */
  readonly variables: readonly Variable[];
  readonly steps: readonly Event[];
}

/** Every op, also inside branches, loops and calls. */
export function opEvents(steps: readonly Event[]): readonly OpStep[] {
  return steps.flatMap((step): readonly OpStep[] => {
    if (step.kind === "op") return [step];
    if (step.kind === "branch") return [...opEvents(step.then.steps), ...opEvents(step.otherwise.steps)];
    return step.kind === "loop" || step.kind === "call" ? opEvents(step.steps) : [];
  });
}
