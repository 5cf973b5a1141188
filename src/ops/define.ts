/** Makes the author's function from an op's record. */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { captureLocation } from "../diagnostics/callsite.js";
import { deepProgram } from "../diagnostics/catalog/control-codes.js";
import { hostOnly } from "../diagnostics/catalog/host-codes.js";
import { argumentList, suggestOption, unknownOption } from "../diagnostics/catalog/operand-codes.js";
import { ruleViolation, stateAsValue } from "../diagnostics/catalog/rule-codes.js";
import { type Builder, builder } from "../ir/builder.js";
import { elemOf, isDType as isDTypeToken } from "../types/dtype.js";
import { Handle, isHandle, isState, valueOf } from "../ir/handle.js";
import { type Argument, type FunctionArgument, isList, type OpStatement, type Value } from "../ir/nodes.js";
import type { Op, OpRules, OperandKind, Operands, RuntimeArguments, TypedArguments } from "../ir/op.js";
import { repeatOp } from "../ir/retrace-matcher.js";
import { termOfMeaning } from "../symbolic/integer-semantics.js";
import { nodeOf, numberOperation } from "../torch/proxy.js";
import { typedArguments } from "../ir/typed.js";
import type { Type } from "../types/types.js";

/**
 * An op as its file declares it: the fields of `Op`, of which those with an obvious default may be absent. The kinds of
 * operands and options are literals, so the rules' arguments get the types of these kinds.
 */
export interface OpRecord<Given extends Operands, Options extends Operands>
  extends
    Pick<Op, "name" | "effect">,
    Partial<Pick<Op, "method" | "called" | "variadic" | "rest" | "lowering" | "parts">>,
    OpRules<NoInfer<TypedArguments<Given & Options>>, NoInfer<RuntimeArguments<Given & Options>>> {
  readonly operands: Given;
  readonly options?: Options;
}

const OP: unique symbol = Symbol("tilescript.op");

/** The author's function, with its record. */
export type OpFunction<Signature> = Signature & {
  /** @internal */
  readonly [OP]: Op;
};

/**
 * Defines an op: `defineOp<Signature>()({ … })`. `Signature` is how an author calls it, with types written out; the
 * record says the rest. The function checks its arguments by the record's own type rule and appends a statement to the
 * kernel that is being traced.
 */
export function defineOp<Signature>() {
  return <const Given extends Operands, const Options extends Operands = {}>(record: OpRecord<Given, Options>) =>
    defineFunctionOp<Signature>()(record, appends);
}

/** Attaches an op's record to a function that does not behave like those of `defineOp`. */
export function defineFunctionOp<Signature>() {
  return <const Given extends Operands, const Options extends Operands = {}>(
    record: OpRecord<Given, Options>,
    callOf: (op: Op) => (...args: unknown[]) => unknown,
  ): OpFunction<Signature> => {
    const op = opFrom(record);
    return Object.assign(callOf(op), { [OP]: op }) as OpFunction<Signature>;
  };
}

/** The rules name their arguments after the record's own operands, as the readers of `Op` pass them. */
function opFrom<Given extends Operands, Options extends Operands>(record: OpRecord<Given, Options>): Op {
  const defaults = {
    options: {},
    method: false,
    variadic: false,
    rest: false,
    facts: {},
    needs: {},
    triton36: {},
  };
  const meaning = record.facts?.integer;
  const term = meaning !== undefined && meaning !== "both" ? { term: termOfMeaning(meaning) } : {};
  return { ...defaults, ...record, proof: { ...term, ...record.proof } } as unknown as Op;
}

function appends(op: Op) {
  return (...args: unknown[]): unknown => {
    const ofReference = numberOperation(op.name, args);
    if (ofReference !== undefined) return ofReference;
    const recorder = builder(`tl.${op.name}`);
    if (recorder.place === "host" && !op.spelling.host) fail(hostOnly.notOnHost(op.name), recorder.location());
    if (recorder.place === "kernel" && op.needs.hostOnly) fail(hostOnly.onHostOnly(op.name), recorder.location());
    // While a body is entered again, only a call that differs from the recorded one needs its place.
    const at = recorder.entry?.again ? undefined : recorder.location();
    return op.variadic ? applyMany(recorder, op, args, at) : apply(recorder, op, args, at);
  };
}

/** The record of an op's function, or undefined for any other value. */
export function opOf(x: unknown): Op | undefined {
  return typeof x === "function" && OP in x ? (x[OP] as Op) : undefined;
}

/** `a.add(b, c)`: only the last sum gets the author's name. */
function applyMany(recorder: Builder, op: Op, args: readonly unknown[], at: Location | undefined): unknown {
  const outer = recorder.anonymous;
  let result = args[0];
  for (let i = 1; i < Math.max(args.length, 2); i++) {
    recorder.anonymous = outer || i < args.length - 1;
    result = apply(recorder, op, [result, args[i]], at);
  }
  recorder.anonymous = outer;
  return result;
}

function apply(recorder: Builder, op: Op, args: readonly unknown[], at: Location | undefined): unknown {
  const values = repeat(recorder, op, args) ?? record(recorder, op, args, at ?? recorder.location());
  const results = values.map((value) => new Handle(value));
  return results.length === 0 ? undefined : results.length === 1 ? results[0] : results;
}

function record(recorder: Builder, op: Op, args: readonly unknown[], at: Location | undefined): readonly Value[] {
  const { operands, named, types } = checkedArguments(recorder, op, args, at);
  return recorder.op(op, operands, named, types, at);
}

/** The results if a body is entered again and the call is the recorded one, which was checked. */
function repeat(recorder: Builder, op: Op, args: readonly unknown[]): readonly Value[] | undefined {
  if (!recorder.entry?.again) return undefined;
  const names = Object.keys(op.operands);
  const { positional, options } = splitOptions(op, names, args);
  const given = names.map((_, i) => positional[i] ?? undefined);
  const operands = given.map((each) => toArgument(each));
  // Whether anything was given that is no argument at all.
  let isOther = positional.length > names.length || given.some((each, i) => each !== undefined && !operands[i]);
  const named: Record<string, Argument> = {};
  for (const [name, each] of Object.entries(options)) {
    if (each === undefined) continue;
    const argument = toArgument(each);
    if (argument !== undefined) named[name] = argument;
    else isOther = true;
  }
  return isOther ? undefined : repeatOp(recorder, op, operands, named);
}

/** The arguments of an author's call, checked by the op's own rule, and the types of the results. */
export function checkedArguments(recorder: Builder, op: Op, args: readonly unknown[], at: Location | undefined) {
  const names = Object.keys(op.operands);
  const { positional, options } = splitOptions(op, names, args);
  for (const option of Object.keys(options)) if (!(option in op.options)) failOnOption(recorder, op, option, args, at);
  // Of `x.reshape(8, 8)` the op's rule says that a shape is a list.
  const isSpread = op.operands[names.at(-1) ?? ""] === "shape" && typeof positional[names.length - 1] === "number";
  if (positional.length > names.length && !isSpread)
    fail(argumentList.count(op.name, names.length, positional.length, authorsCall(op)), at);
  const operands = names.map((name, i) => toOperand(recorder, op, name, op.operands, positional[i], at));
  const named: Record<string, Argument> = {};
  for (const [name, given] of Object.entries(options)) {
    if (given === undefined) continue;
    const argument = toOperand(recorder, op, name, op.options, given, at);
    if (argument !== undefined) named[name] = argument;
  }
  for (const argument of [...operands, ...Object.values(named)]) if (argument !== undefined) recorder.use(argument, at);
  return { operands, named, types: inferTypes(op, operands, named, at) };
}

/** What PyTorch calls an axis. */
const operandNamed = (op: Op, option: string): string | undefined =>
  [option, ...(/^(?:dim|axes|dims)$/.test(option) ? ["axis"] : [])].find((name) => name in op.operands);

function failOnOption(
  recorder: Builder,
  op: Op,
  option: string,
  args: readonly unknown[],
  at: Location | undefined,
): never {
  const operand = operandNamed(op, option);
  if (operand === undefined) return failOnUnknown(recorder, op.name, option, Object.keys(op.options), at);
  const value = (args.at(-1) as Record<string, unknown>)[option];
  const shown = typeof value === "number" ? String(value) : operand;
  return fail(argumentList.named(op.name, option, authorsCall(op, { [operand]: shown })), at);
}

/** Fails on an option that `what` does not have; `known` are those that it has. */
export function failOnUnknown(
  recorder: Builder,
  what: string,
  option: string,
  known: readonly string[],
  at: Location | undefined,
): never {
  const to = suggestOption(option, known);
  const edit = to === undefined ? {} : recorder.mend(at, { kind: "rename", from: option, to });
  return fail(unknownOption(what, option, known), at, edit);
}

/** How an author calls an op: `tl.sum(x, axis, { keepDims, dtype })`. */
function authorsCall(op: Op, given: Readonly<Record<string, string>> = {}): string {
  const names = Object.entries(op.operands).map(([name, kind]) =>
    name in given ? given[name]! : kind.endsWith("?") ? `${name}?` : name,
  );
  const options = Object.keys(op.options);
  const shown = options.length > 3 ? [...options.slice(0, 2), "…"] : options;
  const all = (list: readonly string[]) =>
    [...list, ...(options.length > 0 ? [`{ ${shown.join(", ")} }`] : [])].join(", ");
  const { called = `tl.${op.name}` } = op;
  return called.startsWith(".") ? `${names[0]}${called}(${all(names.slice(1))})` : `${called}(${all(names)})`;
}

function splitOptions(op: Op, names: readonly string[], args: readonly unknown[]) {
  const last = args.at(-1);
  const hasOptions = args.length > 0 && isPlainObject(last);
  const given = hasOptions ? args.slice(0, -1) : args;
  const positional = op.rest ? [...given.slice(0, names.length - 1), given.slice(names.length - 1)] : given;
  return { positional, options: hasOptions ? (last as Record<string, unknown>) : {} };
}

/** Gives an op's record to another function, which authors call instead. */
export function withRecord<Signature>(from: OpFunction<unknown>, signature: Signature): OpFunction<Signature> {
  return Object.assign(signature as object, { [OP]: from[OP] }) as OpFunction<Signature>;
}

function isPlainObject(x: unknown): boolean {
  if (typeof x !== "object" || x === null || isDTypeToken(x)) return false;
  const prototype: unknown = Object.getPrototypeOf(x);
  return prototype === Object.prototype || prototype === null;
}

function toOperand(
  recorder: Builder,
  op: Op,
  name: string,
  kinds: Operands,
  given: unknown,
  at: Location | undefined,
): Argument | undefined {
  const kind = kinds[name] as OperandKind | `${OperandKind}?`;
  if (given === undefined || (given === null && kind.endsWith("?"))) {
    if (kind.endsWith("?")) return undefined;
    fail(argumentList.missing(op.name, name, authorsCall(op)), at);
  }
  if (isState(given) || (Array.isArray(given) && given.some(isState))) failOnState(recorder, op.name, at);
  const argument = toArgument(given, at);
  if (argument === undefined && nodeOf(given)) fail(argumentList.recorded(op.name, name), at);
  if (argument === undefined) fail(argumentList.kind(op.name, name, describe(given)), at);
  if (kind.startsWith("values") && !isList(argument)) fail(argumentList.notList(op.name, name), at);
  return argument;
}

/** Fails on state where a value is wanted. */
export function failOnState(recorder: Builder, what: string, at: Location | undefined): never {
  const sentence = `${what}: this is state; read it with .value`;
  return fail(stateAsValue(sentence), at, recorder.mend(at, { kind: "value" }));
}

/** An async function gives one: what it computes after an `await` comes too late for the program. */
export function refusePromise(given: unknown, at?: Location): void {
  if (!(given instanceof Promise)) return;
  // Nobody waits for it, and what it throws has been said.
  given.catch(() => {});
  fail(argumentList.promise(), at ?? captureLocation());
}

/** The program's argument for a value of the author, or undefined if the value cannot be one. */
export function toArgument(given: unknown, at?: Location): Argument | undefined {
  refusePromise(given, at);
  if (isHandle(given)) return valueOf(given);
  if (isDTypeToken(given)) return { kind: "dtype", dtype: elemOf(given) };
  if (isFunctionArgument(given)) return given;
  if (typeof given === "number" || typeof given === "bigint" || typeof given === "boolean" || typeof given === "string")
    return { kind: "literal", value: given };
  if (!Array.isArray(given)) return undefined;
  const items = given.map((item) => toArgument(item, at));
  return items.every((item) => item !== undefined) ? (items as Argument[]) : undefined;
}

function isFunctionArgument(given: unknown): given is FunctionArgument {
  return typeof given === "object" && given !== null && "kind" in given && given.kind === "function";
}

function describe(given: unknown): string {
  if (given === null) return "null";
  if (typeof given === "function") return "a function";
  return typeof given === "object" ? "an object" : `${String(given)}`;
}

/** The result types by the record's rule. The build's verifier applies the same rule again. */
function inferTypes(
  op: Op,
  operands: OpStatement["operands"],
  options: OpStatement["options"],
  at: Location | undefined,
): readonly Type[] {
  const answer = op.infer(typedArguments({ op, operands, options }));
  if (typeof answer === "string") fail(ruleViolation(answer), at);
  const types = "kind" in answer ? (answer.kind === "none" ? [] : [answer]) : answer;
  // The text of a constexpr names it, with the texts of its operands: of those used twice each, it doubles.
  if (types.some((type) => type.kind === "constexpr" && type.text.length > MOST_TEXT)) fail(deepProgram.constant(), at);
  return types;
}

const MOST_TEXT = 10_000;
