/**
 * The resources of the machine: Python and devices. Discovery takes seconds, so commands start it after all other
 * checks.
 */
import { EnvironmentError } from "../system/errors.js";
import { compileFarm, type CompileService, type CompileServiceOptions, localCompilers } from "./compile-service.js";
import { findPython, type DiscoveryOptions, type PythonEnvironment } from "../worker/environment.js";
import { parseDevice } from "./device-name.js";
import { type RemoteMachine, missingPython, openDevices, openRemoteMachine, openGpus } from "./devices.js";
import type { Device, DeviceOptions, PythonDevice } from "./device.js";

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
