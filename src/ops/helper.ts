/** Traces helper functions (`tl.fn`, combine functions). Each is traced once per signature. */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import {
  earlyExit,
  helperArgument,
  helperResult,
  recursion,
  helperFunction,
} from "../diagnostics/catalog/control-codes.js";
import { type Builder, builder } from "../ir/builder.js";
import { type Body, type BodyResult, runHelper, type ResultForm, repeatParams, repeatOp } from "../ir/retrace.js";
import { isDType } from "../types/dtype.js";
import { Handle, isHandle, valueOf } from "../ir/handle.js";
import {
  type Argument,
  type ExternSource,
  type FunctionIR,
  isList,
  isValue,
  Value,
  type OpStatement,
} from "../ir/nodes.js";
import { showType, type Type, sameType } from "../types/types.js";
import { toArgument, defineOp, opOf } from "./define.js";
import { operandKind } from "../diagnostics/catalog/rule-codes.js";
import { captureLocation } from "../diagnostics/callsite.js";
import type { Effect, Op, TypedArguments } from "../ir/op.js";
import type { Runtime } from "../values/runtime-values.js";
import { walk, typeOfArgument } from "../ir/walk.js";
import type { RuleError } from "../types/rule-error.js";

/** Parses the parameter names of a function from its source text. */

type ParameterName = string | readonly ParameterName[];

/** One entry per parameter: its name, or the names in an array pattern. Undefined for any other pattern. */
export function parameterNames(body: (...args: never[]) => unknown): readonly (ParameterName | undefined)[] {
  const text = Function.prototype.toString.call(body);
  const arrow = /^(?:async\s+)?([A-Za-z_$][\w$]*)\s*=>/.exec(text);
  if (arrow) return [arrow[1]];
  const open = text.indexOf("(");
  return open < 0 ? [] : splitParameters(text.slice(open + 1)).map(nameOf);
}

/** Splits a list at its top-level commas, up to the closing bracket. */
function splitParameters(text: string): readonly string[] {
  const parameters: string[] = [];
  let depth = 0;
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    const character = text.charAt(i);
    if ("([{".includes(character)) depth++;
    const isClosing = ")]}".includes(character);
    if (depth === 0 && (character === "," || isClosing)) {
      parameters.push(text.slice(start, i).trim());
      start = i + 1;
      if (isClosing) break;
    } else if (isClosing) depth--;
  }
  return parameters.filter((part, i) => part !== "" || i < parameters.length - 1);
}

function nameOf(parameter: string): ParameterName | undefined {
  if (parameter.startsWith("[")) return splitParameters(parameter.slice(1)).map((each) => nameOf(each) ?? "arg");
  return /^[A-Za-z_$][\w$]*/.exec(parameter)?.[0];
}

type AuthorFunction = (...args: unknown[]) => unknown;

/** An author's function that is emitted as a separate `@triton.jit` function. */
export interface HelperDefinition {
  readonly body: AuthorFunction;
  /** Undefined if the function is named after the author's variable. */
  readonly name: string | undefined;
  readonly noinline: boolean;
  readonly location: Location | undefined;
  /** The op's name in messages: `fn`, `reduce` … */
  readonly opName: string;
  /** Set for a function written in Python. Literals are then also passed as arguments. */
  readonly extern?: ExternSource;
  /** True for functions of TileScript, which are known to have no JavaScript state. */
  readonly isLibrary?: boolean;
}

export interface TracedHelper {
  readonly helper: FunctionIR;
  readonly body: Body;
}

const helpersByBuilder = new WeakMap<Builder, Map<AuthorFunction, Map<string, TracedHelper>>>();
const activeByBuilder = new WeakMap<Builder, Set<AuthorFunction>>();

/** Traces the helper for arguments of these types, or returns the cached result. */
export function traceHelper(
  recorder: Builder,
  definition: HelperDefinition,
  args: readonly unknown[],
  location: Location | undefined,
): TracedHelper {
  const cache = getOrCreate(
    getOrCreate(helpersByBuilder, recorder, () => new Map()),
    definition.body,
    () => new Map<string, TracedHelper>(),
  );
  const key = args.map((each) => keyOf(each)).join("; ");
  const previous = cache.get(key);
  const activeFunctions = getOrCreate(activeByBuilder, recorder, () => new Set<AuthorFunction>());
  const traceBody = (): BodyResult => {
    if (activeFunctions.has(definition.body)) fail(recursion(definition.opName), location);
    activeFunctions.add(definition.body);
    const result = withHelperScope(recorder, () => traceDefinition(recorder, definition, args, location));
    activeFunctions.delete(definition.body);
    return result;
  };
  const head = { label: "the helper function", kind: "helper", location: definition.location } as const;
  const body = runHelper(recorder, head, previous?.body, definition.isLibrary === true, traceBody);
  if (previous) return previous;
  const tracedHelper = { helper: functionOf(recorder, definition, body, location), body };
  cache.set(key, tracedHelper);
  return tracedHelper;
}

function getOrCreate<K extends object, V>(
  map: { get(key: K): V | undefined; set(key: K, value: V): unknown },
  key: K,
  make: () => V,
): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}

/** Restores the caller's constexprs afterwards: in the helper, a dimension may resolve to a parameter. */
function withHelperScope<T>(recorder: Builder, body: () => T): T {
  const outer = new Map(recorder.constexprs);
  const isAnonymous = recorder.isAnonymous;
  recorder.isAnonymous = false;
  const result = body();
  recorder.isAnonymous = isAnonymous;
  recorder.constexprs.clear();
  for (const [text, value] of outer) recorder.constexprs.set(text, value);
  return result;
}

function traceDefinition(
  recorder: Builder,
  definition: HelperDefinition,
  args: readonly unknown[],
  location: Location | undefined,
): BodyResult {
  const { depth } = recorder;
  const params: Value[] = [];
  const names = parameterNames(definition.body);
  const formals = args.map((each, i) => toFormal(recorder, each, names[i] ?? `arg${i}`, params, definition));
  repeatParams(recorder, params);
  const result = definition.body(...formals);
  if (recorder.depth !== depth) fail(earlyExit.left(definition.opName), location);
  if (result === undefined) return { params, yields: [], form: "nothing" };
  const isListed = Array.isArray(result);
  const yields = (isListed ? result : [result]).map((item) => resultOf(recorder, item, definition, location));
  return { params, yields, form: isListed ? "list" : "one" };
}

function functionOf(
  recorder: Builder,
  definition: HelperDefinition,
  { params, block }: Body,
  location: Location | undefined,
): FunctionIR {
  const helper: FunctionIR = {
    name: definition.name,
    params,
    body: block,
    noinline: definition.noinline,
    ...(definition.extern && { extern: definition.extern }),
    at: definition.location,
  };
  if (definition.noinline) checkNoinline(helper, location);
  recorder.functions.push(helper);
  return helper;
}

type Names = string | readonly Names[];

/** The formal argument for an actual one. IR values become parameters of the helper. */
function toFormal(
  recorder: Builder,
  arg: unknown,
  name: Names,
  params: Value[],
  definition: HelperDefinition,
): unknown {
  if (Array.isArray(arg))
    return arg.map((item, i) => {
      const itemName = typeof name === "string" ? `${name}_${i}` : (name[i] ?? `arg${i}`);
      return toFormal(recorder, item, itemName, params, definition);
    });
  if (definition.extern && !isHandle(arg)) {
    params.push(recorder.value(typeOfArgument(toArgument(arg)!), definition.location, String(name)));
    return arg;
  }
  if (!isHandle(arg) || valueOf(arg).type.kind === "tensor") return arg;
  const { type } = valueOf(arg);
  const value = recorder.value(type, definition.location, typeof name === "string" ? name : "arg");
  // In the helper, a dimension with this text resolves to the parameter.
  if (type.kind === "constexpr") recorder.constexprs.set(type.text, value);
  params.push(value);
  return new Handle(value);
}

/** The IR values among the arguments, in the order of the parameters. */
export function actuals(
  recorder: Builder,
  args: readonly unknown[],
  opName: string,
  location: Location | undefined,
): readonly Value[] {
  return args.flatMap((arg): readonly Value[] => {
    if (Array.isArray(arg)) return actuals(recorder, arg, opName, location);
    if (!isHandle(arg)) {
      if (isPlain(arg)) return [];
      return fail(helperArgument.kind(opName), location);
    }
    const value = valueOf(arg);
    recorder.checkUse(value, location);
    if (value.type.kind === "view") fail(helperArgument.view(opName), location);
    return value.type.kind === "tensor" ? [] : [value];
  });
}

/** True for JavaScript values, which tracing treats as constants. Each distinct value creates a separate function. */
function isPlain(value: unknown): boolean {
  if (value === undefined || value === null || typeof value === "function" || isDType(value)) return true;
  return ["number", "string", "boolean", "bigint"].includes(typeof value);
}

const functionIds = new WeakMap<object, number>();
let functionCount = 0;

/** A cache key. Arguments with equal keys can share one function. */
function keyOf(arg: unknown): string {
  if (Array.isArray(arg)) return `[${arg.map(keyOf).join(", ")}]`;
  if (isHandle(arg)) {
    const { type, id } = valueOf(arg);
    return type.kind === "tensor" ? `tensor %${id}` : `${showType(type)}${"access" in type ? ` ${type.access}` : ""}`;
  }
  if (typeof arg === "function") return `function ${getOrCreate(functionIds, arg, () => ++functionCount)}`;
  return `${typeof arg} ${String(arg)}`;
}

function resultOf(
  recorder: Builder,
  item: unknown,
  { opName }: HelperDefinition,
  location: Location | undefined,
): Argument {
  const argument = toArgument(item, location);
  if (argument === undefined || isList(argument)) return fail(helperResult.kind(opName), location);
  recorder.checkUse(argument, location);
  const type: Type = isValue(argument) ? argument.type : { kind: "constexpr", of: "int", text: "" };
  if (type.kind === "tile" || type.kind === "pointer") return argument;
  if (type.kind === "constexpr") fail(helperResult.number(opName), location);
  return fail(helperResult.address(opName, type.kind), location);
}

function checkNoinline({ params, body }: FunctionIR, location: Location | undefined): void {
  for (const argument of [...params, ...body.yields]) {
    const type = isValue(argument) ? argument.type : undefined;
    if (type && "shape" in type && type.shape.length > 0) fail(helperArgument.noinline(showType(type)), location);
  }
}

// `tl.fn`: helper functions of the emitted Python.

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

interface FnOptions {
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
  return calledResult(appendCall(recorder, helper, values, location), body.form);
}

/** The result of a call in the form in which the function returned it. */
export function calledResult(handles: readonly Handle[], form: ResultForm): unknown {
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
