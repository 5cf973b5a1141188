/** Why a kernel has no warp-specialized form. */
import type { Location } from "../../../diagnostics/diagnostic.js";

/** Thrown where a kernel leaves the form. The sentence goes on from "is not specialized: ". */
export class NotSpecializable extends Error {
  constructor(
    readonly reason: string,
    readonly at: Location | undefined,
  ) {
    super(reason);
  }
}

/** @throws Unsuited */
export function notSpecializable(reason: string, at: Location | undefined): never {
  throw new NotSpecializable(reason, at);
}
