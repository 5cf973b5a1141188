/** Formats the kind of error behind a wrong result. */
import type { Comparison } from "./compiled-kernel.js";
import type { Location } from "../diagnostics/diagnostic.js";

/** The name that reports use for the comparison of an unrounded run. */
export const ALGORITHM_CHECK = "the algorithm apart from rounding";

interface ErrorKindFacts {
  readonly finds?: Comparison["finds"] | undefined;
  readonly integers?: true;
  readonly worst?: { readonly output: string };
}

const KIND_TEXTS = {
  mistake: "they are wrong with every float in float64 too, so it is no rounding",
  rounding: "with every float in float64 they are right, so it is rounding: compute in a wider dtype",
} as const;

/** A phrase that follows `; `, or an empty string. */
export function describeErrorKind({ finds, integers, worst }: ErrorKindFacts): string {
  if (!finds) return "";
  const advice =
    finds === "rounding" && integers && worst
      ? `, or allow a step to few of its elements with tolerance: { ${worst.output}: { atol: 1 } }`
      : "";
  return `; ${KIND_TEXTS[finds]}${advice}`;
}

// The error that the evaluator throws when a case exceeds its time limit.

export class EvaluationTimeout extends Error {
  /** `at` is the loop or the line that was running. */
  constructor(readonly at: Location | undefined) {
    super("the case was stopped at its time limit");
  }
}
