/** Error messages for unknown names that authors read from `tl`, values, state or a kernel's arguments. */
import { unknownName } from "../diagnostics/catalog/operand-codes.js";
import { stateMethod } from "../types/tile.js";
import { stateAsValue } from "../diagnostics/catalog/rule-codes.js";
import { captureLocation } from "../diagnostics/callsite.js";
import { fail, type MessageOfCode, type SourceFix } from "../diagnostics/diagnostic.js";
import { suggestName } from "../diagnostics/message.js";
import { activeBuilder } from "../ir/builder.js";
import { EXPORTS, keywordName } from "../diagnostics/python-names.js";
import { Handle, valueOf } from "../ir/handle.js";
import { libdevice } from "../ops/libdevice.js";
import {
  foreignConstants,
  unsupportedFunctions,
  foreignMethods,
  foreignNumbers,
  foreignTensorFacts,
  foreignToPointers,
  foreignToTensors,
  foreignToViews,
} from "../types/unsupported-names.js";
import { showType, type Type } from "../types/types.js";

type Names = Readonly<Record<string, string>>;

/** The replacement of a name. The author's name may be that of a property of every object. */
const ownName = (names: Names = {}, name: string): string | undefined =>
  Object.hasOwn(names, name) ? names[name] : undefined;

/** Names that promises, printers and test runners read from any object. They return undefined. */
const NAMES_READ_BY_TOOLS = /^(?:then|toJSON|inspect|asymmetricMatch|nodeType|tagName|_.*|[$@]{2}.*)$/;

/** The message for an unknown name of `receiver`. */
type NameMessage = (name: string, receiver: object) => MessageOfCode;

interface UnknownNameMessages {
  readonly onRead: NameMessage;
  /** The fix for a read, if it is mechanical. */
  readonly fixOnRead?: (name: string) => SourceFix | undefined;
  readonly onWrite?: NameMessage;
  readonly onIterate?: (receiver: object) => MessageOfCode;
  /** The prototype with the names that exist. */
  readonly base?: object;
}

/** A prototype that fails for each name that is not in `base`. JavaScript reads only names that the object lacks. */
export function throwingPrototype({
  onRead,
  fixOnRead,
  onWrite,
  onIterate,
  base = Object.prototype,
}: UnknownNameMessages): object {
  return new Proxy(base, {
    get(target, key, receiver: object) {
      if (key === Symbol.iterator && onIterate) fail(onIterate(receiver), captureLocation());
      if (typeof key === "symbol" || key in target || NAMES_READ_BY_TOOLS.test(key))
        return Reflect.get(target, key, receiver) as unknown;
      const location = captureLocation();
      const fix = fixOnRead?.(key);
      return fail(onRead(key, receiver), location, fix && activeBuilder()?.fixFor(location, fix));
    },
    set(target, key, value, receiver: object) {
      if (typeof key === "string" && onWrite) fail(onWrite(key, receiver), captureLocation());
      return Reflect.set(target, key, value, receiver);
    },
  });
}

/** A namespace that throws an error with a suggestion for an unknown name. */
export function withNameSuggestions<Names extends object>(names: Names): Names {
  return new Proxy(names, {
    get(target, key) {
      if (typeof key === "symbol" || key in target || NAMES_READ_BY_TOOLS.test(key))
        return Reflect.get(target, key) as unknown;
      return fail(languageMessage(key, Object.keys(target)), captureLocation());
    },
  });
}

function languageMessage(name: string, names: readonly string[]): MessageOfCode {
  const replacements: Names = { ...unsupportedFunctions, ...foreignConstants, ...foreignNumbers };
  const replacement = ownName(replacements, name);
  const suggestion = suggestName(name, names);
  const instead =
    replacement ??
    (Object.hasOwn(libdevice, name) ? `libdevice.${name}(…)` : undefined) ??
    (suggestion === undefined ? undefined : `tl.${suggestion}`) ??
    suggestLibdevice(name) ??
    (Object.hasOwn(Handle.prototype, name) ? `x.${name}` : undefined);
  return instead ? unknownName.instead(name, "tl", instead) : unknownName.unknown(name, "tl");
}

function suggestLibdevice(name: string): string | undefined {
  const suggestion = suggestName(name, Object.keys(libdevice));
  return suggestion === undefined ? undefined : `libdevice.${suggestion}(…)`;
}

/** The message for a method that exists only on other kinds of values: `a.at(i).load()`. */
export function foreignMethodMessage(handle: Handle, name: string): MessageOfCode | undefined {
  const { type } = valueOf(handle);
  const replacement = type.kind === "tile" ? undefined : ownName(replacementTables[type.kind], name);
  return replacement === undefined ? undefined : unknownName.instead(name, describeKind(type), replacement);
}

const replacementTables: Partial<Record<Type["kind"], Names>> = {
  tile: { ...foreignMethods, length: "x.shape[0]" },
  tensor: { ...foreignToTensors, ...foreignTensorFacts },
  view: foreignToViews,
  pointer: foreignToPointers,
};

/** The message for a property that only tiles have. */
export const missingPropertyMessage = (name: keyof typeof foreignTensorFacts): MessageOfCode =>
  unknownName.instead(name, "this tensor", foreignTensorFacts[name]);

const describeKind = (type: Type): string => (type.kind === "constexpr" ? "a constexpr" : `this ${type.kind}`);

/** The message for an unknown name of a value. `functions` are the names of `tl`. */
const valueMessage =
  (functions: readonly string[]): NameMessage =>
  (name, receiver) => {
    const { type } = valueOf(receiver as Handle);
    const subject = describeKind(type);
    const resultsMessage = /^(?:\d+|values|indices)$/.test(name) ? multipleResultsMessage(receiver) : undefined;
    if (resultsMessage) return resultsMessage;
    if (/^\d+$/.test(name)) return unknownName.index(subject, elementRemedy(type));
    // `x[:, None]` in quotes, or the operand that JavaScript's comma operator returns.
    if (type.kind === "tile" && /^(?:null|undefined|.*:.*)$/.test(name)) return unknownName.axes(subject);
    if (name === "value") return unknownName.instead(name, subject, "it without .value");
    const replacement = ownName(replacementTables[type.kind], name);
    if (replacement !== undefined) return unknownName.instead(name, subject, replacement);
    if (functions.includes(name)) return unknownName.instead(name, subject, `tl.${name}(x)`);
    const method = suggestName(name, Object.getOwnPropertyNames(Handle.prototype));
    if (method !== undefined) return unknownName.instead(name, subject, `x.${method}`);
    const functionName = suggestName(name, functions);
    const instead = functionName === undefined ? suggestLibdevice(name) : `tl.${functionName}(x)`;
    return instead
      ? unknownName.instead(name, subject, instead)
      : unknownName.unknown(name, `${subject} (${showType(type)})`);
  };

/** The message for destructuring an op's single result. Functions of PyTorch and Triton return values and indices. */
function multipleResultsMessage(receiver: object): MessageOfCode | undefined {
  const value = valueOf(receiver as Handle);
  const statement = activeBuilder()?.statements.findLast(
    (candidate) => candidate.kind === "op" && candidate.results[0] === value,
  );
  if (statement?.kind !== "op" || statement.results.length !== 1) return undefined;
  const { name } = statement.op;
  if (name === "max" || name === "min")
    return unknownName.results(name, `tl.${name}(x, axis, { returnIndices: true }) for [values, indices]`);
  return name === "sort" || name === "topk" ? unknownName.results(name, unsupportedFunctions.argsort) : undefined;
}

function elementRemedy(type: Type): string {
  if (type.kind === "pointer") return "write tl.load(x.add(i))";
  if (type.kind === "tensor") return "write tl.load(x.at(i, j)), one index for each axis";
  if (type.kind === "tile" && type.shape.length > 0)
    return "compute on the whole tile, or load the element from memory, tl.load(x.at(i))";
  return "use it as it is, or loop up to it, for (const i of tl.range(n))";
}

/** The message for an assigned property: `y.at(i).value = x`. */
function assignmentMessage(name: string, type: Type): MessageOfCode {
  const store = replacementTables[type.kind]?.["store"];
  return type.kind === "tile" || store === undefined
    ? unknownName.assigned(name, describeKind(type))
    : unknownName.instead(name, describeKind(type), store);
}

/** Makes values throw an error with a suggestion for an unknown name. */
export function rejectUnknownNames(functions: readonly string[]): void {
  const typeOf = (receiver: object): Type => valueOf(receiver as Handle).type;
  Object.setPrototypeOf(
    Handle.prototype,
    throwingPrototype({
      onRead: valueMessage(functions),
      onWrite: (name, receiver) => assignmentMessage(name, typeOf(receiver)),
      onIterate: (receiver) =>
        multipleResultsMessage(receiver) ??
        unknownName.iterated(describeKind(typeOf(receiver)), elementRemedy(typeOf(receiver))),
    }),
  );
}

/** The prototype of state. It suggests `.value` for names that values have. */
export const statePrototype = throwingPrototype({
  onRead: (name) =>
    Object.hasOwn(Handle.prototype, name) ? stateMethod(name) : unknownName.instead(name, "state", "acc.value"),
  fixOnRead: (name) => (Object.hasOwn(Handle.prototype, name) ? { kind: "value" } : undefined),
  onWrite: (name) => unknownName.instead(name, "state", "acc.value = x"),
  onIterate: () => stateAsValue("this is state", "read it with .value"),
});

/** The prototype of param builders such as `tensor`. `replacements` has specific suggestions. */
export const builderPrototype = (builder: string, instead: string, replacements: Names = {}): object =>
  throwingPrototype({
    onRead: (name) => unknownName.instead(name, builder, ownName(replacements, name) ?? instead),
    base: Function.prototype,
  });

/** A kernel's arguments. Reading an unknown name throws an error that lists the names. */
export function withArgumentNames<Args extends object>(kernel: string, args: Args): Args {
  const names = Object.keys(args);
  const onRead: NameMessage = (name) =>
    Object.hasOwn(Handle.prototype, name)
      ? unknownName.arguments(kernel, names)
      : unknownName.argument(name, kernel, names);
  return Object.setPrototypeOf(args, throwingPrototype({ onRead })) as Args;
}

/** Translates the JavaScript engine's TypeError about a call or an assignment. */
function engineErrorMessage(errorText: string): MessageOfCode | undefined {
  if (errorText.startsWith("Assignment to constant variable")) return unknownName.constant();
  const [, receiver, name] = /^([\w$.]+)\.(\w+) is not a function$/.exec(errorText) ?? [];
  if (receiver === undefined || name === undefined) return undefined;
  if (/(?:^|\.)tl$/.test(receiver)) return unknownName.dtypeCall(name);
  const descriptor = Object.getOwnPropertyDescriptor(Handle.prototype, name);
  if (!descriptor) return undefined;
  return descriptor.get ? unknownName.propertyCall(name) : unknownName.functionAsValue(name, receiver);
}

/** The message for an undefined name, or for a called dtype. `functions` are the names of `tl`. */
export function undefinedNameMessage(
  error: unknown,
  functions: readonly string[],
  argumentNames: readonly string[],
): MessageOfCode | undefined {
  if (error instanceof TypeError) return engineErrorMessage(error.message);
  const name = error instanceof ReferenceError ? /^(\w+) is not defined$/.exec(error.message)?.[1] : undefined;
  if (name === undefined) return undefined;
  if (argumentNames.includes(name)) return unknownName.undestructured(name);
  if (EXPORTS.test(name)) return unknownName.unexported(name);
  const message = keywordName(name);
  if (message) return message;
  const suggestion = suggestName(name, functions);
  return suggestion === undefined ? unknownName.undeclared(name) : unknownName.unimported(name, `tl.${suggestion}`);
}
