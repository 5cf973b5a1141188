/** `tl.extern`: calls a `@triton.jit` function of the author's Python file. */
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
import { capturesOf, typeOfArgument } from "../ir/walk.js";
import { defineOp, opOf, toArgument } from "./define.js";
import { type HelperDefinition, traceHelper, appendCall, calledResult } from "./helper.js";

type AnyFunction = (...args: any[]) => unknown;

/** The model of a Python function: an equivalent computation, or only the types of its results and its effect. */
export type ExternOptions<F extends AnyFunction> =
  | {
      /** An equivalent computation with `tl`. It determines the type and effect, and the evaluator runs it. */
      readonly evaluate: F;
    }
  | {
      /** Returns tiles with the results' dtypes and shapes: `(x) => x` or `(x) => tl.zeros(x.shape, tl.float32)`. */
      readonly result: F;
      /** The effect on memory. The default is "pure", or "write" if there is no result. */
      readonly effect?: Effect;
    };

/** The op that represents a function without a model in the IR. */
function opaqueOp(effect: Effect): Op {
  return opOf(
    defineOp<unknown>()({
      name: "extern",
      operands: { types: "values" },
      effect,
      spelling: { form: "raw" },
      infer: ({ types }) => types.items.map(({ type }) => type),
    }),
  );
}
const OPAQUE: Readonly<Record<Effect, Op>> = {
  pure: opaqueOp("pure"),
  read: opaqueOp("read"),
  write: opaqueOp("write"),
  atomic: opaqueOp("atomic"),
};

/**
 * Imports a `@triton.jit` function of a Python file: `const softcap = tl.extern("./ops.py", "softcap",
 * { evaluate: (x: Tile<"float32", Shape>, cap: number) => … })`. The path is relative to the author's file. The source
 * of the function is copied into the emitted module, with the jit functions and `tl.constexpr` globals that it uses.
 * Numbers, strings and booleans are passed unchanged. Without `evaluate` the function is not modeled, so a kernel that
 * calls it is not evaluated in-process.
 */
export function extern<const F extends AnyFunction>(file: string, name: string, options: ExternOptions<F>): F {
  const location = captureLocation();
  if (typeof file !== "string" || !file.endsWith(".py")) fail(externFile.missing(), location);
  if (typeof name !== "string" || !/^[A-Za-z_]\w*$/.test(name)) fail(pythonName.function(name), location);
  const body = options && ("evaluate" in options ? options.evaluate : options.result);
  if (typeof body !== "function") fail(externMeaning(), location);
  const effect = "effect" in options ? options.effect : undefined;
  if (effect !== undefined && !(effect in OPAQUE)) fail(unknownEffect.extern(effect), location);
  const definition: HelperDefinition = {
    body: "evaluate" in options ? body : (...args) => traceResultTypes(body, effect, args),
    name,
    noinline: false,
    location,
    opName: `extern ${name}`,
    extern: { file, name },
  };
  return ((...args: unknown[]) => callExtern(definition, args)) as F;
}

/** Traces the author's `result` function and keeps only the types of its results. */
function traceResultTypes(result: AnyFunction, effect: Effect | undefined, args: readonly unknown[]): unknown {
  const recorder = builder("extern");
  const resultValue = result(...args);
  const isListed = Array.isArray(resultValue);
  const items = isListed ? resultValue : [resultValue].filter((item) => item !== undefined);
  const values = items.map((item) => toArgument(item) as Argument);
  const op = OPAQUE[effect ?? (resultValue === undefined ? "write" : "pure")];
  const location = recorder.location();
  const types = values.map((value) => (isValue(value) ? value.type : none));
  const results = recorder.op(op, [values], {}, types, location).map((value) => new Handle(value));
  return isListed ? results : results[0];
}

function callExtern(definition: HelperDefinition, args: readonly unknown[]): unknown {
  const { opName } = definition;
  const recorder = builder(opName);
  const location = recorder.location();
  if (recorder.executionSpace === "host") fail(hostOnly.extern(opName), location);
  const values = args.map((arg) => toExternArgument(recorder, arg, opName, location));
  const { helper, body } = traceHelper(recorder, definition, args, location);
  const [captured] = capturesOf(helper);
  if (captured) fail(helperCapture.extern(opName, captured.parameter ?? "a value"), location);
  return calledResult(appendCall(recorder, helper, values, location), body.form);
}

function toExternArgument(recorder: Builder, value: unknown, opName: string, location: Location | undefined): Argument {
  const argument = toArgument(value, location);
  if (argument === undefined || isList(argument)) return fail(helperArgument.extern(opName), location);
  const type: Type = typeOfArgument(argument);
  if (type.kind === "view" || type.kind === "tensor") fail(helperArgument.externView(opName, type.kind), location);
  recorder.checkUse(argument, location);
  return argument;
}
