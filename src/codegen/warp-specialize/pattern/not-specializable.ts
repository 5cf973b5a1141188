/** The reason why a kernel has no warp-specialized form. */
import type { Location } from "../../../diagnostics/diagnostic.js";

/** Thrown if a kernel does not match a form. The reason continues the phrase "is not specialized: ". */
export class NotSpecializable extends Error {
  constructor(
    readonly reason: string,
    readonly at: Location | undefined,
  ) {
    super(reason);
  }
}

/** @throws {@link NotSpecializable} always. */
export function notSpecializable(reason: string, at: Location | undefined): never {
  throw new NotSpecializable(reason, at);
}
