/** Compares records of different days, GPUs and versions: the latest time with the best earlier one. */
import { cacheKey, jsonText } from "../../compiled/canonical-json.js";
import type pc from "picocolors";
import { formatList } from "../../diagnostics/message.js";
import { formatCase } from "../cases/case-text.js";
import type { MeasurementRecord } from "./records.js";
import type { Timing } from "../worker/protocol.js";
import type { BenchCaseReport, BenchReport, ComparedCase, RecordsReport } from "./reports.js";
import { formatTable } from "./text-table.js";

/** The threshold for reporting a case as slower, independent of its spread. */
const REGRESSION_FACTOR = 1.05;

export function compareRecords(records: readonly MeasurementRecord[]): RecordsReport {
  const groups = new Map<string, MeasurementRecord[]>();
  for (const record of records) {
    const key = cacheKey([record.kernel, formatCase(record), record.scalars, record.device_name]);
    groups.set(key, [...(groups.get(key) ?? []), record]);
  }
  const cases = [...groups.values()].map(comparedCase);
  return { ok: cases.every(({ regressed }) => !regressed), records: records.length, cases };
}

const timeOf = ({ times }: MeasurementRecord): Timing => times["kernel"] as Timing;

function comparedCase(group: readonly MeasurementRecord[]): ComparedCase {
  const latest = group.at(-1)!;
  const { kernel, device_name, sizes, dtypes, constexprs } = latest;
  const base = { kernel, device_name, sizes, dtypes, ...(constexprs && { constexprs }), time: timeOf(latest) };
  const earlier = group.slice(0, -1);
  if (earlier.length === 0) return { ...base, records: 1, regressed: false };
  const best = earlier.reduce((a, b) => (timeOf(b).median < timeOf(a).median ? b : a));
  const slower = timeOf(latest).median / timeOf(best).median;
  // The spreads must not overlap either; otherwise the difference may be noise.
  const regressed = slower > REGRESSION_FACTOR && timeOf(latest).low > timeOf(best).high;
  return {
    ...base,
    records: group.length,
    regressed,
    best: { time: timeOf(best), at: best.time },
    slower,
    changed: differences(best, latest),
  };
}

/** Other differences between two records, as phrases. */
function differences(baseline: MeasurementRecord, after: MeasurementRecord): readonly string[] {
  const describeChange = (name: string, previous: unknown, current: unknown): readonly string[] =>
    previous === current || previous === undefined || current === undefined
      ? []
      : [`${name} ${String(previous)} → ${String(current)}`];
  const [previousClock, currentClock] = [baseline.gpu_state?.sm_mhz, after.gpu_state?.sm_mhz];
  return [
    ...describeChange("module", baseline.module, after.module),
    ...describeChange("config", jsonText(baseline.values), jsonText(after.values)),
    ...describeChange("tilescript", baseline.versions.tilescript, after.versions.tilescript),
    ...describeChange("triton", baseline.versions.triton, after.versions.triton),
    ...describeChange("torch", baseline.versions.torch, after.versions.torch),
    ...describeChange("driver", baseline.gpu_state?.driver, after.gpu_state?.driver),
    ...describeChange("host", baseline.host ?? "this machine", after.host ?? "this machine"),
    ...(previousClock && currentClock && Math.abs(currentClock / previousClock - 1) > 0.02
      ? describeChange("SM clock in MHz", previousClock, currentClock)
      : []),
  ];
}

export function recordsText({ records, cases }: RecordsReport, colors: ReturnType<typeof pc.createColors>): string {
  const head = ["kernel", "case", "device", "latest", "best before", "", ""].map((text) => colors.dim(text));
  const rows = cases.map((compared) => {
    const verdict = compared.regressed ? colors.red("slower") : "";
    const factor = compared.slower === undefined ? "" : `${compared.slower.toFixed(2)} times`;
    const best = compared.best ? `${formatMs(compared.best.time)} (${compared.best.at.slice(0, 10)})` : "";
    return [
      compared.kernel,
      formatCase(compared),
      compared.device_name,
      formatMs(compared.time),
      best,
      factor,
      verdict,
    ];
  });
  const slower = cases.filter(({ regressed }) => regressed);
  return [
    `${records} records`,
    ...formatTable(head, rows),
    ...slower.map(
      (compared) =>
        `  ${colors.red("slower")} ${compared.kernel} ${formatCase(compared)} on ${compared.device_name}: ${compared.changed?.length ? `since then ${formatList(compared.changed)} changed` : "nothing else that is recorded changed; measure again"}`,
    ),
  ].join("\n");
}

const formatMs = ({ median }: Timing): string => `${Number(median.toPrecision(3))} ms`;

/** The latest records of each kernel as a report to plot. Each device with its Triton version is a series. */
export function toPlotReports(records: readonly MeasurementRecord[]): readonly BenchReport[] {
  return [...new Set(records.map(({ kernel }) => kernel))].map((kernel) => {
    const kernelRecords = records.filter((each) => each.kernel === kernel);
    const cases = new Map<string, BenchCaseReport>();
    for (const record of kernelRecords) {
      const existing = cases.get(formatCase(record));
      const name = `${record.device_name}, Triton ${record.versions.triton}`;
      cases.set(formatCase(record), { ...withoutRoof(record), times: { ...existing?.times, [name]: timeOf(record) } });
    }
    const devices = formatList([...new Set(kernelRecords.map(({ device_name: name }) => name))]);
    const { versions } = kernelRecords[0]!;
    const kernelReport = { kernel, seconds: 0, cases: [...cases.values()], not_measured: [] };
    return { ok: true, device: "cuda", device_name: devices, capability: null, versions, kernels: [kernelReport] };
  });
}

/** Removes the roofline, because the limits of several devices differ. */
function withoutRoof(report: BenchCaseReport): BenchCaseReport {
  const copy: { -readonly [Key in keyof BenchCaseReport]: BenchCaseReport[Key] } = { ...report };
  delete copy.roof;
  return copy;
}
