/** The device that a command uses, where it is not named on the command line: from the environment, or from a file. */
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { DeviceName } from "../../compiled/device-names.js";
import { parseDevice } from "../devices/device-name.js";
import { UsageError } from "../system/errors.js";

export interface ChosenDevice {
  readonly device: DeviceName;
  /** What names it: `--device`, `TILESCRIPT_DEVICE`, or the path of the file. Absent if nothing does. */
  readonly source?: string;
}

const VARIABLE = "TILESCRIPT_DEVICE";
const FILE = "tilescript.config.json";

/** `--device`, else `TILESCRIPT_DEVICE`, else `device` of the nearest `tilescript.config.json`, else `auto`. */
export function chosenDevice(
  given: DeviceName | undefined,
  env: NodeJS.ProcessEnv = process.env,
  folder: string = process.cwd(),
): ChosenDevice {
  if (given !== undefined) return { device: given, source: "--device" };
  const variable = env[VARIABLE];
  if (variable) return { device: deviceName(VARIABLE, variable), source: VARIABLE };
  const found = configOf(folder);
  if (found?.device === undefined) return { device: "auto" };
  return { device: deviceName(found.path, found.device), source: found.path };
}

/** Throws UsageError if the chosen device is a cluster; `why` says what needs one machine. */
export function refuseCluster(given: DeviceName | undefined, why: string): void {
  const { device, source } = chosenDevice(given);
  if (parseDevice(device).ray === undefined) return;
  throw new UsageError(
    `${source} ${device}: ${why}; name one, such as --device ssh:HOST, or --device auto for this one`,
  );
}

/** The name of a device, if it is one. `source` is who says it. */
export function deviceName(source: string, text: string): DeviceName {
  try {
    parseDevice(text);
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(`${source}: ${error.message}`) : error;
  }
  return text as DeviceName;
}

/** The nearest file, in this folder or in one above it. */
function configOf(folder: string): { readonly path: string; readonly device?: string } | undefined {
  const path = join(resolve(folder), FILE);
  const text = readIfThere(path);
  if (text === undefined)
    return dirname(path) === dirname(dirname(path)) ? undefined : configOf(dirname(dirname(path)));
  const { device, ...unknown } = parsed(path, text);
  const [other] = Object.keys(unknown);
  if (other !== undefined) throw new UsageError(`${path}: unknown key ${other}; the file has device`);
  if (device === undefined) return { path };
  if (typeof device !== "string") throw new UsageError(`${path}: device must be a string, such as "ssh:box"`);
  return { path, device };
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new UsageError(`${path} can't be read (${code})`);
  }
}

function parsed(path: string, text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Reported below.
  }
  throw new UsageError(`${path} is no JSON object; write { "device": "ssh:box" }`);
}
