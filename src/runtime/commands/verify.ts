import {
  caseFor,
  options,
  selectionFor,
  toleranceOf,
  type DeviceOptions,
  type SelectionOptions,
} from "../invocation/options.js";
import type { Budget } from "../measure/budget.js";
import { UsageError } from "../system/errors.js";
import { checkProofs } from "../report/kernel-diagnostics.js";
import { jsonProblem } from "../report/json.js";
import { reproduceCase, type ThoroughOptions, verifyThoroughly } from "../verify/thorough.js";
import type { KernelCommand } from "../invocation/command.js";
import { planVerification } from "./plan-verification.js";

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
