/** The warp-specialised form of a kernel, where its spec or a caller asks for one. */
import type { CompiledKernel, Specialise } from "../contract/compiled.js";
import { type Diagnostic, fail, warning } from "../diagnostics/diagnostic.js";
import { notSpecialised } from "../diagnostics/catalogue/definition-codes.js";
import type { KernelIR } from "../ir/nodes.js";
import { specialise, type Specialised } from "../specialise/specialise.js";
import { Unsuited } from "../specialise/unsuited.js";

export interface SpecialisedFor {
  /**
   * The form, for what a caller asks, by default what the spec says.
   *
   * @throws TileScriptError at the statement that leaves the form, if there must be one.
   */
  form(asked?: Specialise): Specialised | undefined;
  /** Why there is none, where one is asked for if there is one. */
  warnings(asked?: Specialise): readonly Diagnostic[];
}

export function specialisedFor(ir: KernelIR, lowered: KernelIR): SpecialisedFor {
  let known: Specialised | Unsuited | undefined;
  const found = () => (known ??= specialise(ir, lowered));
  return {
    form(asked = ir.specialise) {
      if (asked === "never") return undefined;
      const form = found();
      if (!(form instanceof Unsuited)) return form;
      return asked === "always" ? fail(notSpecialised.required(ir.name, form.reason), form.at ?? ir.at) : undefined;
    },
    warnings(asked = ir.specialise) {
      const form = asked === "auto" ? found() : undefined;
      return form instanceof Unsuited ? [warning(notSpecialised.plain(ir.name, form.reason), form.at ?? ir.at)] : [];
    },
  };
}

/** The author's config behind each of the form's. */
export const specialisedConfigs = (form: Specialised | undefined): Pick<CompiledKernel, "specialised"> =>
  form ? { specialised: form.configs.map(({ config }) => config) } : {};
