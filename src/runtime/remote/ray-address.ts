/** `ray:ADDRESS`: a Ray cluster, as Ray names it. */
import { UsageError } from "../system/errors.js";

const HOST_AND_PORT = String.raw`(?:[\p{L}\p{N}_][\p{L}\p{N}_.-]*|\[[0-9a-fA-F:.]+\]):\d{1,5}`;
/** The cluster that this machine is part of, by itself or by the address of its head node. */
const NODE = new RegExp(`^(?:auto|${HOST_AND_PORT})$`, "u");
/** A cluster that this machine is no node of, by the server for clients on its head node. */
const CLIENT = new RegExp(`^//${HOST_AND_PORT}$`, "u");

/** Reads what follows `ray:`, and returns what Ray calls the cluster. Throws UsageError. */
export function parseRayAddress(text: string): string {
  if (NODE.test(text)) return text;
  if (CLIENT.test(text)) return `ray:${text}`;
  throw new UsageError(
    `ray:${text} names no cluster; write ray:auto for the one that this machine is a node of, ray:HOST:6379 with its head node, or ray://HOST:10001 from a machine outside it`,
  );
}
