/** Runs a case in the Python worker. */
import type { CompiledKernel, Tolerance } from "../../compiled/compiled-kernel.js";
import { defaultDeadlineMs, evaluate, type EvaluatorOptions, NO_REFERENCE } from "./case-evaluator.js";
import type { PlannedCase } from "../cases/cases.js";
import type { PythonDevice } from "../devices/devices.js";
import type { RequestServer } from "../worker/worker-pool.js";
import { failureOf } from "../cases/failure.js";
import { faultsOfCase } from "../target-compile/machine-code.js";
import type { Outcome, OutputComparison } from "../cases/outcome.js";
import { elementFromWire, fromWire, type WireComparison, type WireElement } from "../worker/protocol.js";
import { verifyRequest } from "../devices/request.js";
import type { Workspace } from "../devices/workspace.js";

interface AskOptions extends Omit<EvaluatorOptions, "order"> {
  readonly passOut: boolean;
  readonly tuned: boolean;
  /** A config of the warp-specialized kernel, to run besides. */
  readonly specialized?: number | undefined;
}

/** Runs one case in a worker of the device, with the case's config or the autotuner's choice. */
export async function runInWorker(
  kernel: CompiledKernel,
  device: PythonDevice,
  worker: RequestServer,
  workspace: Workspace,
  planned: PlannedCase,
  options: AskOptions,
): Promise<Outcome> {
  const started = performance.now();
  // What a raw pointer reaches is unknown; the evaluator reports that.
  if (needsPointer(kernel)) return evaluateInstead(kernel, planned, [], options);
  const request = verifyRequest(kernel, workspace.module, planned.at, { ...options, on: device.kind });
  const reply = await worker.request(request, options.deadlineMs ?? defaultDeadlineMs);
  const base = {
    at: planned.at,
    label: planned.label,
    declared: planned.declared,
    tuned: options.tuned,
    by: "python" as const,
    comparisons: [],
    findings: [],
    problems: [],
    unchecked: [],
    ms: Math.round(performance.now() - started),
  };
  // The autotuner's choice of a config is unknown here.
  const faults = async () => (options.tuned ? [] : faultsOfCase(device, request));
  if (!reply.ok && reply.error.kind === "unsupported")
    return evaluateInstead(kernel, planned, [reply.error.message], options);
  if (!reply.ok) {
    const failure = failureOf(kernel, reply.error);
    // Triton's autotuner skips such a config as long as another one is left.
    const isPassedOver = failure.kind === "out-of-resources" && kernel.configs.length > 1 && !options.tuned;
    if (!isPassedOver)
      return { ...base, status: "failed", failure, problems: failure.kind === "device-error" ? await faults() : [] };
    const why = `config ${planned.at.config} does not fit this GPU, and Triton's autotuner passes it over: ${failure.message}`;
    return { ...base, status: "unchecked", failure, unchecked: [why] };
  }
  const { comparisons, problems, unreliable, compiled, specialized } = reply.result;
  if (unreliable.length > 0) return evaluateInstead(kernel, planned, unreliable, options);
  const compared = comparisons.map((comparison) => comparisonOf(comparison, request.tolerances[comparison.output]));
  const passed = compared.every(({ wrong }) => wrong === 0) && problems.length === 0;
  const ran = { ...base, compiled, ...(specialized && { specialized }) };
  if (passed && compared.length === 0) return { ...ran, status: "unchecked", unchecked: [NO_REFERENCE] };
  if (passed) return { ...ran, status: "passed", comparisons: compared, problems };
  return { ...ran, status: "failed", comparisons: compared, problems: [...problems, ...(await faults())] };
}

/** Whether the kernel takes a raw pointer of unknown extent: cases cannot create the memory that it reaches. */
export function needsPointer({ signature }: CompiledKernel): boolean {
  return signature.pointers.some(({ optional, numel }) => !optional && numel === undefined);
}

/** Uses the evaluator if this device's numbers can't be trusted, and says so in the report. */
function evaluateInstead(
  kernel: CompiledKernel,
  planned: PlannedCase,
  reasons: readonly string[],
  { tolerance, repeats, deadlineMs }: AskOptions,
): Outcome {
  const outcome = evaluate(kernel, planned, { tolerance, repeats, deadlineMs });
  return {
    ...outcome,
    unchecked: [...reasons.map((reason) => `${reason}; the evaluator ran instead`), ...outcome.unchecked],
  };
}

function comparisonOf(wire: WireComparison, tolerance: Tolerance | undefined): OutputComparison {
  const rows = (values: readonly (readonly WireElement[])[]): number[][] =>
    values.map((row) => row.map((value) => Number(elementFromWire(value))));
  const { worst } = wire;
  return {
    maxAbsDiff: fromWire(wire.maxAbsDiff),
    maxRelDiff: fromWire(wire.maxRelDiff),
    wrong: wire.wrong,
    total: wire.total,
    ...(worst && {
      worst: {
        output: wire.output,
        index: worst.index,
        expected: elementFromWire(worst.expected),
        got: elementFromWire(worst.got),
        around: { start: worst.around.start, expected: rows(worst.around.expected), got: rows(worst.around.got) },
      },
    }),
    ...(wire.problem !== undefined && { problem: `${wire.output} ${wire.problem}` }),
    ...(tolerance && { tolerance }),
    ...(wire.referenceDiff !== undefined && { referenceDiff: fromWire(wire.referenceDiff) }),
  };
}
