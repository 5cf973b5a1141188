/** Compares the outputs of a case with those of the kernel's reference. */
import type { Comparison, TensorData, Tolerance } from "../compiled/compiled-kernel.js";
import { fail, TileScriptError } from "../diagnostics/diagnostic.js";
import { referenceResult, torchCall } from "../diagnostics/catalog/reference-codes.js";
import { type KernelIR, tensorsOf } from "../ir/nodes.js";
import { evaluateReference } from "../torch/evaluate-torch.js";
import { UnsupportedByEvaluator, TorchError } from "../torch/errors.js";
import { type TorchArray, torchArray } from "../torch/array.js";
import { kindOf, kindOfDType, type TorchKind } from "../torch/kind.js";
import type { ReferenceInputs, TorchNode } from "../torch/node.js";
import type { DTypeName } from "../types/dtype.js";
import { compareOutput } from "./compare-outputs.js";

/** The tolerance of every output, or of each, which has a dtype. */
export type Tolerances = Tolerance | ((output: string, dtype: string) => Tolerance);

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
   * @throws TileScriptError at the reference if its shape is not the output's, or if it gives floats for integers and the
   * like.
   */
  compare(
    outputs: Readonly<Record<string, TensorData>>,
    tolerance: Tolerances,
    unrounded = false,
  ): readonly Comparison[] | string {
    const { reference } = this.#face;
    if (!reference) return [];
    if (reference.kind === "python") return "the reference is Python source, which cannot be evaluated here";
    // The reference does not compute memory behind raw pointers.
    const given = tensorsOf(this.#face, "out", "inout").flatMap(({ name }, i) =>
      outputs[name] ? [[name, outputs[name], i] as const] : [],
    );
    const toleranceOf = typeof tolerance === "function" ? tolerance : () => tolerance;
    try {
      const expected = (unrounded && this.#exact) || this.#evaluate(reference.outputs, unrounded);
      return given.map(([name, output, i]) => {
        if (!unrounded) checkKind(name, output, this.#kindOf(reference.outputs[i]!, expected[i]!));
        return compareOutput(name, output, expected[i]!, toleranceOf(name, output.dtype));
      });
    } catch (error) {
      if (error instanceof UnsupportedByEvaluator) return error.message;
      // PyTorch refuses to pool empty tensors, and the like: then what is empty is as expected.
      if (isRefusedCall(error) && given.every(([, { data }]) => data.length === 0))
        return given.map(([name, output]) =>
          compareOutput(name, output, torchArray(output.shape, new Float64Array()), toleranceOf(name, output.dtype)),
        );
      if (error instanceof TorchError) fail(referenceResult.refused(error.message), reference.at);
      throw error;
    }
  }

  /** What PyTorch's promotion decides shows in fractions alone. */
  #kindOf(node: TorchNode, { data }: TorchArray): TorchKind | undefined {
    return kindOf(node, this.#inputs) ?? (data.some((x) => !Number.isInteger(x)) ? "floats" : undefined);
  }

  #evaluate(nodes: Parameters<typeof evaluateReference>[0], unrounded: boolean): readonly TorchArray[] {
    let rounds = false;
    const outputs = evaluateReference(nodes, this.#inputs, { unrounded, onRounding: () => (rounds = true) });
    if (!rounds) this.#exact = outputs;
    return outputs;
  }
}

const isRefusedCall = (error: unknown): boolean =>
  error instanceof TileScriptError && error.diagnostics.some(({ code }) => code === torchCall.code);

/**
 * A float of any width stands for one of another, and so do integers. Integers for floats, or truth values for integers,
 * mean something else.
 *
 * @throws TorchRefuses
 */
function checkKind(name: string, { dtype }: TensorData, given: TorchKind | undefined): void {
  const own = kindOfDType(dtype as DTypeName);
  if (given === undefined || given === own) return;
  throw new TorchError(
    `${name} holds ${own} (${dtype}), its reference gives ${given}; convert what it returns, such as with .to(tl.${dtype})`,
  );
}
