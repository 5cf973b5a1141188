/** The error that the evaluator throws when a case exceeds its time limit. */
import type { Location } from "../diagnostics/diagnostic.js";

export class EvaluationTimeout extends Error {
  /** `at` is the loop or the line that was running. */
  constructor(readonly at: Location | undefined) {
    super("the case was stopped at its time limit");
  }
}
