/** The values of helper functions that are called more than once: the model has those of the last call. */
import { isValue, type Value } from "../../ir/nodes.js";
import type { Event } from "../model/events.js";

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
