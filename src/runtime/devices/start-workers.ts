/** Starts the workers of a device: one, or one per GPU. */
import type { HelloResult } from "../worker/protocol.js";
import { Worker, type WorkerOptions } from "../worker/worker.js";
import { type Member, WorkerPool } from "../worker/worker-pool.js";
import type { DeviceChoice } from "./device-name.js";

/** The first import of torch after a boot reads gigabytes. */
const START_DEADLINE_MS = 180_000;

export interface StartedWorkers {
  readonly workers: WorkerPool;
  /** The properties of the first worker's device. */
  readonly hello: HelloResult;
}

type StartOptions = Omit<WorkerOptions, "device">;
type WorkerChoice = Pick<WorkerOptions, "device" | "gpu"> & Pick<Member, "deviceName">;

/** Starts the workers. Returns a message if they are unusable. */
export async function startWorkers(choice: DeviceChoice, options: StartOptions): Promise<StartedWorkers | string> {
  const first = initialWorkers(choice);
  const workers = await startAll(first, options);
  if (typeof workers === "string" || choice.gpus !== "all") return workers;
  const others = Array.from({ length: workers.hello.gpuCount - 1 }, (_, i) => gpuOf(choice, i + 1));
  if (others.length === 0) return workers;
  const otherWorkers = await startAll(others, options);
  if (typeof otherWorkers === "string") {
    await workers.workers.stop();
    return otherWorkers;
  }
  return mergeSameKind([workers, otherWorkers]);
}

const gpuOf = ({ kind }: DeviceChoice, gpu: number): WorkerChoice => ({
  device: deviceOf(kind),
  gpu,
  deviceName: `${kind}:${gpu}`,
});
const deviceOf = (kind: DeviceChoice["kind"]): WorkerOptions["device"] => (kind === "eval" ? "auto" : kind);

/** The workers that can start before the properties of the device are known. */
function initialWorkers(choice: DeviceChoice): readonly WorkerChoice[] {
  const { kind, gpus, workers = 1 } = choice;
  if (gpus === "all") return [gpuOf(choice, 0)];
  if (gpus) return gpus.map((gpu) => gpuOf(choice, gpu));
  if (workers === 1) return [{ device: deviceOf(kind) }];
  return Array.from({ length: workers }, (_, i) => ({ device: "interpreter", deviceName: `cpu:${i}` }));
}

async function startAll(choices: readonly WorkerChoice[], options: StartOptions): Promise<StartedWorkers | string> {
  const members = choices.map(({ deviceName: place, ...device }) => ({
    worker: new Worker({ ...options, ...device }),
    ...(place !== undefined && { deviceName: place }),
  }));
  const workers = new WorkerPool(members);
  const replies = await Promise.all(
    members.map(async (member) => ({
      member,
      reply: await member.worker.request({ type: "hello" }, START_DEADLINE_MS),
    })),
  );
  const startedWorkers: StartedWorkers[] = [];
  for (const { member, reply } of replies) {
    if (!reply.ok) {
      await workers.stop();
      return reply.error.message;
    }
    startedWorkers.push({ workers: new WorkerPool([member]), hello: reply.result });
  }
  return mergeSameKind(startedWorkers);
}

/** Merges workers and checks that they have one kind of GPU. Times and configs of one kind do not apply to another. */
async function mergeSameKind(groups: readonly StartedWorkers[]): Promise<StartedWorkers | string> {
  const workers = new WorkerPool(groups.flatMap((part) => part.workers.members));
  const [{ hello }] = groups as [StartedWorkers];
  const other = groups.find((part) => part.hello.deviceName !== hello.deviceName);
  if (!other) return { workers, hello };
  await workers.stop();
  const [firstPlace, secondPlace] = [workers.members[0]?.deviceName, other.workers.members[0]?.deviceName];
  return `${firstPlace} is an ${hello.deviceName} and ${secondPlace} an ${other.hello.deviceName}; name GPUs of one kind, such as ${firstPlace}`;
}
