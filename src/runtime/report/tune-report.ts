/** The report of `tune`: dropped configs with reasons, the fastest config of each case, and the configs to keep. */
import { formatLiteral } from "../../compiled/canonical-json.js";
import type pc from "picocolors";
import type { CompiledKernel, Config } from "../../compiled/compiled-kernel.js";
import { formatList } from "../../diagnostics/message.js";
import { configAt, formatCase, valuesOf } from "../cases/case-text.js";
import { bytesOf } from "../measure/roofline.js";
import type { BenchCaseReport, ConfigValues, TuneReport } from "./reports.js";
import { formatTable } from "./text-table.js";
import type { Pruned } from "../measure/candidates.js";
import { iterations } from "../measure/trials.js";
import type { Best, SearchResult } from "../measure/tuner.js";
import type { PythonDevice } from "../devices/device.js";

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
