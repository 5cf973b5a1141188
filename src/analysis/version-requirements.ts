/** Uses of Triton features that the oldest supported version, 3.6, lacks. */
import type { Location } from "../diagnostics/diagnostic.js";
import type { KernelIR } from "../ir/nodes.js";
import { walkAll, typedArguments } from "../ir/walk.js";

export interface VersionedFeatureUse {
  /** Triton's name, such as `tl.atomic_load`. */
  readonly name: string;
  readonly at: Location | undefined;
}

/** Every use of a feature that requires Triton 3.9, in program order. */
export function usesOfTriton39(ir: KernelIR): readonly VersionedFeatureUse[] {
  const uses: VersionedFeatureUse[] = [];
  walkAll(ir, (statement) => {
    if (statement.kind !== "op" || !statement.op.needs.needsTriton39?.(typedArguments(statement))) return;
    const { name, spelling } = statement.op;
    uses.push({ name: spelling.form === "call" ? spelling.name : name, at: statement.location });
  });
  return uses;
}
