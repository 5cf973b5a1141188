/** The devices of a Ray cluster: one for each kind of GPU, whose workers are its actors. */
import { Fleet, type Seat } from "../hosts/fleet.js";
import {
  type DiscoveryOptions,
  findPython,
  type PythonEnvironment,
  unsupported,
  withoutRay,
} from "../python/environment.js";
import { WorkerPool } from "../python/worker-pool.js";
import { EnvironmentError } from "../system/problems.js";
import type { DeviceChoice } from "./device-name.js";
import type { DeviceOptions, PythonDevice } from "./devices.js";
import { interpreterUnchecked } from "./unchecked.js";

/** Connects to a cluster and starts its actors. Throws EnvironmentError. */
export async function openCluster(
  { kind, workers, model }: DeviceChoice,
  address: string,
  { device, ...options }: DeviceOptions,
): Promise<readonly [PythonDevice, ...PythonDevice[]]> {
  const { python } = await pythonWithRay(device, options);
  const worker = kind === "eval" ? "auto" : kind;
  const fleet = await Fleet.open({ ...options, address, python, name: device, device: worker, count: workers });
  try {
    const problem = problemOf(fleet.seats);
    if (problem) throw new EnvironmentError(`${device} can't be used: ${problem}`);
    return devicesOf(fleet, model, kind !== "auto");
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

/** The seats' numbers by what they run on. A time or a config of one kind of GPU says nothing about another. */
export function kindsOf(
  seats: readonly Pick<Seat, "hello">[],
  model = "",
): readonly (readonly [number, ...number[]])[] {
  const kinds = new Map<string, [number, ...number[]]>();
  for (const [i, { hello }] of seats.entries()) {
    if (!hello.deviceName.toLowerCase().includes(model.toLowerCase())) continue;
    const same = kinds.get(hello.deviceName);
    if (same) same.push(i);
    else kinds.set(hello.deviceName, [i]);
  }
  return [...kinds.values()];
}

/** Why the nodes' environments can't be used; they must be alike, because a result shall not depend on the node. */
export function problemOf(seats: readonly Seat[]): string | undefined {
  for (const { hello, place, python } of seats) {
    const problem = unsupported(hello.versions);
    if (problem) return `${python} on ${place}: ${problem}`;
  }
  const said = ({ hello: { versions } }: Seat) => `torch ${versions.torch} and triton ${versions.triton}`;
  const [first] = seats;
  const other = first && seats.find((seat) => said(seat) !== said(first));
  return other && `${first.place} has ${said(first)}, ${other.place} ${said(other)}; install the same on all nodes`;
}

function devicesOf(
  fleet: Fleet,
  model: string | undefined,
  isNamed: boolean,
): readonly [PythonDevice, ...PythonDevice[]] {
  const [first, ...others] = kindsOf(fleet.seats, model).map((seats) => deviceOf(fleet, seats, isNamed));
  if (first) return [first, ...others];
  const names = [...new Set(fleet.seats.map(({ hello }) => hello.deviceName))].join(", ");
  throw new EnvironmentError(`${fleet.name}: the cluster has no such GPU; it has ${names}`);
}

function deviceOf(fleet: Fleet, seats: readonly [number, ...number[]], isNamed: boolean): PythonDevice {
  const members = seats.map((seat) => ({ worker: fleet.server(seat), place: seatOf(fleet, seat).place }));
  const { hello, python } = seatOf(fleet, seats[0]);
  return {
    kind: hello.device,
    workers: new WorkerPool(members),
    hello,
    environment: { python, source: "Ray", versions: hello.versions },
    host: fleet,
    why: isNamed ? "it was asked for" : hello.device === "interpreter" ? "there is no GPU" : "the cluster has it",
    unchecked: hello.device === "interpreter" ? interpreterUnchecked : [],
  };
}

const seatOf = (fleet: Fleet, seat: number): Seat => fleet.seats[seat]!;
