/** The warp-specialized form of a kernel, where its spec or a caller asks for one. */
import type { CompiledKernel, Specialize } from "../compiled/compiled-kernel.js";
import { type Diagnostic, fail, warning } from "../diagnostics/diagnostic.js";
import { notSpecialized } from "../diagnostics/catalog/definition-codes.js";
import type { KernelIR } from "../ir/nodes.js";
import { specialize, type Specialized } from "../codegen/warp-specialize/pattern/specialize.js";
import { NotSpecializable } from "../codegen/warp-specialize/pattern/not-specializable.js";

export interface WarpSpecializedKernel {
  /**
   * The form, for what a caller asks, by default what the spec says.
   *
   * @throws TileScriptError at the statement that leaves the form, if there must be one.
   */
  form(asked?: Specialize): Specialized | undefined;
  /** Why there is none, where one is asked for if there is one. */
  warnings(asked?: Specialize): readonly Diagnostic[];
}

export function specializedFor(ir: KernelIR, lowered: KernelIR): WarpSpecializedKernel {
  let known: Specialized | NotSpecializable | undefined;
  const found = () => (known ??= specialize(ir, lowered));
  return {
    form(asked = ir.specialize) {
      if (asked === "never") return undefined;
      const form = found();
      if (!(form instanceof NotSpecializable)) return form;
      return asked === "always" ? fail(notSpecialized.required(ir.name, form.reason), form.at ?? ir.at) : undefined;
    },
    warnings(asked = ir.specialize) {
      const form = asked === "auto" ? found() : undefined;
      return form instanceof NotSpecializable
        ? [warning(notSpecialized.plain(ir.name, form.reason), form.at ?? ir.at)]
        : [];
    },
  };
}

/** The author's config behind each of the form's. */
export const specializedConfigs = (form: Specialized | undefined): Pick<CompiledKernel, "specialized"> =>
  form ? { specialized: form.configs.map(({ config }) => config) } : {};
