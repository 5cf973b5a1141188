/** The reports of `bench` and `tune`: a table for people, and JSON, which also feeds plots. */
import type pc from "picocolors";
import {
  type Benchmark,
  type Iterations,
  type Measurement,
  limitsOf,
  type DeviceLimits,
  bytesOf,
} from "../measure/benchmark.js";
import { configAt, formatCase, valuesOf } from "../cases/cases.js";
import type { Timing } from "../worker/protocol.js";
import type { BenchCaseReport, BenchReport, KernelBenchReport, ConfigValues, TuneReport } from "./reports.js";
import { formatTable } from "./text-blocks.js";
import type { PythonDevice } from "../devices/device.js";
import { formatLiteral } from "../../compiled/canonical-json.js";
import type { CompiledKernel, Config } from "../../compiled/compiled-kernel.js";
import { formatList } from "../../diagnostics/message.js";
import type { Pruned } from "../measure/candidates.js";
import { type Best, type SearchResult, iterations } from "../measure/tuner.js";

export interface BenchFacts extends Iterations {
  readonly sweep?: readonly string[];
}

/** The JSON report of all kernels. */
export function benchJson(benchmarks: readonly Benchmark[], device: PythonDevice, facts: BenchFacts): BenchReport {
  const { hello } = device;
  const limits = limitsOf(hello);
  return {
    ok: benchmarks.every(({ measurements, rejected }) => measurements.length > 0 && rejected.length === 0),
    device: device.kind as "cuda" | "hip",
    device_name: hello.deviceName,
    capability: hello.capability,
    versions: hello.versions,
    ...(limits && { limits }),
    kernels: benchmarks.map((benchmark) => kernelJson(benchmark, facts)),
  };
}

function kernelJson({ kernel, measurements, rejected, seconds }: Benchmark, facts: BenchFacts): KernelBenchReport {
  const { warmup, iterations, sweep } = facts;
  return {
    kernel: kernel.signature.name,
    seconds,
    ...(sweep && { sweep }),
    cases: measurements.map(
      ({ testCase, config, result, bytes, flops, roof, gpuName }: Measurement): BenchCaseReport => {
        const { times } = result;
        const eager = medianOf(times["eager"]);
        return {
          sizes: testCase.sizes,
          dtypes: testCase.dtypes,
          ...(testCase.scalars && { scalars: testCase.scalars }),
          ...(testCase.constexprs && { constexprs: testCase.constexprs }),
          config,
          values: config === "autotuned" ? {} : valuesOf(configAt(kernel, config)),
          kernel_time_ms: times.kernel.median,
          ...(eager !== undefined && { reference_time_ms: eager, speedup: eager / times.kernel.median }),
          warmup_iters: warmup,
          benchmark_iters: iterations,
          times,
          bytes,
          ...(flops > 0 && { flops }),
          ...(roof && { roof }),
          ...(gpuName !== undefined && { on: gpuName }),
          ...(result.state && { gpu_state: result.state }),
        };
      },
    ),
    not_measured: rejected,
  };
}

function medianOf(time: BenchCaseReport["times"][string] | undefined): number | undefined {
  return time && "median" in time ? time.median : undefined;
}

/** The table of one kernel: for each case, one row for the kernel and one per provider. */
export function benchText(
  report: BenchReport,
  kernel: KernelBenchReport,
  colors: ReturnType<typeof pc.createColors>,
): string {
  const head = ["case", "measured", "median", "20 to 80 %", "host", "TFLOP/s", "GB/s", "of limit", "eager / it"];
  const rows = kernel.cases.flatMap((benchCase) =>
    Object.entries(benchCase.times).map(([name, time], i) => {
      const suffix = benchCase.on === undefined ? "" : ` on ${benchCase.on}`;
      const label = i === 0 ? `${formatCase(benchCase)}${suffix}` : "";
      const provider =
        name === "kernel"
          ? `${kernel.kernel} (${benchCase.config === "autotuned" ? benchCase.config : `config ${benchCase.config}`})`
          : name;
      if (!("median" in time)) return [label, provider, colors.yellow(time.error)];
      return [label, provider, ...formatFigures(benchCase, time)];
    }),
  );
  return [
    `${colors.bold(kernel.kernel)} on ${report.device_name}: ${formatLimits(report.limits)} (${kernel.seconds.toFixed(1)} s)`,
    ...formatTable(
      head.map((text) => colors.dim(text)),
      rows,
    ),
    ...(kernel.cases.some(({ flops }) => flops === undefined)
      ? ["  TFLOP/s: PyTorch counts no operation of the reference; `flops` in the spec says how many there are"]
      : []),
    ...(kernel.not_measured.length > 0
      ? [`  ${colors.yellow("not measured")}`, ...kernel.not_measured.map((text) => `    - ${text}`)]
      : []),
  ].join("\n");
}

function formatFigures(benchCase: BenchCaseReport, { median, low, high, host }: Timing): string[] {
  const eager = medianOf(benchCase.times["eager"]);
  return [
    formatDuration(median),
    `${formatDuration(low)} to ${formatDuration(high)}`,
    host === undefined ? "" : formatDuration(host),
    benchCase.flops === undefined ? "" : formatSignificant(benchCase.flops / median / 1e9),
    formatSignificant(benchCase.bytes / median / 1e6),
    benchCase.roof ? `${Math.round((100 * benchCase.roof.ms) / median)} % ${benchCase.roof.by}` : "unknown",
    eager === undefined ? "" : formatSignificant(eager / median),
  ];
}

function formatLimits(limits: DeviceLimits | undefined): string {
  if (!limits) return "limits of this device unknown";
  const rates = Object.entries(limits.tflops ?? {}).map(([name, rate]) => `${name} ${rate}`);
  const tflops = rates.length > 0 ? `TFLOP/s: ${rates.join(", ")}` : "TFLOP/s unknown";
  return `${formatSignificant(limits.gbps)} GB/s, ${tflops} (${limits.source})`;
}

/** Milliseconds, or microseconds for values below one. */
function formatDuration(ms: number): string {
  return ms < 1 ? `${formatSignificant(ms * 1000)} µs` : `${formatSignificant(ms)} ms`;
}

function formatSignificant(value: number): string {
  return value >= 1000 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}

// The report of `tune`: dropped configs with reasons, the fastest config of each case, and the configs to keep.

export interface TuneFacts {
  readonly kernel: CompiledKernel;
  readonly candidates: number;
  readonly pruned: readonly Pruned[];
}

export interface TuneResult {
  readonly configs: readonly Config[];
  readonly searched?: SearchResult;
  readonly best?: readonly Best[];
  readonly device?: PythonDevice;
  readonly written?: string;
  readonly baked?: string;
}

export function tuneJson({ kernel, candidates, pruned }: TuneFacts, result: TuneResult): TuneReport {
  const { configs, searched, best = [], device, written, baked } = result;
  const valuesAt = (config: number): ConfigValues => valuesOf(configAt(kernel, config));
  const rejected = new Map<number, string>();
  for (const trials of searched?.trials ?? [])
    for (const [config, trial] of trials)
      if (!("median" in trial)) rejected.set(config, "wrong" in trial ? `wrong: ${trial.wrong}` : trial.failed);
  return {
    ok: !searched || best.length > 0,
    kernel: kernel.signature.name,
    ...(device && { device_name: device.hello.deviceName }),
    candidates,
    tried: searched?.tried.length ?? 0,
    from_cache: searched?.fromCache ?? 0,
    seconds: searched?.seconds ?? 0,
    pruned: pruned.map(({ config, reason }) => ({ values: valuesOf(config), reason })),
    rejected: [...rejected].map(([config, reason]) => ({ values: valuesAt(config), reason })),
    cases: best.map(({ testCase, config, time, declared }) => ({
      sizes: testCase.sizes,
      dtypes: testCase.dtypes,
      ...(testCase.constexprs && { constexprs: testCase.constexprs }),
      best: valuesAt(config),
      time,
      ...(declared && { time_before: declared.time }),
    })),
    configs: configs.map(valuesOf),
    ...(written !== undefined && { written }),
    ...(baked !== undefined && { baked }),
  };
}

/** The best config of each case as a benchmark case, for a record. */
export function tunedCases({ kernel }: TuneFacts, best: readonly Best[]): readonly BenchCaseReport[] {
  return best.map(({ testCase, config, time }) => ({
    sizes: testCase.sizes,
    dtypes: testCase.dtypes,
    ...(testCase.scalars && { scalars: testCase.scalars }),
    ...(testCase.constexprs && { constexprs: testCase.constexprs }),
    config,
    values: valuesOf(configAt(kernel, config)),
    kernel_time_ms: time.median,
    warmup_iters: iterations.warmup,
    benchmark_iters: iterations.iterations,
    times: { kernel: time },
    bytes: bytesOf(kernel, testCase),
    ...(time.on !== undefined && { on: time.on }),
  }));
}

/** The maximum number of reasons to show; the others are counted. */
const MAX_REASONS = 8;

export function tuneText(report: TuneReport, colors: ReturnType<typeof pc.createColors>): string {
  const { kernel, device_name: device, candidates, pruned, rejected, tried: trialCount, configs } = report;
  const counts = [
    `${candidates} candidates, ${pruned.length} pruned`,
    ...(device === undefined
      ? []
      : [`${trialCount} tried (${report.from_cache} times from the cache), ${rejected.length} rejected`]),
  ].join(", ");
  const deviceSuffix = device === undefined ? "" : ` on ${device}`;
  const untried = candidates - pruned.length - trialCount;
  return [
    `${colors.bold(kernel)}${deviceSuffix}: ${counts}${device === undefined ? "" : ` (${report.seconds.toFixed(1)} s)`}`,
    ...formatReasons("pruned", pruned, colors),
    ...formatReasons("rejected", rejected, colors),
    ...(device !== undefined && untried > 0
      ? [`  ${colors.yellow("not tried")}: ${untried} configs; a larger --budget tries them and keeps the measurements`]
      : []),
    ...casesTable(report, colors),
    device === undefined ? `  ${configs.length} would be tried` : `  configs to keep${formatOutputFiles(report)}`,
    ...(device === undefined ? [] : configs.map((values) => `    ${formatValues(values)}`)),
  ].join("\n");
}

function formatOutputFiles({ written, baked }: TuneReport): string {
  const files = [written, baked].filter((file) => file !== undefined);
  return files.length > 0 ? `, written to ${formatList(files)}` : "; --write puts them into the kernel's file";
}

function formatReasons(
  heading: string,
  dropped: TuneReport["pruned"],
  colors: ReturnType<typeof pc.createColors>,
): string[] {
  const groups = new Map<string, number>();
  for (const { reason } of dropped) groups.set(reason, (groups.get(reason) ?? 0) + 1);
  const lines = [...groups].map(([reason, count]) => `    - ${count}: ${reason.split("\n")[0]}`);
  if (lines.length === 0) return [];
  const more =
    lines.length > MAX_REASONS ? [`    … and ${lines.length - MAX_REASONS} more reasons; --json has all`] : [];
  return [`  ${colors.yellow(heading)}`, ...lines.slice(0, MAX_REASONS), ...more];
}

function casesTable({ cases }: TuneReport, colors: ReturnType<typeof pc.createColors>): string[] {
  if (cases.length === 0) return [];
  const head = ["case", "median", "before", "faster", "config"].map((text) => colors.dim(text));
  return formatTable(
    head,
    cases.map(({ best, time, time_before: timeBefore, ...testCase }) => [
      formatCase(testCase),
      `${Number(time.median.toPrecision(3))} ms${time.on === undefined ? "" : ` on ${time.on}`}`,
      timeBefore ? `${Number(timeBefore.median.toPrecision(3))} ms` : "",
      timeBefore ? `${(timeBefore.median / time.median).toFixed(2)} times` : "",
      formatValues(best),
    ]),
  );
}

/** `{ BLOCK: 128, numWarps: 4 }` */
function formatValues(values: ConfigValues): string {
  return `{ ${Object.entries(values)
    .map(([name, value]) => `${name}: ${formatLiteral(value)}`)
    .join(", ")} }`;
}
