/** Runs a case on the evaluator, and what that shows. */
import type { Case, CompiledKernel, Evaluation, ProgramOrder, Tolerance } from "../../contract/compiled.js";
import type { PlannedCase } from "../cases/cases.js";
import { evaluatorFailure } from "../cases/failure.js";
import type { Outcome } from "../cases/outcome.js";

export interface EvaluatorOptions {
  readonly tolerance: Partial<Tolerance>;
  readonly order?: ProgramOrder | undefined;
  /** Runs of each case, which must agree; the evaluator and the interpreter change the order of programs. Default 1. */
  readonly repeats?: number | undefined;
}

/** Runs one case on the evaluator. */
export function evaluate(
  kernel: CompiledKernel,
  { at, label }: PlannedCase,
  { tolerance, order, repeats = 1 }: EvaluatorOptions,
): Outcome {
  const started = Date.now();
  const base = { at, label, tuned: false, by: "eval" as const };
  try {
    const { outputs, comparison, findings, unchecked } = kernel.evaluate(at, { tolerance, order, lowered: true });
    let wrong = findings.length > 0 || (comparison !== undefined && !comparison.correct);
    // What a kernel that waits computes in another order is for its own findings to say.
    const again =
      repeats > 1 && !wrong && !kernel.signature.waits && kernel.evaluate(at, { tolerance, order: "reversed" });
    const problems = again ? orderProblems(kernel, outputs, again) : [];
    wrong ||= problems.length > 0;
    return {
      ...base,
      problems,
      status: wrong ? "failed" : comparison ? "passed" : "unchecked",
      comparisons: comparison ? [comparison] : [],
      findings,
      unchecked: comparison
        ? unchecked
        : [...unchecked, "the outputs were compared with nothing: no reference that the evaluator can compute"],
      ms: Date.now() - started,
    };
  } catch (error) {
    return {
      ...base,
      status: "failed",
      comparisons: [],
      findings: [],
      problems: [],
      failure: evaluatorFailure(error),
      unchecked: [],
      ms: Date.now() - started,
    };
  }
}

/** What another order of programs changed. */
function orderProblems(
  { signature }: CompiledKernel,
  outputs: Evaluation["outputs"],
  { outputs: reversed, findings, comparison }: Evaluation,
): string[] {
  const when = "when programs run in reverse";
  if (findings[0]) return [`${when}, ${findings[0].message}`];
  if (comparison && !comparison.correct)
    return [`${comparison.wrong} of ${comparison.total} elements are wrong ${when}`];
  if (signature.unordered) return [];
  return Object.entries(outputs).flatMap(([name, { data }]) => {
    const other = reversed[name]!.data;
    const differing = Array.from<unknown>(data).filter((value, i) => !Object.is(value, other[i])).length;
    return differing > 0 ? [`${name} differs ${when}, in ${differing} of ${data.length} elements: programs race`] : [];
  });
}

/**
 * The failure where 100 among the inputs makes NaN or an infinity of what the reference has finite, as a softmax does that
 * takes no maximum off. How far other elements are off says nothing: they may cancel.
 */
export function overflow(kernel: CompiledKernel, outcome: Outcome): Outcome | undefined {
  if (outcome.at.special?.some((kind) => kind !== "large")) return undefined;
  const at: Case = { ...outcome.at, special: ["large"] };
  try {
    const { comparison } = kernel.evaluate(at, { tolerance: { rtol: 0, atol: Number.MAX_VALUE } });
    if (!comparison || comparison.correct) return undefined;
    const problems = ["with 100 and -100 among the inputs, elements are not finite that the reference has finite"];
    return { ...outcome, at, status: "failed", comparisons: [comparison], problems };
  } catch {
    // What the evaluator cannot run has been reported.
    return undefined;
  }
}
