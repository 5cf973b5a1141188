/** Runs a case on the evaluator. */
import type { TestCase, CompiledKernel, Evaluation, ProgramOrder, Tolerance } from "../../compiled/compiled-kernel.js";
import type { PlannedCase } from "../cases/cases.js";
import { evaluatorFailure } from "../cases/failure.js";
import type { Outcome } from "../cases/outcome.js";

export interface EvaluatorOptions {
  readonly tolerance: Partial<Tolerance>;
  readonly order?: ProgramOrder | undefined;
  /**
   * The number of runs of each case, which must agree. The evaluator and the interpreter reverse the program order.
   * Default: 1.
   */
  readonly repeats?: number | undefined;
  /** A case that takes longer fails. Default: `defaultDeadlineMs`. */
  readonly deadlineMs?: number | undefined;
}

/** A GPU compiles each config once, and the interpreter may be slow. A case that takes longer counts as hanging. */
export const defaultDeadlineMs = 120_000;

/** Why outputs were not compared, by the kind of reference. */
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
  const start = performance.now();
  const deadline = start + deadlineMs;
  const { testCase, label, declaredIndex } = planned;
  const base = { testCase, label, declaredIndex, isAutotuned: false, by: "eval" as const };
  try {
    const { outputs, comparison, findings, unchecked, printed, reached } = kernel.evaluate(testCase, {
      tolerance,
      order,
      until: deadline,
      lowered: true,
    });
    // Not to stdout, which may be one JSON document.
    for (const line of printed ?? []) console.error(line);
    let isWrong = findings.length > 0 || (comparison !== undefined && !comparison.correct);
    // A kernel that waits for other programs may not terminate in another order.
    const reversed =
      repeats > 1 &&
      !isWrong &&
      !kernel.signature.waits &&
      kernel.evaluate(testCase, { tolerance, order: "reversed", until: deadline });
    const problems = reversed ? orderProblems(kernel, outputs, reversed) : [];
    isWrong ||= problems.length > 0;
    const status = comparison ? "passed" : "unchecked";
    return {
      ...base,
      problems,
      status: isWrong ? "failed" : status,
      comparisons: comparison ? [comparison] : [],
      findings,
      unchecked: comparison ? unchecked : [...unchecked, NOT_COMPARED[kernel.reference]],
      isAlgorithmChecked: comparison !== undefined,
      reached,
      ms: Math.round(performance.now() - start),
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
      ms: Math.round(performance.now() - start),
    };
  }
}

/** Differences in results between program orders. */
function orderProblems(
  { signature }: CompiledKernel,
  outputs: Evaluation["outputs"],
  { outputs: reversed, findings, comparison }: Evaluation,
): string[] {
  const condition = "when programs run in reverse";
  if (findings[0]) return [`${condition}, ${findings[0].message}`];
  if (comparison && !comparison.correct)
    return [`${comparison.wrong} of ${comparison.total} elements are wrong ${condition}`];
  if (signature.unordered) return [];
  return Object.entries(outputs).flatMap(([name, { data }]) => {
    const reversedData = reversed[name]!.data;
    const differing = Array.from<unknown>(data).filter((value, i) => !Object.is(value, reversedData[i])).length;
    return differing > 0
      ? [`${name} differs ${condition}, in ${differing} of ${data.length} elements: programs race`]
      : [];
  });
}

/**
 * Returns a failure if inputs of 100 cause NaN or infinity where the reference is finite, as in a softmax that does not
 * subtract the maximum. Other errors do not count, because they may come from cancellation.
 */
export function checkOverflow(kernel: CompiledKernel, outcome: Outcome): Outcome | undefined {
  if (outcome.testCase.special?.some((kind) => kind !== "large")) return undefined;
  const testCase: TestCase = { ...outcome.testCase, special: ["large"] };
  try {
    const { comparison } = kernel.evaluate(testCase, { tolerance: { rtol: 0, atol: Number.MAX_VALUE, share: 1 } });
    if (!comparison || comparison.correct) return undefined;
    const problems = ["with 100 and -100 among the inputs, elements are NaN or infinite where the reference is finite"];
    return { ...outcome, testCase, status: "failed", comparisons: [comparison], problems };
  } catch {
    // The evaluator's exceptions are already reported.
    return undefined;
  }
}
