/** `ray:ADDRESS`: a Ray cluster, by Ray's own addresses. */
import { UsageError } from "../system/errors.js";

const HOST_AND_PORT = String.raw`(?:[\p{L}\p{N}_][\p{L}\p{N}_.-]*|\[[0-9a-fA-F:.]+\]):\d{1,5}`;
/** A cluster with this machine as a node, found automatically or by the address of its head node. */
const NODE = new RegExp(`^(?:auto|${HOST_AND_PORT})$`, "u");
/** A cluster without this machine, by the address of the client server on its head node. */
const CLIENT = new RegExp(`^//${HOST_AND_PORT}$`, "u");

/** Parses the text after `ray:` into Ray's address. Throws UsageError. */
export function parseRayAddress(text: string): string {
  if (NODE.test(text)) return text;
  if (CLIENT.test(text)) return `ray:${text}`;
  throw new UsageError(
    `ray:${text} names no cluster; write ray:auto for the one that this machine is a node of, ray:HOST:6379 with its head node, or ray://HOST:10001 from a machine outside it`,
  );
}
