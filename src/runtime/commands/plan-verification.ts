/** The common part of `run` and `verify`: building the kernels, then the device and the reports. */
import pc from "picocolors";
import type { CompiledKernel } from "../../compiled/compiled-kernel.js";
import type { FindingCode } from "../../diagnostics/catalog/index.js";
import { aheadText } from "../target-compile/precompile.js";
import { closeDevice, type Device } from "../devices/devices.js";
import { compileAll, warn } from "../invocation/kernels.js";
import { deviceOf, type DeviceOptions, type SelectionOptions } from "../invocation/options.js";
import { exitCodes } from "../system/errors.js";
import { explainHint } from "../report/code-frame.js";
import { joinReports, jsonReport } from "../report/json.js";
import { textReport } from "../report/text.js";
import type { RunReport } from "../report/reports.js";
import { printJson, progress, type Streams } from "../system/streams.js";
import { summarize } from "../verify/summary.js";
import type { Verification } from "../verify/plan-cases.js";
import type { CommandTask, Runnable } from "../invocation/command.js";

/** How a command verifies one kernel; `show` displays its progress. */
export type Verify = (
  device: Device,
  show: (done: number, planned: number) => void,
  onCompiled: (done: number, planned: number) => void,
) => Promise<Verification>;

/** Builds the kernels; `prepare` checks the options against each. The job verifies one after another. */
export async function planVerification(
  kernels: readonly Runnable[],
  given: SelectionOptions & DeviceOptions,
  streams: Streams,
  prepare: (kernel: CompiledKernel) => Verify,
): Promise<CommandTask> {
  const compiled = await compileAll(kernels);
  warn(compiled, streams);
  const prepared = compiled.map((kernel) => ({ kernel, verify: prepare(kernel) }));
  return async (machine) => {
    const show = progress(streams);
    show("starting the device …");
    const devices = await machine.devices(deviceOf(given, streams));
    try {
      return await verifyEach(prepared, devices, given, streams);
    } finally {
      show("");
      await Promise.all(devices.map(closeDevice));
    }
  };
}

async function verifyEach(
  prepared: readonly { readonly kernel: CompiledKernel; readonly verify: Verify }[],
  devices: readonly Device[],
  given: SelectionOptions,
  streams: Streams,
): Promise<number> {
  const colors = pc.createColors(streams.color && !given.json);
  const show = progress(streams);
  const reports: RunReport[] = [];
  let correct = true;
  let found: FindingCode | undefined;
  const work = devices.flatMap((device) => prepared.map((each) => ({ ...each, device })));
  for (const { kernel, verify, device } of work) {
    const lost = device.kind === "eval" ? undefined : device.host?.lost;
    const verification =
      lost !== undefined
        ? { kernel, outcomes: [], left: [lost], seconds: 0 }
        : await verify(
            device,
            (done, planned) => show(`${kernel.signature.name}: ${done} of ${planned} cases`),
            (done, planned) => show(aheadText(kernel, done, planned)),
          );
    show("");
    found ??= verification.outcomes.flatMap(({ findings }) => findings)[0]?.code;
    correct &&= summarize(verification, device).correct;
    if (given.json) reports.push(jsonReport(verification, device));
    else streams.out(`${textReport(verification, device, colors, given.verbose === true)}\n`);
  }
  if (found) streams.err(`${explainHint(found)}\n`);
  if (given.json) printJson(streams, joinReports(reports));
  return correct ? exitCodes.ok : exitCodes.failed;
}
