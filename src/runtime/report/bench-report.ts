/** The report of `bench`: a table, and JSON for plots. */
import type pc from "picocolors";
import type { Benchmark, Iterations, Measurement } from "../measure/benchmark.js";
import { caseText, valuesOf } from "../cases/case-text.js";
import type { PythonDevice } from "../devices/devices.js";
import { limitsOf, type DeviceLimits } from "../measure/roofline.js";
import type { Timing } from "../worker/protocol.js";
import type { BenchCaseReport, BenchReport, KernelBenchReport } from "./reports.js";
import { table } from "./text-table.js";

export interface BenchFacts extends Iterations {
  readonly sweep?: readonly string[];
}

/** All kernels' report for programs. */
export function benchJson(found: readonly Benchmark[], device: PythonDevice, facts: BenchFacts): BenchReport {
  const { hello } = device;
  const limits = limitsOf(hello);
  return {
    ok: found.every(({ measurements, refused }) => measurements.length > 0 && refused.length === 0),
    device: device.kind as "cuda" | "hip",
    device_name: hello.deviceName,
    capability: hello.capability,
    versions: hello.versions,
    ...(limits && { limits }),
    kernels: found.map((benchmark) => kernelJson(benchmark, facts)),
  };
}

function kernelJson({ kernel, measurements, refused, seconds }: Benchmark, facts: BenchFacts): KernelBenchReport {
  const { warmup, iterations, sweep } = facts;
  return {
    kernel: kernel.signature.name,
    seconds,
    ...(sweep && { sweep }),
    cases: measurements.map(({ at, config, result, bytes, flops, roof, on }: Measurement): BenchCaseReport => {
      const { times } = result;
      const eager = medianOf(times["eager"]);
      return {
        sizes: at.sizes,
        dtypes: at.dtypes,
        ...(at.scalars && { scalars: at.scalars }),
        ...(at.constexprs && { constexprs: at.constexprs }),
        config,
        values: config === "autotuned" ? {} : valuesOf(kernel.configs[config]!),
        kernel_time_ms: times.kernel.median,
        ...(eager !== undefined && { reference_time_ms: eager, speedup: eager / times.kernel.median }),
        warmup_iters: warmup,
        benchmark_iters: iterations,
        times,
        bytes,
        ...(flops > 0 && { flops }),
        ...(roof && { roof }),
        ...(on !== undefined && { on }),
        ...(result.state && { gpu_state: result.state }),
      };
    }),
    not_measured: refused,
  };
}

function medianOf(time: BenchCaseReport["times"][string] | undefined): number | undefined {
  return time && "median" in time ? time.median : undefined;
}

/** One kernel's table: for each case, one line for the kernel and one for each provider. */
export function benchText(
  report: BenchReport,
  kernel: KernelBenchReport,
  colors: ReturnType<typeof pc.createColors>,
): string {
  const head = ["case", "measured", "median", "20 to 80 %", "host", "TFLOP/s", "GB/s", "of limit", "eager / it"];
  const rows = kernel.cases.flatMap((each) =>
    Object.entries(each.times).map(([name, time], i) => {
      const where = each.on === undefined ? "" : ` on ${each.on}`;
      const place = i === 0 ? `${caseText(each)}${where}` : "";
      const label =
        name === "kernel"
          ? `${kernel.kernel} (${each.config === "autotuned" ? each.config : `config ${each.config}`})`
          : name;
      if (!("median" in time)) return [place, label, colors.yellow(time.error)];
      return [place, label, ...figures(each, time)];
    }),
  );
  return [
    `${colors.bold(kernel.kernel)} on ${report.device_name}: ${limitsText(report.limits)} (${kernel.seconds.toFixed(1)} s)`,
    ...table(
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

function figures(each: BenchCaseReport, { median, low, high, host }: Timing): string[] {
  const eager = medianOf(each.times["eager"]);
  return [
    duration(median),
    `${duration(low)} to ${duration(high)}`,
    host === undefined ? "" : duration(host),
    each.flops === undefined ? "" : significant(each.flops / median / 1e9),
    significant(each.bytes / median / 1e6),
    each.roof ? `${Math.round((100 * each.roof.ms) / median)} % ${each.roof.by}` : "unknown",
    eager === undefined ? "" : significant(eager / median),
  ];
}

function limitsText(limits: DeviceLimits | undefined): string {
  if (!limits) return "limits of this device unknown";
  const rates = Object.entries(limits.tflops ?? {}).map(([name, rate]) => `${name} ${rate}`);
  const tflops = rates.length > 0 ? `TFLOP/s: ${rates.join(", ")}` : "TFLOP/s unknown";
  return `${significant(limits.gbps)} GB/s, ${tflops} (${limits.source})`;
}

/** Milliseconds, or microseconds below one. */
function duration(ms: number): string {
  return ms < 1 ? `${significant(ms * 1000)} µs` : `${significant(ms)} ms`;
}

function significant(value: number): string {
  return value >= 1000 ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}
