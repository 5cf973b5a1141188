/**
 * Records which program read or wrote each element, to find races and reads of elements without a value. Two accesses
 * of one element race if nothing orders their programs; atomics are always ordered among themselves.
 */
import type { Location } from "../diagnostics/diagnostic.js";
import { race, uninitialised } from "../diagnostics/catalogue/finding-codes.js";
import type { Addresses } from "../values/runtime-values.js";
import type { Sanitiser } from "./sanitiser.js";
import type { Tensor } from "./tensor.js";

type At = Location | undefined;

/** Whether a tensor has no values before the first program runs. */
function startsEmpty({ role, zeroed }: Tensor): boolean {
  return role === "out" && !zeroed;
}

/** Records a read. Returns the lanes whose element has no value yet. */
export function noteRead(
  tensor: Tensor,
  { offsets, shape }: Addresses,
  performed: Uint8Array,
  sanitiser: Sanitiser,
  at: At,
): Uint8Array | undefined {
  const { writers, readers, atomics } = tensor;
  if (!writers || !readers) return undefined;
  const meetings = new Meetings();
  let empty: Uint8Array | undefined;
  const isEmpty = startsEmpty(tensor);
  const { order } = sanitiser;
  const { stamp } = order;
  for (let i = 0; i < performed.length; i++) {
    if (!performed[i]) continue;
    const offset = offsets[i]!;
    const writer = writers[offset]!;
    const changer = atomics === undefined ? 0 : atomics[offset]!;
    readers[offset] = stamp;
    if (writer === 0 && changer === 0) {
      if (isEmpty) (empty ??= new Uint8Array(performed.length))[i] = 1;
    } else if (writer !== stamp && !order.sees(writer)) meetings.note(i, writer, WRITTEN);
    else if (!order.sees(changer)) meetings.note(i, changer, CHANGED);
  }
  meetings.report("read", tensor, offsets, shape, sanitiser, at);
  reportEmpty(empty, tensor, offsets, shape, sanitiser, at);
  return empty;
}

/** Records a write. Returns whether the program wrote one of the elements before, possibly in this same store. */
export function noteWrite(
  tensor: Tensor,
  { offsets, shape }: Addresses,
  performed: Uint8Array,
  sanitiser: Sanitiser,
  at: At,
): boolean {
  const { writers, readers, atomics } = tensor;
  if (!writers || !readers) return false;
  const meetings = new Meetings();
  let isRepeated = false;
  const { order } = sanitiser;
  const { stamp } = order;
  for (let i = 0; i < performed.length; i++) {
    if (!performed[i]) continue;
    const offset = offsets[i]!;
    const writer = writers[offset]!;
    const reader = readers[offset]!;
    const changer = atomics === undefined ? 0 : atomics[offset]!;
    writers[offset] = stamp;
    if (writer === stamp) isRepeated = true;
    // Fast path: most elements have had no other access.
    if ((writer === 0 || writer === stamp) && changer === 0 && (reader === 0 || reader === stamp)) continue;
    if (writer !== stamp && !order.sees(writer)) meetings.note(i, writer, WRITTEN);
    else if (!order.sees(changer)) meetings.note(i, changer, CHANGED);
    else if (reader !== stamp && !order.sees(reader)) meetings.note(i, reader, READ);
  }
  meetings.report("written", tensor, offsets, shape, sanitiser, at);
  return isRepeated;
}

/** Records an atomic. Returns the lanes whose element has no value yet. */
export function noteAtomic(
  tensor: Tensor,
  { offsets, shape }: Addresses,
  performed: Uint8Array,
  does: { readonly reads: boolean; readonly writes: boolean },
  sanitiser: Sanitiser,
  at: At,
): Uint8Array | undefined {
  const { writers, readers } = tensor;
  if (!writers || !readers) return undefined;
  const atomics = (tensor.atomics ??= new Int32Array(writers.length));
  const meetings = new Meetings();
  let empty: Uint8Array | undefined;
  const isEmpty = startsEmpty(tensor);
  const { order } = sanitiser;
  const { stamp } = order;
  for (let i = 0; i < performed.length; i++) {
    if (!performed[i]) continue;
    const offset = offsets[i]!;
    const writer = writers[offset]!;
    const reader = readers[offset]!;
    if (isEmpty && does.reads && writer === 0 && atomics[offset] === 0)
      (empty ??= new Uint8Array(performed.length))[i] = 1;
    if (!order.sees(writer)) meetings.note(i, writer, WRITTEN);
    else if (does.writes && !order.sees(reader)) meetings.note(i, reader, READ);
    if (does.writes) atomics[offset] = stamp;
  }
  meetings.report("changed by an atomic", tensor, offsets, shape, sanitiser, at);
  reportEmpty(empty, tensor, offsets, shape, sanitiser, at);
  return empty;
}

const [WRITTEN, READ, CHANGED] = [1, 2, 3];
const WORDS = ["", "written", "read", "changed by an atomic"];

/** Lanes whose element another program accessed before, and how. */
class Meetings {
  /** By lane; undefined for most accesses. */
  #met: Map<number, { readonly stamp: number; readonly did: number }> | undefined;

  note(lane: number, stamp: number, did: number): void {
    (this.#met ??= new Map()).set(lane, { stamp, did });
  }

  report(
    does: string,
    tensor: Tensor,
    offsets: Float64Array,
    shape: readonly number[],
    sanitiser: Sanitiser,
    at: At,
  ): void {
    const met = this.#met;
    if (met === undefined) return;
    const marked = new Uint8Array(offsets.length);
    for (const lane of met.keys()) marked[lane] = 1;
    sanitiser.lanes(race.code, marked, shape, at, (lane) => {
      const { stamp, did: kind } = met.get(lane)!;
      const program = sanitiser.program(sanitiser.order.owner(stamp)).join(", ");
      const did = WORDS[kind]!;
      return race(tensor.nameOf(offsets[lane]!), does, did, program);
    });
  }
}

function reportEmpty(
  empty: Uint8Array | undefined,
  tensor: Tensor,
  offsets: Float64Array,
  shape: readonly number[],
  sanitiser: Sanitiser,
  at: At,
): void {
  if (empty === undefined) return;
  sanitiser.lanes(uninitialised.code, empty, shape, at, (lane) => uninitialised.memory(tensor.nameOf(offsets[lane]!)));
}
