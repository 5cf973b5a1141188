/** Evaluates atomics lane by lane, in program order. */
import { allocate } from "../numerics/buffer-pool.js";
import type { Location } from "../diagnostics/diagnostic.js";
import { uninitialized, waitsForever, writeToInput } from "../diagnostics/catalog/finding-codes.js";
import { sizeOf, type TileArray, tileArray } from "../numerics/array.js";
import type { Addresses, AtomicAccess, Constant } from "../values/runtime-values.js";
import { recordAtomic } from "./shadow-memory.js";
import { intersect, lanesOf, type Mask } from "./lanes.js";
import { spread, tensorOf, union } from "./memory-access.js";
import type { Sanitizer } from "./sanitizer.js";
import type { Tensor } from "./tensor.js";

type OptionalLocation = Location | undefined;
type Elements = { [index: number]: number | bigint };

export function atomic(
  address: Addresses,
  mask: Mask,
  { operands, change, reads, order }: AtomicAccess,
  sanitizer: Sanitizer,
  location: OptionalLocation,
): TileArray {
  const tensor = tensorOf(address);
  const { shape, offsets } = address;
  const { performed } = lanesOf(tensor, address, mask, change ? "atomic" : "poll", sanitizer, location);
  const old = allocate(tensor.dtype, performed.length);
  const unperformed = performed.includes(0) ? performed.map((on) => 1 - on) : undefined;
  if (change && tensor.role === "in") {
    sanitizer.reportLanes(writeToInput.code, performed, shape, location, () => writeToInput.atomic(tensor.name));
    return tileArray(tensor.dtype, shape, old, new Uint8Array(performed.length).fill(1));
  }
  if (change && location) tensor.writtenAt.add(location);
  const values = operands.map((operand) => spread(operand, tensor.dtype, shape));
  for (const { poison } of values) {
    const usedPoison = poison && intersect(poison, performed);
    if (!usedPoison) continue;
    sanitizer.reportLanes(uninitialized.code, usedPoison, shape, location, (lane) =>
      uninitialized.atomic(tensor.formatLane(address, lane)),
    );
  }
  const empty = recordAtomic(tensor, address, performed, { reads, writes: change !== undefined }, sanitizer, location);
  synchronize(tensor, address, performed, order, sanitizer);
  const memory = tensor.data as unknown as Elements;
  const oldElements = old as unknown as Elements;
  const [first, second] = values.map(({ data }) => data as unknown as Elements);
  for (let i = 0; i < performed.length; i++) {
    if (!performed[i]) continue;
    const offset = offsets[i]!;
    const element = memory[offset]!;
    oldElements[i] = element;
    if (change) memory[offset] = change(element, first?.[i] ?? 0, second?.[i] ?? 0);
  }
  return tileArray(tensor.dtype, shape, old, union([empty, unperformed]));
}

/** Compares memory with the expected value. Without a timeout, a mismatch means that the program would wait forever. */
export function poll(
  address: Addresses,
  expected: TileArray | Constant,
  { order, forever }: { readonly order: string; readonly forever: boolean },
  sanitizer: Sanitizer,
  location: OptionalLocation,
): TileArray {
  const tensor = tensorOf(address);
  const { shape, offsets } = address;
  const { performed } = lanesOf(tensor, address, undefined, "poll", sanitizer, location);
  recordAtomic(tensor, address, performed, { reads: true, writes: false }, sanitizer, location);
  synchronize(tensor, address, performed, order, sanitizer);
  const memory = tensor.data as unknown as Elements;
  const expectedElements = spread(expected, tensor.dtype, shape).data as unknown as Elements;
  const matches = new Uint8Array(sizeOf(shape)).map((_, i) =>
    performed[i] && memory[offsets[i]!] === expectedElements[i] ? 1 : 0,
  );
  const mismatches = matches.map((isMatch, i) => (performed[i] ? 1 - isMatch : 0));
  if (forever)
    sanitizer.reportLanes(waitsForever.code, mismatches, shape, location, (lane) =>
      waitsForever(tensor.formatLane(address, lane), String(expectedElements[lane])),
    );
  return tileArray("int1", shape, matches);
}

/**
 * Synchronizes programs through an atomic on one element, such as a counter or a lock. Tiles of atomics only
 * accumulate, so they do not synchronize.
 */
function synchronize(
  tensor: Tensor,
  { offsets }: Addresses,
  performed: Uint8Array,
  order: string,
  sanitizer: Sanitizer,
): void {
  if (performed.length === 1 && performed[0]) sanitizer.order.recordAtomic(`${tensor.name}@${offsets[0]}`, order);
}
