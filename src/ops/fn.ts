/** `tl.fn`: an author's function that becomes one function of the emitted Python. */
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

const operands = { callee: "function", args: "values" } as const;

/** A call as an op. There is one for each effect, for a call has the effect of the function's body. */
function callOp(effect: Effect): Op {
  const call = defineOp<unknown>()({
    name: "call",
    operands,
    effect,
    spelling: { form: "apply" },
    infer: inferCall,
    evaluate({ callee, args }): Runtime | readonly Runtime[] {
      const results = callee.call(args);
      return results.length === 1 ? results[0]! : results;
    },
  });
  return opOf(call)!;
}

const CALLS: Readonly<Record<Effect, Op>> = {
  pure: callOp("pure"),
  read: callOp("read"),
  write: callOp("write"),
  atomic: callOp("atomic"),
};

function inferCall({ callee, args }: TypedArguments<typeof operands>): readonly Type[] | string {
  const { params, results } = callee.signature;
  const given = args.items;
  if (given.length !== params.length) return `fn: takes ${params.length} values, got ${given.length}`;
  const wrong = params.findIndex((param, i) => !sameType(param, given[i]!.type));
  return wrong < 0 ? results : `fn: takes ${showType(params[wrong]!)}, got ${showType(given[wrong]!.type)}`;
}

const STRENGTH: readonly Effect[] = ["pure", "read", "atomic", "write"];

/** A function's effect: the strongest of its ops' effects. */
export function effectOf({ body }: FunctionIR): Effect {
  let strongest = 0;
  walk(body, (statement) => {
    if (statement.kind === "op") strongest = Math.max(strongest, STRENGTH.indexOf(statement.op.effect));
  });
  return STRENGTH[strongest]!;
}

const DEFINITION: unique symbol = Symbol("tilescript.helper");

/** The function that `tl.fn` was given, for ops that take functions, such as `tl.reduce`. */
export function definitionOfHelper(x: unknown): HelperDefinition | undefined {
  return typeof x === "function" && DEFINITION in x ? (x[DEFINITION] as HelperDefinition) : undefined;
}

export interface FnOptions {
  /** Triton calls the function instead of inlining it. It then takes and returns scalars only. */
  noinline?: boolean | undefined;
}
type Helper = (...args: any[]) => unknown;

/**
 * A helper function of the emitted Python: `const scaled = tl.fn((x, factor) => x.mul(factor))` is a `@triton.jit`
 * function, written once for each combination of argument types and called wherever the author calls it. Tiles,
 * pointers and constexprs become its parameters. JavaScript's own values, dtypes and tensors are known while it is
 * written, so each makes a function of its own. It returns nothing, a tile, or a list of tiles. Use an ordinary
 * TypeScript function for code to be written out where it is called.
 */
export function fn<F extends Helper>(body: F, options?: FnOptions): F;
export function fn<F extends Helper>(name: string, body: F, options?: FnOptions): F;
export function fn(...given: unknown[]): unknown {
  const at = captureLocation();
  const name = typeof given[0] === "string" ? given[0] : undefined;
  const [author, options] = (name === undefined ? given : given.slice(1)) as [Helper, FnOptions | undefined];
  if (name !== undefined && !/^[A-Za-z_]\w*$/.test(name)) fail(helperFunction.name(name), at);
  if (typeof author !== "function") fail(helperFunction.missing(), at);
  const definition: HelperDefinition = { body: author, name, noinline: options?.noinline === true, at, what: "fn" };
  const call = (...args: unknown[]): unknown => callFunction(definition, args, author);
  return Object.assign(call, { [DEFINITION]: definition });
}

function callFunction(definition: HelperDefinition, args: readonly unknown[], author: Helper): unknown {
  const recorder = builder("a function of tl.fn");
  // The host's Python needs no separate function: the body is written out.
  if (recorder.place === "host") return author(...args);
  const at = recorder.location();
  const values = actuals(recorder, args, "fn", at);
  const { helper, body } = traceHelper(recorder, definition, args, at);
  return resultOf(appendCall(recorder, helper, values, at), body.form);
}

/** The result of a call, as the author gets it. */
export function resultOf(handles: readonly Handle[], form: ResultForm): unknown {
  return form === "nothing" ? undefined : form === "one" ? handles[0] : handles;
}

/** Records a call. `values` holds the argument for each parameter. */
export function appendCall(
  recorder: Builder,
  helper: FunctionIR,
  values: OpStatement["operands"],
  at: Location | undefined,
): readonly Handle[] {
  const types = helper.body.yields.map((result) => ("type" in result ? result.type : fail(helperResult.untyped())));
  const callee = { kind: "function", function: helper } as const;
  recorder.use(callee, at);
  const operands = [callee, values.filter((value) => value !== undefined)];
  const op = CALLS[effectOf(helper)];
  const results = repeatOp(recorder, op, operands, {}) ?? recorder.op(op, operands, {}, types, at);
  return results.map((value) => new Handle(value));
}
