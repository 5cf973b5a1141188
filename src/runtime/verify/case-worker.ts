/** Runs a case in the Python worker. */
import type { CompiledKernel, Tolerance } from "../../compiled/compiled-kernel.js";
import { defaultDeadlineMs, evaluate, type EvaluatorOptions, NO_REFERENCE } from "./case-evaluator.js";
import type { PlannedCase } from "../cases/cases.js";
import type { RequestServer } from "../worker/worker-pool.js";
import { failureOf } from "../cases/failure.js";
import { faultsOfCase } from "../target-compile/machine-code.js";
import type { Outcome, OutputComparison } from "../cases/outcome.js";
import { elementFromWire, fromWire, type WireComparison, type WireElement } from "../worker/protocol.js";
import { verifyRequest } from "../devices/request.js";
import type { Workspace } from "../devices/workspace.js";
import type { PythonDevice } from "../devices/device.js";

interface WorkerOptions extends Omit<EvaluatorOptions, "order"> {
  readonly passOut: boolean;
  readonly isAutotuned: boolean;
  /** A config of the warp-specialized kernel to run additionally. */
  readonly specialized?: number | undefined;
}

/** Runs one case in a worker of the device, with the case's config or the autotuner's choice. */
export async function runInWorker(
  kernel: CompiledKernel,
  device: PythonDevice,
  worker: RequestServer,
  workspace: Workspace,
  planned: PlannedCase,
  options: WorkerOptions,
): Promise<Outcome> {
  const start = performance.now();
  // The extent behind a raw pointer is unknown. The evaluator reports this.
  if (needsPointer(kernel)) return evaluateWithReasons(kernel, planned, [], options);
  const request = verifyRequest(kernel, workspace.module, planned.testCase, {
    ...options,
    startsCold: options.isAutotuned,
    mode: device.kind,
  });
  const reply = await worker.request(request, options.deadlineMs ?? defaultDeadlineMs);
  const base = {
    testCase: planned.testCase,
    label: planned.label,
    declaredIndex: planned.declaredIndex,
    isAutotuned: options.isAutotuned,
    by: "python" as const,
    comparisons: [],
    findings: [],
    problems: [],
    unchecked: [],
    ms: Math.round(performance.now() - start),
  };
  // The config that the autotuner chose is unknown here.
  const describeFaults = async () => (options.isAutotuned ? [] : faultsOfCase(device, request));
  if (!reply.ok && reply.error.kind === "unsupported")
    return evaluateWithReasons(kernel, planned, [reply.error.message], options);
  if (!reply.ok)
    return { ...base, ...(await describeError(kernel, planned, reply.error, options.isAutotuned, describeFaults)) };
  const { comparisons, problems, unreliable, compiled, specialized } = reply.result;
  if (unreliable.length > 0) return evaluateWithReasons(kernel, planned, unreliable, options);
  const outputComparisons = comparisons.map((comparison) =>
    comparisonOf(comparison, request.tolerances[comparison.output]),
  );
  const findings = kernel.narrowRoundings(planned.testCase, options.tolerance);
  const isPassed =
    outputComparisons.every(({ wrong }) => wrong === 0) && problems.length === 0 && findings.length === 0;
  const result = { ...base, compiled, ...(specialized && { specialized }) };
  if (isPassed && outputComparisons.length === 0) return { ...result, status: "unchecked", unchecked: [NO_REFERENCE] };
  if (isPassed) return { ...result, status: "passed", comparisons: outputComparisons, problems };
  return {
    ...result,
    status: "failed",
    comparisons: outputComparisons,
    findings,
    problems: [...problems, ...(await describeFaults())],
  };
}

/** The outcome of a case that ended with an error. */
async function describeError(
  kernel: CompiledKernel,
  { testCase }: PlannedCase,
  error: Parameters<typeof failureOf>[1],
  isAutotuned: boolean,
  describeFaults: () => Promise<readonly string[]>,
): Promise<Pick<Outcome, "status" | "failure"> & Partial<Outcome>> {
  const failure = failureOf(kernel, error);
  // Triton's autotuner skips a config without enough resources if another one fits.
  const isSkipped = failure.kind === "out-of-resources" && kernel.configs.length > 1 && !isAutotuned;
  if (!isSkipped)
    return { status: "failed", failure, problems: failure.kind === "device-error" ? await describeFaults() : [] };
  const reason = `config ${testCase.config} does not fit this GPU, and Triton's autotuner passes it over: ${failure.message}`;
  return { status: "unchecked", failure, unchecked: [reason] };
}

/** True if the kernel takes a raw pointer of unknown extent. Test cases cannot allocate its memory. */
export function needsPointer({ signature }: CompiledKernel): boolean {
  return signature.pointers.some(({ optional, numel }) => !optional && numel === undefined);
}

/**
 * Runs the case on the evaluator instead, because this device's results are unreliable. The report gives the reasons.
 */
function evaluateWithReasons(
  kernel: CompiledKernel,
  planned: PlannedCase,
  reasons: readonly string[],
  { tolerance, repeats, deadlineMs }: WorkerOptions,
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
