/**
 * What the lint knows about a JavaScript value without a type checker. Everything it does not know is `plain`, and no
 * rule fires on that: a build must never be refused by a guess.
 */
import type { ts } from "./typescript.js";
import { reflections } from "../types/dtype.js";
import type { Scope } from "./regions.js";

export type AbstractValue =
  /** A number, string, option, or anything unknown. */
  | { readonly kind: "plain" }
  /** A handle of a traced program. `certain` is false for what may be undefined or a plain value as well. */
  | { readonly kind: "traced"; readonly certain: boolean; readonly optional?: true }
  /** What declares a param, which the caller may leave out if it is `optional`. */
  | { readonly kind: "declared"; readonly optional?: true }
  /** A plain array or object that holds traced values. */
  | { readonly kind: "holder"; readonly fields: ReadonlyMap<string, AbstractValue>; readonly rest: AbstractValue }
  /** What a type says: the dtype of a tile, its shape or a dimension of it. It may be known only after the trace. */
  | { readonly kind: "fact"; readonly node: ts.Node; readonly what: "dtype" | "shape" | "dimension" | "reflection" }
  /** What `tl.dtype(…)` gives. */
  | { readonly kind: "variable" }
  /** A Map or a Set, which tells handles apart where the program has equal values. */
  | { readonly kind: "keyed" }
  /** A function of JavaScript that answers a question about any value: `Boolean`, `Number.isInteger`. */
  | { readonly kind: "native"; readonly name: string }
  /** The module `tilescript` itself. */
  | { readonly kind: "module" }
  /** `tl`, `tl.load`, `tl.math.exp`: what makes traced values when it is called. */
  | { readonly kind: "op"; readonly name: string }
  /** `kernel` or `constexpr`, whose callbacks are traced. */
  | { readonly kind: "host"; readonly name: string }
  /** What `tl.range(…)` gives. */
  | { readonly kind: "range" }
  /** `tl.when(…)`, on which `.otherwise` can be called. */
  | { readonly kind: "arms" }
  /** What `tl.fn(…)` gives: calling it makes a traced value. */
  | { readonly kind: "jitted" }
  /** From a module whose source is read only if it gets traced values. */
  | {
      readonly kind: "imported";
      readonly name: string;
      readonly from: string;
      readonly load: () => AbstractValue | undefined;
    }
  /** A function of the author. */
  | {
      readonly kind: "function";
      readonly node: FunctionNode;
      readonly scope: Scope;
      /** The first arguments, after `bind`. */
      readonly bound?: readonly AbstractValue[];
    };

export type FunctionNode =
  ts.FunctionDeclaration | ts.FunctionExpression | ts.ArrowFunction | ts.MethodDeclaration | ts.GetAccessorDeclaration;

export const PLAIN: AbstractValue = { kind: "plain" };
/** What JavaScript's operator would give, which is refused: the same expression is not refused twice. */
export const ERROR_VALUE: AbstractValue = { kind: "plain" };
export const TRACED: AbstractValue = { kind: "traced", certain: true };
export const MAYBE_TRACED: AbstractValue = { kind: "traced", certain: false };
/** An optional tensor of a kernel, which is an object where it is absent, too. */
export const OPTIONAL: AbstractValue = { kind: "traced", certain: true, optional: true };

const native = (name: string): AbstractValue => ({ kind: "native", name });

/** Names that every module has, unless it declares them itself. */
export const GLOBALS: ReadonlyMap<string, AbstractValue> = (() => {
  const questions = ["isInteger", "isSafeInteger", "isFinite", "isNaN"] as const;
  const numbers = holder(new Map(questions.map((name) => [name, native(`Number.${name}`)])));
  const names = new Map<string, AbstractValue>([
    ["Boolean", native("Boolean")],
    ["Number", numbers],
  ]);
  return new Map([...names, ["globalThis", holder(names)]]);
})();

/** What JavaScript may take for a number or a dtype where it is a value of the program. */
export function comparable(value: AbstractValue): Fact | undefined {
  return value.kind === "fact" && value.what !== "shape" ? value : undefined;
}

export type Fact = AbstractValue & { readonly kind: "fact" };

/** What `node`, which reads this property of the value, gives. */
export function factOf(value: AbstractValue, name: string, node: ts.Node): AbstractValue | undefined {
  if (value.kind === "traced" && (name === "dtype" || name === "shape")) return { kind: "fact", node, what: name };
  const isReflection = (reflections as readonly string[]).includes(name);
  return value.kind === "variable" && isReflection ? { kind: "fact", node, what: "reflection" } : undefined;
}

export function isTraced(value: AbstractValue): boolean {
  return value.kind === "traced" && value.certain;
}

export function holder(fields: ReadonlyMap<string, AbstractValue>, rest: AbstractValue = PLAIN): AbstractValue {
  return { kind: "holder", fields, rest };
}

/** Whether one of its elements is certainly traced. */
export function holdsTraced(value: AbstractValue): boolean {
  return value.kind === "holder" && [...value.fields.values(), value.rest].some(isTraced);
}

/** Whether it contains anything traced. */
export function touches(value: AbstractValue): boolean {
  if (value.kind === "holder") return touches(value.rest) || [...value.fields.values()].some(touches);
  return value.kind === "traced" || value.kind === "range" || value.kind === "arms";
}

/** The value of a variable that holds one of the two. */
export function join(a: AbstractValue, b: AbstractValue): AbstractValue {
  if (a === b || same(a, b)) return a;
  if (isTraced(a) && isTraced(b)) return TRACED;
  if (a.kind === "traced" || b.kind === "traced") return MAYBE_TRACED;
  if (a.kind === "holder" && b.kind === "holder") {
    const keys = new Set([...a.fields.keys(), ...b.fields.keys()]);
    const fields = [...keys].map(
      (key) => [key, join(a.fields.get(key) ?? a.rest, b.fields.get(key) ?? b.rest)] as const,
    );
    return holder(new Map(fields), join(a.rest, b.rest));
  }
  if (a.kind === "holder" && b.kind === "plain") return weaken(a);
  if (b.kind === "holder" && a.kind === "plain") return weaken(b);
  return PLAIN;
}

/** The value if it may also be something else. */
export function weaken(value: AbstractValue): AbstractValue {
  if (value.kind === "traced") return MAYBE_TRACED;
  if (value.kind !== "holder") return value;
  return holder(new Map([...value.fields].map(([key, field]) => [key, weaken(field)])), weaken(value.rest));
}

function same(a: AbstractValue, b: AbstractValue): boolean {
  return signature(a) === signature(b);
}

/** A text that is equal for values that the lint does not distinguish. */
export function signature(value: AbstractValue): string {
  switch (value.kind) {
    case "traced":
      return value.optional ? "o" : value.certain ? "t" : "m";
    case "holder":
      return `{${[...value.fields].map(([key, field]) => `${key}:${signature(field)}`).join()}|${signature(value.rest)}}`;
    case "declared":
      return value.optional ? "declared optional" : "declared";
    case "op":
    case "host":
    case "native":
      return `${value.kind} ${value.name}`;
    case "imported":
      return `imported ${value.name} ${value.from}`;
    case "function":
      return `function ${value.node.getSourceFile().fileName}:${value.node.pos}#${value.scope.id}(${(value.bound ?? []).map(signature).join()})`;
    case "fact":
      return `${value.what} ${value.node.getSourceFile().fileName}:${value.node.pos}`;
    default:
      return value.kind;
  }
}

/** Properties of a traced value that are not traced: facts of its type, known while tracing. */
const FACTS = new Set(["dtype", "shape", "rank", "name", "length", "constructor"]);

/** The value of `value.name`. */
export function member(value: AbstractValue, name: string): AbstractValue {
  switch (value.kind) {
    case "traced":
      return FACTS.has(name) ? PLAIN : TRACED;
    case "fact":
      // `x.dtype.bits` is as uncertain as the dtype.
      if (value.what === "dtype" || value.what === "dimension") return value;
      return value.what === "shape" && /^\d+$/.test(name) ? elementOf(value) : PLAIN;
    case "holder":
      return value.fields.get(name) ?? (name === "length" ? PLAIN : value.rest);
    case "module":
      return exported(name);
    case "imported":
      return { ...value, name: `${value.name}.${name}`, load: () => loaded(value, name) };
    case "arms":
      return name === "value" ? TRACED : PLAIN;
    case "op":
      return { kind: "op", name: value.name === "tl" ? name : `${value.name}.${name}` };
    case "host":
      return { kind: "host", name: `${value.name}.${name}` };
    default:
      return PLAIN;
  }
}

function loaded(value: AbstractValue & { kind: "imported" }, name: string): AbstractValue | undefined {
  const owner = value.load();
  return owner && member(owner, name);
}

/** What the package exports under a name, as far as the lint needs to know. */
export function exported(name: string): AbstractValue {
  if (name === "tl" || name === "libdevice") return { kind: "op", name };
  if (/^(?:kernel|constexpr|tensor|scalar|descriptor)$/.test(name)) return { kind: "host", name };
  return PLAIN;
}

/** The elements for a plain loop over it, or for a callback of `.map`. */
export function elementOf(value: AbstractValue): AbstractValue {
  if (value.kind === "range" || value.kind === "traced") return TRACED;
  if (value.kind === "fact" && value.what === "shape") return { ...value, what: "dimension" };
  if (value.kind !== "holder") return PLAIN;
  const fields = [...value.fields.values()];
  const all = fields.length === 0 ? [value.rest] : value.rest.kind === "plain" ? fields : [...fields, value.rest];
  return all.reduce(join);
}

/** What calling an op gives. */
export function opResult(name: string, args: readonly AbstractValue[]): AbstractValue {
  switch (name) {
    case "range":
    case "staticRange":
      return { kind: "range" };
    case "when":
      return { kind: "arms" };
    case "fn":
      return { kind: "jitted" };
    case "dtype":
      return { kind: "variable" };
    // Of plain numbers these are plain numbers.
    case "cdiv":
    case "nextPowerOf2":
    case "bitLength":
    case "shl":
    case "shr":
    case "minimum":
    case "maximum":
      return args.some(touches) ? TRACED : PLAIN;
    default:
      return TRACED;
  }
}
