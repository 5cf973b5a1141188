/**
 * The search for faster configs: prunes the declared space by rules, then verifies and measures candidates on a GPU.
 */
import fc from "fast-check";
import { type Case, type CompiledKernel, type Config, launchOptionNames } from "../../contract/compiled.js";
import { compileAhead } from "../compile/ahead.js";
import type { Iterations } from "./benchmark.js";
import { valuesOf } from "../cases/case-text.js";
import { askWorker } from "../verify/case-worker.js";
import type { PythonDevice } from "../devices/devices.js";
import { failureOf } from "../cases/failure.js";
import { UsageError } from "../system/problems.js";
import type { Timing } from "../python/protocol.js";
import type { Member } from "../python/worker-pool.js";
import { benchRequest, runRequest } from "../devices/request.js";
import { openWorkspace, type Workspace } from "../devices/workspace.js";
import { headline } from "../verify/summary.js";
import { ownConfigs } from "./own-configs.js";
import { identity, type Trial, TrialCache } from "./trial-cache.js";

/** How long to search. The author's own configs are measured in any case. */
export interface Budget {
  readonly seconds?: number;
  readonly configs?: number;
}

/** `60s`, `5m`, or a number of configs. */
export function parseBudget(text: string): Budget {
  const match = /^([1-9]\d*)(s|m|)$/.exec(text);
  if (!match) throw new UsageError(`--budget: ${text} is not a budget; write 60s, 5m, or a number of configs`);
  const count = Number(match[1]);
  if (match[2] === "") return { configs: count };
  return { seconds: match[2] === "m" ? 60 * count : count };
}

/** A config that was dropped before it ran, and why. */
export interface Pruned {
  readonly config: Config;
  readonly reason: string;
}

/** Every combination of the declared space; names that it lacks have their value of the first config. */
export function candidatesOf(kernel: CompiledKernel): readonly Config[] {
  const { signature, configs, tuning, parts } = kernel;
  const { name } = signature;
  if (parts)
    throw new UsageError(`${name} is an operator; tune its kernels instead: export them and choose one with --kernel`);
  if (!tuning) throw new UsageError(`${name} is not autotuned; give it autotune: { key, configs, space }`);
  if (!tuning.space)
    throw new UsageError(
      `${name} declares no search space; add one beside its configs, such as ${exampleSpace(configs[0]!)}`,
    );
  let points: Record<string, number | boolean | string>[] = [valuesOf(configs[0]!)];
  for (const [axis, values = []] of Object.entries(tuning.space))
    points = points.flatMap((point) => values.map((value) => ({ ...point, [axis]: value })));
  if (points.length > MANY_CANDIDATES)
    throw new UsageError(
      `the space of ${name} has ${points.length} configs; the most is ${MANY_CANDIDATES}, so declare fewer values`,
    );
  const own = ownConfigs(kernel);
  const known = new Set(own.map(identity));
  const made = points.map((point) => configOf(point)).filter((config) => !known.has(identity(config)));
  return [...own, ...made];
}
const MANY_CANDIDATES = 10_000;

/** `space: { BLOCK: [64, 128] }` */
function exampleSpace({ values }: Config): string {
  const [name, value] = Object.entries(values).find(([, each]) => typeof each === "number") ?? ["numWarps", 4];
  return `space: { ${name}: [${Number(value)}, ${2 * Number(value)}] }`;
}

function configOf(point: Record<string, number | boolean | string>): Config {
  const part = (wanted: boolean) =>
    Object.fromEntries(Object.entries(point).filter(([name]) => launchOptionNames.includes(name) === wanted));
  return { values: part(false), ...(part(true) as Omit<Config, "values">) };
}

/** Keeps the configs that the rules of tiles allow; Triton would refuse the others at any size. */
export function pruneByRules(
  { tuning }: CompiledKernel,
  candidates: readonly Config[],
): { readonly kept: readonly Config[]; readonly pruned: readonly Pruned[] } {
  const kept: Config[] = [];
  const pruned: Pruned[] = [];
  for (const config of candidates) {
    const reason = tuning?.unfit(config)?.replace(" in config 0", "");
    if (reason === undefined) kept.push(config);
    else pruned.push({ config, reason });
  }
  return { kept, pruned };
}

/** The configs of the kernel that its requirements refuse in every case, each with the reason. */
export function refusedEverywhere(kernel: CompiledKernel, cases: readonly Case[]): Map<number, string> {
  const found = new Map<number, string>();
  for (const config of kernel.configs.keys()) {
    const reasons = cases.map((at) => kernel.refusal({ ...at, config }));
    if (reasons.every((reason) => reason !== undefined)) found.set(config, `the kernel refuses it (${reasons[0]})`);
  }
  return found;
}

export interface Searched {
  /** By case, then by index of the config. */
  readonly trials: readonly ReadonlyMap<number, Trial>[];
  /** Indices of the configs that were tried. */
  readonly tried: readonly number[];
  readonly fromCache: number;
  readonly seconds: number;
}

export interface SearchOptions {
  readonly cases: readonly Case[];
  /** Configs to skip. */
  readonly skip: ReadonlySet<number>;
  /** The number of the author's configs, which come first. */
  readonly own: number;
  readonly budget: Budget;
  readonly seed: number;
  readonly env?: NodeJS.ProcessEnv;
  readonly onDone?: (tried: number) => void;
  /** Called after each kernel that was compiled ahead. */
  readonly onCompiled?: (done: number, planned: number) => void;
}

/** Fewer calls than a benchmark, because differences below the noise do not matter here. */
export const iterations: Iterations = { warmup: 5, iterations: 30 };
const DEADLINE_MS = 120_000;

/** How many configs are compiled ahead together. Nothing compiles during a measurement, which needs the CPU. */
const BATCH = 16;

/** Tries the author's configs, then the others in an order that depends on the seed, until the budget is spent. */
export async function search(
  kernel: CompiledKernel,
  device: PythonDevice,
  { cases, skip, own, budget, seed, env = process.env, onDone, onCompiled }: SearchOptions,
): Promise<Searched> {
  const started = performance.now();
  const trials = cases.map(() => new Map<number, Trial>());
  const tried: number[] = [];
  let [begun, done, fromCache] = [0, 0, 0];
  const isSpent = () =>
    device.host?.lost !== undefined ||
    (budget.configs !== undefined && begun >= budget.configs) ||
    (budget.seconds !== undefined && performance.now() - started > 1000 * budget.seconds);
  const cache = await TrialCache.open(kernel, device, cases, env);
  const searching = { kernel, device, cases, cache, workspace: await openWorkspace(kernel, device.host) };
  const order = orderOf(kernel.configs.length, own, seed).filter((config) => !skip.has(config));
  try {
    for (let place = 0; place < order.length; place += BATCH) {
      const batch = order.slice(place, place + BATCH);
      if (batch[0]! >= own && isSpent()) break;
      const most = Math.max(own, budget.configs ?? Infinity) - place;
      await compileBatch(searching, batch.slice(0, most), onCompiled);
      const found = await device.workers.each(batch, async (config, member) => {
        if (config >= own && isSpent()) return undefined;
        begun++;
        const results = await tryInCases(searching, config, member);
        onDone?.(++done);
        return results;
      });
      // In the order of the search, so that equal times have the same winner however many workers there are.
      for (const [i, config] of batch.entries()) {
        if (!found[i]) continue;
        for (const each of found[i]) trials[each.case]!.set(config, each.trial);
        fromCache += found[i].filter(({ isNew }) => !isNew).length;
        tried.push(config);
      }
    }
  } finally {
    await cache.saved;
    await searching.workspace.remove();
  }
  return { trials, tried, fromCache, seconds: Math.round(performance.now() - started) / 1000 };
}

/** What a search works on. */
interface Searching {
  readonly kernel: CompiledKernel;
  readonly device: PythonDevice;
  readonly cases: readonly Case[];
  readonly cache: TrialCache;
  readonly workspace: Workspace;
}

/** Compiles ahead what configs launch in the cases that nobody has measured yet. */
async function compileBatch(
  { kernel, device, cases, cache, workspace }: Searching,
  configs: readonly number[],
  onCompiled: SearchOptions["onCompiled"],
): Promise<void> {
  const untried = configs.flatMap((config) =>
    cases.filter((_, i) => !cache.known(i, config)).map((at): Case => ({ ...at, config })),
  );
  const launched = untried.filter((at) => kernel.refusal(at) === undefined);
  const requests = launched.map((at) => runRequest(kernel, workspace.module, at));
  await compileAhead(device, requests, onCompiled);
}

/** What became of a config in one case. */
interface Tried {
  readonly case: number;
  readonly trial: Trial;
  readonly isNew: boolean;
}

/** The author's configs in their order, then the others shuffled. */
export function orderOf(count: number, own: number, seed: number): readonly number[] {
  const all = Array.from({ length: count }, (_, i) => i);
  const others = fc.shuffledSubarray(all.slice(own), { minLength: count - own });
  return [...all.slice(0, own), ...fc.sample(others, { seed, numRuns: 1 })[0]!];
}

async function tryInCases(searching: Searching, config: number, member: Member): Promise<readonly Tried[]> {
  const { kernel, cases, cache } = searching;
  const found: Tried[] = [];
  for (const [i, given] of cases.entries()) {
    const at = { ...given, config };
    if (kernel.refusal(at) !== undefined) continue;
    const before = cache.known(i, config);
    const trial = before ?? (await tryConfig(searching, member, at));
    found.push({ case: i, trial, isNew: !before });
    // The failure may be temporary, such as too little free memory, so it is not cached.
    if (!before && !("failed" in trial)) cache.keep(i, config, trial);
    // A config that is wrong in one case is not tried in others.
    if (!("median" in trial)) break;
  }
  return found;
}

async function tryConfig(
  { kernel, device, workspace }: Searching,
  { worker, place }: Member,
  at: Case,
): Promise<Trial> {
  const planned = { at, label: "tuned", extra: false };
  const outcome = await askWorker(kernel, device, worker, workspace, planned, {
    passOut: false,
    tuned: false,
    tolerance: {},
  });
  if (outcome.failure) return { failed: headline(outcome) };
  if (outcome.status !== "passed" || outcome.by !== "python")
    return { wrong: outcome.status === "failed" ? headline(outcome) : outcome.unchecked.join("; ") };
  const request = benchRequest(kernel, workspace.module, at, { providers: [], ...iterations, on: device.kind });
  const reply = await worker.request(request, DEADLINE_MS);
  if (!reply.ok) return { failed: failureOf(kernel, reply.error).message };
  const on = reply.on ?? place;
  return { ...reply.result.times.kernel, ...(on !== undefined && { on }) };
}

/** The fastest config of each case, and the fastest of the author's configs. */
export interface Best {
  readonly at: Case;
  readonly config: number;
  readonly time: Timing;
  readonly own?: { readonly config: number; readonly time: Timing };
}

/**
 * Configs that are right in every case that they ran in; the fastest of them, a case each. `isOwn` says whether the
 * author's autotuner chooses from a config on this GPU.
 */
export function bestOf(
  { trials }: Searched,
  cases: readonly Case[],
  isOwn: (config: number) => boolean,
): readonly Best[] {
  const bad = new Set(
    trials.flatMap((each) => [...each].flatMap(([config, trial]) => ("median" in trial ? [] : config))),
  );
  return cases.flatMap((at, i): Best[] => {
    const times = [...trials[i]!].flatMap(([config, trial]) =>
      "median" in trial && !bad.has(config) ? [{ config, time: trial }] : [],
    );
    const fastest = (among: typeof times) =>
      among.reduce<(typeof times)[number] | undefined>(
        (best, each) => (best && best.time.median <= each.time.median ? best : each),
        undefined,
      );
    const best = fastest(times);
    const before = fastest(times.filter(({ config }) => isOwn(config)));
    return best ? [{ at, ...best, ...(before && { own: before }) }] : [];
  });
}

/** The configs to keep: each is the fastest in some case. */
export function winners(kernel: CompiledKernel, best: readonly Best[]): readonly Config[] {
  return [...new Set(best.map(({ config }) => config))].map((config) => kernel.configs[config]!);
}
