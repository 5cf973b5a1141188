/** Queries of the reference in a test case. PyTorch refuses some calls at some sizes, such as a `narrow` beyond an axis. */
import type { CompiledKernel, Signature, TestCase } from "../compiled/compiled-kernel.js";
import { torchCall } from "../diagnostics/catalog/reference-codes.js";
import { TileScriptError } from "../diagnostics/diagnostic.js";
import type { KernelIR } from "../ir/nodes.js";
import { evaluateReference } from "../torch/evaluate-torch.js";
import { launchOf } from "./case-launch.js";
import type { TorchArray } from "../torch/array.js";
import { isCallNode, reachableNodes, type TorchNode } from "../torch/node.js";
import { isFp8 } from "../types/dtype.js";
import { inputsOf, numbersOf } from "./evaluate-case.js";

/** Asks the recorded reference of a kernel or an operator. */
export function referenceQueries(
  ir: KernelIR,
  signature: Signature,
): Pick<CompiledKernel, "referenceRefusal" | "isSpecialDefined"> {
  const { reference } = ir;
  if (reference?.kind !== "recorded") return {};
  const outputs = (testCase: TestCase): readonly TorchArray[] => {
    // The config of an operator is not one of its interface.
    const first = { ...testCase, config: 0 };
    const missing = Object.fromEntries((testCase.absent ?? []).map((name) => [name, null]));
    const numbers = numbersOf(ir, launchOf(ir, first));
    return evaluateReference(reference.outputs, {
      ...numbers,
      ...inputsOf(ir, signature, first, first.special),
      ...missing,
    });
  };
  return {
    referenceRefusal(testCase) {
      try {
        outputs(testCase);
      } catch (error) {
        const [diagnostic] = error instanceof TileScriptError ? error.diagnostics : [];
        return diagnostic?.code === torchCall.code ? diagnostic : undefined;
      }
      return undefined;
    },
    isSpecialDefined(testCase) {
      // Ops of PyTorch and of GPUs differ beside NaN, unless they are about it.
      if (testCase.special?.includes("nan") && !asksForNaN(reference.outputs)) return false;
      // A GPU casts an infinity to the largest 8-bit float.
      if (testCase.special?.includes("-infinity rows") && castsToFloat8(reference.outputs)) return false;
      try {
        return outputs(testCase).every(({ data }) => !data.some(Number.isNaN));
      } catch {
        return false;
      }
    },
  };
}

const castsToFloat8 = (outputs: readonly TorchNode[]): boolean =>
  [...reachableNodes(outputs)].some((node) => node.kind === "dtype" && isFp8(node.name));

const ABOUT_NAN: ReadonlySet<string | undefined> = new Set(["isnan", "isfinite", "nan_to_num"]);

const asksForNaN = (outputs: readonly TorchNode[]): boolean =>
  [...reachableNodes(outputs)].some((node) => isCallNode(node) && ABOUT_NAN.has(node.name.split(".").at(-1)));
