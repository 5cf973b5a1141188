import {
  caseFor,
  options,
  selectionFor,
  toleranceOf,
  type DeviceOptions,
  type SelectionOptions,
  deviceOf,
} from "../invocation/options.js";
import type { Budget } from "../measure/tuner.js";
import { UsageError, exitCodes } from "../system/errors.js";
import { checkProofs } from "../report/proof-text.js";
import { reproduceCase, type ThoroughOptions, verifyThoroughly } from "../verify/thorough.js";
import type { KernelCommand, CommandTask, Runnable } from "../invocation/command.js";
import pc from "picocolors";
import type { CompiledKernel } from "../../compiled/compiled-kernel.js";
import type { FindingCode } from "../../diagnostics/catalog/index.js";
import { formatProgress } from "../target-compile/precompile.js";
import { closeDevice } from "../devices/devices.js";
import { compileAll, warn } from "../invocation/kernels.js";
import { explainHint } from "../report/text-blocks.js";
import { textReport, jsonProblem, mergeReports, jsonReport } from "../report/verify-report.js";
import type { RunReport } from "../report/reports.js";
import { printJson, progress, type Streams } from "../system/streams.js";
import { type Verification, summarize, verify as verifyKernel } from "../verify/plan-cases.js";
import type { Device } from "../devices/device.js";
import { chosenDevice } from "../invocation/chosen-device.js";

// The common part of `run` and `verify`: builds the kernels, opens the devices and writes the reports.

/** Verifies one kernel. `show` displays the progress; `remainingRuns` counts this kernel and those after it. */
type Verify = (
  device: Device,
  show: (done: number, planned: number) => void,
  onCompiled: (done: number, planned: number) => void,
  remainingRuns: number,
) => Promise<Verification>;

/** Builds the kernels. `prepare` checks the options against each kernel. The task verifies the kernels sequentially. */
async function planVerification(
  kernels: readonly Runnable[],
  options: SelectionOptions & DeviceOptions,
  streams: Streams,
  prepare: (kernel: CompiledKernel) => Verify,
): Promise<CommandTask> {
  progress(streams)(`building ${kernels.map(({ name }) => name).join(", ")} …`);
  const compiled = await compileAll(kernels);
  warn(compiled, streams);
  const plans = compiled.map((kernel) => ({ kernel, verify: prepare(kernel) }));
  return async (machine) => {
    const show = progress(streams);
    show("starting the device …");
    const devices = await machine.devices(deviceOf(options, streams));
    try {
      return await verifyAll(plans, devices, options, streams);
    } finally {
      show("");
      await Promise.all(devices.map(closeDevice));
    }
  };
}

async function verifyAll(
  plans: readonly { readonly kernel: CompiledKernel; readonly verify: Verify }[],
  devices: readonly Device[],
  options: SelectionOptions,
  streams: Streams,
): Promise<number> {
  const colors = pc.createColors(streams.color && !options.json);
  const show = progress(streams);
  const reports: RunReport[] = [];
  let isCorrect = true;
  let firstFinding: FindingCode | undefined;
  const runs = devices.flatMap((device) => plans.map((plan) => ({ ...plan, device })));
  for (const [index, { kernel, verify, device }] of runs.entries()) {
    const lossReason = device.kind === "eval" ? undefined : device.host?.lossReason;
    const verification =
      lossReason !== undefined
        ? { kernel, outcomes: [], skipped: [lossReason], seconds: 0 }
        : await verify(
            device,
            (done, planned) => show(`${kernel.signature.name}: ${done} of ${planned} cases`),
            (done, planned) => show(formatProgress(kernel, done, planned)),
            runs.length - index,
          );
    show("");
    firstFinding ??= verification.outcomes.flatMap(({ findings }) => findings)[0]?.code;
    isCorrect &&= summarize(verification, device).correct;
    if (options.json) reports.push(jsonReport(verification, device));
    else streams.out(`${textReport(verification, device, colors, options.verbose === true)}\n`);
  }
  if (firstFinding) streams.err(`${explainHint(firstFinding)}\n`);
  if (options.json) printJson(streams, mergeReports(reports));
  return isCorrect ? exitCodes.ok : exitCodes.failed;
}

interface VerifyOptions extends SelectionOptions, DeviceOptions {
  readonly runs: number;
  readonly budget?: Budget;
  readonly special?: true;
  readonly case?: Readonly<Record<string, unknown>>;
}

export const verify: KernelCommand<VerifyOptions> = {
  name: "verify",
  description: "verify thoroughly, in random test cases; shrinks a failing case",
  example: "verify gemm.ts --budget 60s",
  options: [
    options.device,
    options.runs,
    options.budget,
    options.special,
    options.case,
    options.shape,
    options.dtype,
    options.config,
    options.seed,
    options.rtol,
    options.atol,
    options.deadline,
    options.kernel,
    options.python,
    options.processes,
    options.json,
    options.verbose,
  ],
  problem: jsonProblem,
  plan: async (kernels, flags, streams) => {
    if (flags.case && kernels.length > 1)
      throw new UsageError(
        `--case: a case belongs to one kernel; choose it with --kernel ${kernels.map(({ name }) => name).join(", ")}`,
      );
    const limitOf = timeLimits(flags.budget);
    return planVerification(kernels, flags, streams, (kernel) => {
      const tolerance = toleranceOf(flags);
      const deadlineMs = flags.deadline * 1000;
      if (flags.case) {
        const testCase = caseFor(kernel, flags.case);
        return (device) => reproduceCase(kernel, device, testCase, { tolerance, deadlineMs });
      }
      checkProofs(kernel);
      const selection = selectionFor(kernel, flags);
      return (device, show, onCompiled, remainingRuns) =>
        verifyThoroughly(kernel, device, {
          selection,
          runs: flags.runs,
          ...limitOf(remainingRuns),
          special: flags.special === true,
          tolerance,
          onCompiled,
          deadlineMs,
          onOutcome: show,
        });
    });
  },
};

/** The time of a kernel without a budget. */
const DEFAULT_LIMIT_MS = 120_000;

/** The time of a kernel: an equal share of what remains of the budget, which starts with the first kernel. */
function timeLimits(
  budget: Budget | undefined,
): (remainingRuns: number) => Pick<ThoroughOptions, "timeLimitMs" | "limitsAll"> {
  const seconds = budget?.seconds ?? budget?.count;
  let end: number | undefined;
  return (remainingRuns) => {
    if (seconds === undefined) return { timeLimitMs: budget?.all ? Infinity : DEFAULT_LIMIT_MS };
    end ??= performance.now() + seconds * 1000;
    return { timeLimitMs: Math.max(0, end - performance.now()) / remainingRuns, limitsAll: true };
  };
}

export const run: KernelCommand<SelectionOptions & DeviceOptions> = {
  name: "run",
  description: "verify against the reference on the best available device",
  example: "run gemm.ts --shape M=300,N=200,K=100",
  options: [
    options.device,
    options.shape,
    options.dtype,
    options.config,
    options.seed,
    options.rtol,
    options.atol,
    options.deadline,
    options.order,
    options.kernel,
    options.python,
    options.processes,
    options.watch,
    options.json,
    options.verbose,
  ],
  problem: jsonProblem,
  checkOptions({ order, device }) {
    if (order && chosenDevice(device).device !== "eval")
      throw new UsageError("--order: only the evaluator runs programs in a chosen order; add --device eval");
  },
  plan: (kernels, flags, streams) =>
    planVerification(kernels, flags, streams, (kernel) => {
      const selection = selectionFor(kernel, flags);
      return (device, show, onCompiled) =>
        verifyKernel(kernel, device, {
          selection,
          tolerance: toleranceOf(flags),
          order: flags.order,
          onCompiled,
          deadlineMs: flags.deadline * 1000,
          onOutcome: (_, done, planned) => show(done, planned),
        });
    }),
};
