/**
 * Compiles ahead what cases will launch on a GPU. All processes share Triton's cache on disk, so several of them
 * compile at once, and the device's own process finds everything there. They need no GPU, only its name.
 */
import type { TestCase, CompiledKernel } from "../../compiled/compiled-kernel.js";
import { configsFor } from "../../compiled/configs-by-gpu.js";
import type { WorkerPool } from "../worker/worker-pool.js";
import type { PythonDevice } from "../devices/devices.js";
import type { HelloResult, LaunchesResult, RunRequest } from "../worker/protocol.js";

export interface PrecompileProgress {
  /** How many kernels were compiled for each case, without those of earlier cases. */
  readonly compiled: readonly number[];
  /** How many kernels were in Triton's cache. */
  readonly known: number;
  readonly processes: number;
  readonly seconds: number;
}

const LOOKUP_DEADLINE_MS = 120_000;
/** Triton takes seconds for one kernel; after this time it is taken to hang. */
export const COMPILE_DEADLINE_MS = 300_000;

/**
 * Up to this many kernels are left to the device's own process: it compiles them in the time that others need to start.
 */
const FEW = 2;

/** The progress of compiling, in one line. */
export function aheadText({ signature }: CompiledKernel, done: number, planned: number): string {
  return `${signature.name}: compiled ${done} of ${planned}`;
}

/** What each case would launch; each worker looks up a part of them. Undefined if one fails. */
async function launchesOf(
  workers: Pick<WorkerPool, "size" | "request">,
  cases: readonly RunRequest[],
): Promise<LaunchesResult["launches"] | undefined> {
  const most = Math.ceil(cases.length / workers.size);
  const parts = Array.from({ length: workers.size }, (_, i) => cases.slice(i * most, (i + 1) * most));
  const replies = await Promise.all(
    parts.map((part) => workers.request({ type: "launches", cases: part }, LOOKUP_DEADLINE_MS)),
  );
  return replies.every((reply) => reply.ok) ? replies.flatMap(({ result }) => result.launches) : undefined;
}

/** The case in every config that accepts it: what the autotuner tries. */
export function inEveryConfig(kernel: CompiledKernel, at: TestCase, on: HelloResult["target"]): readonly TestCase[] {
  const cases = configsFor(kernel.configs, on).map((config) => ({ ...at, config }));
  return cases.filter((each) => kernel.refusal(each) === undefined);
}

/**
 * Compiles into Triton's cache what the cases lack. A failure is not an error here: the case reports it when it runs.
 */
export async function precompile(
  { workers, compilers, hello: { target } }: Pick<PythonDevice, "workers" | "compilers" | "hello">,
  cases: readonly RunRequest[],
  onDone?: (done: number, planned: number) => void,
): Promise<PrecompileProgress> {
  const started = performance.now();
  const compiled = cases.map(() => 0);
  const result = (known: number, processes: number): PrecompileProgress => ({
    compiled,
    known,
    processes,
    seconds: Math.round(performance.now() - started) / 1000,
  });
  if (!compilers || !target || cases.length === 0) return result(0, 0);
  const found = await launchesOf(workers, cases);
  if (!found) return result(0, 0);
  const seen = new Set<string>();
  let known = 0;
  const jobs = found.flatMap((launches, place) => {
    // A kernel may be launched twice for one case.
    const distinct = new Map(launches.map((each) => [each.key, each]));
    const fresh = [...distinct.values()].filter(({ key }) => !seen.has(key));
    for (const { key } of fresh) seen.add(key);
    known += fresh.filter(({ cached }) => cached).length;
    const missing = fresh.filter(({ cached }) => !cached).map(({ key }) => key);
    return missing.length > 0 ? [{ place, missing }] : [];
  });
  if (jobs.length <= FEW && compilers.started === 0) return result(known, 0);
  let done = 0;
  await compilers.each(jobs, async (process, { place, missing }) => {
    const made = await process.request({ ...cases[place]!, type: "ahead", target }, COMPILE_DEADLINE_MS);
    if (made.ok) compiled[place] = missing.filter((key) => made.result.keys.includes(key)).length;
    onDone?.(++done, jobs.length);
  });
  return result(known, compilers.started);
}
