/** Atomics: performed lane by lane, in program order. */
import { allocate } from "../numerics/buffer-pool.js";
import type { Location } from "../diagnostics/diagnostic.js";
import { uninitialized, waitsForever, writeToInput } from "../diagnostics/catalog/finding-codes.js";
import { sizeOf, type TileArray, tileArray } from "../numerics/array.js";
import type { Addresses, AtomicAccess, Constant } from "../values/runtime-values.js";
import { recordAtomic } from "./shadow-memory.js";
import { lanesOf, type Mask } from "./lanes.js";
import { spread, tensorOf, union } from "./memory-access.js";
import type { Sanitizer } from "./sanitizer.js";
import type { Tensor } from "./tensor.js";

type At = Location | undefined;
type Elements = { [index: number]: number | bigint };

export function atomic(
  address: Addresses,
  mask: Mask,
  { operands, change, reads, order }: AtomicAccess,
  sanitizer: Sanitizer,
  at: At,
): TileArray {
  const tensor = tensorOf(address);
  const { shape, offsets } = address;
  const { performed } = lanesOf(tensor, address, mask, change ? "atomic" : "poll", sanitizer, at);
  const old = allocate(tensor.dtype, performed.length);
  const unperformed = performed.includes(0) ? performed.map((on) => 1 - on) : undefined;
  if (change && tensor.role === "in") {
    sanitizer.lanes(writeToInput.code, performed, shape, at, () => writeToInput.atomic(tensor.name));
    return tileArray(tensor.dtype, shape, old, new Uint8Array(performed.length).fill(1));
  }
  if (change && at) tensor.writtenAt.add(at);
  const given = operands.map((operand) => spread(operand, tensor.dtype, shape));
  for (const { poison } of given) {
    if (!poison) continue;
    const used = poison.map((flag, i) => flag & performed[i]!);
    sanitizer.lanes(uninitialized.code, used, shape, at, (lane) => uninitialized.atomic(tensor.nameOf(offsets[lane]!)));
  }
  const empty = recordAtomic(tensor, address, performed, { reads, writes: change !== undefined }, sanitizer, at);
  meet(tensor, address, performed, order, sanitizer);
  const memory = tensor.data as unknown as Elements;
  const before = old as unknown as Elements;
  const [first, second] = given.map(({ data }) => data as unknown as Elements);
  for (let i = 0; i < performed.length; i++) {
    if (!performed[i]) continue;
    const offset = offsets[i]!;
    const element = memory[offset]!;
    before[i] = element;
    if (change) memory[offset] = change(element, first?.[i] ?? 0, second?.[i] ?? 0);
  }
  return tileArray(tensor.dtype, shape, old, union([empty, unperformed]));
}

/** Whether memory holds the expected value. Without a timeout, a program that does not find it would wait forever. */
export function poll(
  address: Addresses,
  expected: TileArray | Constant,
  { order, forever }: { readonly order: string; readonly forever: boolean },
  sanitizer: Sanitizer,
  at: At,
): TileArray {
  const tensor = tensorOf(address);
  const { shape, offsets } = address;
  const { performed } = lanesOf(tensor, address, undefined, "poll", sanitizer, at);
  recordAtomic(tensor, address, performed, { reads: true, writes: false }, sanitizer, at);
  meet(tensor, address, performed, order, sanitizer);
  const memory = tensor.data as unknown as Elements;
  const wanted = spread(expected, tensor.dtype, shape).data as unknown as Elements;
  const holds = new Uint8Array(sizeOf(shape)).map((_, i) =>
    performed[i] && memory[offsets[i]!] === wanted[i] ? 1 : 0,
  );
  const missed = holds.map((held, i) => performed[i]! & (1 - held));
  if (forever)
    sanitizer.lanes(waitsForever.code, missed, shape, at, (lane) =>
      waitsForever(tensor.nameOf(offsets[lane]!), String(wanted[lane])),
    );
  return tileArray("int1", shape, holds);
}

/** An atomic on one element (a counter, a lock) orders programs. Tiles of atomics only accumulate, so they do not. */
function meet(
  tensor: Tensor,
  { offsets }: Addresses,
  performed: Uint8Array,
  order: string,
  sanitizer: Sanitizer,
): void {
  if (performed.length === 1 && performed[0]) sanitizer.order.meet(`${tensor.name}@${offsets[0]!}`, order);
}
