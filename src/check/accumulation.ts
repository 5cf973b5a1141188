/** Autotuning runs the kernel several times, so tensors that it both reads and writes must be restored in between. */
import { type Diagnostic, errorDiagnostic, type MessageOfCode } from "../diagnostics/diagnostic.js";
import { autotuneReset } from "../diagnostics/catalog/config-codes.js";
import { isMemoryParam, type KernelIR } from "../ir/nodes.js";
import { accesses, type Effects, isWritten } from "../analysis/memory-effects.js";

export function checkAccumulation(ir: KernelIR): readonly Diagnostic[] {
  if (!ir.tuning.key) return [];
  const reset = new Set([...ir.tuning.resetToZero, ...ir.tuning.restoreValue]);
  const found: Diagnostic[] = [];
  const refuse = (said: MessageOfCode) => found.push(errorDiagnostic(said, ir.at));
  for (const name of reset)
    if (!ir.params.some((param) => param.name === name && isMemoryParam(param)))
      refuse(autotuneReset.unknown(ir.name, name));
  const touched = accesses(ir);
  for (const param of ir.params) {
    if (param.kind === "pointer") {
      const effects = touched.get(param);
      const how = isWritten(effects) ? carriedOver(effects) : undefined;
      const isTuned = ir.tuning.configs.length > 1 && !reset.has(param.name);
      if (how !== undefined && isTuned) refuse(autotuneReset.pointer(ir.name, param.name, how));
    }
    if (param.kind !== "tensor") continue;
    const how = carriedOver(touched.get(param));
    const changes = param.role === "inout" || reset.has(param.name) || (param.role === "out" && how !== undefined);
    if (param.optional && changes) refuse(autotuneReset.optional(ir.name, param.name));
    if (param.optional || reset.has(param.name)) continue;
    if (param.role !== "in" && param.block && (param.role === "inout" || how !== undefined))
      refuse(autotuneReset.descriptor(ir.name, param.name, param.role));
    else if (param.role === "inout") refuse(autotuneReset.inPlace(ir.name, param.name));
    if (param.role === "out" && how !== undefined) refuse(autotuneReset.accumulates(ir.name, param.name, how));
  }
  return found;
}

/** How what a trial leaves reaches the next one, where a kernel writes the memory at all. */
function carriedOver(effects: Effects | undefined): string | undefined {
  return effects?.has("atomic") ? "changed by an atomic" : effects?.has("read") ? "read" : undefined;
}
