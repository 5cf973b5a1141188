/** What a wrong result was found to be, in words. */
import type { Comparison } from "./compiled.js";

/** What reports call the question that an unrounded run answers. */
export const ALGORITHM = "the algorithm apart from rounding";

const texts = {
  mistake: "they are wrong with every float in float64 too, so it is no rounding",
  rounding: "with every float in float64 they are right, so it is rounding: compute in a wider dtype",
} as const;

/** A phrase that follows `; `, or nothing. */
export function toldApart({ finds }: { readonly finds?: Comparison["finds"] | undefined }): string {
  return finds ? `; ${texts[finds]}` : "";
}
