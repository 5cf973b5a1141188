import {
  caseFor,
  options,
  selectionFor,
  toleranceOf,
  type DeviceOptions,
  type SelectionOptions,
} from "../invocation/options.js";
import { UsageError } from "../system/errors.js";
import { checkNotRefuted } from "../report/proof-text.js";
import { jsonProblem } from "../report/json.js";
import { reproduceCase, verifyThoroughly } from "../verify/thorough.js";
import type { KernelCommand } from "../invocation/command.js";
import { planVerification } from "./plan-verification.js";

interface VerifyOptions extends SelectionOptions, DeviceOptions {
  readonly runs: number;
  /** In seconds. */
  readonly timeLimit: number;
  readonly special?: true;
  readonly case?: Readonly<Record<string, unknown>>;
}

export const verify: KernelCommand<VerifyOptions> = {
  name: "verify",
  description: "verify thoroughly: random cases, each failure reduced to the smallest one",
  options: [
    options.device,
    options.runs,
    options.timeLimit,
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
    return planVerification(kernels, flags, streams, (kernel) => {
      const tolerance = toleranceOf(flags);
      const deadlineMs = flags.deadline * 1000;
      if (flags.case) {
        const testCase = caseFor(kernel, flags.case);
        return (device) => reproduceCase(kernel, device, testCase, { tolerance, deadlineMs });
      }
      checkNotRefuted(kernel.proof());
      const selection = selectionFor(kernel, flags);
      return (device, show, onCompiled) =>
        verifyThoroughly(kernel, device, {
          selection,
          runs: flags.runs,
          timeLimitMs: flags.timeLimit * 1000,
          special: flags.special === true,
          tolerance,
          onCompiled,
          deadlineMs,
          onOutcome: show,
        });
    });
  },
};
