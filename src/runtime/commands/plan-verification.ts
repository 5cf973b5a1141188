/** The common part of `run` and `verify`: builds the kernels, opens the devices and writes the reports. */
import pc from "picocolors";
import type { CompiledKernel } from "../../compiled/compiled-kernel.js";
import type { FindingCode } from "../../diagnostics/catalog/index.js";
import { formatProgress } from "../target-compile/precompile.js";
import { closeDevice } from "../devices/devices.js";
import { compileAll, warn } from "../invocation/kernels.js";
import { deviceOf, type DeviceOptions, type SelectionOptions } from "../invocation/options.js";
import { exitCodes } from "../system/errors.js";
import { explainHint } from "../report/code-frame.js";
import { mergeReports, jsonReport } from "../report/json.js";
import { textReport } from "../report/text.js";
import type { RunReport } from "../report/reports.js";
import { printJson, progress, type Streams } from "../system/streams.js";
import { summarize } from "../verify/summary.js";
import type { Verification } from "../verify/plan-cases.js";
import type { CommandTask, Runnable } from "../invocation/command.js";
import type { Device } from "../devices/device.js";

/** Verifies one kernel. `show` displays the progress; `remainingRuns` counts this kernel and those after it. */
export type Verify = (
  device: Device,
  show: (done: number, planned: number) => void,
  onCompiled: (done: number, planned: number) => void,
  remainingRuns: number,
) => Promise<Verification>;

/** Builds the kernels. `prepare` checks the options against each kernel. The task verifies the kernels sequentially. */
export async function planVerification(
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
