/** `tl.extern`: a `@triton.jit` function of a Python file that the author has. */
import { typeOfArgument } from "../ir/typed.js";
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { helperArgument, helperCapture } from "../diagnostics/catalog/control-codes.js";
import { pythonName } from "../diagnostics/catalog/definition-codes.js";
import { externFile, externMeaning } from "../diagnostics/catalog/extern-codes.js";
import { hostOnly } from "../diagnostics/catalog/host-codes.js";
import { unknownEffect } from "../diagnostics/catalog/operand-codes.js";
import { builder, type Builder } from "../ir/builder.js";
import { captureLocation } from "../diagnostics/callsite.js";
import { Handle } from "../ir/handle.js";
import { type Argument, isList, isValue } from "../ir/nodes.js";
import type { Effect, Op } from "../ir/op.js";
import { none, type Type } from "../types/types.js";
import { capturesOf } from "../ir/walk.js";
import { defineOp, opOf, toArgument } from "./define.js";
import { appendCall, resultOf } from "./fn.js";
import { type HelperDefinition, traceHelper } from "./helper.js";

type AnyFunction = (...args: any[]) => unknown;

/** What is known of a function in Python: what it computes, or only what comes out. */
export type ExternOptions<F extends AnyFunction> =
  | {
      /** The same computation with `tl`: its type and effect are the function's, and the evaluator runs it. */
      readonly evaluate: F;
    }
  | {
      /** Gives tiles of the dtypes and shapes that come out, `(x) => x` or `(x) => tl.zeros(x.shape, tl.float32)`. */
      readonly result: F;
      /** What it does to memory: nothing, unless it gives nothing. */
      readonly effect?: Effect;
    };

/** Stands for what the function does where the author does not say. */
function opaque(effect: Effect): Op {
  return opOf(
    defineOp<unknown>()({
      name: "extern",
      operands: { types: "values" },
      effect,
      spelling: { form: "raw" },
      infer: ({ types }) => types.items.map(({ type }) => type),
    }),
  )!;
}
const OPAQUE: Readonly<Record<Effect, Op>> = {
  pure: opaque("pure"),
  read: opaque("read"),
  write: opaque("write"),
  atomic: opaque("atomic"),
};

/**
 * A `@triton.jit` function out of a Python file beside the author's: `const softcap = tl.extern("./ops.py", "softcap",
 * { evaluate: (x: Tile<"float32", Shape>, cap: number) => … })`. Its source, and what it needs of that file (other jit
 * functions and `tl.constexpr` globals), is copied into the emitted module. Numbers, strings and truth values are
 * handed over as they are. Without `evaluate` it is not modeled: a kernel that calls it is not evaluated in-process.
 */
export function extern<const F extends AnyFunction>(file: string, name: string, options: ExternOptions<F>): F {
  const at = captureLocation();
  if (typeof file !== "string" || !file.endsWith(".py")) fail(externFile.missing(), at);
  if (typeof name !== "string" || !/^[A-Za-z_]\w*$/.test(name)) fail(pythonName.function(name), at);
  const body = options && ("evaluate" in options ? options.evaluate : options.result);
  if (typeof body !== "function") fail(externMeaning(), at);
  const effect = "effect" in options ? options.effect : undefined;
  if (effect !== undefined && !(effect in OPAQUE)) fail(unknownEffect.extern(effect), at);
  const definition: HelperDefinition = {
    body: "evaluate" in options ? body : (...args) => declared(body, effect, args),
    name,
    noinline: false,
    at,
    what: `extern ${name}`,
    extern: { file, name },
  };
  return ((...args: unknown[]) => callExtern(definition, args)) as F;
}

/** Runs the author's function for the types of its results alone. */
function declared(result: AnyFunction, effect: Effect | undefined, args: readonly unknown[]): unknown {
  const recorder = builder("extern");
  const given = result(...args);
  const items = given === undefined ? [] : Array.isArray(given) ? given : [given];
  const values = items.map((item) => toArgument(item) as Argument);
  const op = OPAQUE[effect ?? (given === undefined ? "write" : "pure")];
  const at = recorder.location();
  const types = values.map((value) => (isValue(value) ? value.type : none));
  const results = recorder.op(op, [values], {}, types, at).map((value) => new Handle(value));
  return given === undefined ? undefined : Array.isArray(given) ? results : results[0];
}

function callExtern(definition: HelperDefinition, given: readonly unknown[]): unknown {
  const { what } = definition;
  const recorder = builder(what);
  const at = recorder.location();
  if (recorder.place === "host") fail(hostOnly.extern(what), at);
  const values = given.map((each) => handedOver(recorder, each, what, at));
  const { helper, body } = traceHelper(recorder, definition, given, at);
  const [captured] = capturesOf(helper);
  if (captured) fail(helperCapture.extern(what, captured.parameter ?? "a value"), at);
  return resultOf(appendCall(recorder, helper, values, at), body.form);
}

function handedOver(recorder: Builder, given: unknown, what: string, at: Location | undefined): Argument {
  const argument = toArgument(given, at);
  if (argument === undefined || isList(argument)) return fail(helperArgument.extern(what), at);
  const type: Type = typeOfArgument(argument);
  if (type.kind === "view" || type.kind === "tensor") fail(helperArgument.externView(what, type.kind), at);
  recorder.use(argument, at);
  return argument;
}
