/** A PyTorch operator composed of kernels: its forward pass and its gradient. */
import type { KernelIR } from "./nodes.js";
import type { Launch, TorchNode } from "../torch/node.js";

/** A call of one of the operator's kernels. */
export type KernelLaunch = Launch<KernelIR>;

export interface OperatorIR {
  /** The params, reference and sizes, as a kernel with an empty body. */
  readonly signature: KernelIR;
  /** The distinct kernels that it calls, in order of first use. */
  readonly kernels: readonly KernelIR[];
  /** Computes the outputs, and additional tensors that `backward` needs, from the inputs. */
  readonly forward: Composition;
  /** Computes the gradients of inputs from the inputs, the results of `forward` and the gradients of the outputs. */
  readonly backward: Composition | undefined;
}

/** Calls of kernels, and PyTorch calls between them. */
export interface Composition {
  /** In the author's order. */
  readonly steps: readonly (KernelLaunch | TorchNode)[];
  /** In the order of the signature. */
  readonly results: Readonly<Record<string, TorchNode>>;
}

/** The distinct kernels that compositions launch. */
export const kernelsOf = (...compositions: readonly Composition[]): readonly KernelIR[] => [
  ...new Set(
    compositions.flatMap(({ steps }) => steps).flatMap((step) => (step.kind === "launch" ? [step.kernel] : [])),
  ),
];

/** The name of a tensor's gradient among the inputs of `backward`. */
export const gradientOf = (name: string): string => `grad_${name}`;
