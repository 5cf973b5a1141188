/** Trials of candidates: each is compared with the reference, then timed, or remembered from an earlier search. */
import type { TestCase, CompiledKernel } from "../../compiled/compiled-kernel.js";
import { precompile } from "../target-compile/precompile.js";
import { failureOf } from "../cases/failure.js";
import type { PythonDevice } from "../devices/devices.js";
import { benchRequest, runRequest } from "../devices/request.js";
import type { Workspace } from "../devices/workspace.js";
import type { Timing } from "../worker/protocol.js";
import type { Member } from "../worker/worker-pool.js";
import { runInWorker } from "../verify/case-worker.js";
import { headline } from "../verify/summary.js";
import type { Iterations } from "./benchmark.js";
import type { Trial, TrialCache } from "./trial-cache.js";

/** Fewer calls than a benchmark, because differences below the noise do not matter here. */
export const iterations: Iterations = { warmup: 5, iterations: 30 };
/** Of the few fastest, at the end of a search. */
const finals: Iterations = { warmup: 10, iterations: 100 };
const DEADLINE_MS = 120_000;

/** What a search works on. */
export interface Searching {
  readonly kernel: CompiledKernel;
  readonly device: PythonDevice;
  readonly cases: readonly TestCase[];
  readonly cache: TrialCache;
  readonly workspace: Workspace;
}

/** Compiles ahead what configs launch in some of the cases, unless that has been measured before. */
export async function compileBatch(
  { kernel, device, cases, cache, workspace }: Searching,
  places: readonly number[],
  configs: readonly number[],
  onCompiled: ((done: number, planned: number) => void) | undefined,
): Promise<void> {
  const untried = configs.flatMap((config) =>
    places.filter((place) => !cache.known(place, config)).map((place): TestCase => ({ ...cases[place]!, config })),
  );
  const launched = untried.filter((at) => kernel.refusal(at) === undefined);
  const requests = launched.map((at) => runRequest(kernel, workspace.module, at));
  await precompile(device, requests, onCompiled);
}

/** What became of a config in one case. */
export interface TrialResult {
  readonly case: number;
  readonly trial: Trial;
  readonly isNew: boolean;
}

/** The trials of a config in every case, up to the first in which it is wrong. */
export async function tryInCases(
  searching: Searching,
  config: number,
  member: Member,
): Promise<readonly TrialResult[]> {
  const found: TrialResult[] = [];
  for (const place of searching.cases.keys()) {
    const tried = await tryInCase(searching, place, config, member);
    if (tried) found.push(tried);
    // A config that is wrong in one case is not tried in others.
    if (tried && !("median" in tried.trial)) break;
  }
  return found;
}

/** The trial of a config in one case; undefined where the kernel refuses it. */
export async function tryInCase(
  searching: Searching,
  place: number,
  config: number,
  member: Member,
): Promise<TrialResult | undefined> {
  const { kernel, cases, cache } = searching;
  const at = { ...cases[place]!, config };
  if (kernel.refusal(at) !== undefined) return undefined;
  const before = cache.known(place, config);
  const trial = before ?? (await tryConfig(searching, member, at));
  // The failure may be temporary, such as too little free memory, so it is not cached.
  if (!before && !("failed" in trial)) cache.keep(place, config, trial);
  return { case: place, trial, isNew: !before };
}

/** The time of a config that a trial has shown to be right, from more calls; undefined if it fails now. */
export async function timeAgain(
  searching: Searching,
  place: number,
  config: number,
  member: Member,
): Promise<Timing | undefined> {
  const at = { ...searching.cases[place]!, config };
  const timed = await time(searching, member, at, finals);
  if (!("median" in timed)) return undefined;
  searching.cache.keep(place, config, timed);
  return timed;
}

async function tryConfig(searching: Searching, member: Member, at: TestCase): Promise<Trial> {
  const { kernel, device, workspace } = searching;
  const planned = { at, label: "tuned", extra: false };
  const outcome = await runInWorker(kernel, device, member.worker, workspace, planned, {
    passOut: false,
    tuned: false,
    tolerance: {},
  });
  if (outcome.failure) return { failed: headline(outcome) };
  if (outcome.status !== "passed" || outcome.by !== "python")
    return { wrong: outcome.status === "failed" ? headline(outcome) : outcome.unchecked.join("; ") };
  return time(searching, member, at, iterations);
}

async function time(
  { kernel, device, workspace }: Searching,
  { worker, place }: Member,
  at: TestCase,
  calls: Iterations,
): Promise<Timing | { readonly failed: string }> {
  const request = benchRequest(kernel, workspace.module, at, { providers: [], ...calls, on: device.kind });
  const reply = await worker.request(request, DEADLINE_MS);
  if (!reply.ok) return { failed: failureOf(kernel, reply.error).message };
  const on = reply.on ?? place;
  return { ...reply.result.times.kernel, ...(on !== undefined && { on }) };
}
