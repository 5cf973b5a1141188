/** Runs a case on the evaluator. */
import type { TestCase, CompiledKernel, Evaluation, ProgramOrder, Tolerance } from "../../compiled/compiled-kernel.js";
import type { PlannedCase } from "../cases/cases.js";
import { evaluatorFailure } from "../cases/failure.js";
import type { Outcome } from "../cases/outcome.js";

export interface EvaluatorOptions {
  readonly tolerance: Partial<Tolerance>;
  readonly order?: ProgramOrder | undefined;
  /**
   * The number of runs of each case, which must agree; evaluator and interpreter change the order of programs. Default:
   * 1.
   */
  readonly repeats?: number | undefined;
  /** A case that takes longer fails. Default: `defaultDeadlineMs`. */
  readonly deadlineMs?: number | undefined;
}

/** A GPU compiles each config once, and the interpreter may be slow. A case that takes longer is taken to hang. */
export const defaultDeadlineMs = 120_000;

/** Why the outputs were compared with nothing, by the kind of reference. */
export const NO_REFERENCE = "the outputs were not compared: the kernel has no reference";
const UNKNOWN_REFERENCE = "the outputs were not compared: the evaluator cannot compute the reference";
const NOT_COMPARED: Readonly<Record<CompiledKernel["reference"], string>> = {
  none: NO_REFERENCE,
  python: UNKNOWN_REFERENCE,
  recorded: UNKNOWN_REFERENCE,
};

/** Runs one case on the evaluator. */
export function evaluate(
  kernel: CompiledKernel,
  planned: PlannedCase,
  { tolerance, order, repeats = 1, deadlineMs = defaultDeadlineMs }: EvaluatorOptions,
): Outcome {
  const started = performance.now();
  const until = started + deadlineMs;
  const { at, label, declared } = planned;
  const base = { at, label, declared, tuned: false, by: "eval" as const };
  try {
    const { outputs, comparison, findings, unchecked, printed, reached } = kernel.evaluate(at, {
      tolerance,
      order,
      until,
      lowered: true,
    });
    // Not to the output, which may be one JSON document.
    for (const line of printed ?? []) console.error(line);
    let wrong = findings.length > 0 || (comparison !== undefined && !comparison.correct);
    // A kernel that waits for other programs may not terminate in another order.
    const again =
      repeats > 1 && !wrong && !kernel.signature.waits && kernel.evaluate(at, { tolerance, order: "reversed", until });
    const problems = again ? orderProblems(kernel, outputs, again) : [];
    wrong ||= problems.length > 0;
    return {
      ...base,
      problems,
      status: wrong ? "failed" : comparison ? "passed" : "unchecked",
      comparisons: comparison ? [comparison] : [],
      findings,
      unchecked: comparison ? unchecked : [...unchecked, NOT_COMPARED[kernel.reference]],
      judged: comparison !== undefined,
      reached,
      ms: Math.round(performance.now() - started),
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
      ms: Math.round(performance.now() - started),
    };
  }
}

/** Differences that another order of programs makes. */
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
 * The failure if 100 among the inputs makes an element NaN or infinite that is finite in the reference, as in a softmax
 * that does not subtract the maximum. Errors of other elements mean nothing, because of cancellation.
 */
export function overflow(kernel: CompiledKernel, outcome: Outcome): Outcome | undefined {
  if (outcome.at.special?.some((kind) => kind !== "large")) return undefined;
  const at: TestCase = { ...outcome.at, special: ["large"] };
  try {
    const { comparison } = kernel.evaluate(at, { tolerance: { rtol: 0, atol: Number.MAX_VALUE, share: 1 } });
    if (!comparison || comparison.correct) return undefined;
    const problems = ["with 100 and -100 among the inputs, elements are NaN or infinite where the reference is finite"];
    return { ...outcome, at, status: "failed", comparisons: [comparison], problems };
  } catch {
    // Exceptions of the evaluator have been reported already.
    return undefined;
  }
}
