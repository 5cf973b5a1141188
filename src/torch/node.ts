/**
 * PyTorch expressions as data: references, and descriptions of inputs. They are emitted as Python and evaluated in
 * float64.
 */
import type { TensorData } from "../compiled/compiled-kernel.js";
import type { Location } from "../diagnostics/diagnostic.js";
import type { DTypeName } from "../types/dtype.js";

/** Tensors, sizes, scalars and constexprs by name. Null for an absent tensor. */
export type ReferenceInputs = Readonly<Record<string, TensorData | number | boolean | string | null>>;

/** A kernel's reference and its source location. */
export type Reference = RecordedOutputs & { readonly at?: Location | undefined };

/** One expression per output, by the output's name. A kernel with one output has one. */
export type RecordedOutputs =
  | { readonly kind: "recorded"; readonly outputs: readonly TorchNode[] }
  /** The author's source of a Python function body. It cannot be evaluated in-process. */
  | { readonly kind: "python"; readonly source: string };

export type TorchNode =
  | { readonly kind: "input"; readonly name: string }
  | TorchCall
  /** `x.T` */
  | { readonly kind: "attribute"; readonly of: TorchNode; readonly name: string }
  /** `torch.float16` */
  | { readonly kind: "dtype"; readonly name: DTypeName }
  /** One of the results of a call: `torch.sort(x)[1]` */
  | { readonly kind: "item"; readonly of: TorchNode; readonly index: number }
  /** `M * TOP_K`, of Python numbers */
  | { readonly kind: "arithmetic"; readonly operator: NumberOperator; readonly args: OperandPair }
  /** `N > 16`, `ACTIVATION == "relu"` */
  | { readonly kind: "comparison"; readonly operator: NumberComparison; readonly args: OperandPair }
  /** `a if CAUSAL else b` */
  | {
      readonly kind: "choice";
      readonly condition: TorchNode;
      readonly then: TorchArgument;
      readonly otherwise: TorchArgument;
    }
  /** An output of a kernel called by an operator. */
  | Launched
  /** An optional input, or its fallback if it is absent. */
  | { readonly kind: "otherwise"; readonly of: TorchNode; readonly fallback: TorchArgument };

export interface Launched {
  readonly kind: "launched";
  readonly launch: Launch;
  /** The author's name of the output. */
  readonly output: string;
  /** Source location of the use of this output. */
  readonly at?: Location | undefined;
}

/** The part of a kernel that torch expressions depend on. */
export interface LaunchedKernel {
  readonly params: readonly { readonly kind: string; readonly name: string; readonly dtype?: unknown }[];
}

/** A kernel call in an operator. `args` are tensors, sizes and numbers by parameter name. */
export interface Launch<Kernel extends LaunchedKernel = LaunchedKernel> {
  readonly kind: "launch";
  readonly kernel: Kernel;
  readonly args: Readonly<Record<string, TorchArgument>>;
  /** The kernel's sizes in terms of the operator's, if they are statically known. */
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

/** `torch.matmul(a, b)`, `torch.nn.functional.gelu(x)`, or the method `x.sum(dim=1)`, whose first argument is `x`. */
export interface TorchCall {
  readonly kind: "call" | "method";
  /** Path below `torch`, or the method's name. */
  readonly name: string;
  readonly args: readonly TorchArgument[];
  readonly keywords: Readonly<Record<string, TorchArgument>>;
  /** Source location of the call. */
  readonly at?: Location | undefined;
}

export type OperandPair = readonly [TorchArgument, TorchArgument];

export type TorchArgument = TorchNode | number | boolean | string | null | readonly TorchArgument[];

export function isTorchNode(x: TorchArgument | undefined): x is TorchNode {
  return typeof x === "object" && x !== null && "kind" in x;
}

export function isCallNode(node: TorchNode): node is TorchCall {
  return node.kind === "call" || node.kind === "method";
}

export function torchOperands(node: TorchNode): readonly TorchArgument[] {
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

/** The expression with each expression that it consists of changed. */
export function mapTorchOperands(node: TorchNode, change: (operand: TorchNode) => TorchNode): TorchNode {
  const changed = (argument: TorchArgument): TorchArgument => mapTorchArgument(argument, change);
  switch (node.kind) {
    case "call":
    case "method": {
      const keywords = Object.entries(node.keywords).map(([name, value]) => [name, changed(value)] as const);
      return { ...node, args: node.args.map(changed), keywords: Object.fromEntries(keywords) };
    }
    case "arithmetic":
    case "comparison":
      return { ...node, args: [changed(node.args[0]), changed(node.args[1])] };
    case "choice":
      return {
        ...node,
        condition: change(node.condition),
        then: changed(node.then),
        otherwise: changed(node.otherwise),
      };
    case "otherwise":
      return { ...node, of: change(node.of), fallback: changed(node.fallback) };
    case "attribute":
    case "item":
      return { ...node, of: change(node.of) };
    case "launched":
    case "input":
    case "dtype":
      return node;
    default:
      return node satisfies never;
  }
}

export function mapTorchArgument(argument: TorchArgument, change: (node: TorchNode) => TorchNode): TorchArgument {
  if (Array.isArray(argument)) return argument.map((each) => mapTorchArgument(each, change));
  return isTorchNode(argument) ? change(argument) : argument;
}

type OperandsOf = (node: TorchNode) => readonly TorchArgument[];

/** The roots and all expressions that they depend on, each before its operands. */
export function reachableNodes(
  roots: readonly (TorchArgument | undefined)[],
  operandsOf: OperandsOf = torchOperands,
): ReadonlySet<TorchNode> {
  const visited = new Set<TorchNode>();
  const visit = (argument: TorchArgument | undefined): void => {
    if (Array.isArray(argument)) argument.forEach(visit);
    if (!isTorchNode(argument) || visited.has(argument)) return;
    visited.add(argument);
    operandsOf(argument).forEach(visit);
  };
  roots.forEach(visit);
  return visited;
}

/** Names of the inputs that expressions use. */
export const inputsOf = (roots: readonly (TorchArgument | undefined)[], operandsOf?: OperandsOf): ReadonlySet<string> =>
  new Set([...reachableNodes(roots, operandsOf)].flatMap((node) => (node.kind === "input" ? [node.name] : [])));

/** Python's reserved words. `__debug__` is not a keyword, but nothing may be assigned to it. */
export const PYTHON_KEYWORDS: readonly string[] = (
  "False None True and as assert async await break class continue def del elif else except finally for from global " +
  "if import in is lambda nonlocal not or pass raise return try while with yield"
).split(" ");

/** True if `name` can be an attribute or a keyword argument. */
export function isPythonIdentifier(name: string): boolean {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && name !== "__debug__" && !PYTHON_KEYWORDS.includes(name);
}
