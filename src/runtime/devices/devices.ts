/** The choice of a device: a GPU, else Triton's interpreter, else the evaluator; and what each leaves unchecked. */
import { Compilers } from "../python/compilers.js";
import { findPython, interpreterProblem, type Discovery, type PythonEnvironment } from "../python/environment.js";
import { EnvironmentError, UsageError } from "../system/problems.js";
import type { HelloResult } from "../python/protocol.js";
import { Worker } from "../python/worker.js";

export const deviceNames = ["auto", "cuda", "hip", "interpreter", "eval"] as const;
export type DeviceName = (typeof deviceNames)[number];

/** A device that is ready to run cases. */
export type Device = EvalDevice | PythonDevice;

interface DeviceFacts {
  /** Why this device was chosen, as a phrase. */
  readonly why: string;
  /** What a run on this device can't show. */
  readonly unchecked: readonly string[];
}

export interface EvalDevice extends DeviceFacts {
  readonly kind: "eval";
}

export interface PythonDevice extends DeviceFacts {
  readonly kind: HelloResult["device"];
  readonly worker: Worker;
  readonly hello: HelloResult;
  readonly environment: PythonEnvironment;
  /** On a GPU: the processes that compile ahead. */
  readonly compilers?: Compilers;
}

export interface DeviceOptions {
  readonly device: DeviceName;
  readonly python?: string | undefined;
  readonly env?: NodeJS.ProcessEnv;
  /** Number of processes that compile ahead for a GPU; 0 for none. Default: the number of cores. */
  readonly processes?: number | undefined;
  /** Lets this process end while the device is open. */
  readonly background?: boolean;
  /** Receives what user code prints in the worker. */
  readonly onOutput?: (text: string) => void;
}

/** The first import of torch after a boot reads gigabytes. */
const START_DEADLINE_MS = 180_000;

const evalUnchecked = ["the emitted Python was not run; the evaluator ran the kernel in-process"];
const interpreterUnchecked = [
  "nothing was compiled for a GPU",
  "Triton's interpreter runs programs one after another, so races between programs do not show",
];

/** Opens the requested device, or the best one for `auto`. Throws EnvironmentError if it is not available. */
export async function openDevice(options: DeviceOptions): Promise<Device> {
  if (!deviceNames.includes(options.device))
    throw new UsageError(`there is no device ${String(options.device)}; the devices are ${deviceNames.join(", ")}`);
  if (options.device === "eval") return { kind: "eval", why: "it was asked for", unchecked: evalUnchecked };
  const discovery = await findPython(options);
  if (!discovery.environment) {
    const why = missingPython(discovery);
    if (options.device !== "auto" || discovery.named) throw new EnvironmentError(why);
    return { kind: "eval", why, unchecked: evalUnchecked };
  }
  const opened = await startWorker(options.device, discovery.environment, options);
  if (typeof opened !== "string") return opened;
  if (options.device !== "auto" || discovery.named) throw new EnvironmentError(opened);
  return { kind: "eval", why: opened, unchecked: evalUnchecked };
}

async function startWorker(
  device: Exclude<DeviceName, "eval">,
  environment: PythonEnvironment,
  options: DeviceOptions,
): Promise<PythonDevice | string> {
  const started = {
    python: environment.python,
    background: options.background,
    ...(options.env && { env: options.env }),
    ...(options.onOutput && { onOutput: options.onOutput }),
  };
  const worker = new Worker({ ...started, device });
  const reply = await worker.request({ type: "hello" }, START_DEADLINE_MS);
  if (!reply.ok) {
    await worker.stop();
    return `${environment.python} (${environment.source}) can't be used: ${reply.error.message}`;
  }
  const hello = reply.result;
  const problem = hello.device === "interpreter" ? interpreterProblem(hello.versions) : undefined;
  if (problem) {
    await worker.stop();
    return `${environment.python} (${environment.source}) can't be used: ${problem}`;
  }
  const why =
    device !== "auto"
      ? "it was asked for"
      : hello.device === "interpreter"
        ? "torch sees no GPU"
        : `torch sees ${hello.deviceName}`;
  const unchecked = hello.device === "interpreter" ? interpreterUnchecked : [];
  const compilers =
    hello.target && options.processes !== 0 && new Compilers({ ...started, processes: options.processes });
  return { kind: hello.device, worker, hello, environment, why, unchecked, ...(compilers && { compilers }) };
}

/** Opens a GPU. Throws EnvironmentError if there is none: `what` needs it, `instead` is the alternative. */
export async function openGpu(
  { what, instead }: { readonly what: string; readonly instead: string },
  options: Omit<DeviceOptions, "device">,
): Promise<PythonDevice> {
  const device = await openDevice({ ...options, device: "auto" });
  if (device.kind === "cuda" || device.kind === "hip") return device;
  await closeDevice(device);
  throw new EnvironmentError(`${what} needs a GPU: ${device.why}; ${instead} without one`);
}

/** Why no Python was usable, and the command that makes one. */
export function missingPython(discovery: Discovery): string {
  const tried = discovery.rejected.map(({ python, source, reason }) =>
    source === python ? `${source}: ${reason}` : `${python} (${source}): ${reason}`,
  );
  const remedy = discovery.named
    ? "name another, or none to let it be found"
    : "`npx tilescript setup` makes a Python environment with torch and triton";
  return `no usable Python (${tried.join("; ")}); ${remedy}`;
}

/** Ends the device's processes, if it has any. */
export async function closeDevice(device: Device): Promise<void> {
  if (device.kind !== "eval") await Promise.all([device.worker.stop(), device.compilers?.stop()]);
}

/** Starting Python and importing torch takes seconds, so a device stays open until this process ends. */
const shared = new Map<string, Promise<Device>>();

/** The open device for calls that need one, the same for all. */
export function sharedDevice(device: DeviceName, python: string | undefined): Promise<Device> {
  const key = `${device} ${python ?? ""}`;
  let opened = shared.get(key);
  if (!opened) {
    shared.set(key, (opened = openDevice({ device, python, background: true })));
    opened.catch(() => shared.delete(key));
  }
  return opened;
}
