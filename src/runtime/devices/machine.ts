/**
 * The resources of the machine: Python and devices. Discovery takes seconds, so commands start it after all other
 * checks.
 */
import { EnvironmentError } from "../system/errors.js";
import { findPython, type DiscoveryOptions, type PythonEnvironment } from "../worker/environment.js";
import { type RemoteMachine, missingPython, openDevices, openRemoteMachine, openGpus } from "./devices.js";
import { type Device, type DeviceOptions, type PythonDevice, parseDevice } from "./device.js";
import type { DeviceName } from "../../compiled/gpus.js";
import { RayClusterClient } from "../remote/ray-cluster.js";
import { Compilers } from "../worker/worker.js";
import type { Remote } from "../worker/host.js";
import type { RequestServer } from "../worker/worker-pool.js";
import { compilersOf, problemOf, pythonWithRay } from "./ray-devices.js";

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
