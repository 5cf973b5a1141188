/** Runs the planned cases of a kernel on a device and collects the results. */
import type { CompiledKernel, ProgramOrder, Tolerance } from "../../compiled/compiled-kernel.js";
import { planCases } from "../cases/cases.js";
import type { Selection } from "../cases/selection.js";
import type { Outcome } from "../cases/outcome.js";
import { deviceLimits } from "./device-limits.js";
import { planFirstCall } from "./first-call.js";
import { gpuOf, whyNotRunOn } from "./other-gpu.js";
import type { CompileCounts } from "./case-compiler.js";
import { openRunner } from "./runner.js";
import type { Durations } from "./stopwatch.js";
import type { Device } from "../devices/device.js";

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
