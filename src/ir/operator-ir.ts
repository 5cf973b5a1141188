/** An operator of PyTorch made of kernels: what it computes, and what its gradient is. */
import type { KernelIR } from "./nodes.js";
import type { Launch, TorchNode } from "../torch/torch-node.js";

/** A call of one of the operator's kernels. */
export type KernelLaunch = Launch<KernelIR>;

export interface OperatorIR {
  /** What a caller sees: params, reference, sizes. It has no body of its own. */
  readonly face: KernelIR;
  /** Each kernel that it calls, once, in order of first use. */
  readonly kernels: readonly KernelIR[];
  /** From the inputs to the outputs, and to what `backward` needs besides. */
  readonly forward: Composition;
  /** From inputs, what `forward` gave and the gradients of the outputs to the gradients of inputs. */
  readonly backward: Composition | undefined;
}

/** Calls of kernels, and of torch between them. */
export interface Composition {
  /** In the author's order. */
  readonly steps: readonly (KernelLaunch | TorchNode)[];
  /** In the order of the signature. */
  readonly results: Readonly<Record<string, TorchNode>>;
}

/** What a gradient of a tensor is called among the inputs of `backward`. */
export const gradientOf = (name: string): string => `grad_${name}`;
