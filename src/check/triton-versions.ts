/** Tells the author which version of Triton the kernel needs, before a user finds out. */
import { type Diagnostic, errorDiagnostic, warning } from "../diagnostics/diagnostic.js";
import { tritonVersion } from "../diagnostics/catalog/definition-codes.js";
import type { KernelIR } from "../ir/nodes.js";
import { usesOfTriton39 } from "../analysis/version-requirements.js";

/** A warning if the kernel does not say that it needs 3.9, an error if it says that it runs on 3.6. */
export function checkVersions(ir: KernelIR): readonly Diagnostic[] {
  if (ir.triton === "3.9") return [];
  const found = new Map<string, Diagnostic>();
  for (const { name, at } of usesOfTriton39(ir)) {
    const key = `${name}@${at?.line}:${at?.column}`;
    const needs = `${ir.name}: ${name}, used like this, needs Triton 3.9`;
    found.set(
      key,
      ir.triton === "3.6"
        ? errorDiagnostic(tritonVersion.refused(needs), at)
        : warning(tritonVersion.needed(needs), at),
    );
  }
  return [...found.values()];
}
