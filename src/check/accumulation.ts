/** Autotuning runs the kernel several times, so tensors that it both reads and writes must be restored in between. */
import { type Diagnostic, errorDiagnostic, type MessageOfCode, warning } from "../diagnostics/diagnostic.js";
import { autotuneReset } from "../diagnostics/catalog/config-codes.js";
import { isMemoryParam, type KernelIR, type TensorParam } from "../ir/nodes.js";
import { accesses, type Effects, isWritten } from "../analysis/memory-effects.js";
import { defaultTf32Dots } from "../analysis/rounding-profile.js";
import { defaultPrecision } from "../diagnostics/catalog/operand-codes.js";

export function checkAccumulation(ir: KernelIR): readonly Diagnostic[] {
  if (!ir.tuning.key) return [];
  const reset = new Set([...ir.tuning.resetToZero, ...ir.tuning.restoreValue]);
  const diagnostics: Diagnostic[] = [];
  const report = (message: MessageOfCode) => diagnostics.push(errorDiagnostic(message, ir.at));
  listMistakes(ir).forEach(report);
  const accessEffects = accesses(ir);
  for (const param of ir.params) {
    if (param.kind === "pointer") {
      const effects = accessEffects.get(param);
      const reason = isWritten(effects) ? whyCarriedOver(effects) : undefined;
      const isTuned = ir.tuning.configs.length > 1 && !reset.has(param.name);
      if (reason !== undefined && isTuned) report(autotuneReset.pointer(ir.name, param.name, reason));
    }
    if (param.kind === "tensor")
      tensorMistakes(ir, param, whyCarriedOver(accessEffects.get(param)), reset).forEach(report);
  }
  return diagnostics;
}

/** Mistakes in the lists themselves. A launch zeroes a `zeroed` tensor, so no caller fills it. */
function listMistakes({ name: kernel, params, tuning: { resetToZero, restoreValue } }: KernelIR) {
  const memory = new Map(params.filter(isMemoryParam).map((param) => [param.name, param]));
  const unknown = Object.entries({ resetToZero, restoreValue }).flatMap(([list, names]) =>
    names.filter((name) => !memory.has(name)).map((name) => autotuneReset.unknown(kernel, list, name)),
  );
  const zeroedMistakes = resetToZero.flatMap((name) => {
    if (restoreValue.includes(name)) return [autotuneReset.both(kernel, name)];
    const param = memory.get(name);
    const isFilled = param && !(param.kind === "tensor" && (param.role === "out" || param.zeroed));
    return isFilled ? [autotuneReset.filled(kernel, name)] : [];
  });
  return [...unknown, ...zeroedMistakes];
}

function tensorMistakes(
  ir: KernelIR,
  { name, role, optional, block }: TensorParam,
  reason: string | undefined,
  reset: ReadonlySet<string>,
): readonly MessageOfCode[] {
  const isChanged = role === "inout" || (role === "out" && reason !== undefined);
  if (optional) return isChanged || reset.has(name) ? [autotuneReset.optional(ir.name, name)] : [];
  if (!isChanged || reset.has(name)) return [];
  const messages: MessageOfCode[] = [];
  if (block) messages.push(autotuneReset.descriptor(ir.name, name, role));
  else if (role === "inout") messages.push(autotuneReset.inPlace(ir.name, name));
  if (role === "out" && reason !== undefined) messages.push(autotuneReset.accumulates(ir.name, name, reason));
  return messages;
}

/** The way in which the memory written by a trial affects the next trial. Undefined if it does not. */
function whyCarriedOver(effects: Effects | undefined): string | undefined {
  if (effects?.has("atomic")) return "changed by an atomic";
  return effects?.has("read") ? "read" : undefined;
}

// Products of float32 that Triton computes in TF32, because the author states no precision.

export function checkDotPrecision(ir: KernelIR): readonly Diagnostic[] {
  return defaultTf32Dots(ir).map(({ location }) => warning(defaultPrecision(), location));
}
