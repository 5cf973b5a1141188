/** A record of what was measured: one line of JSON for each time, in a file for each kernel. */
import { jsonText } from "../../compiled/canonical-json.js";
import { appendFile, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { PythonDevice } from "../devices/devices.js";
import type { BenchCaseReport, BenchReport } from "./reports.js";
import { keyOfText, withoutConfigs } from "../system/json-cache.js";
import { checkOutput, writeProblem } from "../system/files.js";
import { version } from "../system/package-folder.js";
import { EnvironmentError, UsageError } from "../system/errors.js";

/** A measured case, with everything that its times depend on. */
export interface MeasurementRecord extends BenchCaseReport {
  /** When it was measured, in ISO 8601. */
  readonly time: string;
  readonly by: "bench" | "tune";
  readonly kernel: string;
  /** A hash of the emitted module without its list of configs. */
  readonly module: string;
  readonly device_name: string;
  /** The machine, if it was another one. */
  readonly host?: string;
  readonly versions: BenchReport["versions"] & { readonly tilescript: string };
}

/** What the records of one command have in common. */
export type RecordContext = Pick<MeasurementRecord, "by" | "device_name" | "host" | "versions">;

/** What a device's records have in common. */
export function contextOf(by: RecordContext["by"], { hello, host }: PythonDevice): RecordContext {
  return {
    by,
    device_name: hello.deviceName,
    ...(host && { host: host.name }),
    versions: { ...hello.versions, tilescript: version },
  };
}

/** What an emitted module is known by. Its list of configs is not part of it, as a record has its config. */
export const moduleHash = (python: string): string => keyOfText(withoutConfigs(python)).slice(0, 16);

/** A kernel's measured cases. */
export interface Measured {
  readonly kernel: string;
  readonly module: string;
  readonly cases: readonly BenchCaseReport[];
}

const fileOf = (folder: string, kernel: string): string => join(folder, `${kernel}.jsonl`);

/** Makes sure that records can be written, before anything is measured. Throws EnvironmentError. */
export async function checkRecords(folder: string, kernels: readonly string[]): Promise<void> {
  for (const kernel of kernels) await checkOutput(fileOf(folder, kernel));
}

/** Appends the cases to the kernels' files and returns the files. Throws EnvironmentError. */
export async function appendRecords(
  folder: string,
  context: RecordContext,
  measured: readonly Measured[],
): Promise<readonly string[]> {
  const time = new Date().toISOString();
  const files: string[] = [];
  for (const { kernel, module, cases } of measured) {
    if (cases.length === 0) continue;
    const file = fileOf(folder, kernel);
    const lines = cases.map((each) => `${jsonText({ time, kernel, module, ...context, ...each })}\n`);
    // One write, so that two commands at once do not mix their lines.
    await appendFile(file, lines.join("")).catch((error: NodeJS.ErrnoException) => {
      throw new EnvironmentError(writeProblem(file, error.code));
    });
    files.push(file);
  }
  return files;
}

/** The records of a file, or of all files of a folder, the oldest first. Throws UsageError. */
export async function readRecords(path: string): Promise<readonly MeasurementRecord[]> {
  const found = await stat(path).catch(() => {
    throw new UsageError(`there is no file ${path}`);
  });
  const names = found.isDirectory() ? (await readdir(path)).filter((name) => name.endsWith(".jsonl")).sort() : [];
  const files = found.isDirectory() ? names.map((name) => join(path, name)) : [path];
  const records: MeasurementRecord[] = [];
  for (const file of files)
    for (const [i, line] of (await readFile(file, "utf8")).split("\n").entries())
      if (line.trim() !== "") records.push(recordOf(line, `${file}:${i + 1}`));
  if (records.length === 0)
    throw new UsageError(`${path} has no records; \`tilescript bench FILE --results results\` writes them`);
  return records.sort((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
}

function recordOf(line: string, place: string): MeasurementRecord {
  try {
    const { time, kernel, module, device_name, versions, sizes, times } = JSON.parse(line) as MeasurementRecord;
    const texts = [time, kernel, module, device_name, versions.triton];
    if (texts.every((each) => typeof each === "string") && sizes && times["kernel"] && "median" in times["kernel"])
      return JSON.parse(line) as MeasurementRecord;
  } catch {
    // Reported below.
  }
  throw new UsageError(`${place} is not a record of bench or tune; remove the line`);
}
