/** Runs a case: compiles its kernel, then runs it in the Python worker, or on the evaluator. */
import type { CompiledKernel, Tolerance, TestCase, Evaluation, ProgramOrder } from "../../compiled/compiled-kernel.js";
import type { PlannedCase } from "../cases/cases.js";
import type { RequestServer } from "../worker/worker.js";
import { faultsOfCase } from "../target-compile/targets.js";
import { type Outcome, type OutputComparison, failureOf, evaluatorFailure } from "../cases/outcome.js";
import {
  elementFromWire,
  fromWire,
  type WireComparison,
  type WireElement,
  type RunRequest,
} from "../worker/protocol.js";
import { verifyRequest } from "../devices/request.js";
import type { PythonDevice, Workspace } from "../devices/device.js";
import { cacheKey } from "../../compiled/canonical-json.js";
import { type Precompilation, startPrecompile } from "../target-compile/precompile.js";

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

// Compiles the kernels of cases while other cases run.

/** Counts of compiled kernels. */
export interface CompileCounts {
  /** Kernels compiled before the cases ran, with the number of processes and seconds. */
  readonly ahead: number;
  readonly processes: number;
  readonly seconds: number;
  /** The number of kernels found in Triton's cache. */
  readonly known: number;
  /** Kernels compiled while the cases ran. */
  readonly late: number;
}

export class CaseCompiler {
  readonly #device: PythonDevice;
  readonly #indices = new Map<string, number>();
  #compilation: Precompilation | undefined;
  #counts: CompileCounts = { ahead: 0, processes: 0, seconds: 0, known: 0, late: 0 };

  constructor(device: PythonDevice) {
    this.#device = device;
  }

  get counts(): CompileCounts {
    return this.#counts;
  }

  /** Resolves when all kernels are compiled. */
  async compile(
    cases: readonly TestCase[],
    requestOf: (testCase: TestCase) => RunRequest,
    onDone?: (done: number, planned: number) => void,
  ): Promise<void> {
    for (const [i, testCase] of cases.entries()) this.#indices.set(cacheKey(testCase), i);
    this.#compilation = startPrecompile(this.#device, cases.map(requestOf), onDone);
    const { compiled, cachedCount, processes, seconds } = await this.#compilation.finished;
    const { ahead, seconds: earlier, known, late } = this.#counts;
    this.#counts = {
      ahead: ahead + compiled.reduce((sum, count) => sum + count, 0),
      processes,
      seconds: earlier + seconds,
      known: known + cachedCount,
      late,
    };
  }

  /** Resolves when the kernels of a case are compiled, as far as they are known. */
  async ready(testCase: TestCase): Promise<void> {
    const index = this.#indices.get(cacheKey(testCase));
    if (index !== undefined) await this.#compilation?.ready(index);
  }

  async allReady(): Promise<void> {
    await this.#compilation?.finished;
  }

  countLate(kernels: number): void {
    this.#counts = { ...this.#counts, late: this.#counts.late + kernels };
  }

  stop(): void {
    this.#compilation?.stop();
  }
}

// Runs a case on the evaluator.

export interface EvaluatorOptions {
  readonly tolerance: Partial<Tolerance>;
  readonly order?: ProgramOrder | undefined;
  /**
   * The number of runs of each case, which must agree. The evaluator and the interpreter reverse the program order.
   * Default: 1.
   */
  readonly repeats?: number | undefined;
  /** A case that takes longer fails. Default: `defaultDeadlineMs`. */
  readonly deadlineMs?: number | undefined;
}

/** A GPU compiles each config once, and the interpreter may be slow. A case that takes longer counts as hanging. */
export const defaultDeadlineMs = 120_000;

/** Why outputs were not compared, by the kind of reference. */
const NO_REFERENCE = "the outputs were not compared: the kernel has no reference";
const UNKNOWN_REFERENCE = "the outputs were not compared: the evaluator cannot compute the reference";
const NOT_COMPARED: Readonly<Record<CompiledKernel["reference"], string>> = {
  none: NO_REFERENCE,
  python: UNKNOWN_REFERENCE,
  recorded: UNKNOWN_REFERENCE,
};

/** Runs one case on the evaluator. */
export function evaluate(
  kernel: CompiledKernel,
  planned: PlannedCase,
  { tolerance, order, repeats = 1, deadlineMs = defaultDeadlineMs }: EvaluatorOptions,
): Outcome {
  const start = performance.now();
  const deadline = start + deadlineMs;
  const { testCase, label, declaredIndex } = planned;
  const base = { testCase, label, declaredIndex, isAutotuned: false, by: "eval" as const };
  try {
    const { outputs, comparison, findings, unchecked, printed, reached } = kernel.evaluate(testCase, {
      tolerance,
      order,
      until: deadline,
      lowered: true,
    });
    // Not to stdout, which may be one JSON document.
    for (const line of printed ?? []) console.error(line);
    let isWrong = findings.length > 0 || (comparison !== undefined && !comparison.correct);
    // A kernel that waits for other programs may not terminate in another order.
    const reversed =
      repeats > 1 &&
      !isWrong &&
      !kernel.signature.waits &&
      kernel.evaluate(testCase, { tolerance, order: "reversed", until: deadline });
    const problems = reversed ? orderProblems(kernel, outputs, reversed) : [];
    isWrong ||= problems.length > 0;
    const status = comparison ? "passed" : "unchecked";
    return {
      ...base,
      problems,
      status: isWrong ? "failed" : status,
      comparisons: comparison ? [comparison] : [],
      findings,
      unchecked: comparison ? unchecked : [...unchecked, NOT_COMPARED[kernel.reference]],
      isAlgorithmChecked: comparison !== undefined,
      reached,
      ms: Math.round(performance.now() - start),
    };
  } catch (error) {
    return {
      ...base,
      status: "failed",
      comparisons: [],
      findings: [],
      problems: [],
      failure: evaluatorFailure(error),
      unchecked: [],
      ms: Math.round(performance.now() - start),
    };
  }
}

/** Differences in results between program orders. */
function orderProblems(
  { signature }: CompiledKernel,
  outputs: Evaluation["outputs"],
  { outputs: reversed, findings, comparison }: Evaluation,
): string[] {
  const condition = "when programs run in reverse";
  if (findings[0]) return [`${condition}, ${findings[0].message}`];
  if (comparison && !comparison.correct)
    return [`${comparison.wrong} of ${comparison.total} elements are wrong ${condition}`];
  if (signature.unordered) return [];
  return Object.entries(outputs).flatMap(([name, { data }]) => {
    const reversedData = reversed[name]!.data;
    const differing = Array.from<unknown>(data).filter((value, i) => !Object.is(value, reversedData[i])).length;
    return differing > 0
      ? [`${name} differs ${condition}, in ${differing} of ${data.length} elements: programs race`]
      : [];
  });
}

/**
 * Returns a failure if inputs of 100 cause NaN or infinity where the reference is finite, as in a softmax that does not
 * subtract the maximum. Other errors do not count, because they may come from cancellation.
 */
export function checkOverflow(kernel: CompiledKernel, outcome: Outcome): Outcome | undefined {
  if (outcome.testCase.special?.some((kind) => kind !== "large")) return undefined;
  const testCase: TestCase = { ...outcome.testCase, special: ["large"] };
  try {
    const { comparison } = kernel.evaluate(testCase, { tolerance: { rtol: 0, atol: Number.MAX_VALUE, share: 1 } });
    if (!comparison || comparison.correct) return undefined;
    const problems = ["with 100 and -100 among the inputs, elements are NaN or infinite where the reference is finite"];
    return { ...outcome, testCase, status: "failed", comparisons: [comparison], problems };
  } catch {
    // The evaluator's exceptions are already reported.
    return undefined;
  }
}
