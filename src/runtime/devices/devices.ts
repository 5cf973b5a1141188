/**
 * Chooses a device: a GPU, otherwise Triton's interpreter, otherwise the evaluator. Lists the checks that each omits.
 */
import {
  findPython,
  interpreterProblem,
  type Discovery,
  type PythonEnvironment,
  type DiscoveryOptions,
} from "../worker/environment.js";
import { EnvironmentError, UsageError } from "../system/errors.js";
import { RemoteHost } from "../remote/remote-host.js";
import type { SshAddress } from "../remote/addresses.js";
import type { Host, Remote } from "../worker/host.js";
import { openCluster, compilersOf, problemOf, pythonWithRay } from "./ray-devices.js";
import type { DeviceName } from "../../compiled/gpus.js";
import {
  type Device,
  type PythonDevice,
  type DeviceOptions,
  evalUnchecked,
  interpreterUnchecked,
  type DeviceChoice,
  parseDevice,
} from "./device.js";
import type { HelloResult } from "../worker/protocol.js";
import {
  Worker,
  type WorkerOptions,
  Compilers,
  type Member,
  WorkerPool,
  type RequestServer,
} from "../worker/worker.js";
import { RayClusterClient } from "../remote/ray-cluster.js";

/**
 * Opens the requested device, or the best one for `auto`. For a cluster, opens one device per kind of GPU, or per node.
 * Throws EnvironmentError if none is available.
 */
export async function openDevices(options: DeviceOptions): Promise<readonly [Device, ...Device[]]> {
  const choice = parseDevice(String(options.device));
  return choice.ray === undefined ? [await openDevice(options)] : openCluster(choice, choice.ray, options);
}

/**
 * Opens a device whose workers all run on the same kind of hardware. Throws EnvironmentError if it is not available.
 */
export async function openDevice(options: DeviceOptions): Promise<Device> {
  const choice = parseDevice(String(options.device));
  if (choice.ray !== undefined) return requireSingleKind(await openCluster(choice, choice.ray, options));
  if (choice.kind === "eval") return { kind: "eval", reason: "it was asked for", unchecked: evalUnchecked };
  if (choice.ssh) return openRemoteDevice(choice, choice.ssh, options);
  const discovery = await findPython(options);
  if (!discovery.environment) {
    const reason = missingPython(discovery);
    if (choice.kind !== "auto" || discovery.isExplicit) throw new EnvironmentError(reason);
    return { kind: "eval", reason, unchecked: evalUnchecked };
  }
  const opened = await openPython(choice, discovery.environment, options);
  if (typeof opened !== "string") return opened;
  if (choice.kind !== "auto" || discovery.isExplicit) throw new EnvironmentError(opened);
  return { kind: "eval", reason: opened, unchecked: evalUnchecked };
}

/** A machine with a Python that can run emitted modules. */
export interface RemoteMachine {
  readonly host: Host;
  readonly environment: PythonEnvironment;
}

/** Connects to another machine and finds its Python. Throws EnvironmentError. */
async function openRemoteMachine(address: SshAddress, options: DeviceOptions): Promise<RemoteMachine> {
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
async function openRemoteDevice(
  choice: DeviceChoice,
  address: SshAddress,
  options: DeviceOptions,
): Promise<PythonDevice> {
  const { host, environment } = await openRemoteMachine(address, options);
  const opened = await openPython(choice, environment, { ...options, host });
  if (typeof opened !== "string") return opened;
  await host.close();
  throw new EnvironmentError(`on ${host.name}, ${opened}`);
}

/** Requires that a cluster has a single kind of GPU. */
async function requireSingleKind(devices: readonly [PythonDevice, ...PythonDevice[]]): Promise<PythonDevice> {
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
  const workerOptions = {
    python: environment.python,
    host,
    background: options.background,
    ...(options.env && { env: options.env }),
    ...(options.onOutput && { onOutput: options.onOutput }),
  };
  const opened = await startWorkers(choice, workerOptions);
  const formatUnusable = (reason: string): string =>
    `${environment.python} (${environment.source}) can't be used: ${reason}`;
  if (typeof opened === "string") return formatUnusable(opened);
  const { workers, hello } = opened;
  const problem = hello.device === "interpreter" ? interpreterProblem(hello.versions) : undefined;
  if (problem) {
    await workers.stop();
    return formatUnusable(problem);
  }
  const found = hello.device === "interpreter" ? "no GPU" : hello.deviceName;
  const reason = choice.kind === "auto" ? `torch sees ${found}` : "it was asked for";
  const unchecked = hello.device === "interpreter" ? interpreterUnchecked : [];
  const compilers =
    hello.target && options.processes !== 0 && new Compilers({ ...workerOptions, processes: options.processes });
  return {
    kind: hello.device,
    workers,
    hello,
    environment,
    reason,
    unchecked,
    ...(host && { host }),
    ...(compilers && { compilers }),
  };
}

/**
 * Opens GPUs like `openDevices`. Throws EnvironmentError if there is none. The message says that `what` needs one and
 * suggests `instead`.
 */
export async function openGpus(
  { what: purpose, instead: alternative }: { readonly what: string; readonly instead: string },
  options: DeviceOptions,
): Promise<readonly [PythonDevice, ...PythonDevice[]]> {
  const { kind } = parseDevice(options.device);
  if (kind === "eval" || kind === "interpreter")
    throw new UsageError(`--device ${options.device}: ${purpose} needs a GPU; ${alternative} without one`);
  const devices = await openDevices(options);
  const [device] = devices;
  if (device.kind === "cuda" || device.kind === "hip") return devices as readonly [PythonDevice, ...PythonDevice[]];
  await closeDevice(device);
  const suffix = device.kind === "interpreter" && device.host ? ` on ${device.host.name}` : "";
  throw new EnvironmentError(`${purpose} needs a GPU: ${device.reason}${suffix}; ${alternative} without one`);
}

/** The reason why no Python is usable, and the command that installs one. */
export function missingPython(discovery: Discovery, host?: Host): string {
  const rejections = discovery.rejected.map(({ python, source, reason }) =>
    source === python ? `${source}: ${reason}` : `${python} (${source}): ${reason}`,
  );
  const suffix = host ? ` on ${host.name}` : "";
  const command = host ? `npx tilescript setup --device ${host.device}` : "npx tilescript setup";
  const remedy = discovery.isExplicit
    ? "name another, or none to let it be found"
    : `\`${command}\` makes a Python environment with torch and triton`;
  return `no usable Python${suffix} (${rejections.join("; ")}); ${remedy}`;
}

/** Stops the device's processes, if it has any. */
export async function closeDevice(device: Device): Promise<void> {
  if (device.kind === "eval") return;
  await Promise.all([device.workers.stop(), device.compilers?.stop()]);
  await device.host?.close();
}

/** Starting Python and importing torch takes seconds, so a device stays open until this process exits. */
const sharedDevices = new Map<string, Promise<Device>>();

/** The open device, shared by all calls that need one. */
export function sharedDevice(device: DeviceName, python: string | undefined): Promise<Device> {
  const key = `${device} ${python ?? ""}`;
  let opened = sharedDevices.get(key);
  if (!opened) {
    sharedDevices.set(key, (opened = openDevice({ device, python, background: true })));
    opened.catch(() => sharedDevices.delete(key));
  }
  // After a lost connection, the next call opens a new device.
  return opened.then((openedDevice) => {
    if (openedDevice.kind === "eval" || openedDevice.host?.lossReason === undefined) return openedDevice;
    sharedDevices.delete(key);
    return sharedDevice(device, python);
  });
}

// Starts the workers of a device: one, or one per GPU.

/** The first import of torch after a boot reads gigabytes. */
const START_DEADLINE_MS = 180_000;

interface StartedWorkers {
  readonly workers: WorkerPool;
  /** The properties of the first worker's device. */
  readonly hello: HelloResult;
}

type StartOptions = Omit<WorkerOptions, "device">;
type WorkerChoice = Pick<WorkerOptions, "device" | "gpu"> & Pick<Member, "deviceName">;

/** Starts the workers. Returns a message if they are unusable. */
async function startWorkers(choice: DeviceChoice, options: StartOptions): Promise<StartedWorkers | string> {
  const first = initialWorkers(choice);
  const workers = await startAll(first, options);
  if (typeof workers === "string" || choice.gpus !== "all") return workers;
  const others = Array.from({ length: workers.hello.gpuCount - 1 }, (_, i) => gpuOf(choice, i + 1));
  if (others.length === 0) return workers;
  const otherWorkers = await startAll(others, options);
  if (typeof otherWorkers === "string") {
    await workers.workers.stop();
    return otherWorkers;
  }
  return mergeSameKind([workers, otherWorkers]);
}

const gpuOf = ({ kind }: DeviceChoice, gpu: number): WorkerChoice => ({
  device: deviceOf(kind),
  gpu,
  deviceName: `${kind}:${gpu}`,
});
const deviceOf = (kind: DeviceChoice["kind"]): WorkerOptions["device"] => (kind === "eval" ? "auto" : kind);

/** The workers that can start before the properties of the device are known. */
function initialWorkers(choice: DeviceChoice): readonly WorkerChoice[] {
  const { kind, gpus, workers = 1 } = choice;
  if (gpus === "all") return [gpuOf(choice, 0)];
  if (gpus) return gpus.map((gpu) => gpuOf(choice, gpu));
  if (workers === 1) return [{ device: deviceOf(kind) }];
  return Array.from({ length: workers }, (_, i) => ({ device: "interpreter", deviceName: `cpu:${i}` }));
}

async function startAll(choices: readonly WorkerChoice[], options: StartOptions): Promise<StartedWorkers | string> {
  const members = choices.map(({ deviceName: place, ...device }) => ({
    worker: new Worker({ ...options, ...device }),
    ...(place !== undefined && { deviceName: place }),
  }));
  const workers = new WorkerPool(members);
  const replies = await Promise.all(
    members.map(async (member) => ({
      member,
      reply: await member.worker.request({ type: "hello" }, START_DEADLINE_MS),
    })),
  );
  const startedWorkers: StartedWorkers[] = [];
  for (const { member, reply } of replies) {
    if (!reply.ok) {
      await workers.stop();
      return reply.error.message;
    }
    startedWorkers.push({ workers: new WorkerPool([member]), hello: reply.result });
  }
  return mergeSameKind(startedWorkers);
}

/** Merges workers and checks that they have one kind of GPU. Times and configs of one kind do not apply to another. */
async function mergeSameKind(groups: readonly StartedWorkers[]): Promise<StartedWorkers | string> {
  const workers = new WorkerPool(groups.flatMap((part) => part.workers.members));
  const [{ hello }] = groups as [StartedWorkers];
  const other = groups.find((part) => part.hello.deviceName !== hello.deviceName);
  if (!other) return { workers, hello };
  await workers.stop();
  const [firstPlace, secondPlace] = [workers.members[0]?.deviceName, other.workers.members[0]?.deviceName];
  return `${firstPlace} is an ${hello.deviceName} and ${secondPlace} an ${other.hello.deviceName}; name GPUs of one kind, such as ${firstPlace}`;
}

// The resources of the machine: Python and devices. Discovery takes seconds, so commands start it after all other
// checks.

// Processes that compile with Triton: on this machine, or as actors on the CPUs of a Ray cluster.

export interface CompileService {
  /** The Python that compiles. */
  readonly python: string;
  readonly versions: PythonEnvironment["versions"];
  /** The destination of modules, if not this machine. */
  readonly host?: Remote;
  /** True if results may be cached, because all their dependencies are known. */
  readonly isCacheable: boolean;
  /** Runs each job in the next free process. */
  forEach<Job>(jobs: readonly Job[], work: (server: RequestServer, job: Job) => Promise<void>): Promise<void>;
  stop(): Promise<void>;
}

interface CompileServiceOptions {
  /** A cluster compiles on its CPUs. For every other device, this machine compiles. */
  readonly device: DeviceName;
  readonly python?: string | undefined;
  /** Maximum number of processes. Default: one for each CPU. */
  readonly processes?: number | undefined;
  readonly env?: NodeJS.ProcessEnv | undefined;
  readonly onOutput?: ((text: string) => void) | undefined;
}

/** Processes on this machine, started when there is work. */
export function localCompilers(
  { python, versions }: PythonEnvironment,
  { processes, env, onOutput }: Omit<CompileServiceOptions, "device" | "python"> = {},
): CompileService {
  const compilers = new Compilers({ python, processes, ...(env && { env }), ...(onOutput && { onOutput }) });
  return {
    python,
    versions,
    isCacheable: true,
    forEach: (jobs, work) => compilers.forEach(jobs, work),
    stop: () => compilers.stop(),
  };
}

/** Actors on the CPUs of a cluster. The count may be named: `ray:auto#cpu:8`. Throws EnvironmentError. */
async function compileFarm(
  address: string,
  { device: name, python, processes, env = process.env, onOutput }: CompileServiceOptions,
): Promise<CompileService> {
  const count = parseDevice(name).workers ?? processes;
  const environment = await pythonWithRay(name, { python, env });
  const fleet = await RayClusterClient.open({
    address,
    python: environment.python,
    name,
    device: "compiler",
    count,
    env,
    onOutput,
  });
  const [first] = fleet.seats;
  const problem = first ? problemOf(fleet.seats) : "the cluster has no CPU to compile on";
  if (!first || problem !== undefined) {
    await fleet.close();
    throw new EnvironmentError(`${name} can't be used: ${problem}`);
  }
  const compilers = compilersOf(fleet, [...fleet.seats.keys()]);
  return {
    python: `${first.python} on ${name}`,
    versions: first.hello.versions,
    host: fleet,
    // A node's ptxas may have changed since an earlier run, which is not detectable here.
    isCacheable: false,
    forEach: (jobs, work) => compilers.forEach(jobs, work),
    stop: () => fleet.close(),
  };
}

export interface Machine {
  /** Throws EnvironmentError if there is none. */
  python(options: DiscoveryOptions): Promise<PythonEnvironment>;
  /** The compile service: this machine, or the CPUs of the chosen cluster. Throws EnvironmentError. */
  compilers(options: CompileServiceOptions): Promise<CompileService>;
  /**
   * The requested device, or the best one for `auto`. For a cluster, one device per kind of GPU. Throws
   * EnvironmentError if none is available.
   */
  devices(options: DeviceOptions): Promise<readonly [Device, ...Device[]]>;
  /** The remote machine of a device, with its Python; undefined for this machine. Throws EnvironmentError. */
  remoteMachine(options: DeviceOptions): Promise<RemoteMachine | undefined>;
  /** Throws EnvironmentError if there is none. */
  gpus(
    purpose: Parameters<typeof openGpus>[0],
    options: DeviceOptions,
  ): Promise<readonly [PythonDevice, ...PythonDevice[]]>;
}

export const thisMachine: Machine = {
  async python(options) {
    const discovery = await findPython(options);
    if (!discovery.environment) throw new EnvironmentError(missingPython(discovery));
    return discovery.environment;
  },
  async compilers(options) {
    const { ray } = parseDevice(options.device);
    return ray === undefined
      ? localCompilers(await this.python({ python: options.python }), options)
      : compileFarm(ray, options);
  },
  devices: openDevices,
  async remoteMachine(options) {
    const { ssh } = parseDevice(options.device);
    return ssh && openRemoteMachine(ssh, options);
  },
  gpus: openGpus,
};
