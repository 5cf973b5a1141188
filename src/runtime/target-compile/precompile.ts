/**
 * Compiles in advance the kernels that cases will launch on a GPU. All processes share Triton's cache on disk, so
 * several compile in parallel and the device's process finds the results. They need no GPU, only its name.
 */
import type { TestCase, CompiledKernel } from "../../compiled/compiled-kernel.js";
import { configsFor } from "../../compiled/gpus.js";
import type { WorkerPool } from "../worker/worker.js";
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

/** Kernels that are being compiled for cases. */
export interface Precompilation {
  /** Resolves when the kernels of this case are compiled. */
  ready(caseIndex: number): Promise<void>;
  readonly finished: Promise<PrecompileProgress>;
  /** Starts no further kernel. */
  stop(): void;
}

interface Job {
  readonly caseIndex: number;
  readonly missing: readonly string[];
  readonly done: Promise<void>;
  readonly finish: () => void;
}

interface CompilePlan {
  readonly jobs: readonly Job[];
  /** The jobs that compile what each case launches. */
  readonly jobsByCase: readonly (readonly Job[])[];
  readonly cachedCount: number;
}

/** Each kernel that is missing from Triton's cache is compiled for the first case that launches it. */
function planJobs(launchesByCase: LaunchesResult["launches"]): CompilePlan {
  const jobByKey = new Map<string, Job | undefined>();
  let cachedCount = 0;
  const jobs: Job[] = [];
  const jobsByCase = launchesByCase.map((launches, caseIndex) => {
    // One case may launch a kernel twice.
    const byKey = new Map(launches.map((each) => [each.key, each]));
    const newLaunches = [...byKey.values()].filter(({ key }) => !jobByKey.has(key));
    cachedCount += newLaunches.filter(({ cached }) => cached).length;
    const missing = newLaunches.filter(({ cached }) => !cached).map(({ key }) => key);
    const job = missing.length > 0 ? newJob(caseIndex, missing) : undefined;
    if (job) jobs.push(job);
    for (const { key, cached } of newLaunches) jobByKey.set(key, cached ? undefined : job);
    return [...new Set([...byKey.keys()].flatMap((key) => jobByKey.get(key) ?? []))];
  });
  return { jobs, jobsByCase, cachedCount };
}

function newJob(caseIndex: number, missing: readonly string[]): Job {
  let finish = (): void => undefined;
  const done = new Promise<void>((resolve) => (finish = resolve));
  return { caseIndex, missing, done, finish };
}

/**
 * Compiles the kernels that are missing from Triton's cache. A failure is not an error here: the case reports it later.
 */
export async function precompile(
  device: Pick<PythonDevice, "workers" | "compilers" | "hello">,
  cases: readonly RunRequest[],
  onDone?: (done: number, planned: number) => void,
): Promise<PrecompileProgress> {
  return startPrecompile(device, cases, onDone).finished;
}

/** Like {@link precompile}, but a case can run as soon as its own kernels are compiled. */
export function startPrecompile(
  { workers, compilers, hello: { target } }: Pick<PythonDevice, "workers" | "compilers" | "hello">,
  cases: readonly RunRequest[],
  onDone?: (done: number, planned: number) => void,
): Precompilation {
  const start = performance.now();
  const compiledCounts = cases.map(() => 0);
  let isStopped = false;
  const result = (cachedCount: number, processes: number): PrecompileProgress => ({
    compiled: compiledCounts,
    cachedCount,
    processes,
    seconds: Math.round(performance.now() - start) / 1000,
  });
  const plan = (async () => {
    const launches = compilers && target && cases.length > 0 ? await launchesOf(workers, cases) : undefined;
    return launches && planJobs(launches);
  })();
  const finished = (async () => {
    const planned = await plan;
    if (!planned || !compilers || !target) return result(0, 0);
    const { jobs, cachedCount } = planned;
    if (jobs.length <= MIN_JOBS && compilers.startedCount === 0) {
      for (const { finish } of jobs) finish();
      return result(cachedCount, 0);
    }
    let doneCount = 0;
    await compilers.forEach(jobs, async (process, { caseIndex, missing, finish }) => {
      const request = { ...cases[caseIndex]!, type: "ahead", target } as const;
      const reply = isStopped ? undefined : await process.request(request, COMPILE_DEADLINE_MS);
      if (reply?.ok) compiledCounts[caseIndex] = missing.filter((key) => reply.result.keys.includes(key)).length;
      finish();
      if (reply) onDone?.(++doneCount, jobs.length);
    });
    return result(cachedCount, compilers.startedCount);
  })();
  return {
    ready: async (caseIndex) => {
      const planned = await plan;
      await Promise.all(planned?.jobsByCase[caseIndex]?.map(({ done }) => done) ?? []);
    },
    finished,
    stop: () => (isStopped = true),
  };
}
