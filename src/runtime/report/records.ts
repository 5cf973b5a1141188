/** Records of measurements: one line of JSON per time, in one file per kernel. */
import { jsonText } from "../../compiled/canonical-json.js";
import { appendFile, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { BenchCaseReport, BenchReport } from "./reports.js";
import { keyOfText, withoutConfigs } from "../system/json-cache.js";
import { checkOutput, writeProblem } from "../system/files.js";
import { version } from "../system/package-folder.js";
import { EnvironmentError, UsageError } from "../system/errors.js";
import type { PythonDevice } from "../devices/device.js";

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
