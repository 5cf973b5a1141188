/** The devices of a Ray cluster: one for each kind of GPU, or for each node, whose workers are its actors. */
import { RayClusterClient, type RayActor } from "../remote/ray-cluster.js";
import {
  type DiscoveryOptions,
  findPython,
  type PythonEnvironment,
  unsupported,
  withoutRay,
} from "../worker/environment.js";
import { MOST_PROCESSES } from "../worker/compilers.js";
import type { HelloResult } from "../worker/protocol.js";
import { WorkerPool } from "../worker/worker-pool.js";
import { EnvironmentError } from "../system/errors.js";
import type { DeviceChoice } from "./device-name.js";
import type { AheadCompilers, DeviceOptions, PythonDevice } from "./devices.js";
import { interpreterUnchecked } from "./unchecked.js";

/** Connects to a cluster and starts its actors. Throws EnvironmentError. */
export async function openCluster(
  { kind, workers, model }: DeviceChoice,
  address: string,
  { device, byNode = false, processes = MOST_PROCESSES, ...options }: DeviceOptions,
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

/** The Python here that drives a cluster. Throws EnvironmentError. */
export async function pythonWithRay(device: string, options: DiscoveryOptions): Promise<PythonEnvironment> {
  const { environment, rejected } = await findPython({ ...options, refuses: withoutRay });
  if (environment) return environment;
  const tried = rejected.map(({ python, source, reason }) => `${python} (${source}): ${reason}`).join("; ");
  throw new EnvironmentError(
    `${device} needs a Python with ray (${tried}); \`npx tilescript setup --ray\` makes one, and \`pip install "ray[client]==VERSION"\` adds the cluster's version to yours`,
  );
}

type Numbers = readonly [number, ...number[]];

/** The numbers of seats that run kernels, by what they run on. A time or a config of one kind says nothing about another. */
export function kindsOf(
  seats: readonly Pick<RayActor, "hello" | "node">[],
  { model = "", byNode = false }: { readonly model?: string | undefined; readonly byNode?: boolean } = {},
): readonly Numbers[] {
  const kinds = new Map<string, [number, ...number[]]>();
  for (const [i, { hello, node }] of seats.entries()) {
    if (hello.device === "compiler" || !hello.deviceName.toLowerCase().includes(model.toLowerCase())) continue;
    const kind = byNode ? `${node} ${hello.deviceName}` : hello.deviceName;
    const same = kinds.get(kind);
    if (same) same.push(i);
    else kinds.set(kind, [i]);
  }
  return [...kinds.values()];
}

/** Why the nodes' environments can't be used; they must be alike, because a result shall not depend on the node. */
export function problemOf(seats: readonly RayActor[]): string | undefined {
  for (const { hello, place, python } of seats) {
    const problem = unsupported(hello.versions);
    if (problem) return `${python} on ${place}: ${problem}`;
  }
  const said = ({ hello: { versions } }: RayActor) => `torch ${versions.torch} and triton ${versions.triton}`;
  const [first] = seats;
  const other = first && seats.find((seat) => said(seat) !== said(first));
  return other && `${first.place} has ${said(first)}, ${other.place} ${said(other)}; install the same on all nodes`;
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

function deviceOf(fleet: RayClusterClient, seats: Numbers, { isNamed, byNode }: Grouping): PythonDevice {
  const { hello, python, node, place } = fleet.seats[seats[0]]!;
  // `kindsOf` leaves out the others.
  const device = hello.device as HelloResult["device"];
  const compilers = byNode && compilersOn(fleet, node);
  return {
    kind: device,
    workers: poolOf(fleet, seats),
    hello: { ...hello, device },
    environment: { python, source: "Ray", versions: hello.versions },
    host: fleet,
    why: isNamed ? "it was asked for" : device === "interpreter" ? "there is no GPU" : "the cluster has it",
    unchecked: device === "interpreter" ? interpreterUnchecked : [],
    ...(byNode && { node: place.split(" ")[0]! }),
    ...(compilers && { compilers }),
  };
}

/** Actors of a cluster that answer in turn. */
function poolOf(fleet: RayClusterClient, seats: readonly number[]): WorkerPool {
  return new WorkerPool(seats.map((seat) => ({ worker: fleet.server(seat), place: fleet.seats[seat]!.place })));
}

/** The actors that compile on a node. Without any, its workers compile what they launch. */
function compilersOn(fleet: RayClusterClient, node: string): AheadCompilers | undefined {
  const seats = [...fleet.seats.keys()].filter((seat) => {
    const { hello, node: own } = fleet.seats[seat]!;
    return hello.device === "compiler" && own === node;
  });
  return seats.length === 0 ? undefined : compilersOf(fleet, seats);
}

/** Actors that compile, each job on the next one that is free. */
export function compilersOf(fleet: RayClusterClient, seats: readonly number[]): AheadCompilers {
  const pool = poolOf(fleet, seats);
  return {
    started: pool.size,
    each: async (jobs, work) => void (await pool.each(jobs, (job, { worker }) => work(worker, job))),
    stop: () => pool.stop(),
  };
}
