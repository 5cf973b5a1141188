/** Runs the planned cases of a kernel on a device and collects the results. */
import {
  type CompiledKernel,
  type ProgramOrder,
  type Tolerance,
  type TestCase,
  formatSizes,
} from "../../compiled/compiled-kernel.js";
import { planCases, costOf, type PlannedCase, shapeOf } from "../cases/cases.js";
import type { Selection } from "../cases/selection.js";
import { type Outcome, wasCompared } from "../cases/outcome.js";
import type { CompileCounts } from "./case-steps.js";
import { openRunner, deviceLimits, type Durations, type Runner } from "./runner.js";
import type { Device } from "../devices/device.js";
import { inEveryConfig } from "../target-compile/precompile.js";
import { supportsGpu, formatTargets } from "../../compiled/gpus.js";
import type { HelloResult } from "../worker/protocol.js";
import { ALGORITHM_CHECK, describeErrorKind } from "../../compiled/errors.js";
import { mayRunInTf32 } from "../../compiled/tolerance.js";
import { formatLocation } from "../../diagnostics/diagnostic.js";

export interface VerifyOptions {
  readonly selection: Selection;
  readonly tolerance?: Partial<Tolerance>;
  /** The order in which the evaluator runs programs. */
  readonly order?: ProgramOrder | undefined;
  /** The time limit of a case in the worker. Default: two minutes. */
  readonly deadlineMs?: number | undefined;
  /** Called after each case. */
  readonly onOutcome?: (outcome: Outcome, done: number, planned: number) => void;
  /** Called after each kernel that was compiled in advance. */
  readonly onCompiled?: ((done: number, planned: number) => void) | undefined;
}

export interface Verification {
  readonly kernel: CompiledKernel;
  /** True if the user chose the sizes, so declared shapes were not required. */
  readonly hasChosenSizes?: true;
  readonly outcomes: readonly Outcome[];
  /** Descriptions of cases that did not run, with the reason. */
  readonly skipped: readonly string[];
  readonly seconds: number;
  /** On a GPU. */
  readonly compiling?: CompileCounts;
  /** Except on the evaluator. */
  readonly durations?: Durations;
  /** For a thorough verification. */
  readonly thorough?: {
    readonly seed: number;
    /** The flag that runs the failing case again. */
    readonly replay?: string;
    /** The number of cases tried while shrinking. */
    readonly smallerTried?: number;
  };
}

/**
 * The time limit for extra cases: none starts later. Declared shapes and the shape that covers every config always run.
 */
const budgetMs: Readonly<Record<Device["kind"], number>> = {
  eval: 3_000,
  interpreter: 7_000,
  cuda: Infinity,
  hip: Infinity,
};

/** After this many hanging cases, the remaining ones are skipped, because each takes its whole deadline. */
const MAX_HANGS = 3;

/** The number of runs of each case, which must agree. `verify` does more runs. */
const repeats: Readonly<Record<Device["kind"], number>> = { eval: 1, interpreter: 1, cuda: 2, hip: 2 };

/** The reason to run no further cases. */
function whyStop(outcomes: readonly Outcome[]): string | undefined {
  const hangs = outcomes.filter(({ failure }) => failure?.kind === "timeout");
  if (hangs.length >= MAX_HANGS) return `${MAX_HANGS} cases hung`;
  return outcomes.some(({ failure }) => failure?.kind === "connection") ? "the connection was lost" : undefined;
}

/** Verifies a kernel on an open device. */
export async function verify(kernel: CompiledKernel, device: Device, options: VerifyOptions): Promise<Verification> {
  const start = performance.now();
  const skipReason = whyNotRunOn(kernel, device);
  if (skipReason !== undefined) return { kernel, outcomes: [], skipped: [skipReason], seconds: 0 };
  const plan = planCases(kernel, deviceLimits[device.kind], { ...options.selection, on: gpuOf(device) });
  const skipped = [...plan.skipped];
  const { tolerance = {}, order, deadlineMs } = options;
  const runner = await openRunner(kernel, device, { tolerance, order, deadlineMs, repeats: repeats[device.kind] });
  const outcomes: Outcome[] = [];
  let extraStart: number | undefined;
  let compilation: Promise<void> | undefined;
  const record = (outcome: Outcome): void => {
    outcomes.push(outcome);
    options.onOutcome?.(outcome, outcomes.length, plan.cases.length);
  };
  const firstCall = planFirstCall(kernel, device, runner, plan.cases, options.selection);
  try {
    const testCases = [...plan.cases.map(({ testCase }) => testCase), ...firstCall.testCases];
    compilation = runner.precompile?.(testCases, (done, count) => {
      // Once cases run, they are the progress.
      if (outcomes.length === 0) options.onCompiled?.(done, count);
    });
    runner.expect?.(plan.cases);
    for (const planned of plan.cases) {
      const isLate = planned.isExtra && performance.now() - (extraStart ??= performance.now()) > budgetMs[device.kind];
      const stopReason = whyStop(outcomes) ?? (isLate ? "out of time on this device" : undefined);
      if (stopReason !== undefined) {
        skipped.push(`${plan.cases.length - outcomes.length} further cases: ${stopReason}`);
        break;
      }
      record(await runner.run(planned, outcomes.length));
    }
    const isPassed = outcomes.length > 0 && outcomes.every(({ status }) => status !== "failed");
    const tuned = isPassed ? await firstCall.run() : undefined;
    if (tuned) record(tuned);
  } finally {
    await runner.close();
    await compilation;
  }
  const compiling = runner.compiling?.();
  const durations = runner.durations?.();
  const sizesChoice = options.selection.sizes && ({ hasChosenSizes: true } as const);
  return {
    kernel,
    ...sizesChoice,
    outcomes,
    skipped,
    seconds: Math.round(performance.now() - start) / 1000,
    ...(compiling && { compiling }),
    ...(durations && { durations }),
  };
}

// The call that goes through the emitted wrapper as a user's does: no config is selected, and no call went before.

interface FirstCall {
  /** The case in every config that the autotuner tries. */
  readonly testCases: readonly TestCase[];
  /** Undefined if this kernel, device or selection has no such call. */
  run(): Promise<Outcome | undefined>;
}

/** Plans a first call and one after it, on one of these cases. */
export function planFirstCall(
  kernel: CompiledKernel,
  device: Device,
  { tune }: Pick<Runner, "tune">,
  cases: readonly PlannedCase[],
  { config }: Pick<Selection, "config">,
): FirstCall {
  const isAffected = kernel.configs.length > 1 || kernel.signature.tensors.some(({ role }) => role === "inout");
  const planned = tune && isAffected && config === undefined ? cheapestCase(kernel, device, cases) : undefined;
  return {
    testCases: planned ? inEveryConfig(kernel, planned.testCase, gpuOf(device)) : [],
    run: async () => planned && tune?.(planned),
  };
}

/** The cheapest case in which no tensor is empty, because the autotuner runs every config. */
function cheapestCase(
  kernel: CompiledKernel,
  { kind }: Device,
  cases: readonly PlannedCase[],
): PlannedCase | undefined {
  const isEmpty = (testCase: TestCase): boolean => {
    const sizes = kernel.sizes(testCase);
    return kernel.signature.tensors.some(({ dims }) => shapeOf(dims, sizes).includes(0));
  };
  return cases
    .filter(({ testCase }) => !isEmpty(testCase))
    .map((planned) => ({ planned, cost: costOf(kernel, planned.testCase, deviceLimits[kind]) }))
    .toSorted((a, b) => a.cost - b.cost)[0]?.planned;
}

// Kernels that are declared for other GPUs than the device's.

/** The GPU of a device; null for the evaluator and Triton's interpreter. */
export function gpuOf(device: Device): HelloResult["target"] {
  return device.kind === "eval" ? null : device.hello.target;
}

/** The reason why the kernel does not run on this device; undefined if it does, or if the device has no GPU. */
export function whyNotRunOn({ targets = [] }: Pick<CompiledKernel, "targets">, device: Device): string | undefined {
  const gpu = gpuOf(device);
  const unsupported = gpu && targets.find((declared) => !supportsGpu(declared, gpu));
  return gpu && unsupported
    ? `not run on ${gpu[0]}:${gpu[1]}, as the kernel is for ${formatTargets(unsupported)}`
    : undefined;
}

// The result of a verification as numbers and sentences, for the text report and the JSON report.

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
