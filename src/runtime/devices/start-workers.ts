/** Starts the workers of a device: one, or one for each of several GPUs. */
import type { HelloResult } from "../worker/protocol.js";
import { Worker, type WorkerOptions } from "../worker/worker.js";
import { type Member, WorkerPool } from "../worker/worker-pool.js";
import type { DeviceChoice } from "./device-name.js";

/** The first import of torch after a boot reads gigabytes. */
const START_DEADLINE_MS = 180_000;

export interface Started {
  readonly workers: WorkerPool;
  /** What the first worker runs on. */
  readonly hello: HelloResult;
}

type Starting = Omit<WorkerOptions, "device">;
type Wanted = Pick<WorkerOptions, "device" | "gpu"> & Pick<Member, "place">;

/** Starts the workers, or says why they can't be used. */
export async function startWorkers(choice: DeviceChoice, options: Starting): Promise<Started | string> {
  const first = wantedBy(choice);
  const started = await startAll(first, options);
  if (typeof started === "string" || choice.gpus !== "all") return started;
  const others = Array.from({ length: started.hello.gpuCount - 1 }, (_, i) => gpuOf(choice, i + 1));
  if (others.length === 0) return started;
  const rest = await startAll(others, options);
  if (typeof rest === "string") {
    await started.workers.stop();
    return rest;
  }
  return ofOneKind([started, rest]);
}

const gpuOf = ({ kind }: DeviceChoice, gpu: number): Wanted => ({
  device: deviceOf(kind),
  gpu,
  place: `${kind}:${gpu}`,
});
const deviceOf = (kind: DeviceChoice["kind"]): WorkerOptions["device"] => (kind === "eval" ? "auto" : kind);

/** The workers that can be started before anything is known of the device. */
function wantedBy(choice: DeviceChoice): readonly Wanted[] {
  const { kind, gpus, workers = 1 } = choice;
  if (gpus === "all") return [gpuOf(choice, 0)];
  if (gpus) return gpus.map((gpu) => gpuOf(choice, gpu));
  if (workers === 1) return [{ device: deviceOf(kind) }];
  return Array.from({ length: workers }, (_, i) => ({ device: "interpreter", place: `cpu:${i}` }));
}

async function startAll(wanted: readonly Wanted[], options: Starting): Promise<Started | string> {
  const members = wanted.map(({ place, ...device }) => ({
    worker: new Worker({ ...options, ...device }),
    ...(place !== undefined && { place }),
  }));
  const workers = new WorkerPool(members);
  const replies = await Promise.all(members.map(({ worker }) => worker.request({ type: "hello" }, START_DEADLINE_MS)));
  const each: Started[] = [];
  for (const [i, reply] of replies.entries()) {
    if (!reply.ok) {
      await workers.stop();
      return reply.error.message;
    }
    each.push({ workers: new WorkerPool([members[i]!]), hello: reply.result });
  }
  return ofOneKind(each);
}

/** The workers together. A time or a config that was found on one kind of GPU says nothing about another. */
async function ofOneKind(parts: readonly Started[]): Promise<Started | string> {
  const workers = new WorkerPool(parts.flatMap((part) => part.workers.members));
  const [{ hello }] = parts as [Started];
  const other = parts.find((part) => part.hello.deviceName !== hello.deviceName);
  if (!other) return { workers, hello };
  await workers.stop();
  const [one, two] = [workers.members[0]?.place, other.workers.members[0]?.place];
  return `${one} is an ${hello.deviceName} and ${two} an ${other.hello.deviceName}; name GPUs of one kind, such as ${one}`;
}
