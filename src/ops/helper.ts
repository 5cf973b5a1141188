/** Helper functions, behind `tl.fn` and combine functions. Each is traced once per signature. */
import { typeOfArgument } from "../ir/typed.js";
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { earlyExit, helperArgument, helperResult, recursion } from "../diagnostics/catalog/control-codes.js";
import type { Builder } from "../ir/builder.js";
import { type Body, type BodyResult, runHelper } from "../ir/retrace.js";
import { isDType } from "../types/dtype.js";
import { Handle, isHandle, valueOf } from "../ir/handle.js";
import { type Argument, type ExternSource, type FunctionIR, isList, isValue, Value } from "../ir/nodes.js";
import { repeatParams } from "../ir/retrace-matcher.js";
import { showType, type Type } from "../types/types.js";
import { toArgument } from "./define.js";
import { parameterNames } from "./parameter-names.js";

type AuthorFunction = (...args: unknown[]) => unknown;

/** An author's function that becomes a `@triton.jit` function of its own. */
export interface HelperDefinition {
  readonly body: AuthorFunction;
  /** Undefined if the author's variable gives the name. */
  readonly name: string | undefined;
  readonly noinline: boolean;
  readonly at: Location | undefined;
  /** The op that messages name: `fn`, `reduce` … */
  readonly what: string;
  /** Set for a function that is written in Python: it also gets literals as arguments. */
  readonly extern?: ExternSource;
  /** Set for TileScript's own, which keep no state. */
  readonly isLibrary?: boolean;
}

export interface TracedHelper {
  readonly helper: FunctionIR;
  readonly body: Body;
}

const traced = new WeakMap<Builder, Map<AuthorFunction, Map<string, TracedHelper>>>();
const active = new WeakMap<Builder, Set<AuthorFunction>>();

/** The function for arguments of these types. The author's function gets `given`, in the author's form. */
export function traceHelper(
  recorder: Builder,
  definition: HelperDefinition,
  given: readonly unknown[],
  at: Location | undefined,
): TracedHelper {
  const known = entry(
    entry(traced, recorder, () => new Map()),
    definition.body,
    () => new Map<string, TracedHelper>(),
  );
  const key = given.map((each) => keyOf(each)).join("; ");
  const before = known.get(key);
  const running = entry(active, recorder, () => new Set<AuthorFunction>());
  const once = (): BodyResult => {
    if (running.has(definition.body)) fail(recursion(definition.what), at);
    running.add(definition.body);
    const returned = inOwnScope(recorder, () => enterOnce(recorder, definition, given, at));
    running.delete(definition.body);
    return returned;
  };
  const head = { what: "the helper function", kind: "helper", at: definition.at } as const;
  const body = runHelper(recorder, head, before?.body, definition.isLibrary === true, once);
  if (before) return before;
  const made = { helper: functionOf(recorder, definition, body, at), body };
  known.set(key, made);
  return made;
}

function entry<K extends object, V>(
  map: { get(key: K): V | undefined; set(key: K, value: V): unknown },
  key: K,
  make: () => V,
): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}

/** The caller's constexprs come back afterwards: inside, a dimension may be a parameter. */
function inOwnScope<T>(recorder: Builder, body: () => T): T {
  const outer = new Map(recorder.constexprs);
  const isAnonymous = recorder.anonymous;
  recorder.anonymous = false;
  const made = body();
  recorder.anonymous = isAnonymous;
  recorder.constexprs.clear();
  for (const [text, value] of outer) recorder.constexprs.set(text, value);
  return made;
}

function enterOnce(
  recorder: Builder,
  definition: HelperDefinition,
  given: readonly unknown[],
  at: Location | undefined,
): BodyResult {
  const { depth } = recorder;
  const params: Value[] = [];
  const names = parameterNames(definition.body);
  const inside = given.map((each, i) => formal(recorder, each, names[i] ?? `arg${i}`, params, definition));
  repeatParams(recorder, params);
  const result = definition.body(...inside);
  if (recorder.depth !== depth) fail(earlyExit.left(definition.what), at);
  const items = result === undefined ? [] : Array.isArray(result) ? result : [result];
  const yields = items.map((item) => resultOf(recorder, item, definition, at));
  return { params, yields, form: result === undefined ? "nothing" : Array.isArray(result) ? "list" : "one" };
}

function functionOf(
  recorder: Builder,
  definition: HelperDefinition,
  { params, block }: Body,
  at: Location | undefined,
): FunctionIR {
  const helper: FunctionIR = {
    name: definition.name,
    params,
    body: block,
    noinline: definition.noinline,
    ...(definition.extern && { extern: definition.extern }),
    at: definition.at,
  };
  if (definition.noinline) checkNoinline(helper, at);
  recorder.functions.push(helper);
  return helper;
}

type Names = string | readonly Names[];

/** What the author's function gets for an argument. Values of the program become parameters. */
function formal(
  recorder: Builder,
  given: unknown,
  name: Names,
  params: Value[],
  definition: HelperDefinition,
): unknown {
  if (Array.isArray(given))
    return given.map((each, i) => {
      const own = typeof name === "string" ? `${name}_${i}` : (name[i] ?? `arg${i}`);
      return formal(recorder, each, own, params, definition);
    });
  if (definition.extern && !isHandle(given)) {
    params.push(recorder.value(typeOfArgument(toArgument(given)!), definition.at, String(name)));
    return given;
  }
  if (!isHandle(given) || valueOf(given).type.kind === "tensor") return given;
  const { type } = valueOf(given);
  const value = recorder.value(type, definition.at, typeof name === "string" ? name : "arg");
  // Inside the function, a dimension of that text is the parameter.
  if (type.kind === "constexpr") recorder.constexprs.set(type.text, value);
  params.push(value);
  return new Handle(value);
}

/** The program's values among the arguments. A call passes them in the order of the parameters. */
export function actuals(
  recorder: Builder,
  given: readonly unknown[],
  what: string,
  at: Location | undefined,
): readonly Value[] {
  return given.flatMap((each): readonly Value[] => {
    if (Array.isArray(each)) return actuals(recorder, each, what, at);
    if (!isHandle(each)) {
      if (isPlain(each)) return [];
      return fail(helperArgument.kind(what), at);
    }
    const value = valueOf(each);
    recorder.use(value, at);
    if (value.type.kind === "view") fail(helperArgument.view(what), at);
    return value.type.kind === "tensor" ? [] : [value];
  });
}

/** Tracing knows JavaScript's own values, so each makes a function of its own. */
function isPlain(given: unknown): boolean {
  if (given === undefined || given === null || typeof given === "function" || isDType(given)) return true;
  return ["number", "string", "boolean", "bigint"].includes(typeof given);
}

const identities = new WeakMap<object, number>();
let identified = 0;

/** A key, equal for arguments that can share one function. */
function keyOf(given: unknown): string {
  if (Array.isArray(given)) return `[${given.map(keyOf).join(", ")}]`;
  if (isHandle(given)) {
    const { type, id } = valueOf(given);
    return type.kind === "tensor" ? `tensor %${id}` : `${showType(type)}${"access" in type ? ` ${type.access}` : ""}`;
  }
  if (typeof given === "function") return `function ${entry(identities, given, () => ++identified)}`;
  return `${typeof given} ${String(given)}`;
}

function resultOf(recorder: Builder, item: unknown, { what }: HelperDefinition, at: Location | undefined): Argument {
  const argument = toArgument(item, at);
  if (argument === undefined || isList(argument)) return fail(helperResult.kind(what), at);
  recorder.use(argument, at);
  const type: Type = isValue(argument) ? argument.type : { kind: "constexpr", of: "int", text: "" };
  if (type.kind === "tile" || type.kind === "pointer") return argument;
  if (type.kind === "constexpr") fail(helperResult.number(what), at);
  return fail(helperResult.address(what, type.kind), at);
}

function checkNoinline({ params, body }: FunctionIR, at: Location | undefined): void {
  for (const argument of [...params, ...body.yields]) {
    const type = isValue(argument) ? argument.type : undefined;
    if (type && "shape" in type && type.shape.length > 0) fail(helperArgument.noinline(showType(type)), at);
  }
}
