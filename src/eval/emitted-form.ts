/**
 * Compares the lowered kernel, which is emitted, with the author's on the same inputs. If they differ, the lowering is
 * wrong, or an address that only the emitted code computes overflows.
 */
import type { Finding, TensorData } from "../compiled/compiled-kernel.js";
import { lowering } from "../diagnostics/catalog/finding-codes.js";
import type { KernelIR } from "../ir/nodes.js";
import { evaluateKernel, type Run, type RunResult } from "./evaluate-kernel.js";
import { coordinates } from "./findings.js";

/**
 * Evaluates the author's kernel, and then the lowered one if it is given and there are no findings. The findings then
 * describe what the lowered kernel does differently.
 */
export function evaluateForms(ir: KernelIR, lowered: KernelIR | undefined, run: Run): RunResult {
  const authored = evaluateKernel(ir, run);
  if (!lowered || authored.findings.length > 0) return authored;
  const emitted = evaluateKernel(lowered, { ...run, record: undefined, prints: undefined });
  const findings = [...emitted.findings.map(asEmitted), ...differences(authored, emitted)];
  return { ...authored, findings, more: emitted.more };
}

function asEmitted(finding: Finding): Finding {
  return { ...finding, message: `as it is emitted, ${finding.message}` };
}

/** The first element of each output in which the lowered kernel differs. All NaNs are equal. */
function differences({ outputs }: RunResult, emitted: RunResult): readonly Finding[] {
  return Object.entries(outputs).flatMap(([name, { data, shape }]): readonly Finding[] => {
    const other = emitted.outputs[name]!.data;
    const place = firstUnlike(data, other);
    if (place < 0) return [];
    const element = `${name}[${coordinates(shape, place).join(", ")}]`;
    const { code, message } = lowering(element, String(data[place]), String(other[place]));
    return [{ code, message, program: [], lane: [] }];
  });
}

function firstUnlike(data: TensorData["data"], other: TensorData["data"]): number {
  for (let i = 0; i < data.length; i++) if (!Object.is(data[i], other[i])) return i;
  return -1;
}
