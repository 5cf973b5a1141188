/**
 * Measures a kernel on a GPU and compares it with PyTorch and the author's providers. Only verified cases are measured.
 */
import type { TestCase, CompiledKernel } from "../../compiled/compiled-kernel.js";
import { precompile, inEveryConfig } from "../target-compile/precompile.js";
import { describeCase } from "../cases/cases.js";
import { runInWorker } from "../verify/case-steps.js";
import { failureOf } from "../cases/outcome.js";
import { bytesOf, limitsOf, roofOf, type RooflineBound } from "./roofline.js";
import type { BenchResult } from "../worker/protocol.js";
import type { Member, RequestServer } from "../worker/worker-pool.js";
import { benchRequest, runRequest } from "../devices/request.js";
import { openWorkspace, type Workspace } from "../devices/workspace.js";
import { headline } from "../verify/summary.js";
import type { PythonDevice } from "../devices/device.js";

/** The number of calls before timing starts, and of timed calls. */
export interface Iterations {
  readonly warmup: number;
  readonly iterations: number;
}

export const defaultIterations: Iterations = { warmup: 25, iterations: 100 };

export interface BenchOptions extends Iterations {
  readonly cases: readonly TestCase[];
  /** True if the autotuner chooses the config instead of the case. */
  readonly isAutotuned: boolean;
  /** True to measure `torch.compile` too; `max-autotune` is slow. */
  readonly withTorchCompile: boolean;
  /** True to query the GPU's clocks and temperature. */
  readonly withGpuState?: boolean;
  readonly onDone?: (done: number) => void;
  /** Called after each kernel that was compiled in advance. */
  readonly onCompiled?: (done: number, planned: number) => void;
}

export interface Measurement {
  readonly testCase: TestCase;
  /** The config that ran; `autotuned` if each of several kernels has its own, or if the warp-specialized kernel ran. */
  readonly config: number | "autotuned";
  readonly result: BenchResult;
  readonly bytes: number;
  /** 0 if unknown. */
  readonly flops: number;
  readonly roof?: RooflineBound;
  /** The GPU that was measured, if there are several. */
  readonly gpuName?: string;
}

export interface Benchmark {
  readonly kernel: CompiledKernel;
  readonly measurements: readonly Measurement[];
  /** Cases that were not measured, each with the reason. */
  readonly rejected: readonly string[];
  readonly seconds: number;
}

/** torch.compile with max-autotune tries its own configs. */
const DEADLINE_MS = 600_000;

export async function bench(
  source: CompiledKernel,
  device: PythonDevice,
  {
    cases,
    isAutotuned,
    withTorchCompile,
    withGpuState: state = false,
    warmup,
    iterations,
    onDone,
    onCompiled,
  }: BenchOptions,
): Promise<Benchmark> {
  const start = performance.now();
  const kernel = { ...source, ...source.emit({ providers: true }) };
  const authorProviders = kernel.providers ?? [];
  const torchProviders = ["eager", ...(withTorchCompile ? ["torch.compile", "torch.compile max-autotune"] : [])];
  const providers = [...(kernel.reference === "none" ? [] : torchProviders), ...authorProviders];
  const workspace = await openWorkspace(kernel, device.host);
  const options = { isAutotuned, providers, warmup, iterations, state, mode: device.kind };
  let results: (Measurement | string)[] = [];
  let done = 0;
  try {
    const launches = cases.flatMap((testCase) =>
      isAutotuned ? inEveryConfig(kernel, testCase, device.hello.target) : [testCase],
    );
    const requests = launches.map((testCase) => runRequest(kernel, workspace.module, testCase));
    await precompile(device, requests, onCompiled);
    results = await device.workers.map(cases, async (testCase, member) => {
      const result = await measure(kernel, device, workspace, testCase, member, options);
      onDone?.(++done);
      return result;
    });
  } finally {
    await workspace.remove();
  }
  const measurements = results.filter((each) => typeof each !== "string");
  const refused = results.filter((each) => typeof each === "string");
  return { kernel, measurements, rejected: refused, seconds: Math.round(performance.now() - start) / 1000 };
}

/** Verifies and measures a case. A string says why the case was not measured. */
async function measure(
  kernel: CompiledKernel,
  device: PythonDevice,
  workspace: Workspace,
  testCase: TestCase,
  { worker: memberWorker, deviceName: location }: Member,
  options: Parameters<typeof benchRequest>[3],
): Promise<Measurement | string> {
  const { isAutotuned = false } = options;
  const { worker, usedPlaces } = recordUsedPlaces(memberWorker);
  const formatRejection = (reason: string) => `${describeCase(testCase, 1)}: ${reason}`;
  const planned = { testCase, label: "measured", isExtra: false };
  // The worker keeps the module and the autotuner's choice, so it times exactly the code that was verified here.
  const verifyOptions = { passOut: false, isAutotuned, tolerance: {} };
  const outcome = await runInWorker(kernel, device, worker, workspace, planned, verifyOptions);
  if (outcome.status === "failed")
    return formatRejection(`not measured, because its result is wrong: ${headline(outcome)}`);
  if (outcome.status !== "passed" || outcome.by !== "python")
    return formatRejection(`not measured, because it could not be verified: ${outcome.unchecked.join("; ")}`);
  const reply = await worker.request(benchRequest(kernel, workspace.module, testCase, options), DEADLINE_MS);
  if (!reply.ok) return formatRejection(failureOf(kernel, reply.error).message);
  const config = isAutotuned ? (reply.result.config ?? "autotuned") : testCase.config;
  // Another actor may have chosen a config that is not verified.
  if (usedPlaces.size > 1)
    return formatRejection("not measured, because its actor was lost after it was verified; measure again");
  const gpuName = reply.on ?? location;
  return {
    ...measurementOf(kernel, device, testCase, config, reply.result),
    ...(gpuName !== undefined && { gpuName }),
  };
}

/** Wraps a worker to record the cluster locations that ran its requests. */
function recordUsedPlaces(worker: RequestServer): {
  readonly worker: RequestServer;
  readonly usedPlaces: ReadonlySet<string>;
} {
  const usedPlaces = new Set<string>();
  const request: RequestServer["request"] = async (...args) => {
    const reply = await worker.request(...args);
    if (reply.ok && reply.on !== undefined) usedPlaces.add(reply.on);
    return reply;
  };
  return { worker: { request, stop: () => worker.stop() }, usedPlaces };
}

function measurementOf(
  kernel: CompiledKernel,
  device: PythonDevice,
  testCase: TestCase,
  config: Measurement["config"],
  result: BenchResult,
): Measurement {
  const bytes = bytesOf(kernel, testCase);
  const flops = kernel.flops?.(testCase) ?? result.flops;
  const roof = roofOf(kernel, testCase, { bytes, flops }, limitsOf(device.hello));
  return { testCase, config, result, bytes, flops, ...(roof && { roof }) };
}
