/** Creates the functions that authors call from the records of ops. */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { captureLocation } from "../diagnostics/callsite.js";
import { deepProgram } from "../diagnostics/catalog/control-codes.js";
import { hostOnly } from "../diagnostics/catalog/host-codes.js";
import { argumentList, suggestOption, unknownOption } from "../diagnostics/catalog/operand-codes.js";
import { stateOperand } from "../types/tile.js";
import { Message } from "../diagnostics/message.js";
import { type Builder, builder } from "../ir/builder.js";
import { elemOf, isDType as isDTypeToken } from "../types/dtype.js";
import { Handle, isHandle, isState, valueOf } from "../ir/handle.js";
import { type Argument, type FunctionArgument, isList, type OpStatement, type Value } from "../ir/nodes.js";
import type { Op, OpRules, OperandKind, Operands, RuntimeArguments, TypedArguments } from "../ir/op.js";
import { repeatOp } from "../ir/retrace.js";
import { termOfMeaning } from "../symbolic/term.js";
import { nodeOf, numberOperation } from "../torch/proxy.js";
import { typedArguments } from "../ir/walk.js";
import type { Type } from "../types/types.js";

/**
 * The declaration of an op: the fields of `Op`, with defaults for some. The kinds of operands and options are literal
 * types, from which the types of the rules' arguments follow.
 */
export interface OpRecord<Kinds extends Operands, Options extends Operands>
  extends
    Pick<Op, "name" | "effect">,
    Partial<Pick<Op, "method" | "calledAs" | "variadic" | "hasRestOperand" | "lowering" | "parts">>,
    OpRules<NoInfer<TypedArguments<Kinds & Options>>, NoInfer<RuntimeArguments<Kinds & Options>>> {
  readonly operands: Kinds;
  readonly options?: Options;
}

const OP: unique symbol = Symbol("tilescript.op");

/** The function that authors call, with the op's record attached. */
export type OpFunction<Signature> = Signature & {
  /** @internal */
  readonly [OP]: Op;
};

/**
 * Defines an op: `defineOp<Signature>()({ … })`. `Signature` is the type of the function that authors call; the record
 * declares everything else. The function checks its arguments with the record's type rule and appends a statement to
 * the traced kernel.
 */
export function defineOp<Signature>() {
  return <const Kinds extends Operands, const Options extends Operands = {}>(record: OpRecord<Kinds, Options>) =>
    defineFunctionOp<Signature>()(record, makeRecordingCall);
}

/** Defines an op with a custom implementation of its function. */
export function defineFunctionOp<Signature>() {
  return <const Kinds extends Operands, const Options extends Operands = {}>(
    record: OpRecord<Kinds, Options>,
    makeCall: (op: Op) => (...args: unknown[]) => unknown,
  ): OpFunction<Signature> => {
    const op = toOp(record);
    return Object.assign(makeCall(op), { [OP]: op }) as OpFunction<Signature>;
  };
}

/** Adds the defaults. The cast is sound: the rules' argument names are the names of the record's operands. */
function toOp<Kinds extends Operands, Options extends Operands>(record: OpRecord<Kinds, Options>): Op {
  const defaults = {
    options: {},
    method: false,
    variadic: false,
    hasRestOperand: false,
    facts: {},
    needs: {},
    triton36: {},
  };
  const meaning = record.facts?.integer;
  const term = meaning !== undefined && meaning !== "both" ? { term: termOfMeaning(meaning) } : {};
  return { ...defaults, ...record, proof: { ...term, ...record.proof } } as unknown as Op;
}

function makeRecordingCall(op: Op) {
  return (...args: unknown[]): unknown => {
    const referenceResult = numberOperation(op.name, args);
    if (referenceResult !== undefined) return referenceResult;
    const recorder = builder(`tl.${op.name}`);
    if (recorder.executionSpace === "host" && !op.spelling.host) fail(hostOnly.notOnHost(op.name), recorder.location());
    if (recorder.executionSpace === "kernel" && op.needs.hostOnly)
      fail(hostOnly.onHostOnly(op.name), recorder.location());
    // A stack trace is slow. In a retrace, only a call that differs from the recorded one needs its location.
    const location = recorder.entry?.retrace ? undefined : recorder.location();
    return op.variadic ? applyMany(recorder, op, args, location) : apply(recorder, op, args, location);
  };
}

/** The record of an op's function. Undefined for any other value. */
export function opOf(x: OpFunction<unknown>): Op;
export function opOf(x: unknown): Op | undefined;
export function opOf(x: unknown): Op | undefined {
  return typeof x === "function" && OP in x ? (x[OP] as Op) : undefined;
}

/** Applies a variadic op, such as `a.add(b, c)`. Only the last result is named after the author's variable. */
function applyMany(recorder: Builder, op: Op, args: readonly unknown[], location: Location | undefined): unknown {
  const outer = recorder.isAnonymous;
  let result = args[0];
  for (let i = 1; i < Math.max(args.length, 2); i++) {
    recorder.isAnonymous = outer || i < args.length - 1;
    result = apply(recorder, op, [result, args[i]], location);
  }
  recorder.isAnonymous = outer;
  return result;
}

function apply(recorder: Builder, op: Op, args: readonly unknown[], location: Location | undefined): unknown {
  const values = repeat(recorder, op, args) ?? record(recorder, op, args, location ?? recorder.location());
  const results = values.map((value) => new Handle(value));
  return results.length < 2 ? results[0] : results;
}

function record(recorder: Builder, op: Op, args: readonly unknown[], location: Location | undefined): readonly Value[] {
  const { operands, named: optionArguments, types } = checkedArguments(recorder, op, args, location);
  return recorder.op(op, operands, optionArguments, types, location);
}

/** The recorded results, if this is a retrace and the call equals the recorded one, which was checked already. */
function repeat(recorder: Builder, op: Op, args: readonly unknown[]): readonly Value[] | undefined {
  if (!recorder.entry?.retrace) return undefined;
  const names = Object.keys(op.operands);
  const { positional, options } = splitOptions(op, names, args);
  const values = names.map((_, i) => positional[i] ?? undefined);
  const operands = values.map((value) => toArgument(value));
  // True if a value cannot be an argument of any op.
  let isInvalid = positional.length > names.length || values.some((each, i) => each !== undefined && !operands[i]);
  const optionArguments: Record<string, Argument> = {};
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const argument = toArgument(value);
    if (argument !== undefined) optionArguments[name] = argument;
    else isInvalid = true;
  }
  return isInvalid ? undefined : repeatOp(recorder, op, operands, optionArguments);
}

/** The arguments of a call, checked by the op's type rule, and the types of the results. */
export function checkedArguments(recorder: Builder, op: Op, args: readonly unknown[], location: Location | undefined) {
  const names = Object.keys(op.operands);
  const { positional, options } = splitOptions(op, names, args);
  for (const option of Object.keys(options))
    if (!(option in op.options)) failOnOption(recorder, op, option, args, location);
  // For `x.reshape(8, 8)`, the message of the op's rule is better: a shape is a list.
  const isSpread = op.operands[names.at(-1) ?? ""] === "shape" && typeof positional[names.length - 1] === "number";
  if (positional.length > names.length && !isSpread)
    fail(argumentList.count(op.name, names.length, positional.length, formatCall(op)), location);
  const operands = names.map((name, i) => toOperand(recorder, op, name, op.operands, positional[i], location));
  const optionArguments: Record<string, Argument> = {};
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const argument = toOperand(recorder, op, name, op.options, value, location);
    if (argument !== undefined) optionArguments[name] = argument;
  }
  for (const argument of [...operands, ...Object.values(optionArguments)])
    if (argument !== undefined) recorder.checkUse(argument, location);
  return { operands, named: optionArguments, types: inferTypes(op, operands, optionArguments, location) };
}

/** The operand that an option names. PyTorch's names for an axis are recognized. */
const operandForOption = (op: Op, option: string): string | undefined =>
  [option, ...(/^(?:dim|axes|dims)$/.test(option) ? ["axis"] : [])].find((name) => name in op.operands);

function failOnOption(
  recorder: Builder,
  op: Op,
  option: string,
  args: readonly unknown[],
  location: Location | undefined,
): never {
  const operand = operandForOption(op, option);
  if (operand === undefined) return failOnUnknownOption(recorder, op.name, option, Object.keys(op.options), location);
  const value = (args.at(-1) as Record<string, unknown>)[option];
  const text = typeof value === "number" ? String(value) : operand;
  return fail(argumentList.named(op.name, option, formatCall(op, { [operand]: text })), location);
}

/** Reports an unknown option of `subject`, with a spelling fix if one of `allowed` is similar. */
export function failOnUnknownOption(
  recorder: Builder,
  subject: string,
  option: string,
  allowed: readonly string[],
  location: Location | undefined,
): never {
  const suggestion = suggestOption(option, allowed);
  const edit =
    suggestion === undefined ? {} : recorder.fixFor(location, { kind: "rename", from: option, to: suggestion });
  return fail(unknownOption(subject, option, allowed), location, edit);
}

/** The call form of an op, for messages: `tl.sum(x, axis, { keepDims, dtype })`. */
function formatCall(op: Op, values: Readonly<Record<string, string>> = {}): string {
  const names = Object.entries(op.operands).map(
    ([name, kind]) => values[name] ?? (kind.endsWith("?") ? `${name}?` : name),
  );
  const options = Object.keys(op.options);
  const visibleOptions = options.length > 3 ? [...options.slice(0, 2), "…"] : options;
  const formatList = (list: readonly string[]) =>
    [...list, ...(options.length > 0 ? [`{ ${visibleOptions.join(", ")} }`] : [])].join(", ");
  const { calledAs: called = `tl.${op.name}` } = op;
  return called.startsWith(".")
    ? `${names[0]}${called}(${formatList(names.slice(1))})`
    : `${called}(${formatList(names)})`;
}

function splitOptions(op: Op, names: readonly string[], args: readonly unknown[]) {
  const last = args.at(-1);
  const hasOptions = args.length > 0 && isPlainObject(last);
  const values = hasOptions ? args.slice(0, -1) : args;
  const positional = op.hasRestOperand
    ? [...values.slice(0, names.length - 1), values.slice(names.length - 1)]
    : values;
  return { positional, options: hasOptions ? (last as Record<string, unknown>) : {} };
}

/** Attaches the record of an op to a wrapper of its function. */
export function withRecord<Signature>(source: OpFunction<unknown>, signature: Signature): OpFunction<Signature> {
  return Object.assign(signature as object, { [OP]: source[OP] }) as OpFunction<Signature>;
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
  value: unknown,
  location: Location | undefined,
): Argument | undefined {
  const kind = kinds[name] as OperandKind | `${OperandKind}?`;
  if (value === undefined || (value === null && kind.endsWith("?"))) {
    if (kind.endsWith("?")) return undefined;
    fail(argumentList.missing(op.name, name, formatCall(op)), location);
  }
  if (isState(value) || (Array.isArray(value) && value.some(isState))) failOnState(recorder, op.name, location);
  const argument = toArgument(value, location);
  if (argument === undefined && nodeOf(value)) fail(argumentList.recorded(op.name, name), location);
  if (argument === undefined) fail(argumentList.kind(op.name, name, describe(value)), location);
  if (kind.startsWith("values") && !isList(argument)) fail(argumentList.notList(op.name, name), location);
  return argument;
}

/** Reports a state handle that is used as a value. */
export function failOnState(recorder: Builder, subject: string, location: Location | undefined): never {
  return fail(stateOperand(subject), location, recorder.fixFor(location, { kind: "value" }));
}

/** Reports a promise, such as the result of an async function: code after an `await` runs after tracing has ended. */
export function rejectPromise(value: unknown, location?: Location): void {
  if (!(value instanceof Promise)) return;
  // Prevents an unhandled rejection in addition to the diagnostic.
  value.catch(() => {});
  fail(argumentList.promise(), location ?? captureLocation());
}

/** Converts an author's value to an IR argument. Undefined if the value cannot be one. */
export function toArgument(value: unknown, location?: Location): Argument | undefined {
  rejectPromise(value, location);
  if (isHandle(value)) return valueOf(value);
  if (isDTypeToken(value)) return { kind: "dtype", dtype: elemOf(value) };
  if (isFunctionArgument(value)) return value;
  if (typeof value === "number" || typeof value === "bigint" || typeof value === "boolean" || typeof value === "string")
    return { kind: "literal", value };
  if (!Array.isArray(value)) return undefined;
  const items = value.map((item) => toArgument(item, location));
  return items.every((item) => item !== undefined) ? (items as Argument[]) : undefined;
}

function isFunctionArgument(value: unknown): value is FunctionArgument {
  return typeof value === "object" && value !== null && "kind" in value && value.kind === "function";
}

function describe(value: unknown): string {
  if (value === null) return "null";
  if (typeof value === "function") return "a function";
  return typeof value === "object" ? "an object" : `${String(value)}`;
}

/** Infers the result types with the record's rule. The IR verifier applies the same rule again. */
function inferTypes(
  op: Op,
  operands: OpStatement["operands"],
  options: OpStatement["options"],
  location: Location | undefined,
): readonly Type[] {
  const result = op.infer(typedArguments({ op, operands, options }));
  if (result instanceof Message) fail(result, location);
  if ("kind" in result && result.kind === "none") return [];
  const types = "kind" in result ? [result] : result;
  // A constexpr's text contains its operands' texts, so its length can double with each op.
  if (types.some((type) => type.kind === "constexpr" && type.text.length > MAX_TEXT))
    fail(deepProgram.constant(), location);
  return types;
}

const MAX_TEXT = 10_000;
