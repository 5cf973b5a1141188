/**
 * PyTorch expressions as data: what a kernel is verified against, and inputs that are more than random numbers. Printed
 * in Python, evaluated in float64 here.
 */
import type { Location } from "../diagnostics.js";
import type { DTypeName } from "./dtype.js";

/** A kernel's reference, and where the author wrote it. */
export type Reference = Written & { readonly at?: Location | undefined };

/** Several outputs have one expression each, by the output's name; a kernel with one output has one. */
export type Written =
  | { readonly kind: "recorded"; readonly outputs: readonly TorchNode[] }
  /** The body of a Python function, as the author wrote it. It can't be evaluated here. */
  | { readonly kind: "python"; readonly source: string };

export type TorchNode =
  | { readonly kind: "input"; readonly name: string }
  /** `torch.matmul(a, b)` or `torch.nn.functional.gelu(x)` */
  | TorchCall<"call">
  /** `x.sum(dim=1)`; the first argument is the receiver. */
  | TorchCall<"method">
  /** `x.T` */
  | { readonly kind: "attribute"; readonly of: TorchNode; readonly name: string }
  /** `torch.float16` */
  | { readonly kind: "dtype"; readonly name: DTypeName }
  /** One of the results of a call that gives several: `torch.sort(x)[1]` */
  | { readonly kind: "item"; readonly of: TorchNode; readonly index: number }
  /** `M * TOP_K`, of numbers of Python */
  | { readonly kind: "arithmetic"; readonly operator: NumberOperator; readonly args: readonly TorchArgument[] }
  /** An input that may be left out, or what stands for it then. */
  | { readonly kind: "otherwise"; readonly of: TorchNode; readonly fallback: TorchArgument };

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

interface TorchCall<Kind extends string> {
  readonly kind: Kind;
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
