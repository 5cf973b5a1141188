/** What a kernel asks of Triton that its oldest version here, 3.6, does not have. */
import type { Location } from "../diagnostics/diagnostic.js";
import type { KernelIR } from "../ir/nodes.js";
import { typedArguments } from "../ir/typed.js";
import { walkAll } from "../ir/walk.js";

export interface NewerUse {
  /** In Triton, such as `tl.atomic_load`. */
  readonly name: string;
  readonly at: Location | undefined;
}

/** Every use of what Triton has since 3.9 only, in order. */
export function usesOf39(ir: KernelIR): readonly NewerUse[] {
  const found: NewerUse[] = [];
  walkAll(ir, (statement) => {
    if (statement.kind !== "op" || !statement.op.since39?.(typedArguments(statement))) return;
    const { name, spelling } = statement.op;
    found.push({ name: spelling.form === "call" ? spelling.name : name, at: statement.at });
  });
  return found;
}
