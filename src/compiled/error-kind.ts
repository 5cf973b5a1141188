/** What a wrong result was found to be, in words. */
import type { Comparison } from "./compiled-kernel.js";

/** What reports call the question that an unrounded run answers. */
export const ALGORITHM_CHECK = "the algorithm apart from rounding";

interface Told {
  readonly finds?: Comparison["finds"] | undefined;
  readonly integers?: true;
  readonly worst?: { readonly output: string };
}

const texts = {
  mistake: "they are wrong with every float in float64 too, so it is no rounding",
  rounding: "with every float in float64 they are right, so it is rounding: compute in a wider dtype",
} as const;

/** A phrase that follows `; `, or nothing. */
export function describeErrorKind({ finds, integers, worst }: Told): string {
  if (!finds) return "";
  const steps =
    finds === "rounding" && integers && worst
      ? `, or allow a step to few of its elements with tolerance: { ${worst.output}: { atol: 1 } }`
      : "";
  return `; ${texts[finds]}${steps}`;
}
