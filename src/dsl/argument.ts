/** Turns what the author passes to control flow into arguments of the program. */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { captureLocation } from "../diagnostics/callsite.js";
import { argumentList } from "../diagnostics/catalog/operand-codes.js";
import { ruleViolation } from "../diagnostics/catalog/rule-codes.js";
import type { Builder } from "../ir/builder.js";
import { isState } from "../ir/handle.js";
import type { Argument } from "../ir/nodes.js";
import { failOnState, toArgument } from "../ops/define.js";

/** Fails with `why`, unless it is empty. */
export function failIf(why: string, at: Location | undefined): void {
  if (why !== "") fail(ruleViolation(why), at);
}

/** Fails if a call got more than it takes: JavaScript would drop an arm or an option without a word. */
export function checkArity(name: string, most: number, more: readonly unknown[], call: string): void {
  if (more.length > 0) fail(argumentList.count(name, most, most + more.length, call), captureLocation());
}

/** `what` is the sentence for something that cannot be a value. It begins with the name of what was called. */
export function argumentOf(recorder: Builder, given: unknown, what: string, at: Location | undefined): Argument {
  if (isState(given)) failOnState(recorder, what.slice(0, what.indexOf(":")), at);
  const argument = toArgument(given, at);
  if (argument === undefined) fail(argumentList.notAValue(what), at);
  recorder.use(argument, at);
  return argument;
}

export function literal(value: number): Argument {
  return { kind: "literal", value };
}
