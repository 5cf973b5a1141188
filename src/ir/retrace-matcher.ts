/**
 * The recorded statements that a body repeats while it is entered again. A repeated statement has the place and the types
 * of the recorded one: to take a place from JavaScript's stack and to apply a type rule would cost far more than to
 * compare the arguments. Only statements that differ need a place of their own. Whether a body gives the same statements
 * is decided when it ends, by `same-statements.ts`.
 */
import type { Builder } from "./builder.js";
import type { Argument, FunctionIR, OpStatement, Statement, Value, Variable } from "./nodes.js";
import type { Op } from "./op.js";
import { type ArgumentEquality, type Made, sameArgument, sameArguments, sameOptions } from "./same-statements.js";
import { sameType } from "../types/types.js";

/** What was made again so far, and the recorded value or variable that each stands for. */
export class RetraceMatcher implements ArgumentEquality {
  readonly #recorded = new Map<Made, Made>();

  pair(recorded: Made, again: Made): void {
    this.#recorded.set(again, recorded);
  }

  /** The same value, if it was made outside the body; else what was made again at its place. */
  made(recorded: Made, again: Made): boolean {
    return recorded === again ? !recorded.scope.closed : this.#recorded.get(again) === recorded;
  }

  values(recorded: Value, again: Value): boolean {
    return this.made(recorded, again);
  }

  functions(recorded: FunctionIR, again: FunctionIR): boolean {
    return recorded === again;
  }
}

/** The recorded statement at the position of the next one, if it is of this kind. */
function recordedAs<K extends Statement["kind"]>(recorder: Builder, kind: K) {
  const again = recorder.entry?.again;
  const known = again?.known.block.statements[recorder.statements.length];
  if (!again || known?.kind !== kind) return undefined;
  return { known: known as Extract<Statement, { kind: K }>, repeats: again.repeats };
}

/** The results of an op if it repeats the recorded one. */
export function repeatOp(
  recorder: Builder,
  op: Op,
  operands: OpStatement["operands"],
  options: OpStatement["options"],
): readonly Value[] | undefined {
  const recorded = recordedAs(recorder, "op");
  if (recorded?.known.op !== op) return undefined;
  const { known, repeats } = recorded;
  if (!sameArguments(known.operands, operands, repeats) || !sameOptions(known.options, options, repeats)) {
    return undefined;
  }
  const types = known.results.map(({ type }) => type);
  const results = recorder.op(op, operands, options, types, known.at);
  known.results.forEach((result, i) => repeats.pair(result, results[i]!));
  return results;
}

/** The variable of a `let` if it repeats the recorded one. */
export function repeatLet(recorder: Builder, initial: Argument | undefined): Variable | undefined {
  const recorded = recordedAs(recorder, "let");
  if (!recorded || !initial) return undefined;
  const { known, repeats } = recorded;
  if (!sameArgument(known.initial, initial, repeats)) return undefined;
  const variable = recorder.variable(known.variable.type, known.at);
  recorder.append({ kind: "let", variable, initial, at: known.at });
  repeats.pair(known.variable, variable);
  return variable;
}

/** The result of a read if it repeats the recorded one. */
export function repeatRead(recorder: Builder, variable: Variable): Value | undefined {
  const recorded = recordedAs(recorder, "read");
  if (!recorded) return undefined;
  const { known, repeats } = recorded;
  if (!repeats.made(known.variable, variable)) return undefined;
  const result = recorder.value(variable.type, known.at);
  recorder.append({ kind: "read", variable, result, at: known.at });
  repeats.pair(known.result, result);
  return result;
}

/** Whether a write repeats the recorded one. */
export function repeatWrite(recorder: Builder, variable: Variable, value: Argument | undefined): boolean {
  const recorded = recordedAs(recorder, "write");
  if (!recorded || !value) return false;
  const { known, repeats } = recorded;
  if (!repeats.made(known.variable, variable) || !sameArgument(known.value, value, repeats)) return false;
  recorder.append({ kind: "write", variable, value, at: known.at });
  return true;
}

/** Pairs a loop's index or a helper function's parameters with the recorded ones. */
export function repeatParams(recorder: Builder, params: readonly Value[]): void {
  const again = recorder.entry?.again;
  if (again) pairAll(again.repeats, again.known.params, params);
}

/** Pairs the results of the branch that was recorded last. */
export function repeatResults(recorder: Builder, results: readonly Value[]): void {
  const again = recorder.entry?.again;
  const known = again?.known.block.statements[recorder.statements.length - 1];
  if (again && known?.kind === "if") pairAll(again.repeats, known.results, results);
}

function pairAll(repeats: RetraceMatcher, recorded: readonly Value[], again: readonly Value[]): void {
  recorded.forEach((value, i) => {
    const other = again[i];
    if (other && sameType(value.type, other.type)) repeats.pair(value, other);
  });
}
