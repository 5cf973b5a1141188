/** The choice of a device: a GPU, else Triton's interpreter, else the evaluator; and what each leaves unchecked. */
import { Compilers } from "../worker/compilers.js";
import { findPython, interpreterProblem, type Discovery, type PythonEnvironment } from "../worker/environment.js";
import { EnvironmentError, UsageError } from "../system/errors.js";
import type { HelloResult } from "../worker/protocol.js";
import { RemoteHost } from "../remote/remote-host.js";
import type { SshAddress } from "../remote/ssh-address.js";
import type { Host, Remote } from "../worker/host.js";
import type { RequestServer, WorkerPool } from "../worker/worker-pool.js";
import { openCluster } from "./ray-devices.js";
import { startWorkers } from "./start-workers.js";
import { evalUnchecked, interpreterUnchecked } from "./unchecked.js";
import type { DeviceName } from "../../compiled/device-names.js";
import { type DeviceChoice, parseDevice } from "./device-name.js";

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
  /** One, or one for each of several GPUs of one kind. */
  readonly workers: WorkerPool;
  /** What the first worker runs on. */
  readonly hello: HelloResult;
  readonly environment: PythonEnvironment;
  /** The machine or the cluster that it is part of, if it is not this machine. */
  readonly host?: Remote;
  /** On a GPU: the processes that compile ahead. */
  readonly compilers?: AheadCompilers;
  /** The machine, where the devices of a cluster were opened by node. */
  readonly node?: string;
}

/** Whoever compiles into the cache that a device's workers read. */
export interface AheadCompilers {
  /** The number of processes started so far. */
  readonly started: number;
  /** Runs every job in the next free process. */
  each<Job>(jobs: readonly Job[], work: (server: RequestServer, job: Job) => Promise<void>): Promise<void>;
  stop(): Promise<void>;
}

export interface DeviceOptions {
  readonly device: DeviceName;
  readonly python?: string | undefined;
  readonly env?: NodeJS.ProcessEnv;
  /** Number of processes that compile ahead for a GPU; 0 for none. Default: the number of cores. */
  readonly processes?: number | undefined;
  /** Of a cluster: a device for each node with its own compilers, because each has a cache of its own. */
  readonly byNode?: boolean;
  /** Lets this process end while the device is open. */
  readonly background?: boolean;
  /** Receives what user code prints in the worker. */
  readonly onOutput?: (text: string) => void;
}

/**
 * Opens the requested device, or the best one for `auto`: of a cluster one device for each kind of GPU, or for each
 * node. Throws EnvironmentError if it is not available.
 */
export async function openDevices(options: DeviceOptions): Promise<readonly [Device, ...Device[]]> {
  const choice = parseDevice(String(options.device));
  return choice.ray === undefined ? [await openDevice(options)] : openCluster(choice, choice.ray, options);
}

/** Opens a device whose workers are all of one kind. Throws EnvironmentError if it is not available. */
export async function openDevice(options: DeviceOptions): Promise<Device> {
  const choice = parseDevice(String(options.device));
  if (choice.ray !== undefined) return onlyOne(await openCluster(choice, choice.ray, options));
  if (choice.kind === "eval") return { kind: "eval", why: "it was asked for", unchecked: evalUnchecked };
  if (choice.ssh) return openThere(choice, choice.ssh, options);
  const discovery = await findPython(options);
  if (!discovery.environment) {
    const why = missingPython(discovery);
    if (choice.kind !== "auto" || discovery.named) throw new EnvironmentError(why);
    return { kind: "eval", why, unchecked: evalUnchecked };
  }
  const opened = await openPython(choice, discovery.environment, options);
  if (typeof opened !== "string") return opened;
  if (choice.kind !== "auto" || discovery.named) throw new EnvironmentError(opened);
  return { kind: "eval", why: opened, unchecked: evalUnchecked };
}

/** A machine with a Python that can run emitted modules. */
export interface RemoteMachine {
  readonly host: Host;
  readonly environment: PythonEnvironment;
}

/** Connects to another machine and finds the Python there. Throws EnvironmentError. */
export async function openElsewhere(address: SshAddress, options: DeviceOptions): Promise<RemoteMachine> {
  if (address.python !== undefined && options.python !== undefined)
    throw new UsageError(`--python: ${options.device} names a Python already; leave out one of them`);
  const host = await RemoteHost.open(address, options);
  const discovery = await findPython({ python: address.python ?? options.python, host }).catch(
    async (error: unknown) => {
      await host.close();
      throw error;
    },
  );
  if (discovery.environment) return { host, environment: discovery.environment };
  await host.close();
  throw new EnvironmentError(missingPython(discovery, host));
}

/** Opens a device of another machine. */
async function openThere(choice: DeviceChoice, address: SshAddress, options: DeviceOptions): Promise<PythonDevice> {
  const { host, environment } = await openElsewhere(address, options);
  const opened = await openPython(choice, environment, { ...options, host });
  if (typeof opened !== "string") return opened;
  await host.close();
  throw new EnvironmentError(`on ${host.name}, ${opened}`);
}

/** A cluster where one kind of GPU is needed. */
async function onlyOne(devices: readonly [PythonDevice, ...PythonDevice[]]): Promise<PythonDevice> {
  const [first, other] = devices;
  if (!other) return first;
  await closeDevice(first);
  const names = devices.map(({ hello }) => hello.deviceName).join(", ");
  throw new EnvironmentError(`the cluster has several kinds of GPU: ${names}; name part of one, such as ray:auto#H200`);
}

async function openPython(
  choice: DeviceChoice,
  environment: PythonEnvironment,
  { host, ...options }: DeviceOptions & { readonly host?: Host },
): Promise<PythonDevice | string> {
  const started = {
    python: environment.python,
    host,
    background: options.background,
    ...(options.env && { env: options.env }),
    ...(options.onOutput && { onOutput: options.onOutput }),
  };
  const opened = await startWorkers(choice, started);
  const unusable = (why: string): string => `${environment.python} (${environment.source}) can't be used: ${why}`;
  if (typeof opened === "string") return unusable(opened);
  const { workers, hello } = opened;
  const problem = hello.device === "interpreter" ? interpreterProblem(hello.versions) : undefined;
  if (problem) {
    await workers.stop();
    return unusable(problem);
  }
  const why =
    choice.kind !== "auto"
      ? "it was asked for"
      : hello.device === "interpreter"
        ? "torch sees no GPU"
        : `torch sees ${hello.deviceName}`;
  const unchecked = hello.device === "interpreter" ? interpreterUnchecked : [];
  const compilers =
    hello.target && options.processes !== 0 && new Compilers({ ...started, processes: options.processes });
  return {
    kind: hello.device,
    workers,
    hello,
    environment,
    why,
    unchecked,
    ...(host && { host }),
    ...(compilers && { compilers }),
  };
}

/**
 * Opens GPUs, as `openDevices` does. Throws EnvironmentError if there is none: `what` needs it, `instead` is the
 * alternative.
 */
export async function openGpus(
  { what, instead }: { readonly what: string; readonly instead: string },
  options: DeviceOptions,
): Promise<readonly [PythonDevice, ...PythonDevice[]]> {
  const { kind } = parseDevice(options.device);
  if (kind === "eval" || kind === "interpreter")
    throw new UsageError(`--device ${options.device}: ${what} needs a GPU; ${instead} without one`);
  const devices = await openDevices(options);
  const [device] = devices;
  if (device.kind === "cuda" || device.kind === "hip") return devices as readonly [PythonDevice, ...PythonDevice[]];
  await closeDevice(device);
  const where = device.kind === "interpreter" && device.host ? ` on ${device.host.name}` : "";
  throw new EnvironmentError(`${what} needs a GPU: ${device.why}${where}; ${instead} without one`);
}

/** Why no Python was usable, and the command that makes one. */
export function missingPython(discovery: Discovery, host?: Host): string {
  const tried = discovery.rejected.map(({ python, source, reason }) =>
    source === python ? `${source}: ${reason}` : `${python} (${source}): ${reason}`,
  );
  const where = host ? ` on ${host.name}` : "";
  const command = host ? `npx tilescript setup --device ${host.device}` : "npx tilescript setup";
  const remedy = discovery.named
    ? "name another, or none to let it be found"
    : `\`${command}\` makes a Python environment with torch and triton`;
  return `no usable Python${where} (${tried.join("; ")}); ${remedy}`;
}

/** Ends the device's processes, if it has any. */
export async function closeDevice(device: Device): Promise<void> {
  if (device.kind === "eval") return;
  await Promise.all([device.workers.stop(), device.compilers?.stop()]);
  await device.host?.close();
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
  // Whoever calls after a connection was lost gets a new one.
  return opened.then((found) => {
    if (found.kind === "eval" || found.host?.lost === undefined) return found;
    shared.delete(key);
    return sharedDevice(device, python);
  });
}
