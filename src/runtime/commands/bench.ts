import { jsonText } from "../../compiled/canonical-json.js";
import { Option } from "commander";
import { dirname, join, posix, resolve } from "node:path";
import pc from "picocolors";
import { formatProgress } from "../target-compile/precompile.js";
import { bench as measure, defaultIterations, type Benchmark } from "../measure/benchmark.js";
import { closeDevice, type RemoteMachine } from "../devices/devices.js";
import { checkOutput, writeOutput, keyOfText } from "../system/files.js";
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
import type { CompiledKernel, TestCase } from "../../compiled/compiled-kernel.js";
import type { BenchReport, GpuKinds, PlotReport, RecordsReport, ProfileReport } from "../report/reports.js";
import { printJson, progress, type Streams } from "../system/streams.js";
import type { KernelCommand, PlainCommand } from "../invocation/command.js";
import type { PythonDevice } from "../devices/device.js";
import { readFile, stat } from "node:fs/promises";
import { plotSvg, pngOf } from "../report/svg-plot.js";
import { refuseCluster } from "../invocation/chosen-device.js";
import { shellWord } from "../system/processes.js";
import { pythonFolder } from "../worker/host.js";

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

interface ProfileOptions extends JsonOptions, Pick<MeasuringOptions, "shapes" | "dtype" | "device"> {
  readonly out?: string;
}

export const profile: KernelCommand<ProfileOptions> = {
  name: "profile",
  description: "emit the module and print the commands that profile it",
  example: "profile gemm.ts --out profile",
  options: [options.device, options.shapes, options.dtype, options.kernel, options.folder, options.json],
  checkOptions: ({ device }) => refuseCluster(device, "profile prints commands for one machine"),
  async plan(kernels, flags, streams) {
    refuseSameNames(kernels);
    const compiled = await compileAll(kernels);
    warn(compiled, streams);
    const folder = flags.out ?? "profile";
    const plans = compiled.map((kernel) => {
      const { cases, skipped } = measuredCases(kernel, benchmarkCaseFor(kernel, { ...flags, seed: 0 }));
      const [testCase] = cases;
      if (!testCase) throw new UsageError(`${kernel.signature.name}: ${skipped.join("; ")}`);
      return { kernel, at: testCase };
    });
    return async (machine) => {
      const remote = await machine.remoteMachine(deviceOf({ ...flags, seed: 0 }, streams));
      const profiles: ProfiledKernel[] = [];
      try {
        for (const { kernel, at } of plans) {
          const { python } = kernel.emit({ dtypes: at.dtypes });
          const file = join(folder, kernel.file);
          await writeOutput(file, python);
          const commands = remote
            ? await profileRemotely(remote, kernel, at, python, folder)
            : { commands: commandsFor(kernel, at, { ...localProgram, file, folder }) };
          profiles.push({ kernel: kernel.signature.name, file, ...commands });
        }
      } finally {
        await remote?.host.close();
      }
      if (flags.json) printJson(streams, { ok: true, kernels: profiles } satisfies ProfileReport);
      else for (const profiled of profiles) streams.out(profileText(profiled));
      return exitCodes.ok;
    };
  },
};

type ProfiledKernel = ProfileReport["kernels"][number];

function profileText({ kernel, file, commands, fetch }: ProfiledKernel): string {
  const instruction = fetch === undefined ? "on a machine with a GPU run one of" : "run one of these here";
  const lines = [`${kernel}: wrote ${file}; ${instruction}`, ...Object.values(commands).map((line) => `\n  ${line}`)];
  return `${[...lines, ...(fetch === undefined ? [] : [`\nand get its report with\n\n  ${fetch}`])].join("\n")}\n`;
}

/** Copies the module to the remote machine. The commands run there through ssh, in the folder of the module. */
async function profileRemotely(
  { host, environment }: RemoteMachine,
  kernel: CompiledKernel,
  testCase: TestCase,
  python: string,
  folder: string,
): Promise<Pick<ProfiledKernel, "commands" | "fetch">> {
  const remoteFolder = posix.join(posix.dirname(posix.dirname(host.folder)), "profile", keyOfText(python).slice(0, 16));
  await host.ask({ do: "make", path: remoteFolder });
  await host.ask({ do: "replace", path: posix.join(remoteFolder, kernel.file), text: python });
  const script = posix.join(host.folder, "benchmark_kernel.py");
  const program = { python: environment.python, script, file: kernel.file, folder: "." };
  const commands = commandsFor(kernel, testCase, program);
  const run = (line: string) => shellWords(...host.shell, `cd ${shellWord(remoteFolder)} && ${line}`);
  return {
    commands: { ncu: run(commands.ncu), nsys: run(commands.nsys), rocprofv3: run(commands.rocprofv3) },
    fetch: shellWords(...host.copy(remoteFolder), folder),
  };
}

const localProgram = { python: "python", script: resolve(pythonFolder, "benchmark_kernel.py") };

interface ProfiledProgram {
  readonly python: string;
  readonly script: string;
  /** The module, and the output folder of the profiler. */
  readonly file: string;
  readonly folder: string;
}

/** The commands that profile a single call, in an NVTX range, after the calls that compile and tune. */
function commandsFor(
  { signature, parts = [] }: CompiledKernel,
  testCase: TestCase,
  { python: program, script, file, folder }: ProfiledProgram,
): ProfiledKernel["commands"] {
  const sizes = Object.entries(testCase.sizes).flatMap(([size, value]) => ["--size", `${size}=${value}`]);
  const python = [program, script, file, ...sizes, "--profile"];
  const out = join(folder, signature.name);
  const jits = [...new Set([signature.jit, ...parts.map((part) => part.signature.jit)])];
  const regex = jits.length > 1 ? `^(${jits.join("|")})$` : signature.jit;
  const command = (start: string, ...args: readonly string[]) => [start, shellWords(...args)].join(" ");
  return {
    ncu: command(
      "ncu --set full --import-source yes --profile-from-start off --kernel-name",
      jits.length > 1 ? `regex:${regex}` : regex,
      "-o",
      out,
      ...python,
    ),
    nsys: command("nsys profile --trace=cuda,nvtx --capture-range=cudaProfilerApi -o", out, ...python),
    rocprofv3: command("rocprofv3 --kernel-trace --stats --kernel-include-regex", regex, "-d", out, "--", ...python),
  };
}

/** Formats words as a shell command line. */
const shellWords = (...commandLine: readonly string[]): string => commandLine.map(shellWord).join(" ");
