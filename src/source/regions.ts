/**
 * The state of the lint's walk: names, and the regions of the traced program in which a variable is declared and
 * assigned.
 */
import type { ts } from "./typescript.js";
import type { MessageOfCode } from "../diagnostics/diagnostic.js";
import type { TextReplacement } from "./text-edits.js";
import { type AbstractValue, type FunctionNode, PLAIN } from "./abstract-values.js";

/**
 * A part of the traced program. A `function` is the author's kernel or helper; a `loop` or `branch` is a body that runs
 * once while it is traced, whatever the program will do with it.
 */
export interface Region {
  readonly id: number;
  readonly kind: "function" | "loop" | "branch";
  readonly parent: Region | undefined;
}

let ids = 0;

export function region(kind: Region["kind"], parent: Region | undefined): Region {
  return { id: ids++, kind, parent };
}

/**
 * The kind of loop or branch between a variable's region and the place where it is changed. A variable of the module or
 * of a function around the kernel has no region on the way: it is the author's own book-keeping.
 */
export function boundaryBetween(from: Region | undefined, declared: Region | undefined): "loop" | "branch" | undefined {
  let found: "loop" | "branch" | undefined;
  for (let each = from; each; each = each.parent) {
    if (each === declared) return found;
    if (each.kind !== "function") found ??= each.kind;
  }
  return undefined;
}

export interface Binding {
  value: AbstractValue;
  readonly region: Region | undefined;
  /** Whether it is a parameter, which another call may leave out. */
  isParameter?: boolean;
}

/** Names to bindings. Those of a module are thunks, so that a file is only evaluated as far as it is used. */
export class Scope {
  readonly id = ids++;
  readonly parent: Scope | undefined;
  readonly #names = new Map<string, Binding | (() => AbstractValue)>();

  constructor(parent?: Scope) {
    this.parent = parent;
  }

  declare(name: string, value: AbstractValue, where: Region | undefined): void {
    this.#names.set(name, { value, region: where });
  }

  declareLazy(name: string, value: () => AbstractValue): void {
    this.#names.set(name, value);
  }

  lookup(name: string): Binding | undefined {
    const found = this.#names.get(name);
    if (found === undefined) return this.parent?.lookup(name);
    if (typeof found !== "function") return found;
    // A cycle of imports or initializers sees a plain value.
    const binding: Binding = { value: PLAIN, region: undefined };
    this.#names.set(name, binding);
    binding.value = found();
    return binding;
  }
}

/** The target of `break`, `continue`, `return` and `yield`: one call of a function. */
export interface Invocation {
  readonly targets: { readonly kind: "traced" | "plain" | "switch"; readonly label: string | undefined }[];
  readonly returns: AbstractValue[];
  yields: "none" | "values" | "loops";
}

export function invocation(): Invocation {
  return { targets: [], returns: [], yields: "none" };
}

/** The position of the walk. */
export interface Frame {
  readonly scope: Scope;
  readonly region: Region | undefined;
  readonly call: Invocation;
}

/** The parts of the walk, which call each other. */
export interface Walk {
  /** `mended` is the text that should stand in the node's place, where that is mechanical. */
  problem(said: MessageOfCode, at: ts.Node, mended?: TextReplacement): void;
  warning(said: MessageOfCode, at: ts.Node): void;
  /** JavaScript compares what a type says, by `how` at `at`. Only the trace knows whether that has a value by then. */
  compared(value: AbstractValue, at: ts.Node, how: string): void;
  /** The value of an expression, after its rules have been applied. */
  /** What each call called, when it was last evaluated: to evaluate that again would double the work at each level. */
  readonly callees: WeakMap<ts.CallExpression, AbstractValue>;
  evaluate(node: ts.Expression, frame: Frame): AbstractValue;
  /** Evaluates what JavaScript asks to be true or false, and reports `said` if it is traced. */
  condition(node: ts.Expression, said: MessageOfCode, frame: Frame, mended?: TextReplacement): void;
  statements(list: readonly ts.Statement[], frame: Frame): void;
  /** Declares the names of a pattern. */
  bind(name: ts.BindingName, value: AbstractValue, frame: Frame): void;
  evaluateCall(node: ts.CallExpression, frame: Frame): AbstractValue;
  /** The value of a function, which is walked at the end with what its annotations say, unless it is called before. */
  functionValue(node: FunctionNode, frame: Frame): AbstractValue;
  /** Walks a function with these arguments and returns its result. */
  invoke(
    callee: AbstractValue & { kind: "function" },
    args: readonly AbstractValue[],
    from: Region | undefined,
  ): AbstractValue;
  /** The value of something declared with a type. */
  annotated(type: ts.TypeNode | undefined, value: AbstractValue | undefined): AbstractValue;
}

/** The same place with a scope of its own, for a block. */
export function inner(frame: Frame, where: Region | undefined = frame.region): Frame {
  return { ...frame, scope: new Scope(frame.scope), region: where };
}
