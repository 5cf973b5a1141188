/** Converts the operands of control flow to IR arguments. */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { captureLocation } from "../diagnostics/callsite.js";
import { argumentList } from "../diagnostics/catalog/operand-codes.js";
import type { RuleError } from "../types/rule-error.js";
import type { Builder } from "../ir/builder.js";
import { isState } from "../ir/handle.js";
import type { Argument } from "../ir/nodes.js";
import { failOnState, toArgument } from "../ops/define.js";

/** Fails with the message of a rule that is violated. */
export function failIf(error: RuleError | undefined, location: Location | undefined): void {
  if (error) fail(error, location);
}

/** Fails if a call has extra arguments. JavaScript would silently drop an arm or an option. */
export function checkArity(name: string, maxCount: number, extraArgs: readonly unknown[], usage: string): void {
  if (extraArgs.length > 0)
    fail(argumentList.count(name, maxCount, maxCount + extraArgs.length, usage), captureLocation());
}

/** The IR argument of an operand. `problem` is what is said of one that is not a value. */
export function argumentOf(
  recorder: Builder,
  value: unknown,
  op: string,
  problem: string,
  location: Location | undefined,
): Argument {
  if (isState(value)) failOnState(recorder, op, location);
  const argument = toArgument(value, location);
  if (argument === undefined) fail(argumentList.notAValue(`${op}: ${problem}`), location);
  recorder.checkUse(argument, location);
  return argument;
}

export function literal(value: number): Argument {
  return { kind: "literal", value };
}
