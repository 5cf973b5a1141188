import { jsonText } from "../../compiled/canonical-json.js";
import { Option } from "commander";
import { dirname, join } from "node:path";
import pc from "picocolors";
import { formatProgress } from "../target-compile/precompile.js";
import { bench as measure, defaultIterations, type Benchmark } from "../measure/benchmark.js";
import { closeDevice } from "../devices/devices.js";
import { checkOutput, writeOutput } from "../system/files.js";
import { compileAll, refuseSameNames, warn } from "../invocation/kernels.js";
import { measuredCases } from "../cases/measured-cases.js";
import {
  parseCount,
  benchmarkCaseFor,
  measuringOptions,
  options,
  deviceOf,
  parseWhole,
  type MeasuringOptions,
} from "../invocation/options.js";
import { exitCodes } from "../system/errors.js";
import { benchJson, benchText } from "../report/bench-report.js";
import { appendRecords, checkRecords, contextOf, moduleHash } from "../report/records.js";
import type { CompiledKernel } from "../../compiled/compiled-kernel.js";
import type { BenchReport, GpuKinds } from "../report/reports.js";
import { printJson, progress, type Streams } from "../system/streams.js";
import type { KernelCommand } from "../invocation/command.js";
import { writePlots } from "./plot.js";
import type { PythonDevice } from "../devices/device.js";

interface BenchOptions extends MeasuringOptions {
  readonly torchCompile: boolean;
  readonly out?: string;
  readonly warmup: number;
  readonly iterations: number;
}

const nameOf = ({ signature }: CompiledKernel): string => signature.name;

export const bench: KernelCommand<BenchOptions> = {
  name: "bench",
  description: "verify on a GPU, then compare times with PyTorch at the same sizes",
  example: "bench gemm.ts",
  options: [
    ...measuringOptions,
    options.config,
    new Option("--warmup <number>", "calls before timing starts")
      .argParser(parseWhole)
      .default(defaultIterations.warmup),
    new Option("--iterations <number>", "calls to time").argParser(parseCount).default(defaultIterations.iterations),
    new Option("--no-torch-compile", "do not measure torch.compile"),
    options.folder,
    options.results,
    options.json,
    options.verbose,
  ],
  async plan(kernels, flags, streams) {
    if (flags.out !== undefined || flags.results !== undefined) refuseSameNames(kernels);
    const compiled = await compileAll(kernels);
    warn(compiled, streams);
    const plans = compiled.map((kernel) => ({ kernel, ...measuredCases(kernel, benchmarkCaseFor(kernel, flags)) }));
    if (flags.out !== undefined) await checkOutput(join(flags.out, "bench.json"));
    if (flags.results !== undefined) await checkRecords(flags.results, compiled.map(nameOf));
    const alternative = "`tilescript run` verifies and `tilescript compile` counts registers";
    return async (machine) => {
      const devices = await machine.gpus({ what: "a benchmark", instead: alternative }, deviceOf(flags, streams));
      const reports: BenchReport[] = [];
      try {
        for (const device of devices) reports.push(await benchOnDevice(device, plans, flags, streams));
      } finally {
        await Promise.all(devices.map(closeDevice));
      }
      if (flags.json) printJson(streams, mergeReports(reports));
      if (flags.out !== undefined) await writeReports(reports, flags.out, streams);
      return reports.every(({ ok }) => ok) ? exitCodes.ok : exitCodes.failed;
    };
  },
};

/** Measures every kernel on GPUs of one kind, and prints and records the times. */
async function benchOnDevice(
  device: PythonDevice,
  plans: readonly (ReturnType<typeof measuredCases> & { readonly kernel: CompiledKernel })[],
  flags: BenchOptions,
  streams: Streams,
): Promise<BenchReport> {
  const { warmup, iterations, sweep, results } = flags;
  const show = progress(streams);
  const benchmarks: Benchmark[] = [];
  try {
    for (const { kernel, cases, skipped } of plans) {
      const benchmark = await measure(kernel, device, {
        cases,
        isAutotuned: flags.config === undefined,
        withTorchCompile: flags.torchCompile,
        withGpuState: results !== undefined,
        warmup,
        iterations,
        onCompiled: (done, planned) => show(formatProgress(kernel, done, planned)),
        onDone: (done) => show(`${kernel.signature.name}: ${done} of ${cases.length} cases`),
      });
      benchmarks.push({ ...benchmark, rejected: [...skipped, ...benchmark.rejected] });
    }
  } finally {
    show("");
  }
  const report = benchJson(benchmarks, device, { warmup, iterations, ...(sweep && { sweep: sweep.names }) });
  const colors = pc.createColors(streams.color);
  if (!flags.json) for (const each of report.kernels) streams.out(`${benchText(report, each, colors)}\n`);
  if (results !== undefined) {
    const measured = report.kernels.map(({ kernel, cases }, i) => ({
      kernel,
      cases,
      module: moduleHash(plans[i]!.kernel.python),
    }));
    for (const each of await appendRecords(results, contextOf("bench", device), measured))
      streams.err(`wrote ${each}\n`);
  }
  return report;
}

/** Writes the report and its plots; for several kinds of GPU, each into a separate folder. */
async function writeReports(reports: readonly BenchReport[], folder: string, streams: Streams): Promise<void> {
  for (const report of reports) {
    const file = join(folder, ...(reports.length > 1 ? [report.device_name.replace(/\W+/g, "-")] : []), "bench.json");
    await checkOutput(file);
    await writeOutput(file, `${jsonText(report, 2)}\n`);
    streams.err(`wrote ${file}\n`);
    await writePlots(report, dirname(file), streams);
  }
}

/** Returns the only report, or a combined one if the cluster has several kinds of GPU. */
function mergeReports(reports: readonly BenchReport[]): BenchReport | GpuKinds<BenchReport> {
  const [report] = reports;
  return report && reports.length === 1 ? report : { ok: reports.every(({ ok }) => ok), kinds: reports };
}
