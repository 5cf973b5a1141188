/** Compares the outputs of a case with those of the kernel's reference. */
import type { Comparison, TensorData, Tolerance } from "../contract/compiled.js";
import { fail } from "../diagnostics/diagnostic.js";
import { referenceResult } from "../diagnostics/catalogue/reference-codes.js";
import { type KernelIR, tensorsOf } from "../ir/nodes.js";
import { evaluateReference } from "../torch/evaluate-torch.js";
import { NotEvaluated, TorchRefuses } from "../torch/not-evaluated.js";
import type { ReferenceInputs } from "../torch/torch-node.js";
import { compareOutput } from "./compare-outputs.js";

/** The tolerance of every output, or of each dtype. */
export type Tolerances = Tolerance | ((dtype: string) => Tolerance);

/**
 * One comparison for each output, the reason why there is none, or none without a reference. In an unrounded reference,
 * casts to floats change nothing.
 *
 * @throws TileScriptError at the reference if its shape is not the output's.
 */
export function againstReference(
  { reference, params }: KernelIR,
  outputs: Readonly<Record<string, TensorData>>,
  inputs: ReferenceInputs,
  tolerance: Tolerances,
  unrounded = false,
): readonly Comparison[] | string {
  if (!reference) return [];
  if (reference.kind === "python") return "the reference is Python source, which cannot be evaluated here";
  const toleranceOf = typeof tolerance === "function" ? tolerance : () => tolerance;
  try {
    const expected = evaluateReference(reference.outputs, inputs, { unrounded });
    // The reference does not compute memory behind raw pointers.
    return tensorsOf({ params }, "out", "inout").flatMap(({ name }, i) => {
      const output = outputs[name];
      return output ? [compareOutput(name, output, expected[i]!, toleranceOf(output.dtype))] : [];
    });
  } catch (error) {
    if (error instanceof NotEvaluated) return error.message;
    if (error instanceof TorchRefuses) fail(referenceResult.refused(error.message), reference.at);
    throw error;
  }
}
