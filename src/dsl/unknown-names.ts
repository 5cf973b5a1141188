/** What `tl`, values, state and a kernel's arguments say when they are asked for a name that they do not have. */
import { unknownName } from "../diagnostics/catalog/operand-codes.js";
import { stateAsValue } from "../diagnostics/catalog/rule-codes.js";
import { captureLocation } from "../diagnostics/callsite.js";
import { fail, type MessageOfCode } from "../diagnostics/diagnostic.js";
import { suggestName } from "../diagnostics/did-you-mean.js";
import { activeBuilder } from "../ir/builder.js";
import { EXPORTS, keywordName } from "../diagnostics/python-names.js";
import { Handle, valueOf } from "../ir/handle.js";
import type { SourceFix } from "../ir/source.js";
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

/** Names that tools ask of any object: promises, printers, test runners. They find nothing, as in any other object. */
const ASKED_BY_TOOLS = /^(?:then|toJSON|inspect|asymmetricMatch|nodeType|tagName|_.*|[$@]{2}.*)$/;

/** What is said of a name; `receiver` is the object that was asked. */
type Answer = (name: string, receiver: object) => MessageOfCode;

interface Refusals {
  /** Of a name that is read. */
  readonly read: Answer;
  /** What mends the reading of a name, where that is mechanical. */
  readonly mend?: (name: string) => SourceFix | undefined;
  /** Of a name that is written. */
  readonly written?: Answer;
  readonly iterated?: (receiver: object) => MessageOfCode;
  /** What every such object has. */
  readonly base?: object;
}

/** A prototype that fails at each name but those of `base`. It is asked only for names that the object itself lacks. */
export function throwingPrototype({ read, mend, written, iterated, base = Object.prototype }: Refusals): object {
  return new Proxy(base, {
    get(target, key, receiver: object) {
      if (key === Symbol.iterator && iterated) fail(iterated(receiver), captureLocation());
      if (typeof key === "symbol" || key in target || ASKED_BY_TOOLS.test(key))
        return Reflect.get(target, key, receiver) as unknown;
      const at = captureLocation();
      const how = mend?.(key);
      return fail(read(key, receiver), at, how && activeBuilder()?.mend(at, how));
    },
    set(target, key, value, receiver: object) {
      if (typeof key === "string" && written) fail(written(key, receiver), captureLocation());
      return Reflect.set(target, key, value, receiver);
    },
  });
}

/** A namespace that says what to write for a name that it does not have. */
export function withNameSuggestions<Names extends object>(names: Names): Names {
  return new Proxy(names, {
    get(target, key) {
      if (typeof key === "symbol" || key in target || ASKED_BY_TOOLS.test(key))
        return Reflect.get(target, key) as unknown;
      return fail(ofLanguage(key, Object.keys(target)), captureLocation());
    },
  });
}

function ofLanguage(name: string, known: readonly string[]): MessageOfCode {
  const table: Names = { ...unsupportedFunctions, ...foreignConstants, ...foreignNumbers };
  const own = Object.hasOwn(table, name) ? table[name] : undefined;
  const near = suggestName(name, known);
  const instead =
    own ??
    (Object.hasOwn(libdevice, name) ? `libdevice.${name}(…)` : undefined) ??
    (near === undefined ? undefined : `tl.${near}`) ??
    inLibdevice(name) ??
    (Object.hasOwn(Handle.prototype, name) ? `x.${name}` : undefined);
  return instead ? unknownName.instead(name, "tl", instead) : unknownName.unlike(name, "tl");
}

function inLibdevice(name: string): string | undefined {
  const near = suggestName(name, Object.keys(libdevice));
  return near === undefined ? undefined : `libdevice.${near}(…)`;
}

/** What is said of a method of other values that such a value lacks: `a.at(i).load()`. */
export function foreignMethodMessage(handle: Handle, name: string): MessageOfCode | undefined {
  const { type } = valueOf(handle);
  const table = type.kind === "tile" ? {} : (tables[type.kind] ?? {});
  return Object.hasOwn(table, name) ? unknownName.instead(name, wordOf(type), table[name]!) : undefined;
}

const tables: Partial<Record<Type["kind"], Names>> = {
  tile: { ...foreignMethods, length: "x.shape[0]" },
  tensor: { ...foreignToTensors, ...foreignTensorFacts },
  view: foreignToViews,
  pointer: foreignToPointers,
};

/** What a tensor says of a property that only tiles have. */
export const missingPropertyMessage = (name: keyof typeof foreignTensorFacts): MessageOfCode =>
  unknownName.instead(name, "this tensor", foreignTensorFacts[name]);

const wordOf = (type: Type): string => (type.kind === "constexpr" ? "a constexpr" : `this ${type.kind}`);

/** What a value says. `functions` are the names of `tl`. */
const ofValue =
  (functions: readonly string[]): Answer =>
  (name, receiver) => {
    const { type } = valueOf(receiver as Handle);
    const of = wordOf(type);
    const several = /^(?:\d+|values|indices)$/.test(name) ? severalResults(receiver) : undefined;
    if (several) return several;
    if (/^\d+$/.test(name)) return unknownName.index(of, insteadOfElements(type));
    // `x[:, None]` in quotes, or what JavaScript's comma leaves of it.
    if (type.kind === "tile" && /^(?:null|undefined|.*:.*)$/.test(name)) return unknownName.axes(of);
    if (name === "value") return unknownName.instead(name, of, "it without .value");
    const table = tables[type.kind] ?? {};
    if (Object.hasOwn(table, name)) return unknownName.instead(name, of, table[name]!);
    if (functions.includes(name)) return unknownName.instead(name, of, `tl.${name}(x)`);
    const method = suggestName(name, Object.getOwnPropertyNames(Handle.prototype));
    if (method !== undefined) return unknownName.instead(name, of, `x.${method}`);
    const called = suggestName(name, functions);
    const instead = called === undefined ? inLibdevice(name) : `tl.${called}(x)`;
    return instead ? unknownName.instead(name, of, instead) : unknownName.unlike(name, `${of} (${showType(type)})`);
  };

/** What is said of an op's only result that is taken for a list, as PyTorch's functions and Triton's with indices give. */
function severalResults(receiver: object): MessageOfCode | undefined {
  const value = valueOf(receiver as Handle);
  const made = activeBuilder()?.statements.findLast((each) => each.kind === "op" && each.results[0] === value);
  if (made?.kind !== "op" || made.results.length !== 1) return undefined;
  const { name } = made.op;
  if (name === "max" || name === "min")
    return unknownName.results(name, `tl.${name}(x, axis, { returnIndices: true }) for [values, indices]`);
  return name === "sort" || name === "topk" ? unknownName.results(name, unsupportedFunctions.argsort) : undefined;
}

function insteadOfElements(type: Type): string {
  if (type.kind === "pointer") return "write tl.load(x.add(i))";
  if (type.kind === "tensor") return "write tl.load(x.at(i, j)), one index for each axis";
  if (type.kind === "tile" && type.shape.length > 0)
    return "compute on the whole tile, or load the element from memory, tl.load(x.at(i))";
  return "use it as it is, or loop up to it, for (const i of tl.range(n))";
}

/** What is said of a property that is assigned: `y.at(i).value = x`. */
function writing(name: string, type: Type): MessageOfCode {
  const store = tables[type.kind]?.["store"];
  return type.kind === "tile" || store === undefined
    ? unknownName.set(name, wordOf(type))
    : unknownName.instead(name, wordOf(type), store);
}

/** Values say what to write instead of a name that they do not have. */
export function refuseUnknownNames(functions: readonly string[]): void {
  const of = (receiver: object): Type => valueOf(receiver as Handle).type;
  Object.setPrototypeOf(
    Handle.prototype,
    throwingPrototype({
      read: ofValue(functions),
      written: (name, receiver) => writing(name, of(receiver)),
      iterated: (receiver) =>
        severalResults(receiver) ?? unknownName.iterated(wordOf(of(receiver)), insteadOfElements(of(receiver))),
    }),
  );
}

/** The prototype of state: what a value has is read from its `value`. */
export const stateNames = throwingPrototype({
  read: (name) =>
    Object.hasOwn(Handle.prototype, name)
      ? stateAsValue(`${name}: this is state; read it with .value, as in acc.value.${name}`)
      : unknownName.instead(name, "state", "acc.value"),
  mend: (name) => (Object.hasOwn(Handle.prototype, name) ? { kind: "value" } : undefined),
  written: (name) => unknownName.instead(name, "state", "acc.value = x"),
  iterated: () => stateAsValue("this is state; read it with .value"),
});

/** The prototype of `tensor` and other builders of params. `own` has what is said of some names. */
export const builderNames = (builder: string, instead: string, own: Names = {}): object =>
  throwingPrototype({
    read: (name) => unknownName.instead(name, builder, Object.hasOwn(own, name) ? own[name]! : instead),
    base: Function.prototype,
  });

/** A kernel's arguments, which say what there is when they are asked for another name. */
export function namedArguments<Args extends object>(kernel: string, args: Args): Args {
  const known = Object.keys(args);
  const read: Answer = (name) =>
    Object.hasOwn(Handle.prototype, name)
      ? unknownName.arguments(kernel, known)
      : unknownName.argument(name, kernel, known);
  return Object.setPrototypeOf(args, throwingPrototype({ read })) as Args;
}

/** What is said of the engine's complaint about a call or an assignment. */
function misused(complaint: string): MessageOfCode | undefined {
  if (complaint.startsWith("Assignment to constant variable")) return unknownName.constant();
  const [, of, name] = /^([\w$.]+)\.(\w+) is not a function$/.exec(complaint) ?? [];
  if (of === undefined || name === undefined) return undefined;
  if (/(?:^|\.)tl$/.test(of)) return unknownName.called(name);
  const own = Object.getOwnPropertyDescriptor(Handle.prototype, name);
  if (!own) return undefined;
  return own.get ? unknownName.property(name) : unknownName.uncalled(name, of);
}

/**
 * What is said of a name that is not defined, and of a dtype that is called. `functions` are the names of `tl`, `known`
 * those of the kernel's arguments.
 */
export function pythonName(
  error: unknown,
  functions: readonly string[],
  known: readonly string[],
): MessageOfCode | undefined {
  if (error instanceof TypeError) return misused(error.message);
  const name = error instanceof ReferenceError ? /^(\w+) is not defined$/.exec(error.message)?.[1] : undefined;
  if (name === undefined) return undefined;
  if (known.includes(name)) return unknownName.untaken(name);
  if (EXPORTS.test(name)) return unknownName.unexported(name);
  const own = keywordName(name);
  if (own) return own;
  const near = suggestName(name, functions);
  return near === undefined ? unknownName.undeclared(name) : unknownName.unimported(name, `tl.${near}`);
}
