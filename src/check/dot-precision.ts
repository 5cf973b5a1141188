/** Products of float32 that Triton computes in TF32, because the author states no precision. */
import { defaultTf32Dots } from "../analysis/rounding-profile.js";
import { type Diagnostic, warning } from "../diagnostics/diagnostic.js";
import { defaultPrecision } from "../diagnostics/catalog/operand-codes.js";
import type { KernelIR } from "../ir/nodes.js";

export function checkDotPrecision(ir: KernelIR): readonly Diagnostic[] {
  return defaultTf32Dots(ir).map(({ location }) => warning(defaultPrecision(), location));
}
