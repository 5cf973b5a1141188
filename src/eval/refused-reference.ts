/** Whether the reference takes a test case: PyTorch refuses some calls at some sizes, such as a `narrow` beyond an axis. */
import type { Signature, TestCase } from "../compiled/compiled-kernel.js";
import { torchCall } from "../diagnostics/catalog/reference-codes.js";
import { TileScriptError } from "../diagnostics/diagnostic.js";
import type { KernelIR } from "../ir/nodes.js";
import { evaluateReference } from "../torch/evaluate-torch.js";
import { launchOf } from "./case-launch.js";
import { inputsOf, numbersOf } from "./evaluate-case.js";

/** PyTorch's reason to refuse the reference's calls in this case. Undefined if it takes them, or if this is unknown. */
export function referenceRefusal(ir: KernelIR, signature: Signature, testCase: TestCase): string | undefined {
  if (ir.reference?.kind !== "recorded") return undefined;
  const missing = Object.fromEntries((testCase.absent ?? []).map((name) => [name, null]));
  const numbers = numbersOf(ir, launchOf(ir, testCase));
  try {
    evaluateReference(ir.reference.outputs, { ...numbers, ...inputsOf(ir, signature, testCase), ...missing });
  } catch (error) {
    const [diagnostic] = error instanceof TileScriptError ? error.diagnostics : [];
    return diagnostic?.code === torchCall.code ? diagnostic.message : undefined;
  }
  return undefined;
}
