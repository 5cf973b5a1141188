/**
 * Compares the lowered kernel, which is emitted, with the author's kernel on the same inputs. A difference means that
 * lowering is incorrect, or that an address computed only by the emitted code overflows.
 */
import type { Finding, TensorData } from "../compiled/compiled-kernel.js";
import { lowering } from "../diagnostics/catalog/finding-codes.js";
import type { KernelIR } from "../ir/nodes.js";
import { evaluateKernel, type Run, type RunResult } from "./evaluate-kernel.js";
import { coordinates, partsOf } from "./findings.js";

/**
 * Evaluates the author's kernel. If there are no findings, also evaluates the lowered kernel, if given; findings then
 * describe their differences.
 */
export function evaluateForms(ir: KernelIR, lowered: KernelIR | undefined, run: Run): RunResult {
  const authored = evaluateKernel(ir, run);
  if (!lowered || authored.findings.length > 0) return authored;
  const emitted = evaluateKernel(lowered, { ...run, record: undefined, prints: undefined });
  const findings = [...emitted.findings.map(toEmittedFinding), ...differences(authored, emitted)];
  return { ...authored, findings, unlistedFindings: emitted.unlistedFindings };
}

function toEmittedFinding(finding: Finding): Finding {
  return { ...finding, message: `as it is emitted, ${finding.message}` };
}

/** The first element that differs in each output. All NaNs are equal. */
function differences({ outputs }: RunResult, emitted: RunResult): readonly Finding[] {
  return Object.entries(outputs).flatMap(([name, { data, shape }]): readonly Finding[] => {
    const emittedData = emitted.outputs[name]!.data;
    const index = firstDifference(data, emittedData);
    if (index < 0) return [];
    const element = `${name}[${coordinates(shape, index).join(", ")}]`;
    const message = lowering(element, String(data[index]), String(emittedData[index]));
    return [{ ...partsOf(message), program: [], lane: [] }];
  });
}

function firstDifference(data: TensorData["data"], emittedData: TensorData["data"]): number {
  for (let i = 0; i < data.length; i++) if (!Object.is(data[i], emittedData[i])) return i;
  return -1;
}
