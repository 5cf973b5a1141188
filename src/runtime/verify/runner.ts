/** Runs cases of one kernel on a device, one after another: in the worker, or on the evaluator. */
import { ALGORITHM_CHECK } from "../../compiled/error-kind.js";
import type { TestCase, CompiledKernel } from "../../compiled/compiled-kernel.js";
import { precompile } from "../target-compile/precompile.js";
import { evaluate, type EvaluatorOptions, overflow } from "./case-evaluator.js";
import { Lookahead } from "./lookahead.js";
import { runInWorker, needsPointer } from "./case-worker.js";
import { costOf, type PlannedCase } from "../cases/cases.js";
import { QUEUE_DEPTH, type Member } from "../worker/worker-pool.js";
import type { Device, PythonDevice } from "../devices/devices.js";
import { wasCompared, type Outcome } from "../cases/outcome.js";
import { verifyRequest } from "../devices/request.js";
import { openWorkspace } from "../devices/workspace.js";
import { deviceLimits } from "./device-limits.js";

export interface Runner {
  /** Says which cases will be run, in this order, so that several workers can begin with them. */
  expect?: (cases: readonly PlannedCase[]) => void;
  run(planned: PlannedCase, place: number): Promise<Outcome>;
  /** Runs a case with the config that Triton's autotuner chooses. */
  tune?: (planned: PlannedCase) => Promise<Outcome>;
  /** Compiles what cases will launch. */
  ahead?: (cases: readonly TestCase[], onDone?: (done: number, planned: number) => void) => Promise<void>;
  compiling?: () => CompileCounts;
  close(): Promise<void>;
}

export interface RunnerOptions extends EvaluatorOptions {
  /**
   * Whether the evaluator also runs each small case that passes, to find wrong accesses that do not change results.
   * Otherwise it runs one in each choice of dtypes.
   */
  readonly sanitized?: boolean;
}

/** Counts of compiled kernels. */
export interface CompileCounts {
  /** Kernels compiled before the cases ran, with the number of processes and seconds. */
  readonly ahead: number;
  readonly processes: number;
  readonly seconds: number;
  /** How many kernels were in Triton's cache. */
  readonly known: number;
  /** Kernels compiled while the cases ran. */
  readonly late: number;
}

/** The evaluator also runs cases of at most this cost; it takes about as long as the interpreter. */
const SANITISED_WORK = 2 ** 22;

/** A config of the warp-specialized kernel. The case alone decides it, so that a failing one can be run again. */
const specializedConfig = ({ at }: PlannedCase): number => at.config + at.seed;

/** A case that passed on a device, with what the evaluator finds in it: wrong accesses, and a wrong algorithm. */
function besides(outcome: Outcome, evaluated: Outcome): Outcome {
  const { findings, comparisons, failure, reached, judged = false } = evaluated;
  if (findings.length > 0) return { ...outcome, status: "failed", findings };
  // Rounding is the device's own.
  if (comparisons.some(({ finds }) => finds === "mistake")) return { ...outcome, status: "failed", comparisons };
  const why = failure?.message ?? evaluated.unchecked.at(-1);
  const unchecked = judged
    ? evaluated.unchecked.filter((reason) => reason.startsWith(ALGORITHM_CHECK))
    : [`${ALGORITHM_CHECK}: ${why ?? "the evaluator did not compare it"}`];
  return { ...outcome, judged, reached, unchecked: [...outcome.unchecked, ...unchecked] };
}

/** Runs one case on an open device, for property tests. */
export async function verifyCase(
  kernel: CompiledKernel,
  device: Device,
  at: TestCase,
  options: Partial<RunnerOptions> = {},
): Promise<Outcome> {
  const runner = await openRunner(kernel, device, { tolerance: {}, ...options });
  try {
    return await runner.run({ at, label: "given", extra: false }, 0);
  } finally {
    await runner.close();
  }
}

/** A runner for cases of one kernel, until it is closed. */
export async function openRunner(kernel: CompiledKernel, device: Device, options: RunnerOptions): Promise<Runner> {
  return device.kind === "eval" ? evalRunner(kernel, options) : pythonRunner(kernel, device, options);
}

function evalRunner(kernel: CompiledKernel, options: RunnerOptions): Runner {
  return {
    run: async (planned) => {
      const outcome = evaluate(kernel, planned, options);
      return (options.sanitized && outcome.status === "passed" && overflow(kernel, outcome)) || outcome;
    },
    close: async () => undefined,
  };
}

async function pythonRunner(
  kernel: CompiledKernel,
  device: PythonDevice,
  { tolerance, repeats = 1, deadlineMs, sanitized = false }: RunnerOptions,
): Promise<Runner> {
  const workspace = await openWorkspace(kernel, device.host);
  /** The dtypes that a case was judged in. */
  const judged = new Set<string>();
  let compiling: CompileCounts = { ahead: 0, processes: 0, seconds: 0, known: 0, late: 0 };
  const ask = async (planned: PlannedCase, place?: number): Promise<Outcome> => {
    const tuned = place === undefined;
    // Alternates between the two ways to get an output: allocated by the wrapper, and passed as `out=`.
    const passOut = place !== undefined && place % 2 === 1;
    const specialized = device.kind === "cuda" && kernel.specialized && !tuned ? specializedConfig(planned) : undefined;
    const options = { passOut, tuned, specialized, tolerance, repeats, deadlineMs };
    const run = ({ worker }: Member) => runInWorker(kernel, device, worker, workspace, planned, options);
    // The autotuner measures.
    const outcome = await (tuned ? device.workers.lease(run) : device.workers.share(run));
    compiling = { ...compiling, late: compiling.late + (outcome.compiled ?? 0) };
    return outcome;
  };
  const { size } = device.workers;
  const begun = new Lookahead(size > 1 ? size * QUEUE_DEPTH : 1, ask);
  const ahead: Runner["ahead"] = async (cases, onDone) => {
    const requests = cases.map((at) =>
      verifyRequest(kernel, workspace.module, at, { passOut: false, tolerance, on: device.kind }),
    );
    const { compiled, known, processes, seconds } = await precompile(device, requests, onDone);
    compiling = {
      ...compiling,
      ahead: compiling.ahead + compiled.reduce((sum, count) => sum + count, 0),
      processes,
      seconds: compiling.seconds + seconds,
      known: compiling.known + known,
    };
  };
  return {
    expect: (cases) => begun.expect(cases),
    run: async (planned, place) => {
      const outcome = await begun.take(planned, place);
      if (outcome.status !== "passed" || outcome.by === "eval") return outcome;
      const dtypes = JSON.stringify(planned.at.dtypes);
      if (!sanitized && (judged.has(dtypes) || kernel.reference !== "recorded")) return outcome;
      if (costOf(kernel, planned.at, deviceLimits.eval) > SANITISED_WORK) return outcome;
      const found = besides(outcome, evaluate(kernel, planned, { tolerance, deadlineMs }));
      if (wasCompared(found) && found.judged) judged.add(dtypes);
      return (sanitized && found.status === "passed" && overflow(kernel, found)) || found;
    },
    ...(device.kind !== "interpreter" &&
      !needsPointer(kernel) && {
        tune: (planned: PlannedCase) => ask(planned),
        ahead,
        compiling: () => compiling,
      }),
    close: async () => {
      await begun.drop(() => device.workers.stop());
      await workspace.remove();
    },
  };
}
