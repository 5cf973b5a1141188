import pc from "picocolors";
import { closeDevice, openDevice, type Device } from "../devices.js";
import { compileAll, warn } from "../kernels.js";
import { options, selectionFor, toleranceOf, type DeviceOptions, type SelectionOptions } from "../options.js";
import { exitCodes, UsageError } from "../problems.js";
import { joinReports, jsonProblem, jsonReport } from "../report-json.js";
import { textReport } from "../report-text.js";
import type { RunReport } from "../reports.js";
import { printJson, progress } from "../streams.js";
import { summarize } from "../summary.js";
import { verify } from "../verify.js";
import type { KernelCommand } from "./command.js";

export const run: KernelCommand<SelectionOptions & DeviceOptions> = {
  name: "run",
  description: "verify against the reference on the best device there is",
  options: [
    options.device,
    options.shape,
    options.dtype,
    options.config,
    options.seed,
    options.rtol,
    options.atol,
    options.order,
    options.kernel,
    options.python,
    options.json,
    options.verbose,
  ],
  problem: jsonProblem,
  async run(kernels, given, streams) {
    const colors = pc.createColors(streams.color && !given.json);
    // Python takes seconds to start, so it starts while the kernels are built.
    const opening = openDevice({
      device: given.device,
      python: given.python,
      ...(given.verbose && { onOutput: streams.err }),
    });
    opening.catch(() => undefined);
    const show = progress(streams);
    let device: Device | undefined;
    try {
      const compiled = await compileAll(kernels);
      warn(compiled, streams);
      const selections = compiled.map((kernel) => selectionFor(kernel, given));
      show("starting the device …");
      device = await opening;
      if (given.order && device.kind !== "eval")
        throw new UsageError("--order: only the evaluator runs programs in a chosen order; add --device eval");
      const reports: RunReport[] = [];
      let correct = true;
      for (const [i, kernel] of compiled.entries()) {
        const { name } = kernel.signature;
        const onOutcome = (_: unknown, done: number, planned: number) => show(`${name}: ${done} of ${planned} cases`);
        const tolerance = toleranceOf(given);
        const verification = await verify(kernel, device, {
          selection: selections[i]!,
          tolerance,
          order: given.order,
          onOutcome,
        });
        show("");
        correct &&= summarize(verification, device).correct;
        if (given.json) reports.push(jsonReport(verification, device));
        else streams.out(`${textReport(verification, device, colors, given.verbose === true)}\n`);
      }
      if (given.json) printJson(streams, joinReports(reports));
      return correct ? exitCodes.ok : exitCodes.failed;
    } finally {
      show("");
      device ??= await opening.catch(() => undefined);
      if (device) await closeDevice(device);
    }
  },
};
