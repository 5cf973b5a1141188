import { Option } from "commander";
import pc from "picocolors";
import type { TestCase, CompiledKernel, Config, FoundConfigs } from "../../compiled/compiled-kernel.js";
import { formatProgress } from "../target-compile/precompile.js";
import { compileForTargets, problemsOf } from "../target-compile/targets.js";
import { closeDevice, type Machine } from "../devices/devices.js";
import { checkOutput, writeOutput } from "../system/files.js";
import { warn } from "../invocation/kernels.js";
import { configAt } from "../cases/cases.js";
import type { Selection } from "../cases/selection.js";
import { measuredCases } from "../cases/command-cases.js";
import { benchmarkCaseFor, measuringOptions, options, deviceOf, type MeasuringOptions } from "../invocation/options.js";
import { exitCodes, UsageError } from "../system/errors.js";
import { appendRecords, checkRecords, contextOf, moduleHash } from "../report/records.js";
import { type TuneFacts, type TuneResult, tunedCases, tuneJson, tuneText } from "../report/measure-report.js";
import { rewriteConfigs } from "../invocation/edits.js";
import { printJson, progress, type Streams } from "../system/streams.js";
import { parseTargets, type Target } from "../system/gpu-targets.js";
import {
  candidatesOf,
  checkTunable,
  type Pruned,
  pruneByRules,
  refusedEverywhere,
  parseSpace,
  isTriedOn,
  declaredConfigs,
  mergeConfigs,
} from "../measure/candidates.js";
import { limitsOf } from "../measure/benchmark.js";
import { DEFAULT_BUDGET, searchInRounds } from "../measure/staged-search.js";
import { rankCandidates, type RankingGpu, searchOrder } from "../measure/shortlist.js";
import { bestOf, search, fastestConfigs, type Budget } from "../measure/tuner.js";
import type { KernelCommand, Runnable } from "../invocation/command.js";
import type { PythonDevice } from "../devices/device.js";

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
  example: "tune gemm.ts --budget 5m --write",
  options: [
    ...measuringOptions,
    options.budget,
    new Option("--targets <list>", "first drop configs that do not compile for these GPUs, such as cuda:90").argParser(
      parseTargets,
    ),
    new Option("--space <values...>", "values to try instead of the spec's space, such as BLOCK=64,128 numWarps=4,8"),
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
  async plan(kernels, flags, streams) {
    const [runnable, second] = kernels;
    if (!runnable || second)
      throw new UsageError(
        `tune works on one kernel at a time; choose it with --kernel ${kernels.map(({ name }) => name).join(", ")}`,
      );
    const prepared = await prepare(runnable, flags, streams);
    if (flags.bake !== undefined) await checkOutput(flags.bake);
    if (flags.results !== undefined) await checkRecords(flags.results, [prepared.source.signature.name]);
    return (machine) => runTune(machine, prepared, flags, streams);
  },
};

async function runTune(
  machine: Machine,
  prepared: PreparedTuning,
  flags: TuneOptions,
  streams: Streams,
): Promise<number> {
  if (flags.dryRun) {
    const [target] = flags.targets ?? [];
    const plan = await prepared.plan({ lanes: target?.triton[2] ?? NVIDIA_LANES });
    const pruned = await pruneByCompiling(plan, machine, flags, streams);
    printResults([{ ...pruned, configs: pruned.kernel.configs.filter((_, i) => !pruned.skip.has(i)) }], flags, streams);
    return exitCodes.ok;
  }
  const alternative = "`--dry-run` prunes, with `--targets cuda:90` by compiling too,";
  const devices = await machine.gpus({ what: "tuning", instead: alternative }, deviceOf(flags, streams));
  try {
    const results: TuningResult[] = [];
    for (const device of devices) {
      const gpu = { limits: limitsOf(device.hello), lanes: device.hello.target?.[2] ?? NVIDIA_LANES };
      const plan = await pruneByCompiling(await prepared.plan(gpu), machine, flags, streams);
      results.push({ ...(await searchOnDevice(device, plan, flags, streams)), device });
    }
    const output = await writeResults(prepared, results, flags).catch((error: unknown) => {
      // The search took minutes: print its result even if the file cannot be written.
      printResults(results, flags, streams);
      throw error;
    });
    const reports = results.map((each) => ({ ...each, ...output }));
    return printResults(reports, flags, streams) ? exitCodes.ok : exitCodes.failed;
  } finally {
    await Promise.all(devices.map(closeDevice));
  }
}
const NVIDIA_LANES = 32;

/** Prints the results for each kind of GPU. Returns true if all of them found configs. */
function printResults(
  results: readonly (TuneResult & Pick<TuningPlan, "facts">)[],
  { json }: TuneOptions,
  streams: Streams,
): boolean {
  const reports = results.map((each) => tuneJson(each.facts, each));
  const ok = reports.every((report) => report.ok);
  const [report] = reports;
  if (json) printJson(streams, report && reports.length === 1 ? report : { ok, kinds: reports });
  else for (const each of reports) streams.out(`${tuneText(each, pc.createColors(streams.color))}\n`);
  return ok;
}

/** A kernel to tune. */
interface PreparedTuning {
  readonly runnable: Runnable;
  /** The author's kernel with the original configs. */
  readonly source: CompiledKernel;
  /** Plans the search on a GPU. A dry run of a derived space lists only the configs that a search starts with. */
  plan(gpu: RankingGpu): Promise<TuningPlan>;
}

/** The configs and cases of a search. */
interface TuningPlan {
  readonly name: string;
  readonly source: CompiledKernel;
  /** The kernel, with the remaining candidates as its configs. */
  readonly kernel: CompiledKernel;
  readonly cases: readonly TestCase[];
  readonly selection: Selection;
  /** Configs of `kernel` that no case can run, with the reasons. */
  readonly skip: ReadonlyMap<number, string>;
  readonly facts: TuneFacts;
  /** The GPU for which the space was derived; undefined if the author declares a space. */
  readonly derivedFor?: RankingGpu;
}

async function prepare(runnable: Runnable, flags: TuneOptions, streams: Streams): Promise<PreparedTuning> {
  const source = await runnable.compile();
  warn([source], streams);
  checkTunable(source);
  const benchmarkCase = benchmarkCaseFor(source, flags);
  const space = flags.space ? parseSpace(source, flags.space) : source.tuning?.space;
  if (!space && flags.targets && !flags.dryRun)
    throw new UsageError(
      "--targets compiles every candidate, of which there are thousands where no space is declared; add --space, or --dry-run",
    );
  const { cases } = measuredCases(source, benchmarkCase);
  const makePlan = async (configs: readonly Config[], pruned: readonly Pruned[], derivedFor?: RankingGpu) => {
    // The build has checked the author's configs.
    const kernel = await runnable.compile(configs);
    const planCases = space ? measuredCases(kernel, benchmarkCase).cases : cases;
    const plan = {
      name: runnable.name,
      source,
      kernel,
      cases: planCases,
      selection: benchmarkCase.selection,
      skip: new Map<number, string>(),
      facts: { kernel, candidates: configs.length + pruned.length, pruned },
      ...(derivedFor && { derivedFor }),
    };
    return withoutConfigs(plan, refusedEverywhere(kernel, planCases));
  };
  if (!space)
    return {
      runnable,
      source,
      plan: async (gpu) => {
        const { remaining: configs, pruned } = rankCandidates(source, cases, gpu);
        const plan = await makePlan(configs, pruned, gpu);
        if (!flags.dryRun) return plan;
        const firstConfigs = firstConfigsOf(plan, gpu);
        const laterConfigs = configs.filter((_, i) => !firstConfigs.has(i) && !plan.skip.has(i));
        const dropped = [...plan.facts.pruned, ...laterConfigs.map((config) => ({ config, reason: LATER_REASON }))];
        return makePlan(
          [...firstConfigs].map((config) => configAt({ configs }, config)),
          dropped,
          gpu,
        );
      },
    };
  const byRules = pruneByRules(source, candidatesOf(source, space));
  const plan = await makePlan(byRules.remaining, byRules.pruned);
  return { runnable, source, plan: () => Promise.resolve(plan) };
}

/** The configs of a derived space that a search starts with in any case. Later candidates depend on the times. */
function firstConfigsOf({ kernel, cases, skip, source }: TuningPlan, gpu: RankingGpu): ReadonlySet<number> {
  const declaredCount = declaredConfigs(source).length;
  const orders = cases.map((testCase) =>
    searchOrder(kernel, testCase, { declaredCount, skip: new Set(skip.keys()), gpu }),
  );
  return new Set(orders.flatMap((order) => order.slice(0, DEFAULT_BUDGET.count)));
}
const LATER_REASON = "tried only beside configs that prove fast";

/** Removes configs from the plan, each with the reason. */
function withoutConfigs(plan: TuningPlan, reasons: ReadonlyMap<number, string>): TuningPlan {
  const pruned = [...reasons].map(([config, reason]): Pruned => ({ config: configAt(plan.kernel, config), reason }));
  return {
    ...plan,
    skip: new Map([...plan.skip, ...reasons]),
    facts: { ...plan.facts, pruned: [...plan.facts.pruned, ...pruned] },
  };
}

const DECLARED_BUDGET: Budget = { seconds: 120 };

async function searchOnDevice(
  device: PythonDevice,
  plan: TuningPlan,
  { budget, seed, results }: TuneOptions,
  streams: Streams,
): Promise<Omit<TuningResult, "device">> {
  const { name, source, kernel, cases, skip, derivedFor: gpu } = plan;
  const declaredCount = declaredConfigs(source).length;
  const show = progress(streams);
  try {
    const options = {
      cases,
      skip: new Set(skip.keys()),
      declaredCount,
      onCompiled: (done: number, planned: number) => show(formatProgress(kernel, done, planned)),
      onDone: (done: number) => show(`${name}: ${done} of at most ${kernel.configs.length - skip.size} configs`),
    };
    const isInRounds = gpu && !budget?.all;
    const result = isInRounds
      ? await searchInRounds(kernel, device, { ...options, gpu, budget: budget ?? DEFAULT_BUDGET })
      : {
          ...(await search(kernel, device, { ...options, seed, budget: budget ?? DECLARED_BUDGET })),
          overResources: undefined,
        };
    const { facts } = result.overResources ? withoutConfigs(plan, result.overResources) : plan;
    const isDeclared = isTriedOn(source, device.hello.target);
    const best = bestOf(result, cases, (config) => isDeclared(configAt(kernel, config)));
    if (results !== undefined) {
      const measured = {
        kernel: kernel.signature.name,
        module: moduleHash(source.python),
        cases: tunedCases(facts, best),
      };
      for (const file of await appendRecords(results, contextOf("tune", device), [measured]))
        streams.err(`wrote ${file}\n`);
    }
    return { facts, searched: result, best, configs: fastestConfigs(kernel, best) };
  } finally {
    show("");
  }
}

/** Removes candidates that do not compile for a target or exceed its resources. */
async function pruneByCompiling(
  plan: TuningPlan,
  machine: Machine,
  flags: TuneOptions,
  streams: Streams,
): Promise<TuningPlan> {
  const { targets } = flags;
  if (!targets) return plan;
  const { kernel, selection } = plan;
  const show = progress(streams);
  const results = await compileForTargets([kernel], {
    service: await machine.compilers(deviceOf(flags, streams)),
    targets,
    selections: [selection],
    onDone: (done, planned) => show(`compiled ${done} of ${planned}`),
  });
  show("");
  const reasons = new Map<number, string>();
  for (const compilation of results.flatMap(({ compilations }) => compilations)) {
    const error = problemsOf(compilation, undefined).find(({ severity }) => severity === "error");
    if (error && !plan.skip.has(compilation.testCase.config))
      reasons.set(compilation.testCase.config, `${compilation.target.name}: ${error.problem}`);
  }
  return withoutConfigs(plan, reasons);
}

/** The result of a search on one kind of GPU. */
type TuningResult = Pick<TuneResult, "configs" | "searched" | "best"> &
  Pick<TuningPlan, "facts"> & { readonly device: PythonDevice };

interface WrittenFiles {
  readonly written?: string;
  readonly baked?: string;
}

async function writeResults(
  { runnable, source }: PreparedTuning,
  results: readonly TuningResult[],
  { write: shouldRewrite, bake }: TuneOptions,
): Promise<WrittenFiles> {
  const configsByGpu = results.flatMap(({ configs, device: { hello } }): FoundConfigs[] =>
    configs.length === 0 ? [] : [{ configs, kind: hello.deviceName, architecture: hello.target }],
  );
  if (configsByGpu.length === 0) return {};
  if (bake !== undefined) await writeOutput(bake, (await runnable.compile(mergeConfigs(source, configsByGpu))).python);
  const sourcePath = shouldRewrite ? await rewriteConfigs(source, configsByGpu) : undefined;
  return { ...(sourcePath !== undefined && { written: sourcePath }), ...(bake !== undefined && { baked: bake }) };
}
