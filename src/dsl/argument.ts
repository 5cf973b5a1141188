/** What the author gives to control flow, as arguments of the program. */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import type { Builder } from "../ir/builder.js";
import type { Argument } from "../ir/nodes.js";
import { toArgument } from "../ops/define.js";

/** Refuses when `why` is a sentence. */
export function must(why: string, at: Location | undefined): void {
  if (why !== "") fail("type", why, at);
}

/** `what` says what is wrong with anything that cannot be a value. */
export function argumentOf(recorder: Builder, given: unknown, what: string, at: Location | undefined): Argument {
  const argument = toArgument(given);
  if (argument === undefined) fail("arguments", `${what}; give a tile, a constexpr or a number`, at);
  recorder.use(argument, at);
  return argument;
}

export function literal(value: number): Argument {
  return { kind: "literal", value };
}
