/** The common part of `run` and `verify`: building the kernels, opening the device, and the reports. */
import pc from "picocolors";
import type { CompiledKernel } from "../../contract/compiled.js";
import type { FindingCode } from "../../diagnostics/catalogue/index.js";
import { aheadText } from "../compile/ahead.js";
import { closeDevice, openDevice, type Device } from "../devices/devices.js";
import { compileAll, warn } from "../invocation/kernels.js";
import { pythonOf, type DeviceOptions, type SelectionOptions } from "../invocation/options.js";
import { exitCodes } from "../system/problems.js";
import { explainHint } from "../report/code-frame.js";
import { joinReports, jsonReport } from "../report/report-json.js";
import { textReport } from "../report/report-text.js";
import type { RunReport } from "../report/reports.js";
import { printJson, progress, type Streams } from "../system/streams.js";
import { summarize } from "../verify/summary.js";
import type { Verification } from "../verify/verify-cases.js";
import type { Runnable } from "../invocation/command.js";

/** How a command verifies one kernel; `show` displays its progress. */
export type Verify = (
  device: Device,
  show: (done: number, planned: number) => void,
  onCompiled: (done: number, planned: number) => void,
) => Promise<Verification>;

/** Verifies kernels one after another. `prepare` checks the options against each kernel before a device is opened. */
export async function verifyAll(
  kernels: readonly Runnable[],
  given: SelectionOptions & DeviceOptions,
  streams: Streams,
  prepare: (kernel: CompiledKernel) => Verify,
): Promise<number> {
  const colors = pc.createColors(streams.color && !given.json);
  // Python takes seconds to start, so start it while the kernels are built.
  const opening = openDevice({ device: given.device, ...pythonOf(given, streams) });
  opening.catch(() => undefined);
  const show = progress(streams);
  let device: Device | undefined;
  try {
    const compiled = await compileAll(kernels);
    warn(compiled, streams);
    const prepared = compiled.map(prepare);
    show("starting the device …");
    device = await opening;
    const reports: RunReport[] = [];
    let correct = true;
    let found: FindingCode | undefined;
    for (const [i, kernel] of compiled.entries()) {
      const verification = await prepared[i]!(
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
  } finally {
    show("");
    device ??= await opening.catch(() => undefined);
    if (device) await closeDevice(device);
  }
}
