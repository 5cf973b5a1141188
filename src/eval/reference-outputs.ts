/** Compares the outputs of a case with those of the kernel's reference. */
import type { Comparison, TensorData, Tolerance } from "../contract/compiled.js";
import { fail } from "../diagnostics/diagnostic.js";
import { referenceResult } from "../diagnostics/catalogue/reference-codes.js";
import { type KernelIR, tensorsOf } from "../ir/nodes.js";
import { evaluateReference } from "../torch/evaluate-torch.js";
import { NotEvaluated, TorchRefuses } from "../torch/not-evaluated.js";
import type { TorchArray } from "../torch/torch-array.js";
import type { ReferenceInputs } from "../torch/torch-node.js";
import { compareOutput } from "./compare-outputs.js";

/** The tolerance of every output, or of each dtype. */
export type Tolerances = Tolerance | ((dtype: string) => Tolerance);

/** What the reference gives in one case. */
export class ReferenceOutputs {
  readonly #face: KernelIR;
  readonly #inputs: ReferenceInputs;
  /** What it gives without rounding, if that is the same. */
  #exact: readonly TorchArray[] | undefined;

  constructor(face: KernelIR, inputs: ReferenceInputs) {
    this.#face = face;
    this.#inputs = inputs;
  }

  /**
   * One comparison for each output, the reason why there is none, or none without a reference. In an unrounded
   * reference, casts to floats change nothing.
   *
   * @throws TileScriptError at the reference if its shape is not the output's.
   */
  compare(
    outputs: Readonly<Record<string, TensorData>>,
    tolerance: Tolerances,
    unrounded = false,
  ): readonly Comparison[] | string {
    const { reference } = this.#face;
    if (!reference) return [];
    if (reference.kind === "python") return "the reference is Python source, which cannot be evaluated here";
    const toleranceOf = typeof tolerance === "function" ? tolerance : () => tolerance;
    try {
      const expected = (unrounded && this.#exact) || this.#evaluate(reference.outputs, unrounded);
      // The reference does not compute memory behind raw pointers.
      return tensorsOf(this.#face, "out", "inout").flatMap(({ name }, i) => {
        const output = outputs[name];
        return output ? [compareOutput(name, output, expected[i]!, toleranceOf(output.dtype))] : [];
      });
    } catch (error) {
      if (error instanceof NotEvaluated) return error.message;
      if (error instanceof TorchRefuses) fail(referenceResult.refused(error.message), reference.at);
      throw error;
    }
  }

  #evaluate(nodes: Parameters<typeof evaluateReference>[0], unrounded: boolean): readonly TorchArray[] {
    let rounds = false;
    const outputs = evaluateReference(nodes, this.#inputs, { unrounded, onRounding: () => (rounds = true) });
    if (!rounds) this.#exact = outputs;
    return outputs;
  }
}
