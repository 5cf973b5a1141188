/** `tl.fn`: helper functions of the emitted Python. */
import { operandKind } from "../diagnostics/catalog/rule-codes.js";
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { helperFunction, helperResult } from "../diagnostics/catalog/control-codes.js";
import { builder, type Builder } from "../ir/builder.js";
import { captureLocation } from "../diagnostics/callsite.js";
import type { ResultForm } from "../ir/retrace.js";
import { Handle } from "../ir/handle.js";
import type { FunctionIR, OpStatement } from "../ir/nodes.js";
import { repeatOp } from "../ir/retrace-matcher.js";
import type { Effect, Op, TypedArguments } from "../ir/op.js";
import type { Runtime } from "../values/runtime-values.js";
import { sameType, showType, type Type } from "../types/types.js";
import { walk } from "../ir/walk.js";
import { defineOp, opOf } from "./define.js";
import { actuals, type HelperDefinition, traceHelper } from "./helper.js";
import type { RuleError } from "../types/rule-error.js";

const operands = { callee: "function", args: "values" } as const;

/** The op of a call. There is one per effect, because a call has the effect of the function's body. */
function callOp(effect: Effect): Op {
  const call = defineOp<unknown>()({
    name: "call",
    operands,
    effect,
    spelling: { form: "apply" },
    infer: inferCall,
    evaluate({ callee, args }): Runtime | readonly Runtime[] {
      const results = callee.call(args);
      const [first, ...others] = results;
      return first !== undefined && others.length === 0 ? first : results;
    },
  });
  return opOf(call);
}

const CALLS: Readonly<Record<Effect, Op>> = {
  pure: callOp("pure"),
  read: callOp("read"),
  write: callOp("write"),
  atomic: callOp("atomic"),
};

function inferCall({ callee, args }: TypedArguments<typeof operands>): readonly Type[] | RuleError {
  const { params, results } = callee.signature;
  const values = args.items;
  if (values.length !== params.length) return operandKind(`fn: takes ${params.length} values, got ${values.length}`);
  for (const [i, { type }] of values.entries()) {
    const param = params[i];
    if (param && !sameType(param, type)) return operandKind(`fn: takes ${showType(param)}, got ${showType(type)}`);
  }
  return results;
}

const STRENGTH: Readonly<Record<Effect, number>> = { pure: 0, read: 1, atomic: 2, write: 3 };

/** The strongest effect of the function's ops. */
export function effectOf({ body }: FunctionIR): Effect {
  let strongest: Effect = "pure";
  walk(body, (statement) => {
    if (statement.kind === "op" && STRENGTH[statement.op.effect] > STRENGTH[strongest]) strongest = statement.op.effect;
  });
  return strongest;
}

const DEFINITION: unique symbol = Symbol("tilescript.helper");

/** The definition behind a function that `tl.fn` returned, for ops that accept functions, such as `tl.reduce`. */
export function definitionOfHelper(x: unknown): HelperDefinition | undefined {
  return typeof x === "function" && DEFINITION in x ? (x[DEFINITION] as HelperDefinition) : undefined;
}

export interface FnOptions {
  /** Prevents inlining by Triton. The function must then accept and return only scalars. */
  noinline?: boolean | undefined;
}
type Helper = (...args: any[]) => unknown;

/**
 * A helper function of the emitted Python: `const scaled = tl.fn((x, factor) => x.mul(factor))` is a `@triton.jit`
 * function, emitted once for each combination of argument types. Tiles, pointers and constexprs become its parameters.
 * JavaScript values, dtypes and tensors are constants, so each distinct value creates a separate function. The function
 * returns nothing, a tile, or a list of tiles. Use an ordinary TypeScript function for code that is inlined at each
 * call.
 */
export function fn<F extends Helper>(body: F, options?: FnOptions): F;
export function fn<F extends Helper>(name: string, body: F, options?: FnOptions): F;
export function fn(...args: unknown[]): unknown {
  const location = captureLocation();
  const name = typeof args[0] === "string" ? args[0] : undefined;
  const [authorFunction, options] = (name === undefined ? args : args.slice(1)) as [Helper, FnOptions | undefined];
  if (name !== undefined && !/^[A-Za-z_]\w*$/.test(name)) fail(helperFunction.name(name), location);
  if (typeof authorFunction !== "function") fail(helperFunction.missing(), location);
  const definition: HelperDefinition = {
    body: authorFunction,
    name,
    noinline: options?.noinline === true,
    location,
    opName: "fn",
  };
  const call = (...args: unknown[]): unknown => callFunction(definition, args, authorFunction);
  return Object.assign(call, { [DEFINITION]: definition });
}

function callFunction(definition: HelperDefinition, args: readonly unknown[], authorFunction: Helper): unknown {
  const recorder = builder("a function of tl.fn");
  // On the host the body is inlined.
  if (recorder.executionSpace === "host") return authorFunction(...args);
  const location = recorder.location();
  const values = actuals(recorder, args, "fn", location);
  const { helper, body } = traceHelper(recorder, definition, args, location);
  return resultOf(appendCall(recorder, helper, values, location), body.form);
}

/** The result of a call in the form in which the function returned it. */
export function resultOf(handles: readonly Handle[], form: ResultForm): unknown {
  if (form === "nothing") return undefined;
  return form === "one" ? handles[0] : handles;
}

/** Appends a call. `values` contains the argument of each parameter. */
export function appendCall(
  recorder: Builder,
  helper: FunctionIR,
  values: OpStatement["operands"],
  location: Location | undefined,
): readonly Handle[] {
  const types = helper.body.yields.map((result) => ("type" in result ? result.type : fail(helperResult.untyped())));
  const callee = { kind: "function", function: helper } as const;
  recorder.checkUse(callee, location);
  const operands = [callee, values.filter((value) => value !== undefined)];
  const op = CALLS[effectOf(helper)];
  const results = repeatOp(recorder, op, operands, {}) ?? recorder.op(op, operands, {}, types, location);
  return results.map((value) => new Handle(value));
}
