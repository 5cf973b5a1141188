/**
 * Matches the statements of a retrace against the recorded ones.
 *
 * A matching statement reuses the recorded location and types. Capturing a location from JavaScript's stack and
 * applying a type rule cost far more than comparing the arguments. Only statements that differ need a new location.
 * `same-statements.ts` compares the whole body when it ends.
 */
import type { Builder } from "./builder.js";
import type { Argument, FunctionIR, OpStatement, Statement, Value, Variable } from "./nodes.js";
import type { Op } from "./op.js";
import { type ArgumentEquality, type Definition, sameArgument, sameArguments, sameOptions } from "./same-statements.js";
import { sameType } from "../types/types.js";

/** The definitions that have been retraced so far, each with its recorded counterpart. */
export class RetraceMatcher implements ArgumentEquality {
  readonly #recorded = new Map<Definition, Definition>();

  pair(recorded: Definition, retraced: Definition): void {
    this.#recorded.set(retraced, recorded);
  }

  /** True if both are the same definition from outside the body, or if they have been paired. */
  isMatch(recorded: Definition, retraced: Definition): boolean {
    return recorded === retraced ? !recorded.scope.isClosed : this.#recorded.get(retraced) === recorded;
  }

  sameValue(recorded: Value, retraced: Value): boolean {
    return this.isMatch(recorded, retraced);
  }

  sameFunction(recorded: FunctionIR, retraced: FunctionIR): boolean {
    return recorded === retraced;
  }
}

/** The recorded statement at the current position, if it is of this kind. */
function recordedStatement<K extends Statement["kind"]>(recorder: Builder, kind: K) {
  const retrace = recorder.entry?.retrace;
  const recorded = retrace?.recorded.block.statements[recorder.statements.length];
  if (!retrace || recorded?.kind !== kind) return undefined;
  return { recorded: recorded as Extract<Statement, { kind: K }>, matcher: retrace.matcher };
}

/** Appends an op and returns its results if it matches the recorded statement. */
export function repeatOp(
  recorder: Builder,
  op: Op,
  operands: OpStatement["operands"],
  options: OpStatement["options"],
): readonly Value[] | undefined {
  const match = recordedStatement(recorder, "op");
  if (match?.recorded.op !== op) return undefined;
  const { recorded, matcher } = match;
  if (!sameArguments(recorded.operands, operands, matcher) || !sameOptions(recorded.options, options, matcher)) {
    return undefined;
  }
  const types = recorded.results.map(({ type }) => type);
  const results = recorder.op(op, operands, options, types, recorded.location);
  pairAll(matcher, recorded.results, results);
  return results;
}

/** Appends a `let` and returns its variable if it matches the recorded statement. */
export function repeatLet(recorder: Builder, initial: Argument | undefined): Variable | undefined {
  const match = recordedStatement(recorder, "let");
  if (!match || !initial) return undefined;
  const { recorded, matcher } = match;
  if (!sameArgument(recorded.initial, initial, matcher)) return undefined;
  const variable = recorder.variable(recorded.variable.type, recorded.location);
  recorder.append({ kind: "let", variable, initial, location: recorded.location });
  matcher.pair(recorded.variable, variable);
  return variable;
}

/** Appends a read and returns its result if it matches the recorded statement. */
export function repeatRead(recorder: Builder, variable: Variable): Value | undefined {
  const match = recordedStatement(recorder, "read");
  if (!match) return undefined;
  const { recorded, matcher } = match;
  if (!matcher.isMatch(recorded.variable, variable)) return undefined;
  const result = recorder.value(variable.type, recorded.location);
  recorder.append({ kind: "read", variable, result, location: recorded.location });
  matcher.pair(recorded.result, result);
  return result;
}

/** Appends a write if it matches the recorded statement. Returns true if it did. */
export function repeatWrite(recorder: Builder, variable: Variable, value: Argument | undefined): boolean {
  const match = recordedStatement(recorder, "write");
  if (!match || !value) return false;
  const { recorded, matcher } = match;
  if (!matcher.isMatch(recorded.variable, variable) || !sameArgument(recorded.value, value, matcher)) return false;
  recorder.append({ kind: "write", variable, value, location: recorded.location });
  return true;
}

/** Pairs a loop's index or a helper function's parameters with the recorded ones. */
export function repeatParams(recorder: Builder, params: readonly Value[]): void {
  const retrace = recorder.entry?.retrace;
  if (retrace) pairAll(retrace.matcher, retrace.recorded.params, params);
}

/** Pairs the results of the last branch with the recorded ones. */
export function repeatResults(recorder: Builder, results: readonly Value[]): void {
  const retrace = recorder.entry?.retrace;
  const recorded = retrace?.recorded.block.statements[recorder.statements.length - 1];
  if (retrace && recorded?.kind === "if") pairAll(retrace.matcher, recorded.results, results);
}

function pairAll(matcher: RetraceMatcher, recorded: readonly Value[], retraced: readonly Value[]): void {
  recorded.forEach((value, i) => {
    const counterpart = retraced[i];
    if (counterpart && sameType(value.type, counterpart.type)) matcher.pair(value, counterpart);
  });
}
