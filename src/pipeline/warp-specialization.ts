/** The warp-specialized form of a kernel, if its spec or a caller requests one. */
import type { CompiledKernel, Specialize } from "../compiled/compiled-kernel.js";
import { type Diagnostic, fail, warning } from "../diagnostics/diagnostic.js";
import { notSpecialized } from "../diagnostics/catalog/definition-codes.js";
import { unprovedBarriers } from "../diagnostics/catalog/proof-codes.js";
import type { KernelIR } from "../ir/nodes.js";
import { specialize, type Specialized } from "../codegen/warp-specialize/pattern/specialize.js";
import { NotSpecializable } from "../codegen/warp-specialize/pattern/not-specializable.js";
import type { ProtocolVerdict } from "../codegen/warp-specialize/protocol/explore.js";
import { proveBarriers } from "../codegen/warp-specialize/protocol/proof.js";

export interface WarpSpecializedKernel {
  /**
   * The form that a caller requests; by default the spec decides.
   *
   * @throws TileScriptError at the statement that prevents specialization, if the form is required, and at a kernel whose
   * barriers are not proved.
   */
  form(mode?: Specialize): Specialized | undefined;
  /** The reason why the form is missing, if it is requested but not required. */
  warnings(mode?: Specialize): readonly Diagnostic[];
}

export interface WarpSpecializedKernels {
  form(mode?: Specialize): (kernel: KernelIR) => Specialized | undefined;
  warnings(mode?: Specialize): readonly Diagnostic[];
}

export function warpSpecializedKernel(ir: KernelIR, lowered: KernelIR): WarpSpecializedKernel {
  let cached: Specialized | NotSpecializable | undefined;
  const specializeOnce = () => (cached ??= withProvedBarriers(ir, specialize(ir, lowered)));
  return {
    form(mode = ir.warpSpecialize) {
      if (mode === "never") return undefined;
      const form = specializeOnce();
      if (!(form instanceof NotSpecializable)) return form;
      return mode === "always" ? fail(notSpecialized.required(ir.name, form.reason), form.at ?? ir.at) : undefined;
    },
    warnings(mode = ir.warpSpecialize) {
      const form = mode === "auto" ? specializeOnce() : undefined;
      return form instanceof NotSpecializable
        ? [warning(notSpecialized.plain(ir.name, form.reason), form.at ?? ir.at)]
        : [];
    },
  };
}

function withProvedBarriers(ir: KernelIR, form: Specialized | NotSpecializable): Specialized | NotSpecializable {
  if (!(form instanceof NotSpecializable)) requireBarriers(ir, proveBarriers(form));
  return form;
}

/** @throws TileScriptError if the proof of a kernel's barriers failed, so that no module contains such a kernel. */
export function requireBarriers({ name, at }: Pick<KernelIR, "name" | "at">, proof: ProtocolVerdict): void {
  if (proof.kind === "proved") return;
  const missing = proof.kind === "refuted" ? proof.fault : `${proof.states} states are not all`;
  fail(unprovedBarriers(name, missing), at);
}

/**
 * The same for the kernels of an operator. Each has a mode of its own; a caller's mode is that of the kernels that match a
 * pattern, and there must be one.
 */
export function specializedKernels(lowered: ReadonlyMap<KernelIR, KernelIR>): WarpSpecializedKernels {
  const kernels = new Map([...lowered].map(([ir, each]) => [ir, warpSpecializedKernel(ir, each)]));
  const matches = () => [...kernels.values()].some((each) => each.form("auto"));
  return {
    form(mode) {
      const modeOfEach = mode === "always" && matches() ? "auto" : mode;
      return (kernel) => kernels.get(kernel)?.form(modeOfEach);
    },
    warnings: (mode) => (mode && matches() ? [] : [...kernels.values()].flatMap((each) => each.warnings(mode))),
  };
}

/** For each config of the warp-specialized form that has most, the author's config it comes from. */
export function specializedConfigs(
  ...forms: readonly (Specialized | undefined)[]
): Pick<CompiledKernel, "specialized"> {
  const lists = forms.flatMap((form) => (form ? [form.configs.map(({ config }) => config)] : []));
  const longest = lists.toSorted((a, b) => b.length - a.length)[0];
  return longest ? { specialized: longest } : {};
}
