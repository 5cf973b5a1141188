/** The result of a verification as numbers and sentences, for the text report and the JSON report. */
import { formatSizes } from "../../compiled/compiled-kernel.js";
import { ALGORITHM_CHECK, describeErrorKind } from "../../compiled/errors.js";
import { mayRunInTf32 } from "../../compiled/tolerance.js";
import { formatLocation } from "../../diagnostics/diagnostic.js";
import { wasCompared, type Outcome } from "../cases/outcome.js";
import type { Verification } from "./plan-cases.js";
import type { Device } from "../devices/device.js";

export interface Summary {
  readonly correct: boolean;
  readonly maxAbsDiff: number;
  readonly maxRelDiff: number;
  readonly passed: number;
  readonly failed: number;
  readonly unchecked: number;
  /** Indices of the configs that ran. */
  readonly configsTried: readonly number[];
  /** Indices of the declared shapes whose results were compared with the reference. */
  readonly declaredCompared: readonly number[];
  /** Aspects that this run did not check, as phrases. */
  readonly notChecked: readonly string[];
  /** One sentence for `details`. */
  readonly details: string;
}

/** The results of a run, and what it leaves unchecked. */
export function summarize(verification: Verification, device: Device): Summary {
  const { kernel, outcomes, skipped } = verification;
  const compared = outcomes.flatMap((outcome) => outcome.comparisons);
  const count = (status: Outcome["status"]): number => outcomes.filter((outcome) => outcome.status === status).length;
  const configsTried = [...new Set(outcomes.map(({ testCase }) => testCase.config))].sort((a, b) => a - b);
  const untriedCount = kernel.configs.length - configsTried.length;
  const notChecked = [
    ...device.unchecked,
    ...(outcomes.some(
      ({ testCase, by }) => isExact(device.kind, by) && mayRunInTf32(kernel.signature.arithmetic, testCase.dtypes),
    )
      ? ["float32 products of matrices: they ran in full float32 here, in TF32 on the GPU"]
      : []),
    ...describeUncheckedAlgorithm(verification),
    ...(untriedCount > 0 ? [`${untriedCount} of ${kernel.configs.length} configs`] : []),
    ...describeUnspecialized(verification),
    ...new Set(outcomes.flatMap((outcome) => outcome.unchecked)),
    ...describeGaps(verification),
    ...skipped,
  ];
  const reason = whyUnverified(verification);
  const correct = reason === undefined && outcomes.every(({ status }) => status !== "failed");
  const passed = count("passed");
  return {
    correct,
    maxAbsDiff: compared.map(({ maxAbsDiff }) => maxAbsDiff).reduce(maxError, 0),
    maxRelDiff: compared.map(({ maxRelDiff }) => maxRelDiff).reduce(maxError, 0),
    passed,
    failed: count("failed"),
    unchecked: count("unchecked"),
    configsTried,
    declaredCompared: declaredCompared(outcomes),
    notChecked,
    details: detailsOf(verification, device.kind, reason),
  };
}

/** The larger of two errors. NaN counts as the largest. */
export function maxError(a: number, b: number): number {
  return Number.isNaN(a) || a > b ? a : b;
}

/** Unproved obligations, each with the number of evaluated cases that reached its location. */
function describeGaps({ kernel, outcomes, thorough }: Verification): readonly string[] {
  if (!thorough) return [];
  const evaluated = outcomes.flatMap(({ reached }) => (reached ? [new Set(reached.map(formatLocation))] : []));
  const caseCount = `${evaluated.length} case${evaluated.length === 1 ? "" : "s"}`;
  return kernel.proof().obligations.flatMap(({ property, of: subject, at, verdict }) => {
    if (verdict.kind !== "unknown" || !at || property === "termination") return [];
    const location = formatLocation(at);
    // Coverage is a property of the whole output, so every case counts.
    const reachingCases =
      property === "coverage" ? evaluated : evaluated.filter((locations) => locations.has(location));
    const reached = reachingCases.length === 0 ? "in no case" : `in ${reachingCases.length} of ${caseCount}`;
    return [`${property} of ${subject} at ${location}, for all shapes: it is not proved, and was reached ${reached}`];
  });
}

/** Parts of a warp-specialized kernel that did not run. Only some GPUs, tensors and sizes support it. */
function describeUnspecialized({ kernel, outcomes }: Verification): readonly string[] {
  if (!kernel.specialized || outcomes.length === 0) return [];
  const runs = outcomes.flatMap(({ specialized }) => (specialized ? [specialized] : []));
  const completed = runs.flatMap((run) => ("of" in run ? [run] : []));
  const misfits = runs.flatMap((run) => ("misfit" in run ? [run.misfit] : []));
  const total = completed.reduce((count, { of }) => Math.max(count, of), 0);
  const missing = total - new Set(completed.map(({ config }) => config)).size;
  return [
    ...(completed.length === 0
      ? ["the warp-specialized kernel: Hopper GPUs run it, on tensors that their copy engine moves"]
      : []),
    ...(missing > 0 ? [`${missing} of ${total} configs of the warp-specialized kernel`] : []),
    ...new Set(
      misfits.map((reason) => `a config of the warp-specialized kernel that does not fit this GPU: ${reason}`),
    ),
  ];
}

/** The reason why no case checked the algorithm independently of rounding; empty if one did. */
function describeUncheckedAlgorithm({ kernel, outcomes }: Verification): readonly string[] {
  const isCovered = outcomes.some(
    (outcome) => outcome.isAlgorithmChecked || outcome.unchecked.some((why) => why.startsWith(ALGORITHM_CHECK)),
  );
  if (isCovered || outcomes.length === 0 || kernel.reference === "none") return [];
  return kernel.reference === "python"
    ? [`${ALGORITHM_CHECK}: the reference is Python source`]
    : [`${ALGORITHM_CHECK}: no case that passed is small enough for the evaluator`];
}

/** True if the case ran on Triton's interpreter, which multiplies float32 without TF32. */
const isExact = (device: Device["kind"], by: Outcome["by"]): boolean => device === "interpreter" && by === "python";

function declaredCompared(outcomes: readonly Outcome[]): readonly number[] {
  const indices = outcomes.flatMap((outcome) => (wasCompared(outcome) ? (outcome.declaredIndex ?? []) : []));
  return [...new Set(indices)].sort((a, b) => a - b);
}

/** The reason why a run without failures does not verify the kernel. */
function whyUnverified(verification: Verification): string | undefined {
  const { kernel, outcomes, skipped, hasChosenSizes } = verification;
  if (outcomes.length === 0) return ["no case could be run", ...skipped.slice(-1)].join(": ");
  if (!outcomes.some(({ status }) => status === "passed")) {
    const [outcome] = outcomes;
    const [reason] = outcome?.unchecked ?? [];
    const cause = reason ? [reason.replace(/^.* were not compared: /, "")] : [];
    return ["no case could be compared with a reference", ...cause].join(": ");
  }
  if (!outcomes.some(wasCompared)) return "every case is empty, so no element was compared";
  const total = kernel.shapes.length;
  if (hasChosenSizes || total === 0 || declaredCompared(outcomes).length > 0) return undefined;
  const [sizes] = kernel.shapes.map(formatSizes);
  const others = total > 1 ? ` and ${total - 1} more` : "";
  return `none of the shapes that the kernel declares was run (${sizes}${others}); declare one that this device runs, or choose sizes with --shape`;
}

function detailsOf(verification: Verification, device: string, reason: string | undefined): string {
  const { kernel, outcomes, hasChosenSizes } = verification;
  const failed = outcomes.filter(({ status }) => status === "failed");
  const [firstFailed] = failed;
  if (firstFailed) return `${failed.length} of ${outcomes.length} cases failed on ${device}: ${headline(firstFailed)}`;
  if (reason !== undefined) return reason;
  const passed = outcomes.filter(({ status }) => status === "passed").length;
  const [run, total] = [declaredCompared(outcomes).length, kernel.shapes.length];
  const shapes =
    hasChosenSizes || total === 0 ? "" : `, with ${run === total ? "all" : `${run} of ${total}`} declared shapes`;
  return `${passed} of ${outcomes.length} cases passed on ${device}${shapes}`;
}

/** The first problem of a case, in one line. */
export function headline(outcome: Outcome): string {
  if (outcome.failure) return `${outcome.failure.kind}: ${outcome.failure.message.split("\n")[0]}`;
  const wrong = outcome.comparisons.find((comparison) => comparison.wrong > 0);
  const finding = outcome.findings[0];
  if (finding) return `${finding.code}: ${finding.message}`;
  if (outcome.problems[0]) return outcome.problems[0];
  if (!wrong) return outcome.status;
  const { worst } = wrong;
  if (!worst) return wrong.problem ?? `${wrong.wrong} of ${wrong.total} elements differ`;
  const element = `${worst.output}[${worst.index.join(", ")}]`;
  return `${element} is ${worst.got}, expected ${worst.expected}; ${wrong.wrong} of ${wrong.total} elements differ${describeErrorKind(wrong)}`;
}
