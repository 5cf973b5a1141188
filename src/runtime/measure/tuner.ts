/** Searches a declared space: verifies and measures its candidates on a GPU until the budget is spent. */
import fc from "fast-check";
import type { TestCase, CompiledKernel, Config } from "../../compiled/compiled-kernel.js";
import { configAt } from "../cases/cases.js";
import type { Timing } from "../worker/protocol.js";
import { type Trial, TrialCache, ofCase } from "./candidates.js";
import { type PythonDevice, openWorkspace, type Workspace } from "../devices/device.js";
import { precompile } from "../target-compile/precompile.js";
import { failureOf } from "../cases/outcome.js";
import { benchRequest, runRequest } from "../devices/request.js";
import type { Member } from "../worker/worker.js";
import { runInWorker } from "../verify/case-steps.js";
import { headline } from "../verify/plan-cases.js";
import type { Iterations } from "./benchmark.js";
import { UsageError } from "../system/errors.js";

export interface SearchResult {
  /** Indexed by case, then by config. */
  readonly trials: readonly ReadonlyMap<number, Trial>[];
  /** Indices of the configs that were tried. */
  readonly tried: readonly number[];
  readonly fromCache: number;
  readonly seconds: number;
}

export interface SearchOptions {
  readonly cases: readonly TestCase[];
  /** Configs to skip. */
  readonly skip: ReadonlySet<number>;
  /** The number of declared configs, which come first. */
  readonly declaredCount: number;
  readonly budget: Budget;
  readonly seed: number;
  readonly env?: NodeJS.ProcessEnv;
  readonly onDone?: (trialCount: number) => void;
  /** Called after each kernel that was compiled in advance. */
  readonly onCompiled?: (done: number, planned: number) => void;
}

/** The number of configs compiled together in advance. Nothing compiles during a measurement, which needs the CPU. */
const BATCH_SIZE = 16;

/** Tries the declared configs, then the others in an order that depends on the seed, until the budget is spent. */
export async function search(
  kernel: CompiledKernel,
  device: PythonDevice,
  { cases, skip, declaredCount, budget, seed, env = process.env, onDone, onCompiled }: SearchOptions,
): Promise<SearchResult> {
  const start = performance.now();
  const trials = cases.map(() => new Map<number, Trial>());
  const triedIndices: number[] = [];
  let [startedCount, doneCount, fromCache] = [0, 0, 0];
  const isSpent = () =>
    device.host?.lossReason !== undefined ||
    (budget.count !== undefined && startedCount >= budget.count) ||
    (budget.seconds !== undefined && performance.now() - start > 1000 * budget.seconds);
  const cache = await TrialCache.open(kernel, device, cases, env);
  const context = { kernel, device, cases, cache, workspace: await openWorkspace(kernel, device.host) };
  const order = orderOf(kernel.configs.length, declaredCount, seed).filter((config) => !skip.has(config));
  try {
    for (let start = 0; start < order.length; start += BATCH_SIZE) {
      const batch = order.slice(start, start + BATCH_SIZE);
      if (batch.every((config) => config >= declaredCount) && isSpent()) break;
      const limit = Math.max(declaredCount, budget.count ?? Infinity) - start;
      await compileBatch(context, [...cases.keys()], batch.slice(0, limit), onCompiled);
      const results = await device.workers.map(batch, async (config, member) => {
        if (config >= declaredCount && isSpent()) return undefined;
        startedCount++;
        const results = await tryInCases(context, config, member);
        onDone?.(++doneCount);
        return results;
      });
      // Stores results in search order, so that ties do not depend on the number of workers.
      for (const [i, config] of batch.entries()) {
        if (!results[i]) continue;
        for (const result of results[i]) trials[result.caseIndex]!.set(config, result.trial);
        fromCache += results[i].filter(({ isNew }) => !isNew).length;
        triedIndices.push(config);
      }
    }
  } finally {
    await cache.saved;
    await context.workspace.remove();
  }
  return { trials, tried: triedIndices, fromCache, seconds: Math.round(performance.now() - start) / 1000 };
}

/** The declared configs in order, then the others shuffled. */
export function orderOf(count: number, declaredCount: number, seed: number): readonly number[] {
  const indices = Array.from({ length: count }, (_, i) => i);
  const others = fc.shuffledSubarray(indices.slice(declaredCount), { minLength: count - declaredCount });
  return [...indices.slice(0, declaredCount), ...fc.sample(others, { seed, numRuns: 1 }).flat()];
}

/** The fastest config of a case, and the fastest of the declared configs. */
export interface Best {
  readonly testCase: TestCase;
  readonly config: number;
  readonly time: Timing;
  readonly declared?: { readonly config: number; readonly time: Timing };
}

/**
 * The fastest config of each case, among those that are correct in every case that they ran in. `isOwn` is true if the
 * author's autotuner tries the config on this GPU.
 */
export function bestOf(
  { trials }: SearchResult,
  cases: readonly TestCase[],
  isDeclared: (config: number) => boolean,
): readonly Best[] {
  const incorrect = new Set(
    trials.flatMap((caseTrials) => [...caseTrials].flatMap(([config, trial]) => ("median" in trial ? [] : config))),
  );
  return cases.flatMap((testCase, i): Best[] => {
    const times = [...trials[i]!].flatMap(([config, trial]) =>
      "median" in trial && !incorrect.has(config) ? [{ config, time: trial }] : [],
    );
    const fastest = (candidates: typeof times) =>
      candidates.reduce<(typeof times)[number] | undefined>(
        (best, candidate) => (best && best.time.median <= candidate.time.median ? best : candidate),
        undefined,
      );
    const best = fastest(times);
    const bestDeclared = fastest(times.filter(({ config }) => isDeclared(config)));
    return best ? [{ testCase, ...best, ...(bestDeclared && { declared: bestDeclared }) }] : [];
  });
}

/** The configs to keep: each is the fastest in some case. */
export function fastestConfigs(kernel: CompiledKernel, best: readonly Best[]): readonly Config[] {
  return [...new Set(best.map(({ config }) => config))].map((config) => configAt(kernel, config));
}

// Trials of candidates: each is compared with the reference and timed, or taken from the cache of an earlier search.

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
interface TrialResult {
  readonly caseIndex: number;
  readonly trial: Trial;
  readonly isNew: boolean;
}

/** Tries a config in every case, up to the first failure. */
async function tryInCases(context: SearchContext, config: number, member: Member): Promise<readonly TrialResult[]> {
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

// `--budget`: when a search or a verification stops.

/** `all` has no limit. */
export interface Budget {
  readonly seconds?: number;
  /** A number without a unit: configs of a search, seconds of a verification. */
  readonly count?: number;
  readonly all?: true;
}

/** Parses `60s`, `5m`, a number, or `all`. */
export function parseBudget(text: string): Budget {
  if (text === "all") return { all: true };
  const match = /^([1-9]\d*)(s|m|)$/.exec(text);
  if (!match) throw new UsageError(`--budget: ${text} is not a budget; write 60s, 5m, a number, or all`);
  const count = Number(match[1]);
  if (match[2] === "") return { count };
  return { seconds: match[2] === "m" ? 60 * count : count };
}
