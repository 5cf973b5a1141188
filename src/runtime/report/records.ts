/** Records of measurements: one line of JSON per time, in one file per kernel. */
import { jsonText, cacheKey } from "../../compiled/canonical-json.js";
import { appendFile, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { BenchCaseReport, BenchReport, ComparedCase, RecordsReport } from "./reports.js";
import { checkOutput, writeProblem, version, keyOfText, withoutConfigs } from "../system/files.js";
import { EnvironmentError, UsageError } from "../system/errors.js";
import type { PythonDevice } from "../devices/device.js";
import type pc from "picocolors";
import { formatList } from "../../diagnostics/message.js";
import { formatCase } from "../cases/cases.js";
import type { Timing } from "../worker/protocol.js";
import { formatTable } from "./text-blocks.js";

/** A measured case with everything that affects its times. */
export interface MeasurementRecord extends BenchCaseReport {
  /** The time of the measurement, in ISO 8601. */
  readonly time: string;
  readonly by: "bench" | "tune";
  readonly kernel: string;
  /** A hash of the emitted module without its list of configs. */
  readonly module: string;
  readonly device_name: string;
  /** The machine, if it was not the local one. */
  readonly host?: string;
  readonly versions: BenchReport["versions"] & { readonly tilescript: string };
}

/** The common fields of the records of one command. */
export type RecordContext = Pick<MeasurementRecord, "by" | "device_name" | "host" | "versions">;

/** The common fields of a device's records. */
export function contextOf(by: RecordContext["by"], { hello, host }: PythonDevice): RecordContext {
  return {
    by,
    device_name: hello.deviceName,
    ...(host && { host: host.name }),
    versions: { ...hello.versions, tilescript: version },
  };
}

/** A hash of an emitted module without its list of configs, because a record contains its config. */
export const moduleHash = (python: string): string => keyOfText(withoutConfigs(python)).slice(0, 16);

/** The measured cases of a kernel. */
export interface MeasuredKernel {
  readonly kernel: string;
  readonly module: string;
  readonly cases: readonly BenchCaseReport[];
}

const recordFile = (folder: string, kernel: string): string => join(folder, `${kernel}.jsonl`);

/** Checks that records are writable before anything is measured. Throws EnvironmentError. */
export async function checkRecords(folder: string, kernels: readonly string[]): Promise<void> {
  for (const kernel of kernels) await checkOutput(recordFile(folder, kernel));
}

/** Appends the cases to the kernels' files and returns the files. Throws EnvironmentError. */
export async function appendRecords(
  folder: string,
  context: RecordContext,
  measured: readonly MeasuredKernel[],
): Promise<readonly string[]> {
  const time = new Date().toISOString();
  const files: string[] = [];
  for (const { kernel, module, cases } of measured) {
    if (cases.length === 0) continue;
    const file = recordFile(folder, kernel);
    const lines = cases.map((each) => `${jsonText({ time, kernel, module, ...context, ...each })}\n`);
    // A single write, so that concurrent commands do not mix their lines.
    await appendFile(file, lines.join("")).catch((error: NodeJS.ErrnoException) => {
      throw new EnvironmentError(writeProblem(file, error.code));
    });
    files.push(file);
  }
  return files;
}

/** The records of a file, or of all files of a folder, the oldest first. Throws UsageError. */
export async function readRecords(path: string): Promise<readonly MeasurementRecord[]> {
  const stats = await stat(path).catch(() => {
    throw new UsageError(`there is no file ${path}`);
  });
  const names = stats.isDirectory() ? (await readdir(path)).filter((name) => name.endsWith(".jsonl")).sort() : [];
  const files = stats.isDirectory() ? names.map((name) => join(path, name)) : [path];
  const records: MeasurementRecord[] = [];
  for (const file of files)
    for (const [i, line] of (await readFile(file, "utf8")).split("\n").entries())
      if (line.trim() !== "") records.push(parseRecord(line, `${file}:${i + 1}`));
  if (records.length === 0)
    throw new UsageError(`${path} has no records; \`tilescript bench FILE --results results\` writes them`);
  return records.sort((a, b) => Number(a.time > b.time) - Number(a.time < b.time));
}

function parseRecord(line: string, position: string): MeasurementRecord {
  try {
    const { time, kernel, module, device_name, versions, sizes, times } = JSON.parse(line) as MeasurementRecord;
    const texts = [time, kernel, module, device_name, versions.triton];
    if (texts.every((each) => typeof each === "string") && sizes && times["kernel"] && "median" in times["kernel"])
      return JSON.parse(line) as MeasurementRecord;
  } catch {
    // Reported below.
  }
  throw new UsageError(`${position} is not a record of bench or tune; remove the line`);
}

// Compares records of different days, GPUs and versions: the latest time with the best earlier one.

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
