/** Reports the Triton version that a kernel requires at build time, before a user notices. */
import { type Diagnostic, errorDiagnostic, warning } from "../diagnostics/diagnostic.js";
import { tritonVersion } from "../diagnostics/catalog/definition-codes.js";
import type { KernelIR } from "../ir/nodes.js";
import { usesOfTriton39 } from "../analysis/version-requirements.js";

/** A warning if the kernel does not declare that it requires 3.9, an error if it declares that it runs on 3.6. */
export function checkVersions(ir: KernelIR): readonly Diagnostic[] {
  if (ir.triton === "3.9") return [];
  const diagnostics = new Map<string, Diagnostic>();
  for (const { name, at } of usesOfTriton39(ir)) {
    const key = `${name}@${at?.line}:${at?.column}`;
    const message = `${ir.name}: ${name}, used like this, needs Triton 3.9`;
    diagnostics.set(
      key,
      ir.triton === "3.6"
        ? errorDiagnostic(tritonVersion.rejected(message), at)
        : warning(tritonVersion.recommended(message), at),
    );
  }
  return [...diagnostics.values()];
}
