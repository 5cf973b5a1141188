/** `ray:ADDRESS`: a Ray cluster, as Ray names it. */
import { UsageError } from "../system/problems.js";

/** The cluster that this machine is part of, by itself or by the address of its head node. */
const ADDRESS = /^(?:auto|(?:[\p{L}\p{N}_][\p{L}\p{N}_.-]*|\[[0-9a-fA-F:.]+\]):\d{1,5})$/u;

/** Reads what follows `ray:`, and returns what Ray calls the cluster. Throws UsageError. */
export function parseRayAddress(text: string): string {
  if (ADDRESS.test(text)) return text;
  if (text.startsWith("//"))
    throw new UsageError(
      `ray:${text} is an address for Ray's clients; run this on a node of the cluster, with ray:auto or ray:HOST:6379`,
    );
  throw new UsageError(
    `ray:${text} names no cluster; write ray:auto for the one that this machine is a node of, or ray:HOST:6379 with its head node`,
  );
}
