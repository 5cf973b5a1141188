/** The state of the lint's walk: the current scope, region and call, and its mutually recursive functions. */
import type { ts } from "./typescript.js";
import type { MessageOfCode } from "../diagnostics/diagnostic.js";
import type { ReplacedTexts, TextReplacement } from "./replacements.js";
import { type AbstractValue, type FunctionNode, Scope, type Region } from "./abstract-values.js";

/** One call of a function: the targets of its `break` and `continue`, and the values that it returns and yields. */
export interface Invocation {
  readonly targets: { readonly kind: "traced" | "plain" | "switch"; readonly label: string | undefined }[];
  readonly returns: AbstractValue[];
  yields: "none" | "values" | "loops";
}

export function invocation(): Invocation {
  return { targets: [], returns: [], yields: "none" };
}

/** The current scope, region and call of the walk. */
export interface Frame {
  readonly scope: Scope;
  readonly region: Region | undefined;
  readonly call: Invocation;
}

/** The mutually recursive functions of the walk. */
export interface Walk {
  /** `replacement` is the automatic fix, if there is one. */
  reportError(message: MessageOfCode, node: ts.Node, replacement?: TextReplacement): void;
  /** The texts of the automatic fixes, by the nodes that they replace. */
  readonly replaced: ReplacedTexts;
  reportWarning(message: MessageOfCode, node: ts.Node): void;
  /** Records that JavaScript compares a fact. Only the trace knows whether the fact has a value at that point. */
  recordComparison(value: AbstractValue, node: ts.Node, operator: string): void;
  /** The callee of each evaluated call. To evaluate callees again would double the work at each nesting level. */
  readonly callees: WeakMap<ts.CallExpression, AbstractValue>;
  evaluate(node: ts.Expression, frame: Frame): AbstractValue;
  /** Evaluates a condition of JavaScript, and reports `message` if it is traced. */
  evaluateCondition(node: ts.Expression, message: MessageOfCode, frame: Frame, replacement?: TextReplacement): void;
  walkStatements(list: readonly ts.Statement[], frame: Frame): void;
  bind(name: ts.BindingName, value: AbstractValue, frame: Frame): void;
  evaluateCall(node: ts.CallExpression, frame: Frame): AbstractValue;
  /** The value of a function. A function without calls is walked at the end with the values of its annotations. */
  functionValue(node: FunctionNode, frame: Frame): AbstractValue;
  invoke(
    callee: AbstractValue & { kind: "function" },
    args: readonly AbstractValue[],
    parent: Region | undefined,
  ): AbstractValue;
  /** The value of a declaration with this type annotation. */
  applyAnnotation(type: ts.TypeNode | undefined, value: AbstractValue | undefined): AbstractValue;
}

/** A frame with a nested scope, for a block. */
export function innerFrame(frame: Frame, innerRegion: Region | undefined = frame.region): Frame {
  return { ...frame, scope: new Scope(frame.scope), region: innerRegion };
}
