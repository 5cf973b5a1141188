/** Everything that the build and the proofs report about a kernel. */
import type { Certificate, CompiledKernel } from "../../compiled/compiled-kernel.js";
import type { Diagnostic } from "../../diagnostics/diagnostic.js";
import { refusedShapes } from "../cases/refused-shapes.js";
import { proofDiagnostics } from "./proof-text.js";
import { suggestRequires } from "./suggest-requires.js";

export function kernelDiagnostics(kernel: CompiledKernel, proof: Certificate): readonly Diagnostic[] {
  return [
    ...kernel.warnings,
    ...refusedShapes(kernel),
    ...proofDiagnostics(
      proof,
      suggestRequires(kernel, proof),
      (fix, location = kernel.at) => location && kernel.fixFor?.(location, fix),
    ),
  ];
}
