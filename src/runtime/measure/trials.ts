/**
 * Trials of candidates: each is compared with the reference and timed, or taken from the cache of an earlier search.
 */
import type { TestCase, CompiledKernel } from "../../compiled/compiled-kernel.js";
import { precompile } from "../target-compile/precompile.js";
import { failureOf } from "../cases/failure.js";
import { benchRequest, runRequest } from "../devices/request.js";
import type { Workspace } from "../devices/workspace.js";
import type { Timing } from "../worker/protocol.js";
import type { Member } from "../worker/worker-pool.js";
import { runInWorker } from "../verify/case-worker.js";
import { headline } from "../verify/summary.js";
import type { Iterations } from "./benchmark.js";
import { ofCase, type Trial, type TrialCache } from "./trial-cache.js";
import type { PythonDevice } from "../devices/device.js";

/** Fewer calls than a benchmark, because differences below the noise do not matter here. */
export const iterations: Iterations = { warmup: 5, iterations: 30 };
/** For the fastest few at the end of a search. */
const FINAL_ITERATIONS: Iterations = { warmup: 10, iterations: 100 };
const DEADLINE_MS = 120_000;

/** The context of a search. */
export interface SearchContext {
  readonly kernel: CompiledKernel;
  readonly device: PythonDevice;
  readonly cases: readonly TestCase[];
  readonly cache: TrialCache;
  readonly workspace: Workspace;
}

/** A case of the search, in a config. */
export function launchIn({ cases }: Pick<SearchContext, "cases">, caseIndex: number, config: number): TestCase {
  return { ...ofCase(cases, caseIndex), config };
}

/** Compiles in advance the kernels that configs launch in these cases, unless their trials are cached. */
export async function compileBatch(
  { kernel, device, cases, cache, workspace }: SearchContext,
  caseIndices: readonly number[],
  configs: readonly number[],
  onCompiled: ((done: number, planned: number) => void) | undefined,
): Promise<void> {
  const untried = configs.flatMap((config) =>
    caseIndices.filter((caseIndex) => !cache.get(caseIndex, config)).map((index) => launchIn({ cases }, index, config)),
  );
  const launches = untried.filter((testCase) => kernel.refusal(testCase) === undefined);
  const requests = launches.map((testCase) => runRequest(kernel, workspace.module, testCase));
  await precompile(device, requests, onCompiled);
}

/** The trial of a config in one case. */
export interface TrialResult {
  readonly caseIndex: number;
  readonly trial: Trial;
  readonly isNew: boolean;
}

/** Tries a config in every case, up to the first failure. */
export async function tryInCases(
  context: SearchContext,
  config: number,
  member: Member,
): Promise<readonly TrialResult[]> {
  const results: TrialResult[] = [];
  for (const caseIndex of context.cases.keys()) {
    const result = await tryInCase(context, caseIndex, config, member);
    if (result) results.push(result);
    // A config that is wrong in one case is not tried in others.
    if (result && !("median" in result.trial)) break;
  }
  return results;
}

/** Tries a config in one case. Undefined if the kernel rejects the config there. */
export async function tryInCase(
  context: SearchContext,
  caseIndex: number,
  config: number,
  member: Member,
): Promise<TrialResult | undefined> {
  const { kernel, cache } = context;
  const testCase = launchIn(context, caseIndex, config);
  if (kernel.refusal(testCase) !== undefined) return undefined;
  const cached = cache.get(caseIndex, config);
  const trial = cached ?? (await tryConfig(context, member, testCase));
  // A failure may be temporary, such as insufficient free memory, so it is not cached.
  if (!cached && !("failed" in trial)) cache.set(caseIndex, config, trial);
  return { caseIndex, trial, isNew: !cached };
}

/** Times a verified config with more calls. Undefined if it fails now. */
export async function timeAgain(
  context: SearchContext,
  caseIndex: number,
  config: number,
  member: Member,
): Promise<Timing | undefined> {
  const testCase = launchIn(context, caseIndex, config);
  const timing = await timeConfig(context, member, testCase, FINAL_ITERATIONS);
  if (!("median" in timing)) return undefined;
  context.cache.set(caseIndex, config, timing);
  return timing;
}

async function tryConfig(context: SearchContext, member: Member, testCase: TestCase): Promise<Trial> {
  const { kernel, device, workspace } = context;
  const planned = { testCase, label: "tuned", isExtra: false };
  const outcome = await runInWorker(kernel, device, member.worker, workspace, planned, {
    passOut: false,
    isAutotuned: false,
    tolerance: {},
  });
  if (outcome.failure) return { failed: headline(outcome) };
  if (outcome.status !== "passed" || outcome.by !== "python")
    return { wrong: outcome.status === "failed" ? headline(outcome) : outcome.unchecked.join("; ") };
  return timeConfig(context, member, testCase, iterations);
}

async function timeConfig(
  { kernel, device, workspace }: SearchContext,
  { worker, deviceName: location }: Member,
  testCase: TestCase,
  calls: Iterations,
): Promise<Timing | { readonly failed: string }> {
  const request = benchRequest(kernel, workspace.module, testCase, { providers: [], ...calls, mode: device.kind });
  const reply = await worker.request(request, DEADLINE_MS);
  if (!reply.ok) return { failed: failureOf(kernel, reply.error).message };
  const gpuName = reply.on ?? location;
  return { ...reply.result.times.kernel, ...(gpuName !== undefined && { on: gpuName }) };
}
