/** The helper functions of a kernel as its author sees them. */
import type { HelperSignature } from "../compiled/compiled-kernel.js";
import { authorType } from "../types/author-type.js";
import type { KernelIR } from "./nodes.js";

export function helpersOf({ functions }: Pick<KernelIR, "functions">): readonly HelperSignature[] {
  return functions.map(({ at, params }) => ({
    at,
    params: params.map(({ parameter = "", type }) => ({ name: parameter, type: authorType(type) })),
  }));
}
