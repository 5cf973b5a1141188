/** Records of several days, GPUs and versions beside each other: the latest against the best before it. */
import { cacheKey, jsonText } from "../../compiled/canonical-json.js";
import type pc from "picocolors";
import { formatList } from "../../diagnostics/format-list.js";
import { caseText } from "../cases/case-text.js";
import type { MeasurementRecord } from "./records.js";
import type { Timing } from "../worker/protocol.js";
import type { BenchCaseReport, BenchReport, ComparedCase, RecordsReport } from "./reports.js";
import { table } from "./text-table.js";

/** A case that became slower by less than this is not pointed out, whatever its spread. */
const NOTICED = 1.05;

export function compareRecords(records: readonly MeasurementRecord[]): RecordsReport {
  const groups = new Map<string, MeasurementRecord[]>();
  for (const each of records) {
    const key = cacheKey([each.kernel, caseText(each), each.scalars, each.device_name]);
    groups.set(key, [...(groups.get(key) ?? []), each]);
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
  // The spreads must be apart too: else it may be noise.
  const regressed = slower > NOTICED && timeOf(latest).low > timeOf(best).high;
  return {
    ...base,
    records: group.length,
    regressed,
    best: { time: timeOf(best), at: best.time },
    slower,
    changed: differences(best, latest),
  };
}

/** What else is different between two records, as phrases. */
function differences(before: MeasurementRecord, after: MeasurementRecord): readonly string[] {
  const changed = (name: string, from: unknown, to: unknown): readonly string[] =>
    from === to || from === undefined || to === undefined ? [] : [`${name} ${String(from)} → ${String(to)}`];
  const [clock, now] = [before.gpu_state?.sm_mhz, after.gpu_state?.sm_mhz];
  return [
    ...changed("module", before.module, after.module),
    ...changed("config", jsonText(before.values), jsonText(after.values)),
    ...changed("tilescript", before.versions.tilescript, after.versions.tilescript),
    ...changed("triton", before.versions.triton, after.versions.triton),
    ...changed("torch", before.versions.torch, after.versions.torch),
    ...changed("driver", before.gpu_state?.driver, after.gpu_state?.driver),
    ...changed("host", before.host ?? "this machine", after.host ?? "this machine"),
    ...(clock && now && Math.abs(now / clock - 1) > 0.02 ? changed("SM clock in MHz", clock, now) : []),
  ];
}

export function recordsText({ records, cases }: RecordsReport, colors: ReturnType<typeof pc.createColors>): string {
  const head = ["kernel", "case", "device", "latest", "best before", "", ""].map((text) => colors.dim(text));
  const rows = cases.map((each) => {
    const verdict = each.regressed ? colors.red("slower") : "";
    const factor = each.slower === undefined ? "" : `${each.slower.toFixed(2)} times`;
    const before = each.best ? `${ms(each.best.time)} (${each.best.at.slice(0, 10)})` : "";
    return [each.kernel, caseText(each), each.device_name, ms(each.time), before, factor, verdict];
  });
  const slower = cases.filter(({ regressed }) => regressed);
  return [
    `${records} records`,
    ...table(head, rows),
    ...slower.map(
      (each) =>
        `  ${colors.red("slower")} ${each.kernel} ${caseText(each)} on ${each.device_name}: ${each.changed?.length ? `since then ${formatList(each.changed)} changed` : "nothing else that is recorded changed; measure again"}`,
    ),
  ].join("\n");
}

const ms = ({ median }: Timing): string => `${Number(median.toPrecision(3))} ms`;

/** The latest records of each kernel as a report to plot: what is measured are the devices with their Triton. */
export function plottable(records: readonly MeasurementRecord[]): readonly BenchReport[] {
  return [...new Set(records.map(({ kernel }) => kernel))].map((kernel) => {
    const own = records.filter((each) => each.kernel === kernel);
    const cases = new Map<string, BenchCaseReport>();
    for (const each of own) {
      const known = cases.get(caseText(each));
      const name = `${each.device_name}, Triton ${each.versions.triton}`;
      cases.set(caseText(each), { ...withoutRoof(each), times: { ...known?.times, [name]: timeOf(each) } });
    }
    const devices = formatList([...new Set(own.map(({ device_name: name }) => name))]);
    const { versions } = own[0]!;
    const plotted = { kernel, seconds: 0, cases: [...cases.values()], not_measured: [] };
    return { ok: true, device: "cuda", device_name: devices, capability: null, versions, kernels: [plotted] };
  });
}

/** The limits of several devices differ. */
function withoutRoof(each: BenchCaseReport): BenchCaseReport {
  const shown: { -readonly [Key in keyof BenchCaseReport]: BenchCaseReport[Key] } = { ...each };
  delete shown.roof;
  return shown;
}
