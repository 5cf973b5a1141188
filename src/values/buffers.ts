/** Collects the buffers of run-time values. */
import type { Runtime } from "./runtime-values.js";

/** All buffers of values that must outlive their scope in the pool. */
export function buffersOf(values: readonly (Runtime | undefined)[]): ReadonlySet<ArrayBufferLike> {
  const buffers = new Set<ArrayBufferLike>();
  for (const value of values) collectBuffers(value, buffers);
  return buffers;
}

function collectBuffers(value: Runtime | undefined, buffers: Set<ArrayBufferLike>): void {
  if (typeof value !== "object") return;
  if (Array.isArray(value)) (value as readonly Runtime[]).forEach((item) => collectBuffers(item, buffers));
  else if ("data" in value) {
    buffers.add(value.data.buffer);
    if (value.poison) buffers.add(value.poison.buffer);
  } else if ("kind" in value && value.kind === "addresses") {
    const { offsets, inBounds, broken, claims, poison, indexed } = value;
    for (const array of [offsets, inBounds, broken, claims?.axis, claims?.index, poison])
      if (array) buffers.add(array.buffer);
    for (const { positions } of indexed?.axes ?? []) buffers.add(positions.buffer);
  }
}
