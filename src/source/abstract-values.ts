/**
 * The abstract domain of the lint: facts about JavaScript values, found without a type checker. Unknown values are
 * `plain`, and no rule reports them, because a guess must never reject a build.
 */
import type { ts } from "./typescript.js";
import { reflections } from "../types/dtype.js";

/** The regions of the traced program in which variables are declared and assigned. */

/**
 * A part of the traced program. A `function` is the author's kernel or helper. A `loop` or `branch` is a body that
 * tracing runs once, regardless of how often the program executes it.
 */
export interface Region {
  readonly id: number;
  readonly kind: "function" | "loop" | "branch";
  readonly parent: Region | undefined;
}

let nextId = 0;

export function region(kind: Region["kind"], parent: Region | undefined): Region {
  return { id: nextId++, kind, parent };
}

/**
 * The kind of the innermost loop or branch around an assignment that does not contain the variable's declaration.
 * Undefined for a variable of the module or of a function around the kernel: plain JavaScript owns it.
 */
export function boundaryBetween(
  assignmentRegion: Region | undefined,
  declarationRegion: Region | undefined,
): "loop" | "branch" | undefined {
  let boundary: "loop" | "branch" | undefined;
  for (let ancestor = assignmentRegion; ancestor; ancestor = ancestor.parent) {
    if (ancestor === declarationRegion) return boundary;
    if (ancestor.kind !== "function") boundary ??= ancestor.kind;
  }
  return undefined;
}

export type AbstractValue =
  /** A number, string, option, or anything unknown. */
  | { readonly kind: "plain" }
  /** A handle of a traced program. `isCertain` is false if the value may also be undefined or plain. */
  | { readonly kind: "traced"; readonly isCertain: boolean; readonly isOptional?: true }
  /** A declared param; the caller may omit it if `isOptional`. */
  | { readonly kind: "declared"; readonly isOptional?: true }
  /** A plain array or object that contains traced values. `summary` joins the elements without an entry in `fields`. */
  | { readonly kind: "holder"; readonly fields: ReadonlyMap<string, AbstractValue>; readonly summary: AbstractValue }
  /** A property of a tile's type: its dtype, its shape or a dimension. Its value may be known only after the trace. */
  | { readonly kind: "fact"; readonly node: ts.Node; readonly property: "dtype" | "shape" | "dimension" | "reflection" }
  /** A dtype variable, the result of `tl.dtype(…)`. */
  | { readonly kind: "variable" }
  /** A Map or a Set. It distinguishes handles whose values are equal in the program. */
  | { readonly kind: "keyed" }
  /** A JavaScript predicate on any value: `Boolean`, `Number.isInteger`. */
  | { readonly kind: "native"; readonly name: string }
  /** The module `tilescript` itself. */
  | { readonly kind: "module" }
  /** `tl`, `tl.load`, `tl.math.exp`: calls of them return traced values. */
  | { readonly kind: "op"; readonly name: string }
  /** `kernel` or `constexpr`, whose callbacks are traced. */
  | { readonly kind: "host"; readonly name: string }
  /** The result of `tl.range(…)`. */
  | { readonly kind: "range" }
  /** The result of `tl.when(…)`, which has the method `.otherwise`. */
  | { readonly kind: "arms" }
  /** The result of `tl.fn(…)`. A call of it returns a traced value. */
  | { readonly kind: "jitted" }
  /** An import from a module whose source is read only if it receives traced values. */
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
/** The result of an operator that has been reported. The enclosing expression is not reported again. */
export const ERROR_VALUE: AbstractValue = { kind: "plain" };
export const TRACED: AbstractValue = { kind: "traced", isCertain: true };
export const MAYBE_TRACED: AbstractValue = { kind: "traced", isCertain: false };
/** An optional tensor of a kernel. It is an object even if the caller omits the tensor. */
export const OPTIONAL: AbstractValue = { kind: "traced", isCertain: true, isOptional: true };

const native = (name: string): AbstractValue => ({ kind: "native", name });

/** Global names, which a module may shadow. */
export const GLOBALS: ReadonlyMap<string, AbstractValue> = (() => {
  const predicates = ["isInteger", "isSafeInteger", "isFinite", "isNaN"] as const;
  const numbers = holder(new Map(predicates.map((name) => [name, native(`Number.${name}`)])));
  const names = new Map<string, AbstractValue>([
    ["Boolean", native("Boolean")],
    ["Number", numbers],
  ]);
  return new Map([...names, ["globalThis", holder(names)]]);
})();

/** The value as a fact that JavaScript may compare as a number or a dtype although it is a value of the program. */
export function comparableFact(value: AbstractValue): Fact | undefined {
  return value.kind === "fact" && value.property !== "shape" ? value : undefined;
}

export type Fact = AbstractValue & { readonly kind: "fact" };

/** The fact that `node` reads as a property of a value; undefined if the property is not a fact. */
export function factOf(value: AbstractValue, name: string, node: ts.Node): AbstractValue | undefined {
  if (value.kind === "traced" && (name === "dtype" || name === "shape")) return { kind: "fact", node, property: name };
  const isReflection = (reflections as readonly string[]).includes(name);
  return value.kind === "variable" && isReflection ? { kind: "fact", node, property: "reflection" } : undefined;
}

export function isTraced(value: AbstractValue): boolean {
  return value.kind === "traced" && value.isCertain;
}

export function holder(fields: ReadonlyMap<string, AbstractValue>, summary: AbstractValue = PLAIN): AbstractValue {
  return { kind: "holder", fields, summary };
}

/** True if at least one element is certainly traced. */
export function hasTracedElement(value: AbstractValue): boolean {
  return value.kind === "holder" && [...value.fields.values(), value.summary].some(isTraced);
}

/** True if any part of the value is traced or may be. */
export function containsTraced(value: AbstractValue): boolean {
  if (value.kind === "holder") return containsTraced(value.summary) || [...value.fields.values()].some(containsTraced);
  return value.kind === "traced" || value.kind === "range" || value.kind === "arms";
}

/** The join of two values: the value of a variable that may hold either. */
export function join(a: AbstractValue, b: AbstractValue): AbstractValue {
  if (a === b || isSame(a, b)) return a;
  if (isTraced(a) && isTraced(b)) return TRACED;
  if (a.kind === "traced" || b.kind === "traced") return MAYBE_TRACED;
  if (a.kind === "holder" && b.kind === "holder") {
    const keys = new Set([...a.fields.keys(), ...b.fields.keys()]);
    const fields = [...keys].map(
      (key) => [key, join(a.fields.get(key) ?? a.summary, b.fields.get(key) ?? b.summary)] as const,
    );
    return holder(new Map(fields), join(a.summary, b.summary));
  }
  if (a.kind === "holder" && b.kind === "plain") return weaken(a);
  if (b.kind === "holder" && a.kind === "plain") return weaken(b);
  return PLAIN;
}

/** The value joined with an unknown plain value. */
export function weaken(value: AbstractValue): AbstractValue {
  if (value.kind === "traced") return MAYBE_TRACED;
  if (value.kind !== "holder") return value;
  return holder(new Map([...value.fields].map(([key, field]) => [key, weaken(field)])), weaken(value.summary));
}

function isSame(a: AbstractValue, b: AbstractValue): boolean {
  return signature(a) === signature(b);
}

/** A canonical text. Values with equal texts are equal to the lint. */
export function signature(value: AbstractValue): string {
  switch (value.kind) {
    case "traced":
      if (value.isOptional) return "o";
      return value.isCertain ? "t" : "m";
    case "holder":
      return `{${[...value.fields].map(([key, field]) => `${key}:${signature(field)}`).join()}|${signature(value.summary)}}`;
    case "declared":
      return value.isOptional ? "declared optional" : "declared";
    case "op":
    case "host":
    case "native":
      return `${value.kind} ${value.name}`;
    case "imported":
      return `imported ${value.name} ${value.from}`;
    case "function":
      return `function ${value.node.getSourceFile().fileName}:${value.node.pos}#${value.scope.id}(${(value.bound ?? []).map(signature).join()})`;
    case "fact":
      return `${value.property} ${value.node.getSourceFile().fileName}:${value.node.pos}`;
    case "arms":
    case "jitted":
    case "keyed":
    case "module":
    case "plain":
    case "range":
    case "variable":
      return value.kind;
    default:
      return value satisfies never;
  }
}

/** Properties of a traced value that are known while tracing and therefore plain. */
const FACTS = new Set(["dtype", "shape", "rank", "name", "length", "constructor"]);

/** The value of `value.name`. */
export function member(value: AbstractValue, name: string): AbstractValue {
  switch (value.kind) {
    case "traced":
      return FACTS.has(name) ? PLAIN : TRACED;
    case "fact":
      // `x.dtype.bits` is known only if the dtype is.
      if (value.property === "dtype" || value.property === "dimension") return value;
      return value.property === "shape" && /^\d+$/.test(name) ? elementOf(value) : PLAIN;
    case "holder":
      return value.fields.get(name) ?? (name === "length" ? PLAIN : value.summary);
    case "module":
      return libraryExport(name);
    case "imported":
      return { ...value, name: `${value.name}.${name}`, load: () => loadMember(value, name) };
    case "arms":
      return name === "value" ? TRACED : PLAIN;
    case "op":
      return { kind: "op", name: value.name === "tl" ? name : `${value.name}.${name}` };
    case "host":
      return { kind: "host", name: `${value.name}.${name}` };
    case "declared":
    case "function":
    case "jitted":
    case "keyed":
    case "native":
    case "plain":
    case "range":
    case "variable":
      return PLAIN;
    default:
      return value satisfies never;
  }
}

function loadMember(value: AbstractValue & { kind: "imported" }, name: string): AbstractValue | undefined {
  const owner = value.load();
  return owner && member(owner, name);
}

/** An export of the package. Exports without lint rules are plain. */
export function libraryExport(name: string): AbstractValue {
  if (name === "tl" || name === "libdevice") return { kind: "op", name };
  if (/^(?:kernel|constexpr|tensor|scalar|descriptor)$/.test(name)) return { kind: "host", name };
  return PLAIN;
}

/** The join of all elements, for a plain loop or a callback of `.map`. */
export function elementOf(value: AbstractValue): AbstractValue {
  if (value.kind === "range" || value.kind === "traced") return TRACED;
  if (value.kind === "fact" && value.property === "shape") return { ...value, property: "dimension" };
  if (value.kind !== "holder") return PLAIN;
  const fields = [...value.fields.values()];
  if (fields.length > 0 && value.summary.kind === "plain") return fields.reduce(join);
  return [...fields, value.summary].reduce(join);
}

/** The result of an op. */
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
    // With only plain operands, these return plain numbers.
    case "cdiv":
    case "nextPowerOf2":
    case "bitLength":
    case "shl":
    case "shr":
    case "minimum":
    case "maximum":
      return args.some(containsTraced) ? TRACED : PLAIN;
    default:
      return TRACED;
  }
}

export interface Binding {
  value: AbstractValue;
  readonly region: Region | undefined;
  /** True for a parameter that a call may omit. */
  isParameter?: boolean;
}

let nextScopeId = 0;

/** Maps names to bindings. The bindings of a module are lazy, so that a file is evaluated only if it is used. */
export class Scope {
  readonly id = nextScopeId++;
  readonly parent: Scope | undefined;
  readonly #names = new Map<string, Binding | (() => AbstractValue)>();

  constructor(parent?: Scope) {
    this.parent = parent;
  }

  declare(name: string, value: AbstractValue, declarationRegion: Region | undefined): void {
    this.#names.set(name, { value, region: declarationRegion });
  }

  declareLazy(name: string, value: () => AbstractValue): void {
    this.#names.set(name, value);
  }

  lookup(name: string): Binding | undefined {
    const entry = this.#names.get(name);
    if (entry === undefined) return this.parent?.lookup(name);
    if (typeof entry !== "function") return entry;
    // In a cycle of imports or initializers, the value is plain.
    const binding: Binding = { value: PLAIN, region: undefined };
    this.#names.set(name, binding);
    binding.value = entry();
    return binding;
  }
}
