/**
 * Compiles in advance the kernels that cases will launch on a GPU. All processes share Triton's cache on disk, so
 * several compile in parallel and the device's process finds the results. They need no GPU, only its name.
 */
import type { TestCase, CompiledKernel } from "../../compiled/compiled-kernel.js";
import { configsFor } from "../../compiled/configs-by-gpu.js";
import type { WorkerPool } from "../worker/worker-pool.js";
import type { HelloResult, LaunchesResult, RunRequest } from "../worker/protocol.js";
import type { PythonDevice } from "../devices/device.js";

export interface PrecompileProgress {
  /** The number of kernels compiled for each case, excluding those of earlier cases. */
  readonly compiled: readonly number[];
  /** The number of kernels found in Triton's cache. */
  readonly cachedCount: number;
  readonly processes: number;
  readonly seconds: number;
}

const LOOKUP_DEADLINE_MS = 120_000;
/** Triton takes seconds for one kernel. A longer compilation counts as hanging. */
export const COMPILE_DEADLINE_MS = 300_000;

/**
 * Up to this many kernels are left to the device's process, which compiles them before other processes have started.
 */
const MIN_JOBS = 2;

/** The progress of compilation, on one line. */
export function formatProgress({ signature }: CompiledKernel, done: number, planned: number): string {
  return `${signature.name}: compiled ${done} of ${planned}`;
}

/** The launches of each case. Each worker looks up a share of them. Undefined if one fails. */
async function launchesOf(
  workers: Pick<WorkerPool, "size" | "request">,
  cases: readonly RunRequest[],
): Promise<LaunchesResult["launches"] | undefined> {
  const chunkSize = Math.ceil(cases.length / workers.size);
  const chunks = Array.from({ length: workers.size }, (_, i) => cases.slice(i * chunkSize, (i + 1) * chunkSize));
  const replies = await Promise.all(
    chunks.map((part) => workers.request({ type: "launches", cases: part }, LOOKUP_DEADLINE_MS)),
  );
  return replies.every((reply) => reply.ok) ? replies.flatMap(({ result }) => result.launches) : undefined;
}

/** The case in every config that accepts it: the candidates of the autotuner. */
export function inEveryConfig(
  kernel: CompiledKernel,
  testCase: TestCase,
  gpu: HelloResult["target"],
): readonly TestCase[] {
  const cases = configsFor(kernel.configs, gpu).map((config) => ({ ...testCase, config }));
  return cases.filter((candidate) => kernel.refusal(candidate) === undefined);
}

/**
 * Compiles the kernels that are missing from Triton's cache. A failure is not an error here: the case reports it later.
 */
export async function precompile(
  { workers, compilers, hello: { target } }: Pick<PythonDevice, "workers" | "compilers" | "hello">,
  cases: readonly RunRequest[],
  onDone?: (done: number, planned: number) => void,
): Promise<PrecompileProgress> {
  const start = performance.now();
  const compiledCounts = cases.map(() => 0);
  const result = (cachedCount: number, processes: number): PrecompileProgress => ({
    compiled: compiledCounts,
    cachedCount,
    processes,
    seconds: Math.round(performance.now() - start) / 1000,
  });
  if (!compilers || !target || cases.length === 0) return result(0, 0);
  const launchesByCase = await launchesOf(workers, cases);
  if (!launchesByCase) return result(0, 0);
  const seenKeys = new Set<string>();
  let cachedCount = 0;
  const jobs = launchesByCase.flatMap((launches, caseIndex) => {
    // One case may launch a kernel twice.
    const byKey = new Map(launches.map((each) => [each.key, each]));
    const newLaunches = [...byKey.values()].filter(({ key }) => !seenKeys.has(key));
    for (const { key } of newLaunches) seenKeys.add(key);
    cachedCount += newLaunches.filter(({ cached }) => cached).length;
    const missing = newLaunches.filter(({ cached }) => !cached).map(({ key }) => key);
    return missing.length > 0 ? [{ place: caseIndex, missing }] : [];
  });
  if (jobs.length <= MIN_JOBS && compilers.startedCount === 0) return result(cachedCount, 0);
  let doneCount = 0;
  await compilers.forEach(jobs, async (process, { place: caseIndex, missing }) => {
    const reply = await process.request({ ...cases[caseIndex]!, type: "ahead", target }, COMPILE_DEADLINE_MS);
    if (reply.ok) compiledCounts[caseIndex] = missing.filter((key) => reply.result.keys.includes(key)).length;
    onDone?.(++doneCount, jobs.length);
  });
  return result(cachedCount, compilers.startedCount);
}
