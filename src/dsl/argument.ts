/** What the author gives to control flow, as arguments of the program. */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { argumentList } from "../diagnostics/catalogue/operand-codes.js";
import { brokenRule } from "../diagnostics/catalogue/rule-codes.js";
import type { Builder } from "../ir/builder.js";
import type { Argument } from "../ir/nodes.js";
import { toArgument } from "../ops/define.js";

/** Refuses when `why` is a sentence. */
export function must(why: string, at: Location | undefined): void {
  if (why !== "") fail(brokenRule(why), at);
}

/** `what` says what is wrong with anything that cannot be a value. */
export function argumentOf(recorder: Builder, given: unknown, what: string, at: Location | undefined): Argument {
  const argument = toArgument(given);
  if (argument === undefined) fail(argumentList.notAValue(what), at);
  recorder.use(argument, at);
  return argument;
}

export function literal(value: number): Argument {
  return { kind: "literal", value };
}
