/** Measures a kernel on a GPU, beside PyTorch and the author's providers. Only verified cases are measured. */
import type { TestCase, CompiledKernel } from "../../compiled/compiled-kernel.js";
import { precompile, inEveryConfig } from "../target-compile/precompile.js";
import { describeCase } from "../cases/case-text.js";
import { runInWorker } from "../verify/case-worker.js";
import type { PythonDevice } from "../devices/devices.js";
import { failureOf } from "../cases/failure.js";
import { bytesOf, limitsOf, roofOf, type RooflineBound } from "./roofline.js";
import type { BenchResult } from "../worker/protocol.js";
import type { Member, RequestServer } from "../worker/worker-pool.js";
import { benchRequest, runRequest } from "../devices/request.js";
import { openWorkspace } from "../devices/workspace.js";
import { headline } from "../verify/summary.js";

/** Calls before timing starts, and calls to time. */
export interface Iterations {
  readonly warmup: number;
  readonly iterations: number;
}

export const defaultIterations: Iterations = { warmup: 25, iterations: 100 };

export interface BenchOptions extends Iterations {
  readonly cases: readonly TestCase[];
  /** Whether the autotuner chooses the config instead of the case. */
  readonly tuned: boolean;
  /** Whether to measure `torch.compile`, too; `max-autotune` is slow. */
  readonly compiled: boolean;
  /** Whether to ask what the GPU runs at. */
  readonly state?: boolean;
  readonly onDone?: (done: number) => void;
  /** Called after each kernel that was compiled ahead. */
  readonly onCompiled?: (done: number, planned: number) => void;
}

export interface Measurement {
  readonly at: TestCase;
  /** The config that ran; `autotuned` if each of several kernels has its own, or the warp-specialized kernel ran. */
  readonly config: number | "autotuned";
  readonly result: BenchResult;
  readonly bytes: number;
  /** 0 if unknown. */
  readonly flops: number;
  readonly roof?: RooflineBound;
  /** The GPU that was measured, where there are several. */
  readonly on?: string;
}

export interface Benchmark {
  readonly kernel: CompiledKernel;
  readonly measurements: readonly Measurement[];
  /** Cases that were not measured, each with the reason. */
  readonly refused: readonly string[];
  readonly seconds: number;
}

/** torch.compile with max-autotune tries configs of its own. */
const DEADLINE_MS = 600_000;

export async function bench(
  source: CompiledKernel,
  device: PythonDevice,
  { cases, tuned, compiled, state = false, warmup, iterations, onDone, onCompiled }: BenchOptions,
): Promise<Benchmark> {
  const started = performance.now();
  const kernel = { ...source, ...source.emit({ providers: true }) };
  const own = kernel.providers ?? [];
  const torch = ["eager", ...(compiled ? ["torch.compile", "torch.compile max-autotune"] : [])];
  const providers = [...(kernel.reference === "none" ? [] : torch), ...own];
  const workspace = await openWorkspace(kernel, device.host);
  const measure = async (at: TestCase, { worker: given, place }: Member): Promise<Measurement | string> => {
    const { worker, places } = noting(given);
    const refused = (reason: string) => `${describeCase(at, 1)}: ${reason}`;
    const planned = { at, label: "measured", extra: false };
    // The worker keeps the module and the autotuner's choice, so it times exactly what was verified here.
    const checks = { passOut: false, tuned, tolerance: {} };
    const outcome = await runInWorker(kernel, device, worker, workspace, planned, checks);
    if (outcome.status === "failed") return refused(`not measured, because its result is wrong: ${headline(outcome)}`);
    if (outcome.status !== "passed" || outcome.by !== "python")
      return refused(`not measured, because it could not be verified: ${outcome.unchecked.join("; ")}`);
    const options = { tuned, providers, warmup, iterations, state, on: device.kind };
    const reply = await worker.request(benchRequest(kernel, workspace.module, at, options), DEADLINE_MS);
    if (!reply.ok) return refused(failureOf(kernel, reply.error).message);
    const config = tuned ? (reply.result.config ?? "autotuned") : at.config;
    // The autotuner there may have chosen what nobody has verified.
    if (places.size > 1)
      return refused("not measured, because its actor was lost after it was verified; measure again");
    const on = reply.on ?? place;
    return { ...measurementOf(kernel, device, at, config, reply.result), ...(on !== undefined && { on }) };
  };
  let found: (Measurement | string)[] = [];
  let done = 0;
  try {
    const launched = cases.flatMap((at) => (tuned ? inEveryConfig(kernel, at, device.hello.target) : [at]));
    const requests = launched.map((at) => runRequest(kernel, workspace.module, at));
    await precompile(device, requests, onCompiled);
    found = await device.workers.each(cases, async (at, member) => {
      const result = await measure(at, member);
      onDone?.(++done);
      return result;
    });
  } finally {
    await workspace.remove();
  }
  const measurements = found.filter((each) => typeof each !== "string");
  const refused = found.filter((each) => typeof each === "string");
  return { kernel, measurements, refused, seconds: Math.round(performance.now() - started) / 1000 };
}

/** The same worker, and the places where a cluster has run what it was asked. */
function noting(worker: RequestServer): { readonly worker: RequestServer; readonly places: ReadonlySet<string> } {
  const places = new Set<string>();
  const request: RequestServer["request"] = async (...asked) => {
    const reply = await worker.request(...asked);
    if (reply.ok && reply.on !== undefined) places.add(reply.on);
    return reply;
  };
  return { worker: { request, stop: () => worker.stop() }, places };
}

function measurementOf(
  kernel: CompiledKernel,
  device: PythonDevice,
  at: TestCase,
  config: Measurement["config"],
  result: BenchResult,
): Measurement {
  const bytes = bytesOf(kernel, at);
  const flops = kernel.flops?.(at) ?? result.flops;
  const roof = roofOf(kernel, at, { bytes, flops }, limitsOf(device.hello));
  return { at, config, result, bytes, flops, ...(roof && { roof }) };
}
