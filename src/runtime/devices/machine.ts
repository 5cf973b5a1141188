/** What the machine offers: a Python, devices. To ask takes seconds, so commands ask after all their checks. */
import { EnvironmentError } from "../system/errors.js";
import { compileFarm, type CompileService, type CompileServiceOptions, localCompilers } from "./compile-service.js";
import { findPython, type DiscoveryOptions, type PythonEnvironment } from "../worker/environment.js";
import { parseDevice } from "./device-name.js";
import {
  type Device,
  type DeviceOptions,
  type RemoteMachine,
  missingPython,
  openDevices,
  openElsewhere,
  openGpus,
  type PythonDevice,
} from "./devices.js";

export interface Machine {
  /** Throws EnvironmentError if there is none. */
  python(options: DiscoveryOptions): Promise<PythonEnvironment>;
  /** Who compiles: this machine, or the CPUs of the chosen cluster. Throws EnvironmentError. */
  compilers(options: CompileServiceOptions): Promise<CompileService>;
  /**
   * The requested device, or the best one for `auto`: of a cluster one for each kind of GPU. Throws EnvironmentError if
   * it is not available.
   */
  devices(options: DeviceOptions): Promise<readonly [Device, ...Device[]]>;
  /** The machine that a device is part of, with its Python; undefined for this machine. Throws EnvironmentError. */
  elsewhere(options: DeviceOptions): Promise<RemoteMachine | undefined>;
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
  async elsewhere(options) {
    const { ssh } = parseDevice(options.device);
    return ssh && openElsewhere(ssh, options);
  },
  gpus: openGpus,
};
