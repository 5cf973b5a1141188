import { Option } from "commander";
import pc from "picocolors";
import type { Case, CompiledKernel, FoundConfigs } from "../../contract/compiled.js";
import { aheadText } from "../compile/ahead.js";
import { compileForTargets } from "../compile/compile-targets.js";
import { closeDevice, type PythonDevice } from "../devices/devices.js";
import type { Machine } from "../devices/machine.js";
import { checkOutput, writeOutput } from "../system/files.js";
import { warn } from "../invocation/kernels.js";
import type { Selection } from "../cases/selection.js";
import { measuredCases } from "../cases/measured-cases.js";
import { measuring, measuringOptions, options, deviceOf, type MeasuringOptions } from "../invocation/options.js";
import { exitCodes, UsageError } from "../system/problems.js";
import { problemsOf } from "../report/report-compile.js";
import { appendRecords, checkRecords, contextOf, moduleHash } from "../report/records.js";
import { type Facts, type Found, tunedCases, tuneJson, tuneText } from "../report/report-tune.js";
import { rewriteConfigs } from "../invocation/rewrite.js";
import { printJson, progress, type Streams } from "../system/streams.js";
import { parseTargets, type Target } from "../system/gpu-targets.js";
import {
  bestOf,
  candidatesOf,
  parseBudget,
  pruneByRules,
  refusedEverywhere,
  search,
  winners,
  type Budget,
  type Pruned,
} from "../measure/tuner.js";
import { chosenFrom, ownConfigs, withFound } from "../measure/own-configs.js";
import type { KernelCommand, Runnable } from "../invocation/command.js";

interface TuneOptions extends MeasuringOptions {
  readonly budget: Budget;
  readonly dryRun?: true;
  readonly targets?: readonly Target[];
  readonly write?: true;
  readonly bake?: string;
}

export const tune: KernelCommand<TuneOptions> = {
  name: "tune",
  description: "search the declared space for faster configs; each is verified and measured on a GPU",
  options: [
    ...measuringOptions,
    new Option("--budget <amount>", "when to stop: after a time (60s, 5m) or a number of configs")
      .argParser(parseBudget)
      .default(parseBudget("2m"), "2m"),
    new Option("--targets <list>", "first drop configs that do not compile for these GPUs, such as cuda:90").argParser(
      parseTargets,
    ),
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
    const byRules = await planOf(runnable, given, streams);
    if (given.bake !== undefined) await checkOutput(given.bake);
    if (given.results !== undefined) await checkRecords(given.results, [byRules.kernel.signature.name]);
    return (machine) => tuneOn(machine, runnable, byRules, given, streams);
  },
};

async function tuneOn(
  machine: Machine,
  runnable: Runnable,
  byRules: Plan,
  given: TuneOptions,
  streams: Streams,
): Promise<number> {
  const plan = await withoutMisfits(byRules, machine, given, streams);
  if (given.dryRun) {
    print([{ configs: plan.kernel.configs.filter((_, i) => !plan.skip.has(i)) }], plan, given, streams);
    return exitCodes.ok;
  }
  const instead = "`--dry-run` prunes, with `--targets cuda:90` by compiling too,";
  const devices = await machine.gpus({ what: "tuning", instead }, deviceOf(given, streams));
  try {
    const found: Tuned[] = [];
    for (const device of devices) found.push({ ...(await searchOn(device, plan, given, streams)), device });
    const written = await write(runnable, plan.source, found, given).catch((error: unknown) => {
      // The search took minutes: print its result even if the file can't be written.
      print(found, plan, given, streams);
      throw error;
    });
    const all = found.map((each) => ({ ...each, ...written }));
    return print(all, plan, given, streams) ? exitCodes.ok : exitCodes.failed;
  } finally {
    await Promise.all(devices.map(closeDevice));
  }
}

/** Prints what was found on each kind of GPU, and says whether something was on all. */
function print(found: readonly Found[], { facts }: Plan, { json }: TuneOptions, streams: Streams): boolean {
  const reports = found.map((each) => tuneJson(facts, each));
  const ok = reports.every((report) => report.ok);
  const [report] = reports;
  if (json) printJson(streams, report && reports.length === 1 ? report : { ok, kinds: reports });
  else for (const each of reports) streams.out(`${tuneText(each, pc.createColors(streams.color))}\n`);
  return ok;
}

/** What is tried. */
interface Plan {
  readonly name: string;
  /** The author's kernel, with its own configs. */
  readonly source: CompiledKernel;
  /** The kernel with the candidates that the rules leave as its configs. */
  readonly kernel: CompiledKernel;
  readonly cases: readonly Case[];
  readonly selection: Selection;
  /** Configs of `kernel` that run at none of the cases, each with the reason. */
  readonly skip: ReadonlyMap<number, string>;
  readonly facts: Facts;
}

async function planOf(runnable: Runnable, given: TuneOptions, streams: Streams): Promise<Plan> {
  const source = await runnable.compile();
  warn([source], streams);
  const asked = measuring(source, given);
  const all = candidatesOf(source);
  const byRules = pruneByRules(source, all);
  // The author's configs were checked by the build.
  const kernel = await runnable.compile(byRules.kept);
  const { cases } = measuredCases(kernel, asked);
  const plan = {
    name: runnable.name,
    source,
    kernel,
    cases,
    selection: asked.selection,
    skip: new Map<number, string>(),
    facts: { kernel, candidates: all.length, pruned: byRules.pruned },
  };
  return without(plan, refusedEverywhere(kernel, cases));
}

/** The plan without further configs, each with the reason. */
function without(plan: Plan, more: ReadonlyMap<number, string>): Plan {
  const pruned = [...more].map(([config, reason]): Pruned => ({ config: plan.kernel.configs[config]!, reason }));
  return {
    ...plan,
    skip: new Map([...plan.skip, ...more]),
    facts: { ...plan.facts, pruned: [...plan.facts.pruned, ...pruned] },
  };
}

async function searchOn(
  device: PythonDevice,
  { name, source, kernel, cases, skip, facts }: Plan,
  { budget, seed, results }: TuneOptions,
  streams: Streams,
): Promise<Pick<Found, "configs" | "searched" | "best">> {
  const own = ownConfigs(source).length;
  const show = progress(streams);
  try {
    const searched = await search(kernel, device, {
      cases,
      skip: new Set(skip.keys()),
      own,
      budget,
      seed,
      onCompiled: (done, planned) => show(aheadText(kernel, done, planned)),
      onDone: (tried) => show(`${name}: ${tried} of at most ${kernel.configs.length - skip.size} configs`),
    });
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
    return { searched, best, configs: winners(kernel, best) };
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
type Tuned = Pick<Found, "configs" | "searched" | "best"> & { readonly device: PythonDevice };

interface Written {
  readonly written?: string;
  readonly baked?: string;
}

async function write(
  runnable: Runnable,
  source: CompiledKernel,
  found: readonly Tuned[],
  { write: intoSource, bake }: TuneOptions,
): Promise<Written> {
  const onEach = found.flatMap(({ configs, device: { hello } }): FoundConfigs[] =>
    configs.length === 0 ? [] : [{ configs, kind: hello.deviceName, architecture: hello.target }],
  );
  if (onEach.length === 0) return {};
  if (bake !== undefined) await writeOutput(bake, (await runnable.compile(withFound(source, onEach))).python);
  const written = intoSource ? await rewriteConfigs(source, onEach) : undefined;
  return { ...(written !== undefined && { written }), ...(bake !== undefined && { baked: bake }) };
}
