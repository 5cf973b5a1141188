/** A device that runs cases, and the options by which it is opened. */
import { type DeviceName, type DeviceKind, deviceKinds } from "../../compiled/gpus.js";
import type { PythonEnvironment } from "../worker/environment.js";
import type { Remote } from "../worker/host.js";
import type { HelloResult } from "../worker/protocol.js";
import type { RequestServer, WorkerPool } from "../worker/worker.js";
import { parseSshAddress, type SshAddress, parseRayAddress } from "../remote/addresses.js";
import { UsageError, EnvironmentError } from "../system/errors.js";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CompiledKernel } from "../../compiled/compiled-kernel.js";
import { isRunning } from "../system/processes.js";

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

/** Properties that a run on each device cannot verify. */
export const evalUnchecked = ["the emitted Python was not run; the evaluator ran the kernel in-process"];
export const interpreterUnchecked = [
  "nothing was compiled for a GPU",
  "Triton's interpreter runs programs one after another, so races between programs do not show",
];

// Parses `--device`: a kind of device and the number of its workers.

export interface DeviceChoice {
  readonly kind: DeviceKind;
  /** Indices of GPUs, among those that torch sees; absent for the current one. */
  readonly gpus?: "all" | readonly number[];
  /** Workers on the interpreter. Default: one. */
  readonly workers?: number;
  /** The SSH address of its machine. Default: this machine. */
  readonly ssh?: SshAddress;
  /** The address of its Ray cluster, in Ray's form. */
  readonly ray?: string;
  /** A substring of the names of the GPUs to use. Default: all GPUs. */
  readonly model?: string;
}

/** @throws UsageError for an unknown name. */
export function parseDevice(text: string): DeviceChoice {
  if (text.startsWith("ssh:")) return parseRemote(text);
  if (text.startsWith("ray:")) return parseCluster(text);
  const kind = deviceKinds.find((each) => each === text);
  if (kind) return { kind };
  const [, family, list = ""] = /^(cuda|hip|cpu):(.*)$/s.exec(text) ?? [];
  if (family === "cpu") return { kind: "interpreter", workers: parseWorkerCount(text, list) };
  if (family === "cuda" || family === "hip") return { kind: family, gpus: parseGpus(text, list) };
  throw new UsageError(`there is no device ${text}; the devices are ${deviceKinds.join(", ")}, ${examples}`);
}

const examples =
  "cuda:all or cuda:0,1 for several GPUs, cpu:4 for several workers on the interpreter, ssh:HOST for another machine, and ray:auto for a Ray cluster";

/** A `#` without a device after it is part of a path. */
function parseRemote(text: string): DeviceChoice {
  const hashIndex = text.lastIndexOf("#");
  const device = hashIndex < 0 || text.includes("/", hashIndex) ? undefined : parseDevice(text.slice(hashIndex + 1));
  if (device?.kind === "eval" || device?.ssh || device?.ray)
    throw new UsageError(`${text} is no device; after "#" stands a device of that machine, such as ssh:HOST#cuda:all`);
  const address = parseSshAddress(text.slice("ssh:".length, device ? hashIndex : undefined));
  return { kind: "auto", ...device, ssh: address };
}

/** The text after `#` is a kind of device, as in `#cpu:4`, or a substring of a GPU's name, as in `#H200`. */
function parseCluster(text: string): DeviceChoice {
  const [address = "", ...suffixes] = text.slice("ray:".length).split("#");
  const ray = parseRayAddress(address);
  if (suffixes.length === 0) return { kind: "auto", ray };
  const suffix = suffixes.join("#");
  if (/^(?:cpu:|(?:auto|cuda|hip|interpreter)$)/.test(suffix)) return { ...parseDevice(suffix), ray };
  if (!/^[\w-][\w -]*$/.test(suffix) || suffix === "eval")
    throw new UsageError(
      `${text} is no device; after "#" stands cuda, hip, part of a GPU's name such as H200, or the number of workers on the interpreter, cpu:4`,
    );
  return { kind: "auto", ray, model: suffix };
}

/** Each worker imports torch and uses half a gigabyte. */
const MAX_WORKERS = 256;

function parseWorkerCount(text: string, list: string): number {
  const count = /^\d{1,3}$/.test(list) ? Number(list) : 0;
  if (count >= 1 && count <= MAX_WORKERS) return count;
  throw new UsageError(
    `${text} is no device; write the number of workers on the interpreter, from 1 to ${MAX_WORKERS}, such as cpu:4`,
  );
}

function parseGpus(text: string, list: string): "all" | readonly number[] {
  if (list === "all") return list;
  const names = list.split(",");
  const indices = names.map(Number);
  if (!names.every((name) => /^\d{1,4}$/.test(name)))
    throw new UsageError(`${text} is no device; name GPUs by their indices, such as cuda:0,1, or all with cuda:all`);
  const duplicate = indices.find((index, i) => indices.indexOf(index) < i);
  if (duplicate !== undefined) throw new UsageError(`${text} names GPU ${duplicate} twice; name each once`);
  return indices;
}

// The location of an emitted module while it runs.

/** A separate folder for an emitted module while it runs. */
export interface Workspace {
  readonly module: string;
  remove(): Promise<void>;
}

const PREFIX = "tilescript-module-";
const DAY_MS = 86_400_000;
let swept: Promise<void> | undefined;

/**
 * Removes folders of killed processes. A process in another container may have the same id, so only folders older than
 * a day are removed.
 */
export async function removeStaleModules(): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => []);
  for (const name of names) {
    const pid = Number(new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1]);
    if (!pid || isRunning(pid)) continue;
    const folder = join(tmpdir(), name);
    const stats = await stat(folder).catch(() => undefined);
    // Folders of other users cannot be removed.
    if (stats && Date.now() - stats.mtimeMs > DAY_MS) await rm(folder, { recursive: true }).catch(() => undefined);
  }
}

const checkedKernels = new WeakMap<CompiledKernel, CompiledKernel>();

/** The kernel with a module that compares the elements of tensors with their declared ranges. */
export function checkedKernel(kernel: CompiledKernel): CompiledKernel {
  if (!kernel.signature.tensors.some(({ range, partition }) => range ?? partition)) return kernel;
  let checked = checkedKernels.get(kernel);
  if (!checked) {
    const { python, map } = kernel.emit({ checked: true });
    checkedKernels.set(kernel, (checked = { ...kernel, python, map }));
  }
  return checked;
}

/** Writes the module to a file that Python can import and whose source it can read, on this machine or the worker's. */
export async function openWorkspace(kernel: CompiledKernel, host?: Remote): Promise<Workspace> {
  if (host) {
    const { path, remove } = await host.upload(kernel.file, kernel.python);
    return { module: path, remove };
  }
  let folder: string | undefined;
  const remove = async (): Promise<void> => {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  };
  try {
    await (swept ??= removeStaleModules());
    folder = await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-`));
    const module = join(folder, kernel.file);
    await writeFile(module, kernel.python);
    return { module, remove };
  } catch (error) {
    await remove();
    const { code } = error as NodeJS.ErrnoException;
    throw new EnvironmentError(`cannot write a module to ${tmpdir()} (${code}); set TMPDIR to a writable folder`);
  }
}
