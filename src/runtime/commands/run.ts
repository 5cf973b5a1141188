import {
  options,
  selectionFor,
  toleranceOf,
  type DeviceOptions,
  type SelectionOptions,
} from "../invocation/options.js";
import { chosenDevice } from "../invocation/chosen-device.js";
import { UsageError } from "../system/errors.js";
import { jsonProblem } from "../report/json.js";
import { verify } from "../verify/plan-cases.js";
import type { KernelCommand } from "../invocation/command.js";
import { planVerification } from "./verify.js";

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
        verify(kernel, device, {
          selection,
          tolerance: toleranceOf(flags),
          order: flags.order,
          onCompiled,
          deadlineMs: flags.deadline * 1000,
          onOutcome: (_, done, planned) => show(done, planned),
        });
    }),
};
