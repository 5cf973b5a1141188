/** Autotuning runs the kernel several times, so tensors that it both reads and writes must be restored in between. */
import { type Diagnostic, errorDiagnostic, type MessageOfCode } from "../diagnostics/diagnostic.js";
import { autotuneReset } from "../diagnostics/catalog/config-codes.js";
import { isMemoryParam, type KernelIR } from "../ir/nodes.js";
import { accesses, type Effects, isWritten } from "../analysis/memory-effects.js";

export function checkAccumulation(ir: KernelIR): readonly Diagnostic[] {
  if (!ir.tuning.key) return [];
  const reset = new Set([...ir.tuning.resetToZero, ...ir.tuning.restoreValue]);
  const diagnostics: Diagnostic[] = [];
  const report = (message: MessageOfCode) => diagnostics.push(errorDiagnostic(message, ir.at));
  for (const name of reset)
    if (!ir.params.some((param) => param.name === name && isMemoryParam(param)))
      report(autotuneReset.unknown(ir.name, name));
  const accessEffects = accesses(ir);
  for (const param of ir.params) {
    if (param.kind === "pointer") {
      const effects = accessEffects.get(param);
      const reason = isWritten(effects) ? whyCarriedOver(effects) : undefined;
      const isTuned = ir.tuning.configs.length > 1 && !reset.has(param.name);
      if (reason !== undefined && isTuned) report(autotuneReset.pointer(ir.name, param.name, reason));
    }
    if (param.kind !== "tensor") continue;
    const reason = whyCarriedOver(accessEffects.get(param));
    const isChanged = param.role === "inout" || reset.has(param.name) || (param.role === "out" && reason !== undefined);
    if (param.optional && isChanged) report(autotuneReset.optional(ir.name, param.name));
    if (param.optional || reset.has(param.name)) continue;
    if (param.role !== "in" && param.block && (param.role === "inout" || reason !== undefined))
      report(autotuneReset.descriptor(ir.name, param.name, param.role));
    else if (param.role === "inout") report(autotuneReset.inPlace(ir.name, param.name));
    if (param.role === "out" && reason !== undefined) report(autotuneReset.accumulates(ir.name, param.name, reason));
  }
  return diagnostics;
}

/** The way in which the memory written by a trial affects the next trial. Undefined if it does not. */
function whyCarriedOver(effects: Effects | undefined): string | undefined {
  return effects?.has("atomic") ? "changed by an atomic" : effects?.has("read") ? "read" : undefined;
}
