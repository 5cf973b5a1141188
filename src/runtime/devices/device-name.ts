/** What `--device` names: a kind of device, and how many workers run on it. */
import { type DeviceKind, deviceKinds } from "../../compiled/device-names.js";
import { parseRayAddress } from "../remote/ray-address.js";
import { parseSshAddress, type SshAddress } from "../remote/ssh-address.js";
import { UsageError } from "../system/errors.js";

export interface DeviceChoice {
  readonly kind: DeviceKind;
  /** Indices of GPUs, among those that torch sees; absent for the current one. */
  readonly gpus?: "all" | readonly number[];
  /** Workers on the interpreter. Default: one. */
  readonly workers?: number;
  /** The machine that it is part of. Default: this one. */
  readonly ssh?: SshAddress;
  /** The Ray cluster that it is part of, as Ray names it. */
  readonly ray?: string;
  /** Part of the names of the cluster's GPUs to use. Default: all. */
  readonly model?: string;
}

/** @throws UsageError for a name that is none. */
export function parseDevice(text: string): DeviceChoice {
  if (text.startsWith("ssh:")) return remote(text);
  if (text.startsWith("ray:")) return cluster(text);
  const kind = deviceKinds.find((each) => each === text);
  if (kind) return { kind };
  const [, family, list = ""] = /^(cuda|hip|cpu):(.*)$/s.exec(text) ?? [];
  if (family === "cpu") return { kind: "interpreter", workers: workersOf(text, list) };
  if (family === "cuda" || family === "hip") return { kind: family, gpus: gpusOf(text, list) };
  throw new UsageError(`there is no device ${text}; the devices are ${deviceKinds.join(", ")}, ${examples}`);
}

const examples =
  "cuda:all or cuda:0,1 for several GPUs, cpu:4 for several workers on the interpreter, ssh:HOST for another machine, and ray:auto for a Ray cluster";

/** A `#` is also part of a path, where no device follows it. */
function remote(text: string): DeviceChoice {
  const mark = text.lastIndexOf("#");
  const there = mark < 0 || text.includes("/", mark) ? undefined : parseDevice(text.slice(mark + 1));
  if (there?.kind === "eval" || there?.ssh || there?.ray)
    throw new UsageError(`${text} is no device; after "#" stands a device of that machine, such as ssh:HOST#cuda:all`);
  const address = parseSshAddress(text.slice("ssh:".length, there ? mark : undefined));
  return { kind: "auto", ...there, ssh: address };
}

/** After a `#` stands a kind of device, as in `#cpu:4`, or part of a GPU's name, as in `#H200`. */
function cluster(text: string): DeviceChoice {
  const [address = "", ...rest] = text.slice("ray:".length).split("#");
  const ray = parseRayAddress(address);
  if (rest.length === 0) return { kind: "auto", ray };
  const there = rest.join("#");
  if (/^(?:cpu:|(?:auto|cuda|hip|interpreter)$)/.test(there)) return { ...parseDevice(there), ray };
  if (!/^[\w-][\w -]*$/.test(there) || there === "eval")
    throw new UsageError(
      `${text} is no device; after "#" stands cuda, hip, part of a GPU's name such as H200, or the number of workers on the interpreter, cpu:4`,
    );
  return { kind: "auto", ray, model: there };
}

/** Each worker imports torch and takes half a gigabyte. */
const MOST_WORKERS = 256;

function workersOf(text: string, list: string): number {
  const count = /^\d{1,3}$/.test(list) ? Number(list) : 0;
  if (count >= 1 && count <= MOST_WORKERS) return count;
  throw new UsageError(
    `${text} is no device; write the number of workers on the interpreter, from 1 to ${MOST_WORKERS}, such as cpu:4`,
  );
}

function gpusOf(text: string, list: string): "all" | readonly number[] {
  if (list === "all") return list;
  const names = list.split(",");
  const indices = names.map(Number);
  if (!names.every((name) => /^\d{1,4}$/.test(name)))
    throw new UsageError(`${text} is no device; name GPUs by their indices, such as cuda:0,1, or all with cuda:all`);
  const twice = indices.find((index, i) => indices.indexOf(index) < i);
  if (twice !== undefined) throw new UsageError(`${text} names GPU ${twice} twice; name each once`);
  return indices;
}
