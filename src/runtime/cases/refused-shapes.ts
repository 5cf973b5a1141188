/** Declared shapes that a kernel refuses: nothing would verify or measure them. */
import { type CompiledKernel, formatSizes } from "../../compiled/compiled-kernel.js";
import { noLaunch } from "../../diagnostics/catalog/proof-codes.js";
import { type Diagnostic, errorDiagnostic } from "../../diagnostics/diagnostic.js";
import { caseOf, declaredShapes } from "./shapes.js";
import { variantsFor } from "./variants.js";

/** An error for each declared shape that no config takes, with the first config's reason. */
export function refusedShapes(kernel: CompiledKernel): readonly Diagnostic[] {
  const [variant] = variantsFor(kernel, { seed: 0 });
  if (!variant) return [];
  return declaredShapes(kernel).flatMap((shape) => {
    const refusalIn = (config: number) => kernel.refusal(caseOf(kernel, shape, variant, "contiguous", config, 0));
    const refusal = refusalIn(0);
    if (refusal === undefined || kernel.configs.some((_, config) => refusalIn(config) === undefined)) return [];
    const message = noLaunch.declared(kernel.signature.name, formatSizes(shape.sizes), refusal);
    return [errorDiagnostic(message, kernel.at)];
  });
}
