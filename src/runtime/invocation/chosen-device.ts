/** The device of a command: from the command line, the environment, or a file. */
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { DeviceName } from "../../compiled/gpus.js";
import { parseDevice } from "../devices/device.js";
import { UsageError } from "../system/errors.js";

export interface ChosenDevice {
  readonly device: DeviceName;
  /** The source of the choice: `--device`, `TILESCRIPT_DEVICE`, or the path of the file. Absent for the default. */
  readonly source?: string;
}

const VARIABLE = "TILESCRIPT_DEVICE";
const FILE = "tilescript.config.json";

/** `--device`, else `TILESCRIPT_DEVICE`, else `device` of the nearest `tilescript.config.json`, else `auto`. */
export function chosenDevice(
  device: DeviceName | undefined,
  env: NodeJS.ProcessEnv = process.env,
  folder: string = process.cwd(),
): ChosenDevice {
  if (device !== undefined) return { device, source: "--device" };
  const variable = env[VARIABLE];
  if (variable) return { device: deviceName(VARIABLE, variable), source: VARIABLE };
  const config = readConfig(folder);
  if (config?.device === undefined) return { device: "auto" };
  return { device: deviceName(config.path, config.device), source: config.path };
}

/** Throws UsageError if the chosen device is a cluster. `why` is the reason in the message. */
export function refuseCluster(option: DeviceName | undefined, why: string): void {
  const { device, source } = chosenDevice(option);
  if (parseDevice(device).ray === undefined) return;
  throw new UsageError(
    `${source} ${device}: ${why}; name one, such as --device ssh:HOST, or --device auto for this one`,
  );
}

/** Validates a device name. `source` names its origin in messages. */
export function deviceName(source: string, text: string): DeviceName {
  try {
    parseDevice(text);
  } catch (error) {
    throw error instanceof UsageError ? new UsageError(`${source}: ${error.message}`) : error;
  }
  return text as DeviceName;
}

/** Reads the nearest config file, in this folder or above. */
function readConfig(folder: string): { readonly path: string; readonly device?: string } | undefined {
  const path = join(resolve(folder), FILE);
  const text = readIfExists(path);
  if (text === undefined)
    return dirname(path) === dirname(dirname(path)) ? undefined : readConfig(dirname(dirname(path)));
  const { device, ...unknown } = parseObject(path, text);
  const [unknownKey] = Object.keys(unknown);
  if (unknownKey !== undefined) throw new UsageError(`${path}: unknown key ${unknownKey}; the file has device`);
  if (device === undefined) return { path };
  if (typeof device !== "string") throw new UsageError(`${path}: device must be a string, such as "ssh:box"`);
  return { path, device };
}

function readIfExists(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new UsageError(`${path} can't be read (${code})`);
  }
}

function parseObject(path: string, text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Reported below.
  }
  throw new UsageError(`${path} is no JSON object; write { "device": "ssh:box" }`);
}
