/** The methods of a compiled kernel that emit Python. */
import type { EmittedModule, Part } from "../codegen/module/module.js";
import { runtimeModule } from "../codegen/module/preamble.js";
import { sourceMap } from "../codegen/syntax/layout.js";
import type { CompiledKernel, EmitOptions, Emitted } from "../compiled/compiled-kernel.js";
import { noLaunchCache } from "../diagnostics/catalog/definition-codes.js";
import { type Diagnostic, type Location, warning } from "../diagnostics/diagnostic.js";

/** `emitPart` emits a module of `file`, and `warningsOf` are those about options. */
export function emitters(
  kernel: { readonly name: string; readonly at: Location | undefined },
  file: string,
  emitPart: (options?: EmitOptions, part?: Part) => EmittedModule,
  warningsOf: (options?: EmitOptions) => readonly Diagnostic[],
): Pick<CompiledKernel, "emit" | "emitForPackage" | "runtimeModule"> {
  const emitted = ({ text, lines, cacheObstacle }: EmittedModule, options?: EmitOptions): Emitted => {
    const warnings = [...warningsOf(options)];
    if (cacheObstacle !== undefined) warnings.push(warning(noLaunchCache(kernel.name, cacheObstacle), kernel.at));
    return { python: text, map: sourceMap(file, lines), ...(warnings.length > 0 && { warnings }) };
  };
  return {
    emit: (options) => emitted(emitPart(options), options),
    emitForPackage(module, options) {
      const printed = emitPart({ ...options, bare: true }, { runtime: "._runtime" });
      const tests = emitPart(options, { testsOf: module });
      return { ...emitted(printed, options), runtimeNames: printed.runtimeNames, tests: tests.text };
    },
    runtimeModule,
  };
}
