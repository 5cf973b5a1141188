import { jsonText } from "../../compiled/canonical-json.js";
import { Option } from "commander";
import { dirname, join } from "node:path";
import pc from "picocolors";
import { formatProgress } from "../target-compile/precompile.js";
import { bench as measure, defaultIterations, type Benchmark } from "../measure/benchmark.js";
import { closeDevice } from "../devices/devices.js";
import { checkOutput, writeOutput } from "../system/files.js";
import { compileAll, refuseSameNames, warn } from "../invocation/kernels.js";
import { measuredCases } from "../cases/command-cases.js";
import {
  parseCount,
  benchmarkCaseFor,
  measuringOptions,
  options,
  deviceOf,
  parseWhole,
  type MeasuringOptions,
  type JsonOptions,
} from "../invocation/options.js";
import { exitCodes, UsageError } from "../system/errors.js";
import { benchJson, benchText } from "../report/measure-report.js";
import {
  appendRecords,
  checkRecords,
  contextOf,
  moduleHash,
  readRecords,
  compareRecords,
  toPlotReports,
  recordsText,
} from "../report/records.js";
import type { CompiledKernel } from "../../compiled/compiled-kernel.js";
import type { BenchReport, GpuKinds, PlotReport, RecordsReport } from "../report/reports.js";
import { printJson, progress, type Streams } from "../system/streams.js";
import type { KernelCommand, PlainCommand } from "../invocation/command.js";
import type { PythonDevice } from "../devices/device.js";
import { readFile, stat } from "node:fs/promises";
import { plotSvg, pngOf } from "../report/svg-plot.js";
export const plot: PlainCommand<JsonOptions & { readonly out?: string }> = {
  name: "plot",
  description: "plot a report of bench, or compare records of GPUs and versions; needs no GPU",
  example: "plot reports/bench.json",
  argument: {
    text: "<path>",
    description: "a JSON report of bench, or records: a folder of --results or a .jsonl file",
  },
  options: [new Option("--out <path>", "output folder (default: the report's folder)"), options.json],
  async run(file = "", { out, json }, streams) {
    if (await isRecord(file)) return plotRecords(file, { out, json }, streams);
    const report = await readReport(file);
    const files = await writePlots(report, out ?? dirname(file), streams);
    if (report.kernels.every(({ cases }) => cases.length === 0))
      streams.err(`nothing to plot: ${file} has no measured case\n`);
    if (json) printJson(streams, { ok: true, files } satisfies PlotReport);
    return exitCodes.ok;
  },
};

async function isRecord(path: string): Promise<boolean> {
  const info = await stat(path).catch(() => undefined);
  return info?.isDirectory() === true || path.endsWith(".jsonl");
}

/** Compares records and plots the latest ones. A regression in time makes the report fail. */
async function plotRecords(
  path: string,
  { out, json }: { readonly out: string | undefined; readonly json: true | undefined },
  streams: Streams,
): Promise<number> {
  const records = await readRecords(path);
  const report = compareRecords(records);
  const folder = out ?? (path.endsWith(".jsonl") ? dirname(path) : path);
  const files: string[] = [];
  for (const benchReport of toPlotReports(records)) files.push(...(await writePlots(benchReport, folder, streams)));
  if (json) printJson(streams, { ...report, files } satisfies RecordsReport);
  else streams.out(`${recordsText(report, pc.createColors(streams.color))}\n`);
  return report.ok ? exitCodes.ok : exitCodes.failed;
}

/** Writes `KERNEL.svg` and `KERNEL.png` for each kernel with cases, and returns their paths. */
async function writePlots(report: BenchReport, folder: string, streams: Streams): Promise<string[]> {
  const files: string[] = [];
  for (const kernel of report.kernels) {
    if (kernel.cases.length === 0) continue;
    const path = join(folder, kernel.kernel);
    const svg = plotSvg(report, kernel);
    const png = await pngOf(svg);
    const images: (readonly [string, string | Uint8Array])[] = [[`${path}.svg`, svg]];
    if (typeof png === "string") streams.err(`no ${path}.png: ${png}\n`);
    else images.push([`${path}.png`, png]);
    for (const [file, content] of images) {
      await writeOutput(file, content);
      streams.err(`wrote ${file}\n`);
      files.push(file);
    }
  }
  return files;
}

async function readReport(file: string): Promise<BenchReport> {
  const text = await readFile(file, "utf8").catch(() => {
    throw new UsageError(`there is no file ${file}`);
  });
  try {
    const report = JSON.parse(text) as BenchReport;
    if (
      report.kernels.every(
        ({ kernel, cases }) => /^\w+$/.test(kernel) && cases.every(({ sizes, times }) => sizes && times),
      )
    )
      return report;
  } catch {
    // Reported below.
  }
  throw new UsageError(`${file} is not a report of bench; \`tilescript bench FILE --json > bench.json\` writes one`);
}

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
