/**
 * The events of a kernel's symbolic execution, in order, for analyses that need more than its terms. Calls of helper
 * functions are inlined.
 */
import {
  type FunctionIR,
  type IfStatement,
  type LetStatement,
  type OpStatement,
  type ReadStatement,
  type Variable,
  type WriteStatement,
  isValue,
  type Value,
} from "../../ir/nodes.js";
import type { Term } from "../../symbolic/term.js";
import type { Access } from "./accesses.js";
import type { TermTile } from "./symbolic-environment.js";

export type Event = OpStep | LetStatement | ReadStatement | WriteStatement | CallStep | BranchStep | LoopStep;

export interface OpStep {
  readonly kind: "op";
  readonly statement: OpStatement;
  readonly access: Access | undefined;
  /** The operands that are terms at this point. Empty for an access. */
  readonly terms: readonly (TermTile | undefined)[];
  /** The result, if it is a term. */
  readonly result: TermTile | undefined;
  readonly path: readonly Term[];
  /** Programs and iterations, outer ones first. */
  readonly scope: readonly string[];
}

export interface CallStep {
  readonly kind: "call";
  readonly statement: OpStatement;
  readonly callee: FunctionIR;
  readonly steps: readonly Event[];
}

export interface Branch {
  readonly steps: readonly Event[];
  /** True if the branch always ends the program. */
  readonly hasExited: boolean;
}

export interface BranchStep {
  readonly kind: "branch";
  readonly statement: IfStatement;
  readonly condition: Term;
  readonly then: Branch;
  readonly otherwise: Branch;
}

export interface LoopStep {
  readonly kind: "loop";
  readonly iteration: Term;
  /** The condition of an iteration. Undefined if the number of iterations is not known. */
  readonly condition: Term | undefined;
  /** The variables of outer blocks that the loop assigns. */
  readonly variables: readonly Variable[];
  readonly steps: readonly Event[];
}

/** All op events, also those inside branches, loops and calls. */
export function opEvents(events: readonly Event[]): readonly OpStep[] {
  return events.flatMap((event): readonly OpStep[] => {
    if (event.kind === "op") return [event];
    if (event.kind === "branch") return [...opEvents(event.then.steps), ...opEvents(event.otherwise.steps)];
    return event.kind === "loop" || event.kind === "call" ? opEvents(event.steps) : [];
  });
}

// The values of helper functions that are called more than once: the model has those of the last call.

type Call = Extract<Event, { kind: "call" }>;

export function repeatedValues(events: readonly Event[]): ReadonlySet<Value> {
  const repeated = new Set<Value>();
  const called = new Set<object>();
  for (const { callee, steps } of callsIn(events)) {
    const { params, body } = callee;
    const values = [...params, ...valuesOf(steps), ...body.yields.filter(isValue)];
    if (called.has(callee)) for (const value of values) repeated.add(value);
    called.add(callee);
  }
  return repeated;
}

function callsIn(events: readonly Event[]): readonly Call[] {
  return events.flatMap((event): readonly Call[] => {
    if (event.kind === "call") return [event, ...callsIn(event.steps)];
    if (event.kind === "branch") return [...callsIn(event.then.steps), ...callsIn(event.otherwise.steps)];
    return event.kind === "loop" ? callsIn(event.steps) : [];
  });
}

function valuesOf(events: readonly Event[]): readonly Value[] {
  return events.flatMap((event): readonly Value[] => {
    switch (event.kind) {
      case "op":
        return event.statement.results;
      case "read":
        return [event.result];
      case "let":
      case "write":
        return [];
      case "call":
      case "loop":
        return [...(event.kind === "call" ? event.statement.results : []), ...valuesOf(event.steps)];
      case "branch":
        return [...event.statement.results, ...valuesOf(event.then.steps), ...valuesOf(event.otherwise.steps)];
      default:
        return event satisfies never;
    }
  });
}
