/** Compares the outputs of a test case with those of the kernel's reference. */
import type { Comparison, TensorData, Tolerance } from "../compiled/compiled-kernel.js";
import { fail, TileScriptError } from "../diagnostics/diagnostic.js";
import { referenceResult, torchCall } from "../diagnostics/catalog/reference-codes.js";
import { type KernelIR, tensorsOf } from "../ir/nodes.js";
import { evaluateReference } from "../torch/evaluate-torch.js";
import { UnsupportedByEvaluator, TorchError } from "../torch/errors.js";
import { type TorchArray, torchArray } from "../torch/array.js";
import { kindOf, kindOfDType, type TorchKind } from "../torch/facts.js";
import type { ReferenceInputs, TorchNode } from "../torch/node.js";
import type { DTypeName } from "../types/dtype.js";
import { compareOutput } from "./compare-outputs.js";

/** One tolerance for all outputs, or a function of the output and its dtype. */
export type Tolerances = Tolerance | ((output: string, dtype: string) => Tolerance);

/** The outputs of the reference in one test case. */
export class ReferenceOutputs {
  readonly #face: KernelIR;
  readonly #inputs: ReferenceInputs;
  /** The outputs, if computing them did not round: then the unrounded outputs are the same. */
  #exact: readonly TorchArray[] | undefined;

  constructor(face: KernelIR, inputs: ReferenceInputs) {
    this.#face = face;
    this.#inputs = inputs;
  }

  /**
   * Returns one comparison per output, the reason why there is none, or an empty list if there is no reference. In an
   * unrounded reference, casts to floats have no effect.
   *
   * @throws TileScriptError at the reference if its outputs have another shape or kind of elements.
   */
  compare(
    outputs: Readonly<Record<string, TensorData>>,
    tolerance: Tolerances,
    unrounded = false,
  ): readonly Comparison[] | string {
    const { reference } = this.#face;
    if (!reference) return [];
    if (reference.kind === "python") return "the reference is Python source, which cannot be evaluated here";
    // The reference does not compute memory of raw pointers.
    const compared = tensorsOf(this.#face, "out", "inout").flatMap(({ name }, i) =>
      outputs[name] ? [[name, outputs[name], i] as const] : [],
    );
    const toleranceOf = typeof tolerance === "function" ? tolerance : () => tolerance;
    try {
      const expected = (unrounded && this.#exact) || this.#evaluate(reference.outputs, unrounded);
      return compared.map(([name, output, i]) => {
        const [node, value] = [reference.outputs[i]!, expected[i]!];
        if (!unrounded) checkKind(name, output, this.#kindOf(node, value));
        return compareOutput(name, output, value, toleranceOf(name, output.dtype));
      });
    } catch (error) {
      if (error instanceof UnsupportedByEvaluator) return error.message;
      // PyTorch rejects some calls with empty tensors, such as pooling. An empty output is then correct.
      if (isRefusedCall(error) && compared.every(([, { data }]) => data.length === 0))
        return compared.map(([name, output]) =>
          compareOutput(name, output, torchArray(output.shape, new Float64Array()), toleranceOf(name, output.dtype)),
        );
      if (error instanceof TorchError) fail(referenceResult.rejected(error.message), reference.at);
      throw error;
    }
  }

  /** The kind of a reference output. If PyTorch's type promotion decides it, only fractions show that it is floats. */
  #kindOf(node: TorchNode, { data }: TorchArray): TorchKind | undefined {
    return kindOf(node, this.#inputs) ?? (data.some((x) => !Number.isInteger(x)) ? "floats" : undefined);
  }

  #evaluate(nodes: Parameters<typeof evaluateReference>[0], unrounded: boolean): readonly TorchArray[] {
    let hasRounded = false;
    const outputs = evaluateReference(nodes, this.#inputs, { unrounded, onRounding: () => (hasRounded = true) });
    if (!hasRounded) this.#exact = outputs;
    return outputs;
  }
}

const isRefusedCall = (error: unknown): boolean =>
  error instanceof TileScriptError && error.diagnostics.some(({ code }) => code === torchCall.code);

/**
 * Checks the kind of an output's elements. Floats of different widths are compatible, and so are integers. Integers in
 * place of floats, or booleans in place of integers, are not.
 *
 * @throws TorchError
 */
function checkKind(name: string, { dtype }: TensorData, referenceKind: TorchKind | undefined): void {
  const outputKind = kindOfDType(dtype as DTypeName);
  if (referenceKind === undefined || referenceKind === outputKind) return;
  throw new TorchError(
    `${name} holds ${outputKind} (${dtype}), its reference gives ${referenceKind}; convert its result, such as with .to(tl.${dtype})`,
  );
}
