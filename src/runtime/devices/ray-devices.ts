/** The devices of a Ray cluster: one per kind of GPU, or per node. Their workers are the cluster's actors. */
import { RayClusterClient, type RayActor } from "../remote/ray-cluster.js";
import {
  type DiscoveryOptions,
  findPython,
  type PythonEnvironment,
  whyUnsupported,
  whyWithoutRay,
} from "../worker/environment.js";
import { MAX_PROCESSES, WorkerPool } from "../worker/worker.js";
import type { HelloResult } from "../worker/protocol.js";
import { EnvironmentError } from "../system/errors.js";
import {
  type AheadCompilers,
  type DeviceOptions,
  type PythonDevice,
  interpreterUnchecked,
  type DeviceChoice,
} from "./device.js";

/** Connects to a cluster and starts its actors. Throws EnvironmentError. */
export async function openCluster(
  { kind, workers, model }: DeviceChoice,
  address: string,
  { device, byNode = false, processes = MAX_PROCESSES, ...options }: DeviceOptions,
): Promise<readonly [PythonDevice, ...PythonDevice[]]> {
  const { python } = await pythonWithRay(device, options);
  const worker = kind === "eval" ? "auto" : kind;
  const compilers = byNode ? processes : undefined;
  const fleet = await RayClusterClient.open({
    ...options,
    address,
    python,
    name: device,
    device: worker,
    count: workers,
    compilers,
  });
  try {
    const problem = problemOf(fleet.seats);
    if (problem) throw new EnvironmentError(`${device} can't be used: ${problem}`);
    return devicesOf(fleet, { model, isNamed: kind !== "auto", byNode });
  } catch (error) {
    await fleet.close();
    throw error;
  }
}

/** Finds the local Python that controls a cluster. Throws EnvironmentError. */
export async function pythonWithRay(device: string, options: DiscoveryOptions): Promise<PythonEnvironment> {
  const { environment, rejected } = await findPython({ ...options, whyUnsupported: whyWithoutRay });
  if (environment) return environment;
  const rejections = rejected.map(({ python, source, reason }) => `${python} (${source}): ${reason}`).join("; ");
  throw new EnvironmentError(
    `${device} needs a Python with ray (${rejections}); \`npx tilescript setup --ray\` makes one, and \`pip install "ray[client]==VERSION"\` adds the cluster's version to yours`,
  );
}

type Indices = readonly [number, ...number[]];

/**
 * Indices of the seats that run kernels, grouped by device. Times and configs of one kind of GPU do not apply to
 * another.
 */
export function kindsOf(
  seats: readonly Pick<RayActor, "hello" | "node">[],
  { model = "", byNode = false }: { readonly model?: string | undefined; readonly byNode?: boolean } = {},
): readonly Indices[] {
  const kinds = new Map<string, [number, ...number[]]>();
  for (const [i, { hello, node }] of seats.entries()) {
    if (hello.device === "compiler" || !hello.deviceName.toLowerCase().includes(model.toLowerCase())) continue;
    const kind = byNode ? `${node} ${hello.deviceName}` : hello.deviceName;
    const group = kinds.get(kind);
    if (group) group.push(i);
    else kinds.set(kind, [i]);
  }
  return [...kinds.values()];
}

/**
 * The reason why the nodes' environments are unusable. Versions must be equal, because results must not depend on the
 * node.
 */
export function problemOf(seats: readonly RayActor[]): string | undefined {
  for (const { hello, place: placement, python } of seats) {
    const problem = whyUnsupported(hello.versions);
    if (problem) return `${python} on ${placement}: ${problem}`;
  }
  const formatVersions = ({ hello: { versions } }: RayActor) => `torch ${versions.torch} and triton ${versions.triton}`;
  const [first] = seats;
  const other = first && seats.find((seat) => formatVersions(seat) !== formatVersions(first));
  return (
    other &&
    `${first.place} has ${formatVersions(first)}, ${other.place} ${formatVersions(other)}; install the same on all nodes`
  );
}

interface Grouping {
  readonly model: string | undefined;
  readonly isNamed: boolean;
  readonly byNode: boolean;
}

function devicesOf(fleet: RayClusterClient, grouping: Grouping): readonly [PythonDevice, ...PythonDevice[]] {
  const [first, ...others] = kindsOf(fleet.seats, grouping).map((seats) => deviceOf(fleet, seats, grouping));
  if (first) return [first, ...others];
  const names = [...new Set(fleet.seats.map(({ hello }) => hello.deviceName))].join(", ");
  throw new EnvironmentError(`${fleet.name}: the cluster has no such GPU; it has ${names}`);
}

function deviceOf(fleet: RayClusterClient, seats: Indices, { isNamed, byNode }: Grouping): PythonDevice {
  const { hello, python, node, place: placement } = seatOf(fleet, seats[0]);
  // `kindsOf` excludes compilers.
  const device = hello.device as HelloResult["device"];
  const compilers = byNode && compilersOn(fleet, node);
  const defaultReason = device === "interpreter" ? "there is no GPU" : "the cluster has it";
  return {
    kind: device,
    workers: poolOf(fleet, seats),
    hello: { ...hello, device },
    environment: { python, source: "Ray", versions: hello.versions },
    host: fleet,
    reason: isNamed ? "it was asked for" : defaultReason,
    unchecked: device === "interpreter" ? interpreterUnchecked : [],
    ...(byNode && { node: placement.split(" ", 1).join() }),
    ...(compilers && { compilers }),
  };
}

function seatOf({ name, seats }: RayClusterClient, index: number): RayActor {
  const seat = seats[index];
  if (!seat) throw new Error(`${name} has no actor ${index}`);
  return seat;
}

/** A pool of the cluster's actors. */
function poolOf(fleet: RayClusterClient, seats: readonly number[]): WorkerPool {
  return new WorkerPool(seats.map((seat) => ({ worker: fleet.server(seat), deviceName: seatOf(fleet, seat).place })));
}

/** The actors that compile on a node. If there are none, the workers compile the kernels that they launch. */
function compilersOn(fleet: RayClusterClient, node: string): AheadCompilers | undefined {
  const seats = [...fleet.seats.keys()].filter((seat) => {
    const { hello, node: seatNode } = seatOf(fleet, seat);
    return hello.device === "compiler" && seatNode === node;
  });
  return seats.length === 0 ? undefined : compilersOf(fleet, seats);
}

/** A pool of actors that compile; each job runs on the next free one. */
export function compilersOf(fleet: RayClusterClient, seats: readonly number[]): AheadCompilers {
  const pool = poolOf(fleet, seats);
  return {
    startedCount: pool.size,
    forEach: async (jobs, work) => void (await pool.map(jobs, (job, { worker }) => work(worker, job))),
    stop: () => pool.stop(),
  };
}
