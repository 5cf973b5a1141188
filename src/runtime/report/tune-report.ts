/** The report of `tune`: dropped configs with reasons, the fastest config of each case, the configs to keep. */
import { formatLiteral } from "../../compiled/canonical-json.js";
import type pc from "picocolors";
import type { CompiledKernel, Config } from "../../compiled/compiled-kernel.js";
import { formatList } from "../../diagnostics/format-list.js";
import { caseText, valuesOf } from "../cases/case-text.js";
import type { PythonDevice } from "../devices/devices.js";
import { bytesOf } from "../measure/roofline.js";
import type { BenchCaseReport, ConfigValues, TuneReport } from "./reports.js";
import { table } from "./text-table.js";
import type { Pruned } from "../measure/candidates.js";
import { iterations } from "../measure/trials.js";
import type { Best, SearchResult } from "../measure/tuner.js";

export interface Facts {
  readonly kernel: CompiledKernel;
  readonly candidates: number;
  readonly pruned: readonly Pruned[];
}

export interface Found {
  readonly configs: readonly Config[];
  readonly searched?: SearchResult;
  readonly best?: readonly Best[];
  readonly device?: PythonDevice;
  readonly written?: string;
  readonly baked?: string;
}

export function tuneJson({ kernel, candidates, pruned }: Facts, found: Found): TuneReport {
  const { configs, searched, best = [], device, written, baked } = found;
  const valuesAt = (config: number): ConfigValues => valuesOf(kernel.configs[config]!);
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
    cases: best.map(({ at, config, time, own }) => ({
      sizes: at.sizes,
      dtypes: at.dtypes,
      ...(at.constexprs && { constexprs: at.constexprs }),
      best: valuesAt(config),
      time,
      ...(own && { time_before: own.time }),
    })),
    configs: configs.map(valuesOf),
    ...(written !== undefined && { written }),
    ...(baked !== undefined && { baked }),
  };
}

/** The best of each case in the form of a benchmark, for a record. */
export function tunedCases({ kernel }: Facts, best: readonly Best[]): readonly BenchCaseReport[] {
  return best.map(({ at, config, time }) => ({
    sizes: at.sizes,
    dtypes: at.dtypes,
    ...(at.scalars && { scalars: at.scalars }),
    ...(at.constexprs && { constexprs: at.constexprs }),
    config,
    values: valuesOf(kernel.configs[config]!),
    kernel_time_ms: time.median,
    warmup_iters: iterations.warmup,
    benchmark_iters: iterations.iterations,
    times: { kernel: time },
    bytes: bytesOf(kernel, at),
    ...(time.on !== undefined && { on: time.on }),
  }));
}

/** How many reasons are shown; the rest are counted. */
const SHOWN = 8;

export function tuneText(report: TuneReport, colors: ReturnType<typeof pc.createColors>): string {
  const { kernel, device_name: device, candidates, pruned, rejected, tried, configs } = report;
  const counts = [
    `${candidates} candidates, ${pruned.length} pruned`,
    ...(device === undefined
      ? []
      : [`${tried} tried (${report.from_cache} times from the cache), ${rejected.length} rejected`]),
  ].join(", ");
  const where = device === undefined ? "" : ` on ${device}`;
  const untried = candidates - pruned.length - tried;
  return [
    `${colors.bold(kernel)}${where}: ${counts}${device === undefined ? "" : ` (${report.seconds.toFixed(1)} s)`}`,
    ...reasons("pruned", pruned, colors),
    ...reasons("rejected", rejected, colors),
    ...(device !== undefined && untried > 0
      ? [
          `  ${colors.yellow("not tried")}: ${untried} configs; a larger --budget tries them, and keeps what is measured`,
        ]
      : []),
    ...casesTable(report, colors),
    device === undefined ? `  ${configs.length} would be tried` : `  configs to keep${keptWhere(report)}`,
    ...(device === undefined ? [] : configs.map((values) => `    ${valuesText(values)}`)),
  ].join("\n");
}

function keptWhere({ written, baked }: TuneReport): string {
  const places = [written, baked].filter((place) => place !== undefined);
  return places.length > 0 ? `, written to ${formatList(places)}` : "; --write puts them into the kernel's file";
}

function reasons(what: string, dropped: TuneReport["pruned"], colors: ReturnType<typeof pc.createColors>): string[] {
  const groups = new Map<string, number>();
  for (const { reason } of dropped) groups.set(reason, (groups.get(reason) ?? 0) + 1);
  const lines = [...groups].map(([reason, count]) => `    - ${count}: ${reason.split("\n")[0]}`);
  if (lines.length === 0) return [];
  const more = lines.length > SHOWN ? [`    … and ${lines.length - SHOWN} more reasons; --json has all`] : [];
  return [`  ${colors.yellow(what)}`, ...lines.slice(0, SHOWN), ...more];
}

function casesTable({ cases }: TuneReport, colors: ReturnType<typeof pc.createColors>): string[] {
  if (cases.length === 0) return [];
  const head = ["case", "median", "before", "faster", "config"].map((text) => colors.dim(text));
  return table(
    head,
    cases.map(({ best, time, time_before: before, ...at }) => [
      caseText(at),
      `${Number(time.median.toPrecision(3))} ms${time.on === undefined ? "" : ` on ${time.on}`}`,
      before ? `${Number(before.median.toPrecision(3))} ms` : "",
      before ? `${(before.median / time.median).toFixed(2)} times` : "",
      valuesText(best),
    ]),
  );
}

/** `{ BLOCK: 128, numWarps: 4 }` */
function valuesText(values: ConfigValues): string {
  return `{ ${Object.entries(values)
    .map(([name, value]) => `${name}: ${formatLiteral(value)}`)
    .join(", ")} }`;
}
