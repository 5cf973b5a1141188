/** Which program read or wrote what: two programs that meet at one element, and elements without a value. */
import type { Location } from "../diagnostics.js";
import type { Addresses } from "../ir/runtime.js";
import type { Sanitiser } from "./sanitiser.js";
import type { Tensor } from "./tensor.js";

/** Notes a read, and gives the lanes that found no value because nothing was written there yet. */
export function noteRead(
  tensor: Tensor,
  { offsets, shape }: Addresses,
  performed: Uint8Array,
  sanitiser: Sanitiser,
  at: Location | undefined,
): Uint8Array | undefined {
  const { writers, readers } = tensor;
  if (!writers || !readers) return undefined;
  const { number } = sanitiser;
  const raced = new Uint8Array(performed.length);
  const empty = new Uint8Array(performed.length);
  for (let i = 0; i < performed.length; i++) {
    if (!performed[i]) continue;
    const offset = offsets[i]!;
    const writer = writers[offset]!;
    readers[offset] = number;
    if (writer === 0) empty[i] = tensor.role === "out" && !tensor.zeroed ? 1 : 0;
    else if (writer !== number) raced[i] = 1;
  }
  sanitiser.lanes("race", raced, shape, at, (lane) => {
    const offset = offsets[lane]!;
    return `${tensor.nameOf(offset)} is read here and written by program ${name(sanitiser, writers[offset]!)}; nothing orders the two`;
  });
  sanitiser.lanes("uninitialised", empty, shape, at, (lane) => {
    return `${tensor.nameOf(offsets[lane]!)} is read before anything was written there; store to it first, or declare it tensor.inout(…)`;
  });
  return empty.includes(1) ? empty : undefined;
}

/** Notes a write. */
export function noteWrite(
  tensor: Tensor,
  { offsets, shape }: Addresses,
  performed: Uint8Array,
  sanitiser: Sanitiser,
  at: Location | undefined,
): void {
  const { writers, readers } = tensor;
  if (!writers || !readers) return;
  const { number } = sanitiser;
  const raced = new Uint8Array(performed.length);
  /** The other program; negative where it read. */
  const others = new Int32Array(performed.length);
  for (let i = 0; i < performed.length; i++) {
    if (!performed[i]) continue;
    const offset = offsets[i]!;
    const writer = writers[offset]!;
    const reader = readers[offset]!;
    writers[offset] = number;
    if (writer !== 0 && writer !== number) others[i] = writer;
    else if (reader !== 0 && reader !== number) others[i] = -reader;
    else continue;
    raced[i] = 1;
  }
  sanitiser.lanes("race", raced, shape, at, (lane) => {
    const other = others[lane]!;
    const did = other > 0 ? "also written" : "read";
    return `${tensor.nameOf(offsets[lane]!)} is written here and ${did} by program ${name(sanitiser, Math.abs(other))}; nothing orders the two`;
  });
}

const name = (sanitiser: Sanitiser, number: number): string => `(${sanitiser.program(number).join(", ")})`;
