/** Everything that the build and the proofs report about a kernel. */
import type { Certificate, CompiledKernel, ProofCache } from "../../compiled/compiled-kernel.js";
import type { Diagnostic } from "../../diagnostics/diagnostic.js";
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
    ...(kernel.declaresInvariance ? invarianceDiagnostics(kernel, kernel.invariance(cache)) : []),
    ...proofDiagnostics(
      proof,
      suggestRemedies(kernel, proof, cache),
      (fix, location = kernel.at) => location && kernel.fixFor?.(location, fix),
    ),
  ];
}
