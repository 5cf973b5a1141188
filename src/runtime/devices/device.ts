/** A device that runs cases, and the options by which it is opened. */
import type { DeviceName } from "../../compiled/device-names.js";
import type { PythonEnvironment } from "../worker/environment.js";
import type { Remote } from "../worker/host.js";
import type { HelloResult } from "../worker/protocol.js";
import type { RequestServer, WorkerPool } from "../worker/worker-pool.js";

/** A device that is ready to run cases. */
export type Device = EvalDevice | PythonDevice;

interface DeviceFacts {
  /** The reason why this device was chosen, as a phrase. */
  readonly reason: string;
  /** Properties that a run on this device cannot verify. */
  readonly unchecked: readonly string[];
}

export interface EvalDevice extends DeviceFacts {
  readonly kind: "eval";
}

export interface PythonDevice extends DeviceFacts {
  readonly kind: HelloResult["device"];
  /** One worker, or one for each of several GPUs of one kind. */
  readonly workers: WorkerPool;
  /** The properties of the first worker's device. */
  readonly hello: HelloResult;
  readonly environment: PythonEnvironment;
  /** The machine or the cluster of the device, if it is not this machine. */
  readonly host?: Remote;
  /** On a GPU: the processes that compile in advance. */
  readonly compilers?: AheadCompilers;
  /** The node, if the devices of a cluster were opened by node. */
  readonly node?: string;
}

/** Processes that compile into the Triton cache of a device's workers. */
export interface AheadCompilers {
  /** The number of processes started so far. */
  readonly startedCount: number;
  /** Runs each job in the next free process. */
  forEach<Job>(jobs: readonly Job[], work: (server: RequestServer, job: Job) => Promise<void>): Promise<void>;
  stop(): Promise<void>;
}

export interface DeviceOptions {
  readonly device: DeviceName;
  readonly python?: string | undefined;
  readonly env?: NodeJS.ProcessEnv;
  /** The number of processes that compile in advance for a GPU; 0 for none. Default: the number of cores. */
  readonly processes?: number | undefined;
  /** For a cluster: opens a device per node with its own compilers, because each node has its own cache. */
  readonly byNode?: boolean;
  /** Lets this process end while the device is open. */
  readonly background?: boolean;
  /** Receives the output of user code in the worker. */
  readonly onOutput?: (text: string) => void;
}
