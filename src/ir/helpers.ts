/** The signatures of a kernel's helper functions, in the author's types. */
import type { HelperSignature } from "../compiled/compiled-kernel.js";
import { authorType } from "../types/author-type.js";
import type { KernelIR } from "./nodes.js";

export function helpersOf({ functions }: Pick<KernelIR, "functions">): readonly HelperSignature[] {
  return functions.map(({ at: location, params }) => ({
    at: location,
    params: params.map(({ parameter = "", type }) => ({ name: parameter, type: authorType(type) })),
  }));
}
