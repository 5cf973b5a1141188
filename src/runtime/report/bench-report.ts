/** The report of `bench`: a table for people, and JSON, which also feeds plots. */
import type pc from "picocolors";
import type { Benchmark, Iterations, Measurement } from "../measure/benchmark.js";
import { configAt, formatCase, valuesOf } from "../cases/case-text.js";
import { limitsOf, type DeviceLimits } from "../measure/roofline.js";
import type { Timing } from "../worker/protocol.js";
import type { BenchCaseReport, BenchReport, KernelBenchReport } from "./reports.js";
import { formatTable } from "./text-table.js";
import type { PythonDevice } from "../devices/device.js";

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
