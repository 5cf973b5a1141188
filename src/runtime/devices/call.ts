/** Calls an emitted kernel on given inputs, and returns its outputs. */
import { rmSync } from "node:fs";
import { dirname } from "node:path";
import type { TestCase, CompiledKernel } from "../../compiled/compiled-kernel.js";
import { fail } from "../../diagnostics/diagnostic.js";
import { deviceRun } from "../../diagnostics/catalog/call-codes.js";
import type { DeviceName } from "../../compiled/device-names.js";
import { type Device, sharedDevice } from "./devices.js";
import { type Host, isHost } from "../worker/host.js";
import { UsageError } from "../system/errors.js";
import { openCallFolder } from "./call-folder.js";
import { failureOf } from "../cases/failure.js";
import { callRequest, type RawTensor } from "./request.js";
import { openWorkspace, type Workspace } from "./workspace.js";

export interface DeviceCall {
  /** The kernel's outputs; absent if the evaluator has to run instead. */
  readonly outputs?: Readonly<Record<string, RawTensor>>;
  readonly device: Device["kind"];
  readonly unchecked: readonly string[];
}

export interface DeviceCallOptions {
  readonly device: DeviceName;
  readonly python?: string | undefined;
  /** Whether Triton's autotuner chooses the config, if the device can measure. */
  readonly tuned: boolean;
}

/** Autotuning compiles and measures every config. */
const DEADLINE_MS = 600_000;

/** @throws EnvironmentError if the requested device is not available, TileScriptError if the kernel fails. */
export async function callOnDevice(
  kernel: CompiledKernel,
  at: TestCase,
  inputs: Readonly<Record<string, RawTensor>>,
  { device: wanted, python, tuned }: DeviceCallOptions,
): Promise<DeviceCall> {
  const device = await sharedDevice(wanted, python);
  const { kind, unchecked } = device;
  if (kind === "eval") return { device: kind, unchecked: wanted === "eval" ? unchecked : [device.why, ...unchecked] };
  const { host } = device;
  if (host && !isHost(host))
    throw new UsageError(`device ${wanted}: a call from TypeScript needs one machine; name ssh:HOST, or none`);
  const { module } = await workspaceFor(kernel, host);
  const folder = await openCallFolder(module, host);
  try {
    const options = { folder: folder.path, inputs, tuned: tuned && kind !== "interpreter" };
    const request = callRequest(kernel, module, at, options);
    const { inputs: wire, outputs } = request;
    await Promise.all(
      wire.map(({ name, fill }) => fill.kind === "file" && folder.write(fill.path, inputs[name]!.bytes)),
    );
    const reply = await device.workers.request(request, DEADLINE_MS);
    if (!reply.ok && reply.error.kind === "unsupported") return instead(reply.error.message);
    if (!reply.ok) {
      const { message, at: place } = failureOf(kernel, reply.error);
      return fail(deviceRun(kernel.signature.name, message), place);
    }
    if (reply.result.unreliable.length > 0) return instead(...reply.result.unreliable);
    const written = [...wire, ...outputs].filter(({ role }) => role !== "in");
    const read = written.map(async ({ name, python: file, dtype, shape }) => {
      const bytes = await folder.read(`${file}.out`);
      return [name, { dtype, shape, bytes }] as const;
    });
    return { outputs: Object.fromEntries(await Promise.all(read)), device: kind, unchecked };
  } finally {
    await folder.remove();
  }
}

function instead(...reasons: readonly string[]): DeviceCall {
  return { device: "eval", unchecked: reasons.map((reason) => `${reason}; the evaluator ran instead`) };
}

/** A module keeps its path on a machine, so that the next call can use what Triton compiled and tuned. */
const workspaces = new WeakMap<CompiledKernel, Map<Host | undefined, Promise<Workspace>>>();

function workspaceFor(kernel: CompiledKernel, host: Host | undefined): Promise<Workspace> {
  const known = workspaces.get(kernel) ?? new Map<Host | undefined, Promise<Workspace>>();
  workspaces.set(kernel, known);
  let workspace = known.get(host);
  if (!workspace) {
    known.set(host, (workspace = openWorkspace(kernel, host)));
    workspace.then(
      // On another machine it goes with the connection.
      ({ module }) => host ?? removedAtExit(dirname(module)),
      // Whoever calls next tries again.
      () => known.delete(host),
    );
  }
  return workspace;
}

let left: Set<string> | undefined;

/** One listener for all folders: Node warns of more than ten. */
function removedAtExit(folder: string): void {
  if (!left) {
    const folders = (left = new Set<string>());
    process.once("exit", () => folders.forEach((each) => rmSync(each, { recursive: true, force: true })));
  }
  left.add(folder);
}
