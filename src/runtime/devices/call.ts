/** Calls an emitted kernel with the given inputs and returns its outputs. */
import { rmSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import type { TestCase, CompiledKernel } from "../../compiled/compiled-kernel.js";
import { fail } from "../../diagnostics/diagnostic.js";
import { deviceRun } from "../../diagnostics/catalog/call-codes.js";
import type { DeviceName } from "../../compiled/gpus.js";
import { sharedDevice } from "./devices.js";
import { type Host, isHost } from "../worker/host.js";
import { UsageError } from "../system/errors.js";
import { failureOf } from "../cases/outcome.js";
import { callRequest, type RawTensor } from "./request.js";
import { type Device, checkedKernel, openWorkspace, type Workspace } from "./device.js";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";

export interface DeviceCall {
  /** The kernel's outputs; absent if the evaluator must run instead. */
  readonly outputs?: Readonly<Record<string, RawTensor>>;
  readonly device: Device["kind"];
  readonly unchecked: readonly string[];
}

export interface DeviceCallOptions {
  readonly device: DeviceName;
  readonly python?: string | undefined;
  /** True if Triton's autotuner chooses the config. Ignored on the interpreter, which cannot measure. */
  readonly isAutotuned: boolean;
}

/** Autotuning compiles and measures every config. */
const DEADLINE_MS = 600_000;

/** @throws EnvironmentError if the requested device is not available, TileScriptError if the kernel fails. */
export async function callOnDevice(
  plainKernel: CompiledKernel,
  testCase: TestCase,
  inputs: Readonly<Record<string, RawTensor>>,
  { device: deviceName, python, isAutotuned }: DeviceCallOptions,
): Promise<DeviceCall> {
  const device = await sharedDevice(deviceName, python);
  const { kind, unchecked } = device;
  if (kind === "eval")
    return { device: kind, unchecked: deviceName === "eval" ? unchecked : [device.reason, ...unchecked] };
  const { host } = device;
  if (host && !isHost(host))
    throw new UsageError(`device ${deviceName}: a call from TypeScript needs one machine; name ssh:HOST, or none`);
  const kernel = checkedKernel(plainKernel);
  const { module } = await workspaceFor(kernel, host);
  const folder = await openCallFolder(module, host);
  try {
    const options = { folder: folder.path, inputs, isAutotuned: isAutotuned && kind !== "interpreter" };
    const request = callRequest(kernel, module, testCase, options);
    const { inputs: inputTensors, outputs } = request;
    await Promise.all(
      inputTensors.map(async ({ name, fill }) => {
        if (fill.kind === "file") await folder.write(fill.path, inputs[name]!.bytes);
      }),
    );
    const reply = await device.workers.request(request, DEADLINE_MS);
    if (!reply.ok && reply.error.kind === "unsupported") return fallBackToEvaluator(reply.error.message);
    if (!reply.ok) {
      const { message, at: location } = failureOf(kernel, reply.error);
      return fail(deviceRun(kernel.signature.name, message), location);
    }
    if (reply.result.unreliable.length > 0) return fallBackToEvaluator(...reply.result.unreliable);
    const outputTensors = [...inputTensors, ...outputs].filter(({ role }) => role !== "in");
    const reads = outputTensors.map(async ({ name, python: file, dtype, shape }) => {
      const bytes = await folder.read(`${file}.out`);
      return [name, { dtype, shape, bytes }] as const;
    });
    return { outputs: Object.fromEntries(await Promise.all(reads)), device: kind, unchecked };
  } finally {
    await folder.remove();
  }
}

function fallBackToEvaluator(...reasons: readonly string[]): DeviceCall {
  return { device: "eval", unchecked: reasons.map((reason) => `${reason}; the evaluator ran instead`) };
}

/** Workspaces stay open so that the next call reuses Triton's compiled and tuned kernels for the same path. */
const workspaces = new WeakMap<CompiledKernel, Map<Host | undefined, Promise<Workspace>>>();

function workspaceFor(kernel: CompiledKernel, host: Host | undefined): Promise<Workspace> {
  const byHost = workspaces.get(kernel) ?? new Map<Host | undefined, Promise<Workspace>>();
  workspaces.set(kernel, byHost);
  let workspace = byHost.get(host);
  if (!workspace) {
    byHost.set(host, (workspace = openWorkspace(kernel, host)));
    workspace.then(
      // On another machine, the folder is removed with the connection.
      ({ module }) => host ?? removeAtExit(dirname(module)),
      // The next call tries again.
      () => byHost.delete(host),
    );
  }
  return workspace;
}

let foldersToRemove: Set<string> | undefined;

/** Uses one exit listener for all folders, because Node warns about more than ten. */
function removeAtExit(folder: string): void {
  if (!foldersToRemove) {
    const folders = (foldersToRemove = new Set<string>());
    process.once("exit", () => folders.forEach((each) => rmSync(each, { recursive: true, force: true })));
  }
  foldersToRemove.add(folder);
}

// Files that transfer a call's tensors between this process and a worker, on this machine or another.

interface CallFolder {
  /** Its path as seen by the worker. */
  readonly path: string;
  write(path: string, bytes: Uint8Array): Promise<void>;
  read(name: string): Promise<Uint8Array>;
  remove(): Promise<void>;
}

/** Creates an empty folder next to the called module. */
async function openCallFolder(module: string, host: Host | undefined): Promise<CallFolder> {
  if (host) return openRemoteFolder(host);
  const path = await mkdtemp(join(dirname(module), "call-"));
  return {
    path,
    write: (file, bytes) => writeFile(file, bytes),
    read: (name) => readFile(join(path, name)),
    remove: () => rm(path, { recursive: true, force: true }),
  };
}

/** Bytes per message; a multiple of three because messages use base64. */
const CHUNK_BYTES = 3 << 20;

async function openRemoteFolder(host: Host): Promise<CallFolder> {
  const { path: file, remove } = await host.upload("call", "");
  const path = posix.dirname(file);
  return {
    path,
    remove,
    async write(to, bytes) {
      for (let offset = 0; offset === 0 || offset < bytes.length; offset += CHUNK_BYTES) {
        const data = Buffer.from(bytes.subarray(offset, offset + CHUNK_BYTES)).toString("base64");
        await host.ask({ do: "write", path: to, data, first: offset === 0 });
      }
    },
    async read(name) {
      const chunks: Buffer[] = [];
      for (let offset = 0; ; offset += CHUNK_BYTES) {
        const data = await host.ask<string>({
          do: "read",
          path: posix.join(path, name),
          from: offset,
          most: CHUNK_BYTES,
        });
        const chunk = Buffer.from(data, "base64");
        chunks.push(chunk);
        if (chunk.length < CHUNK_BYTES) return Buffer.concat(chunks);
      }
    },
  };
}
