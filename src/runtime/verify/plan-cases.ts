/** Runs the planned cases of a kernel on a device and collects the results. */
import type { CompiledKernel, ProgramOrder, Tolerance, TestCase } from "../../compiled/compiled-kernel.js";
import { planCases, costOf, type PlannedCase, shapeOf } from "../cases/cases.js";
import type { Selection } from "../cases/selection.js";
import type { Outcome } from "../cases/outcome.js";
import type { CompileCounts } from "./case-steps.js";
import { openRunner, deviceLimits, type Durations, type Runner } from "./runner.js";
import type { Device } from "../devices/device.js";
import { inEveryConfig } from "../target-compile/precompile.js";
import { supportsGpu, formatTargets } from "../../compiled/gpus.js";
import type { HelloResult } from "../worker/protocol.js";

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
