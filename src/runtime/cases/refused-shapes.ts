/** Declared shapes that a kernel refuses: nothing would verify or measure them. */
import { type CompiledKernel, formatSizes } from "../../compiled/compiled-kernel.js";
import { noLaunch } from "../../diagnostics/catalog/proof-codes.js";
import { type Diagnostic, errorDiagnostic } from "../../diagnostics/diagnostic.js";
import { largestNumel } from "./cases.js";
import { caseOf, declaredShapes } from "./shapes.js";
import { variantsFor } from "./variants.js";

/** The largest number of elements of a case whose reference `check` evaluates. */
const MAX_NUMEL = 2 ** 14;

/** An error for each declared shape that no config takes, with the first config's reason, or that the reference refuses. */
export function refusedShapes(kernel: CompiledKernel): readonly Diagnostic[] {
  const [variant] = variantsFor(kernel, { seed: 0 });
  if (!variant) return [];
  return declaredShapes(kernel).flatMap((shape) => {
    const cases = kernel.configs.map((_, config) => caseOf(kernel, shape, variant, "contiguous", config, 0));
    const accepted = cases.find((each) => kernel.refusal(each) === undefined);
    const [first] = cases;
    if (accepted) return largestNumel(kernel, accepted) <= MAX_NUMEL ? (kernel.referenceRefusal?.(accepted) ?? []) : [];
    const refusal = first && kernel.refusal(first);
    if (refusal === undefined) return [];
    const message = noLaunch.declared(kernel.signature.name, formatSizes(shape.sizes), refusal);
    return [errorDiagnostic(message, kernel.at)];
  });
}
