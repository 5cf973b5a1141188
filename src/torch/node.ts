/**
 * PyTorch expressions as data: what a kernel is verified against, and inputs that are more than random numbers. Printed
 * in Python, evaluated in float64 here.
 */
import type { TensorData } from "../compiled/compiled-kernel.js";
import type { Location } from "../diagnostics/diagnostic.js";
import type { DTypeName } from "../types/dtype.js";

/** Tensors, and sizes, scalars and constexprs, by name; null for a tensor that was left out. */
export type ReferenceInputs = Readonly<Record<string, TensorData | number | boolean | string | null>>;

/** A kernel's reference, and where the author wrote it. */
export type Reference = Written & { readonly at?: Location | undefined };

/** Several outputs have one expression each, by the output's name; a kernel with one output has one. */
export type Written =
  | { readonly kind: "recorded"; readonly outputs: readonly TorchNode[] }
  /** The body of a Python function, as the author wrote it. It can't be evaluated here. */
  | { readonly kind: "python"; readonly source: string };

export type TorchNode =
  | { readonly kind: "input"; readonly name: string }
  | TorchCall
  /** `x.T` */
  | { readonly kind: "attribute"; readonly of: TorchNode; readonly name: string }
  /** `torch.float16` */
  | { readonly kind: "dtype"; readonly name: DTypeName }
  /** One of the results of a call that gives several: `torch.sort(x)[1]` */
  | { readonly kind: "item"; readonly of: TorchNode; readonly index: number }
  /** `M * TOP_K`, of Python numbers */
  | { readonly kind: "arithmetic"; readonly operator: NumberOperator; readonly args: readonly TorchArgument[] }
  /** `N > 16`, `ACTIVATION == "relu"` */
  | { readonly kind: "comparison"; readonly operator: NumberComparison; readonly args: readonly TorchArgument[] }
  /** `a if CAUSAL else b` */
  | {
      readonly kind: "choice";
      readonly condition: TorchNode;
      readonly then: TorchArgument;
      readonly otherwise: TorchArgument;
    }
  /** One output of a kernel that an operator calls. */
  | Launched
  /** An optional input, or its replacement where it is left out. */
  | { readonly kind: "otherwise"; readonly of: TorchNode; readonly fallback: TorchArgument };

export interface Launched {
  readonly kind: "launched";
  readonly launch: Launch;
  /** The author's name of the output. */
  readonly output: string;
  /** Where the author takes it. */
  readonly at?: Location | undefined;
}

/** What torch expressions need to know of a kernel whose outputs they use. */
export interface LaunchedKernel {
  readonly params: readonly { readonly kind: string; readonly name: string; readonly dtype?: unknown }[];
}

/** A kernel's call in an operator. Tensors, sizes and numbers by the names of the kernel's params. */
export interface Launch<Kernel extends LaunchedKernel = LaunchedKernel> {
  readonly kind: "launch";
  readonly kernel: Kernel;
  readonly args: Readonly<Record<string, TorchArgument>>;
  /** The kernel's sizes in the operator, as far as they are known before a run. */
  readonly sizes: Readonly<Record<string, string | number>>;
  readonly at?: Location | undefined;
}

/** Methods of numbers, and Python's operators. */
export const numberOperators = {
  add: "+",
  sub: "-",
  mul: "*",
  div: "/",
  floorDiv: "//",
  mod: "%",
  pow: "**",
} as const;
export type NumberOperator = keyof typeof numberOperators;
export const numberComparisons = { eq: "==", ne: "!=", lt: "<", le: "<=", gt: ">", ge: ">=" } as const;
export type NumberComparison = keyof typeof numberComparisons;

/** `torch.matmul(a, b)` or `torch.nn.functional.gelu(x)`; or the method `x.sum(dim=1)`, whose first argument is `x`. */
export interface TorchCall {
  readonly kind: "call" | "method";
  /** Path below `torch`, or the method's name. */
  readonly name: string;
  readonly args: readonly TorchArgument[];
  readonly keywords: Readonly<Record<string, TorchArgument>>;
  /** Where the author wrote it. */
  readonly at?: Location | undefined;
}

export type TorchArgument = TorchNode | number | boolean | string | null | readonly TorchArgument[];

export function isTorchNode(x: TorchArgument | undefined): x is TorchNode {
  return typeof x === "object" && x !== null && "kind" in x;
}

export function isCallNode(node: TorchNode): node is TorchCall {
  return node.kind === "call" || node.kind === "method";
}

/** The operands of a node. */
export function partsOf(node: TorchNode): readonly TorchArgument[] {
  switch (node.kind) {
    case "call":
    case "method":
      return [...node.args, ...Object.values(node.keywords)];
    case "arithmetic":
    case "comparison":
      return node.args;
    case "choice":
      return [node.condition, node.then, node.otherwise];
    case "otherwise":
      return [node.of, node.fallback];
    case "attribute":
    case "item":
      return [node.of];
    case "launched":
    case "input":
    case "dtype":
      return [];
    default:
      return node satisfies never;
  }
}

/** Names of the inputs that expressions use. */
export function inputsOf(nodes: readonly TorchNode[]): ReadonlySet<string> {
  const seen = new Set<TorchNode>();
  const visit = (argument: TorchArgument): void => {
    if (Array.isArray(argument)) argument.forEach(visit);
    if (!isTorchNode(argument) || seen.has(argument)) return;
    seen.add(argument);
    partsOf(argument).forEach(visit);
  };
  nodes.forEach(visit);
  return new Set([...seen].flatMap((node) => (node.kind === "input" ? [node.name] : [])));
}
