import { Option } from "commander";
import pc from "picocolors";
import type { TestCase, CompiledKernel, Config, FoundConfigs } from "../../compiled/compiled-kernel.js";
import { aheadText } from "../target-compile/precompile.js";
import { compileForTargets } from "../target-compile/targets.js";
import { closeDevice, type PythonDevice } from "../devices/devices.js";
import type { Machine } from "../devices/machine.js";
import { checkOutput, writeOutput } from "../system/files.js";
import { warn } from "../invocation/kernels.js";
import type { Selection } from "../cases/selection.js";
import { measuredCases } from "../cases/measured-cases.js";
import { measuring, measuringOptions, options, deviceOf, type MeasuringOptions } from "../invocation/options.js";
import { exitCodes, UsageError } from "../system/errors.js";
import { problemsOf } from "../target-compile/diagnostics.js";
import { appendRecords, checkRecords, contextOf, moduleHash } from "../report/records.js";
import { type Facts, type Found, tunedCases, tuneJson, tuneText } from "../report/tune-report.js";
import { rewriteConfigs } from "../invocation/rewrite.js";
import { printJson, progress, type Streams } from "../system/streams.js";
import { parseTargets, type Target } from "../system/gpu-targets.js";
import {
  candidatesOf,
  checkTunable,
  type Pruned,
  pruneByRules,
  refusedEverywhere,
  spaceOf,
} from "../measure/candidates.js";
import { limitsOf } from "../measure/roofline.js";
import { roundsBudget, searchInRounds } from "../measure/staged-search.js";
import { rankCandidates, type Shortlisted, tryingOrder } from "../measure/shortlist.js";
import { bestOf, parseBudget, search, fastestConfigs, type Budget } from "../measure/tuner.js";
import { chosenFrom, ownConfigs, mergeConfigs } from "../measure/own-configs.js";
import type { KernelCommand, Runnable } from "../invocation/command.js";

interface TuneOptions extends MeasuringOptions {
  readonly budget?: Budget;
  readonly space?: readonly string[];
  readonly dryRun?: true;
  readonly targets?: readonly Target[];
  readonly write?: true;
  readonly bake?: string;
}

export const tune: KernelCommand<TuneOptions> = {
  name: "tune",
  description: "search for faster configs; each is verified and measured on a GPU",
  options: [
    ...measuringOptions,
    new Option(
      "--budget <amount>",
      "when to stop: after a time (60s, 5m), a number of configs, or all of them (all); by default 2m for a declared space, else 60 configs and 60s for each case",
    ).argParser(parseBudget),
    new Option("--targets <list>", "first drop configs that do not compile for these GPUs, such as cuda:90").argParser(
      parseTargets,
    ),
    new Option("--space <values...>", "what to try in place of the spec's space, such as BLOCK=64,128 numWarps=4,8"),
    new Option("--dry-run", "only list the configs that would be tried; needs no GPU"),
    new Option("--write", "write the configs found into the kernel's file"),
    options.results,
    new Option("--bake <path>", "write the Python module with the configs found"),
    options.json,
    options.verbose,
  ],
  checkOptions({ dryRun, write, bake }) {
    if (dryRun && (write || bake !== undefined))
      throw new UsageError("--dry-run has no configs to write; leave out --write and --bake");
  },
  async plan(kernels, given, streams) {
    const [runnable, other] = kernels;
    if (!runnable || other)
      throw new UsageError(
        `tune works on one kernel at a time; choose it with --kernel ${kernels.map(({ name }) => name).join(", ")}`,
      );
    const prepared = await prepare(runnable, given, streams);
    if (given.bake !== undefined) await checkOutput(given.bake);
    if (given.results !== undefined) await checkRecords(given.results, [prepared.source.signature.name]);
    return (machine) => tuneOn(machine, prepared, given, streams);
  },
};

async function tuneOn(machine: Machine, prepared: Prepared, given: TuneOptions, streams: Streams): Promise<number> {
  if (given.dryRun) {
    const [target] = given.targets ?? [];
    const plan = await prepared.plan({ lanes: target?.triton[2] ?? NVIDIA_LANES });
    const left = await withoutMisfits(plan, machine, given, streams);
    print([{ ...left, configs: left.kernel.configs.filter((_, i) => !left.skip.has(i)) }], given, streams);
    return exitCodes.ok;
  }
  const instead = "`--dry-run` prunes, with `--targets cuda:90` by compiling too,";
  const devices = await machine.gpus({ what: "tuning", instead }, deviceOf(given, streams));
  try {
    const found: Tuned[] = [];
    for (const device of devices) {
      const gpu = { limits: limitsOf(device.hello), lanes: device.hello.target?.[2] ?? NVIDIA_LANES };
      const plan = await withoutMisfits(await prepared.plan(gpu), machine, given, streams);
      found.push({ ...(await searchOn(device, plan, given, streams)), device });
    }
    const written = await write(prepared, found, given).catch((error: unknown) => {
      // The search took minutes: print its result even if the file can't be written.
      print(found, given, streams);
      throw error;
    });
    const all = found.map((each) => ({ ...each, ...written }));
    return print(all, given, streams) ? exitCodes.ok : exitCodes.failed;
  } finally {
    await Promise.all(devices.map(closeDevice));
  }
}
const NVIDIA_LANES = 32;

/** Prints what was found on each kind of GPU, and says whether something was on all. */
function print(found: readonly (Found & Pick<Plan, "facts">)[], { json }: TuneOptions, streams: Streams): boolean {
  const reports = found.map((each) => tuneJson(each.facts, each));
  const ok = reports.every((report) => report.ok);
  const [report] = reports;
  if (json) printJson(streams, report && reports.length === 1 ? report : { ok, kinds: reports });
  else for (const each of reports) streams.out(`${tuneText(each, pc.createColors(streams.color))}\n`);
  return ok;
}

/** A kernel to tune. */
interface Prepared {
  readonly runnable: Runnable;
  /** The author's kernel, with its own configs. */
  readonly source: CompiledKernel;
  /** What to try on a GPU; in a dry run, of a derived space what a search begins with. */
  plan(gpu: Shortlisted): Promise<Plan>;
}

/** What is tried. */
interface Plan {
  readonly name: string;
  readonly source: CompiledKernel;
  /** The kernel with the candidates that the rules leave as its configs. */
  readonly kernel: CompiledKernel;
  readonly cases: readonly TestCase[];
  readonly selection: Selection;
  /** Configs of `kernel` that run at none of the cases, each with the reason. */
  readonly skip: ReadonlyMap<number, string>;
  readonly facts: Facts;
  /** The GPU that the space was derived for; undefined where the author declares one. */
  readonly derivedFor?: Shortlisted;
}

async function prepare(runnable: Runnable, given: TuneOptions, streams: Streams): Promise<Prepared> {
  const source = await runnable.compile();
  warn([source], streams);
  checkTunable(source);
  const asked = measuring(source, given);
  const space = given.space ? spaceOf(source, given.space) : source.tuning?.space;
  if (!space && given.targets && !given.dryRun)
    throw new UsageError(
      "--targets compiles every candidate, of which there are thousands where no space is declared; add --space, or --dry-run",
    );
  const { cases } = measuredCases(source, asked);
  const planned = async (kept: readonly Config[], pruned: readonly Pruned[], derivedFor?: Shortlisted) => {
    // The author's configs were checked by the build.
    const kernel = await runnable.compile(kept);
    const all = space ? measuredCases(kernel, asked).cases : cases;
    const plan = {
      name: runnable.name,
      source,
      kernel,
      cases: all,
      selection: asked.selection,
      skip: new Map<number, string>(),
      facts: { kernel, candidates: kept.length + pruned.length, pruned },
      ...(derivedFor && { derivedFor }),
    };
    return without(plan, refusedEverywhere(kernel, all));
  };
  if (!space)
    return {
      runnable,
      source,
      plan: async (gpu) => {
        const { kept, pruned } = rankCandidates(source, cases, gpu);
        const plan = await planned(kept, pruned, gpu);
        if (!given.dryRun) return plan;
        const first = firstOf(plan, gpu);
        const later = kept.filter((_, i) => !first.has(i) && !plan.skip.has(i));
        const dropped = [...plan.facts.pruned, ...later.map((config) => ({ config, reason: LATER }))];
        return planned(
          [...first].map((config) => kept[config]!),
          dropped,
          gpu,
        );
      },
    };
  const byRules = pruneByRules(source, candidatesOf(source, space));
  const plan = await planned(byRules.kept, byRules.pruned);
  return { runnable, source, plan: () => Promise.resolve(plan) };
}

/** Of a derived space, what a search would begin with in some case; what comes next depends on the times. */
function firstOf({ kernel, cases, skip, source }: Plan, gpu: Shortlisted): ReadonlySet<number> {
  const own = ownConfigs(source).length;
  const orders = cases.map((at) => tryingOrder(kernel, at, { own, skip: new Set(skip.keys()), gpu }));
  return new Set(orders.flatMap((order) => order.slice(0, roundsBudget.configs)));
}
const LATER = "tried only next to what proves fast";

/** The plan without further configs, each with the reason. */
function without(plan: Plan, more: ReadonlyMap<number, string>): Plan {
  const pruned = [...more].map(([config, reason]): Pruned => ({ config: plan.kernel.configs[config]!, reason }));
  return {
    ...plan,
    skip: new Map([...plan.skip, ...more]),
    facts: { ...plan.facts, pruned: [...plan.facts.pruned, ...pruned] },
  };
}

const DECLARED: Budget = { seconds: 120 };

async function searchOn(
  device: PythonDevice,
  plan: Plan,
  { budget, seed, results }: TuneOptions,
  streams: Streams,
): Promise<Omit<Tuned, "device">> {
  const { name, source, kernel, cases, skip, derivedFor: gpu } = plan;
  const own = ownConfigs(source).length;
  const show = progress(streams);
  try {
    const options = {
      cases,
      skip: new Set(skip.keys()),
      own,
      onCompiled: (done: number, planned: number) => show(aheadText(kernel, done, planned)),
      onDone: (tried: number) => show(`${name}: ${tried} of at most ${kernel.configs.length - skip.size} configs`),
    };
    const inRounds = gpu && !budget?.all;
    const searched = inRounds
      ? await searchInRounds(kernel, device, { ...options, gpu, budget: budget ?? roundsBudget })
      : { ...(await search(kernel, device, { ...options, seed, budget: budget ?? DECLARED })), misfits: undefined };
    const { facts } = searched.misfits ? without(plan, searched.misfits) : plan;
    const isOwn = chosenFrom(source, device.hello.target);
    const best = bestOf(searched, cases, (config) => isOwn(kernel.configs[config]!));
    if (results !== undefined) {
      const measured = {
        kernel: kernel.signature.name,
        module: moduleHash(source.python),
        cases: tunedCases(facts, best),
      };
      for (const file of await appendRecords(results, contextOf("tune", device), [measured]))
        streams.err(`wrote ${file}\n`);
    }
    return { facts, searched, best, configs: fastestConfigs(kernel, best) };
  } finally {
    show("");
  }
}

/** The plan without candidates that do not compile for a target, or that it has no room for. */
async function withoutMisfits(plan: Plan, machine: Machine, given: TuneOptions, streams: Streams): Promise<Plan> {
  const { targets } = given;
  if (!targets) return plan;
  const { kernel, selection } = plan;
  const show = progress(streams);
  const [found] = await compileForTargets([kernel], {
    service: await machine.compilers(deviceOf(given, streams)),
    targets,
    selections: [selection],
    onDone: (done, planned) => show(`compiled ${done} of ${planned}`),
  });
  show("");
  const reasons = new Map<number, string>();
  for (const compilation of found!.compilations) {
    const error = problemsOf(compilation, undefined).find(({ severity }) => severity === "error");
    if (error && !plan.skip.has(compilation.at.config))
      reasons.set(compilation.at.config, `${compilation.target.name}: ${error.what}`);
  }
  return without(plan, reasons);
}

/** What was found on one kind of GPU. */
type Tuned = Pick<Found, "configs" | "searched" | "best"> & Pick<Plan, "facts"> & { readonly device: PythonDevice };

interface Written {
  readonly written?: string;
  readonly baked?: string;
}

async function write(
  { runnable, source }: Prepared,
  found: readonly Tuned[],
  { write: intoSource, bake }: TuneOptions,
): Promise<Written> {
  const onEach = found.flatMap(({ configs, device: { hello } }): FoundConfigs[] =>
    configs.length === 0 ? [] : [{ configs, kind: hello.deviceName, architecture: hello.target }],
  );
  if (onEach.length === 0) return {};
  if (bake !== undefined) await writeOutput(bake, (await runnable.compile(mergeConfigs(source, onEach))).python);
  const written = intoSource ? await rewriteConfigs(source, onEach) : undefined;
  return { ...(written !== undefined && { written }), ...(bake !== undefined && { baked: bake }) };
}
