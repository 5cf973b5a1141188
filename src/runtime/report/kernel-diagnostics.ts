/** Everything that the build and the proofs report about a kernel, and the rejection of kernels with errors of proofs. */
import type { Certificate, CompiledKernel, ProofCache } from "../../compiled/compiled-kernel.js";
import { type Diagnostic, TileScriptError } from "../../diagnostics/diagnostic.js";
import { refusedShapes } from "../cases/refused-shapes.js";
import { invarianceDiagnostics } from "./invariance-text.js";
import { proofDiagnostics } from "./proof-text.js";
import { suggestRemedies } from "./suggest-remedies.js";

export function kernelDiagnostics(
  kernel: CompiledKernel,
  proof: Certificate,
  cache: ProofCache | undefined,
): readonly Diagnostic[] {
  return [
    ...kernel.warnings,
    ...refusedShapes(kernel),
    ...invarianceDiagnostics(kernel, cache),
    ...proofDiagnostics(
      proof,
      suggestRemedies(kernel, proof, cache),
      (fix, location = kernel.at) => location && kernel.fixFor?.(location, fix),
    ),
  ];
}

/**
 * Rejects a kernel with refuted obligations, or that is not shown to be invariant in a size that its spec declares.
 *
 * @throws TileScriptError with these errors, at the author's lines.
 */
export function checkProofs(kernel: CompiledKernel): void {
  const diagnostics = [...invarianceDiagnostics(kernel), ...proofDiagnostics(kernel.proof())];
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  if (errors.length > 0) throw new TileScriptError(errors);
}
