/** The result of a verification in numbers and sentences, for both forms of the report. */
import { formatSizes } from "../../compiled/compiled-kernel.js";
import { ALGORITHM_CHECK, describeErrorKind } from "../../compiled/error-kind.js";
import { mayRunInTf32 } from "../../compiled/tolerance.js";
import { formatLocation } from "../../diagnostics/diagnostic.js";
import type { Device } from "../devices/devices.js";
import { wasCompared, type Outcome } from "../cases/outcome.js";
import type { Verification } from "./plan-cases.js";

export interface Summary {
  readonly correct: boolean;
  readonly maxAbsDiff: number;
  readonly maxRelDiff: number;
  readonly passed: number;
  readonly failed: number;
  readonly unchecked: number;
  /** Indices of the configs that ran. */
  readonly configsTried: readonly number[];
  /** Places of the author's shapes at which the kernel was compared with its reference. */
  readonly declaredCompared: readonly number[];
  /** What this run leaves unchecked, as phrases. */
  readonly notChecked: readonly string[];
  /** One sentence for `details`. */
  readonly details: string;
}

/** The results of a run, and what it leaves unchecked. */
export function summarize(verification: Verification, device: Device): Summary {
  const { kernel, outcomes, left } = verification;
  const compared = outcomes.flatMap((outcome) => outcome.comparisons);
  const count = (status: Outcome["status"]): number => outcomes.filter((outcome) => outcome.status === status).length;
  const configsTried = [...new Set(outcomes.map(({ at }) => at.config))].sort((a, b) => a - b);
  const untried = kernel.configs.length - configsTried.length;
  const notChecked = [
    ...device.unchecked,
    ...(outcomes.some(({ at, by }) => isExact(device.kind, by) && mayRunInTf32(kernel.signature.arithmetic, at.dtypes))
      ? ["float32 products of matrices: they ran in full float32 here, in TF32 on the GPU"]
      : []),
    ...unjudged(verification),
    ...(untried > 0 ? [`${untried} of ${kernel.configs.length} configs`] : []),
    ...unspecialized(verification),
    ...new Set(outcomes.flatMap((outcome) => outcome.unchecked)),
    ...unproved(verification),
    ...left,
  ];
  const why = whyUnverified(verification);
  const correct = why === undefined && outcomes.every(({ status }) => status !== "failed");
  const passed = count("passed");
  return {
    correct,
    maxAbsDiff: compared.map(({ maxAbsDiff }) => maxAbsDiff).reduce(larger, 0),
    maxRelDiff: compared.map(({ maxRelDiff }) => maxRelDiff).reduce(larger, 0),
    passed,
    failed: count("failed"),
    unchecked: count("unchecked"),
    configsTried,
    declaredCompared: declaredCompared(outcomes),
    notChecked,
    details: detailsOf(verification, device.kind, why),
  };
}

/** The larger of two errors, where NaN is the largest of all. */
export function larger(a: number, b: number): number {
  return Number.isNaN(a) || a > b ? a : b;
}

/** What proofs leave open, and in how many of the cases that the evaluator ran it was reached at all. */
function unproved({ kernel, outcomes, thorough }: Verification): readonly string[] {
  if (!thorough) return [];
  const evaluated = outcomes.flatMap(({ reached }) => (reached ? [new Set(reached.map(formatLocation))] : []));
  const ran = `${evaluated.length} case${evaluated.length === 1 ? "" : "s"}`;
  return kernel.proof().obligations.flatMap(({ property, of, at, verdict }) => {
    if (verdict.kind !== "unknown" || !at) return [];
    const place = formatLocation(at);
    // What covers an output is a matter of whole cases.
    const seen = property === "coverage" ? evaluated : evaluated.filter((places) => places.has(place));
    const reached = seen.length === 0 ? "in no case" : `in ${seen.length} of ${ran}`;
    return [`${property} of ${of} at ${place}, for all shapes: it is not proved, and was reached ${reached}`];
  });
}

/** What was not run of a warp-specialized kernel, which only some GPUs, tensors and sizes suit. */
function unspecialized({ kernel, outcomes }: Verification): readonly string[] {
  if (!kernel.specialized || outcomes.length === 0) return [];
  const runs = outcomes.flatMap(({ specialized }) => (specialized ? [specialized] : []));
  const ran = runs.flatMap((run) => ("of" in run ? [run] : []));
  const misfits = runs.flatMap((run) => ("misfit" in run ? [run.misfit] : []));
  const most = ran.reduce((count, { of }) => Math.max(count, of), 0);
  const left = most - new Set(ran.map(({ config }) => config)).size;
  return [
    ...(ran.length === 0
      ? ["the warp-specialized kernel: Hopper GPUs run it, on tensors that their copy engine moves"]
      : []),
    ...(left > 0 ? [`${left} of ${most} configs of the warp-specialized kernel`] : []),
    ...new Set(misfits.map((why) => `a config of the warp-specialized kernel that does not fit this GPU: ${why}`)),
  ];
}

/** Why no case shows that the algorithm is right apart from rounding, if none does. */
function unjudged({ kernel, outcomes }: Verification): readonly string[] {
  const isSaid = outcomes.some(
    (outcome) => outcome.judged || outcome.unchecked.some((why) => why.startsWith(ALGORITHM_CHECK)),
  );
  if (isSaid || outcomes.length === 0 || kernel.reference === "none") return [];
  return kernel.reference === "python"
    ? [`${ALGORITHM_CHECK}: the reference is Python source`]
    : [`${ALGORITHM_CHECK}: no case that passed is small enough for the evaluator`];
}

/** Whether the case ran on Triton's interpreter, which multiplies float32 as it is. */
const isExact = (device: Device["kind"], by: Outcome["by"]): boolean => device === "interpreter" && by === "python";

function declaredCompared(outcomes: readonly Outcome[]): readonly number[] {
  const places = outcomes.flatMap((outcome) => (wasCompared(outcome) ? (outcome.declared ?? []) : []));
  return [...new Set(places)].sort((a, b) => a - b);
}

/** Why cases that did not fail do not show that the kernel is right. */
function whyUnverified(verification: Verification): string | undefined {
  const { kernel, outcomes, left, chosen } = verification;
  if (outcomes.length === 0) return ["no case could be run", ...left.slice(-1)].join(": ");
  if (!outcomes.some(({ status }) => status === "passed")) {
    const [why] = outcomes[0]!.unchecked;
    const because = why ? [why.replace(/^.* were not compared: /, "")] : [];
    return ["no case could be compared with a reference", ...because].join(": ");
  }
  if (!outcomes.some(wasCompared)) return "every case is empty, so no element was compared";
  const total = kernel.shapes.length;
  if (chosen || total === 0 || declaredCompared(outcomes).length > 0) return undefined;
  const [sizes] = kernel.shapes.map(formatSizes);
  const others = total > 1 ? ` and ${total - 1} more` : "";
  return `none of the shapes that the kernel declares was run (${sizes}${others}); declare one that this device runs, or choose sizes with --shape`;
}

function detailsOf(verification: Verification, device: string, why: string | undefined): string {
  const { kernel, outcomes, chosen } = verification;
  const failed = outcomes.filter(({ status }) => status === "failed");
  if (failed.length > 0)
    return `${failed.length} of ${outcomes.length} cases failed on ${device}: ${headline(failed[0]!)}`;
  if (why !== undefined) return why;
  const passed = outcomes.filter(({ status }) => status === "passed").length;
  const [ran, total] = [declaredCompared(outcomes).length, kernel.shapes.length];
  const shapes = chosen || total === 0 ? "" : `, with ${ran === total ? "all" : `${ran} of ${total}`} declared shapes`;
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
  const where = `${worst.output}[${worst.index.join(", ")}]`;
  return `${where} is ${worst.got}, expected ${worst.expected}; ${wrong.wrong} of ${wrong.total} elements differ${describeErrorKind(wrong)}`;
}
