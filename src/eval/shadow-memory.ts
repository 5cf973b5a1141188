/**
 * Records which program and which lane read or wrote each element, to find races and reads of elements without a value.
 * Two accesses of one element race if nothing orders their programs; atomics are always ordered among themselves. Two
 * lanes of one program are unordered unless a barrier, or an atomic on one element, stands between their accesses.
 */
import type { Location } from "../diagnostics/diagnostic.js";
import type { Message } from "../diagnostics/catalog/define-code.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import { race, uninitialized, unorderedLanes } from "../diagnostics/catalog/finding-codes.js";
import type { NumberData } from "../numerics/numeric.js";
import type { Addresses } from "../values/runtime-values.js";
import { firstKey, nameOfLane, MULTIPLE_READERS } from "./lane-order.js";
import type { Sanitizer } from "./sanitizer.js";
import type { Tensor } from "./tensor.js";

type At = Location | undefined;

/** Whether a tensor has no values before the first program runs. */
function startsEmpty({ role, zeroed }: Tensor): boolean {
  return role === "out" && !zeroed;
}

/** Records a read. Returns the lanes whose element has no value yet. */
export function recordRead(
  tensor: Tensor,
  { offsets, shape }: Addresses,
  performed: Uint8Array,
  sanitizer: Sanitizer,
  at: At,
): Uint8Array | undefined {
  const { writers, readers, atomics, lanes } = tensor;
  if (!writers || !readers || !lanes) return undefined;
  const meetings = new Meetings();
  const unordered = new Unordered();
  let empty: Uint8Array | undefined;
  const isEmpty = startsEmpty(tensor);
  const { order } = sanitizer;
  const { stamp } = order;
  const first = firstKey(shape);
  for (let i = 0; i < performed.length; i++) {
    if (!performed[i]) continue;
    const offset = offsets[i]!;
    const writer = writers[offset]!;
    const changer = atomics === undefined ? 0 : atomics[offset]!;
    const lane = first + i;
    lanes.readers[offset] = readers[offset] === stamp && lanes.readers[offset] !== lane ? MULTIPLE_READERS : lane;
    readers[offset] = stamp;
    if (writer === stamp && lanes.writers[offset] !== lane) unordered.note(i, lanes.writers[offset]!, WRITTEN);
    else if (changer === stamp && lanes.changers![offset] !== lane)
      unordered.note(i, lanes.changers![offset]!, CHANGED);
    if (writer === 0 && changer === 0) {
      if (isEmpty) (empty ??= new Uint8Array(performed.length))[i] = 1;
    } else if (writer !== stamp && !order.sees(writer)) meetings.note(i, writer, WRITTEN);
    else if (!order.sees(changer)) meetings.note(i, changer, CHANGED);
  }
  meetings.report("read", tensor, offsets, shape, sanitizer, at);
  unordered.report("read", tensor, offsets, shape, sanitizer, at);
  reportEmpty(empty, tensor, offsets, shape, sanitizer, at);
  return empty;
}

/** Records a write. Returns whether the program wrote one of the elements before, possibly in this same store. */
export function recordWrite(
  tensor: Tensor,
  { offsets, shape }: Addresses,
  performed: Uint8Array,
  values: NumberData,
  sanitizer: Sanitizer,
  at: At,
): boolean {
  const { writers, readers, atomics, lanes, words } = tensor;
  if (!writers || !readers || !lanes) return false;
  const meetings = new Meetings();
  const unordered = new Unordered();
  let isRepeated = false;
  const { order } = sanitizer;
  const { stamp } = order;
  const first = firstKey(shape);
  for (let i = 0; i < performed.length; i++) {
    if (!performed[i]) continue;
    const offset = offsets[i]!;
    const writer = writers[offset]!;
    const reader = readers[offset]!;
    const changer = atomics === undefined ? 0 : atomics[offset]!;
    const lane = first + i;
    const before = lanes.writers[offset]!;
    writers[offset] = stamp;
    lanes.writers[offset] = lane;
    if (writer === stamp) {
      isRepeated = true;
      if (
        before !== lane &&
        isChanged(words, values, offset, i) &&
        !isOfThisStore(before - first, i, offsets, performed)
      )
        unordered.note(i, before, WRITTEN);
    }
    if (reader === stamp && lanes.readers[offset] !== lane && isChanged(words, values, offset, i))
      unordered.note(i, lanes.readers[offset]!, READ);
    if (changer === stamp && changer !== 0 && lanes.changers![offset] !== lane)
      unordered.note(i, lanes.changers![offset]!, CHANGED);
    // Fast path: most elements have had no other access.
    if ((writer === 0 || writer === stamp) && changer === 0 && (reader === 0 || reader === stamp)) continue;
    if (writer !== stamp && !order.sees(writer)) meetings.note(i, writer, WRITTEN);
    else if (!order.sees(changer)) meetings.note(i, changer, CHANGED);
    else if (reader !== stamp && !order.sees(reader)) meetings.note(i, reader, READ);
  }
  meetings.report("written", tensor, offsets, shape, sanitizer, at);
  unordered.report("written", tensor, offsets, shape, sanitizer, at);
  return isRepeated;
}

/** Whether a lane of a store gives an element another value. Any two NaNs are equal here. */
function isChanged(words: NumberData, values: NumberData, offset: number, lane: number): boolean {
  const [there, value] = [words[offset]!, values[lane]!];
  return there !== value && !(there !== there && value !== value);
}

/** Whether an earlier lane of the same store wrote the element: lanes of one store are compared by their values. */
function isOfThisStore(before: number, lane: number, offsets: Float64Array, performed: Uint8Array): boolean {
  return before >= 0 && before < lane && performed[before] === 1 && offsets[before] === offsets[lane];
}

/** Records an atomic. Returns the lanes whose element has no value yet. */
export function recordAtomic(
  tensor: Tensor,
  { offsets, shape }: Addresses,
  performed: Uint8Array,
  does: { readonly reads: boolean; readonly writes: boolean },
  sanitizer: Sanitizer,
  at: At,
): Uint8Array | undefined {
  const { writers, readers, lanes } = tensor;
  if (!writers || !readers || !lanes) return undefined;
  const atomics = (tensor.atomics ??= new Int32Array(writers.length));
  const changers = (lanes.changers ??= new Int32Array(writers.length));
  const meetings = new Meetings();
  const unordered = new Unordered();
  let empty: Uint8Array | undefined;
  const isEmpty = startsEmpty(tensor);
  const { order } = sanitizer;
  const { stamp } = order;
  const first = firstKey(shape);
  for (let i = 0; i < performed.length; i++) {
    if (!performed[i]) continue;
    const offset = offsets[i]!;
    const writer = writers[offset]!;
    const reader = readers[offset]!;
    const lane = first + i;
    if (writer === stamp && lanes.writers[offset] !== lane) unordered.note(i, lanes.writers[offset]!, WRITTEN);
    else if (does.writes && reader === stamp && lanes.readers[offset] !== lane)
      unordered.note(i, lanes.readers[offset]!, READ);
    if (isEmpty && does.reads && writer === 0 && atomics[offset] === 0)
      (empty ??= new Uint8Array(performed.length))[i] = 1;
    if (!order.sees(writer)) meetings.note(i, writer, WRITTEN);
    else if (does.writes && !order.sees(reader)) meetings.note(i, reader, READ);
    if (!does.writes) continue;
    changers[offset] = atomics[offset] === stamp && changers[offset] !== lane ? MULTIPLE_READERS : lane;
    atomics[offset] = stamp;
  }
  meetings.report("changed by an atomic", tensor, offsets, shape, sanitizer, at);
  unordered.report("changed by an atomic", tensor, offsets, shape, sanitizer, at);
  reportEmpty(empty, tensor, offsets, shape, sanitizer, at);
  return empty;
}

const [WRITTEN, READ, CHANGED] = [1, 2, 3];
const WORDS = ["", "written", "read", "changed by an atomic"];

/** Lanes whose element was accessed before, by whom and how. */
abstract class Conflicts {
  /** By lane; undefined for most accesses. */
  #met: Map<number, { readonly by: number; readonly did: number }> | undefined;

  note(lane: number, by: number, did: number): void {
    (this.#met ??= new Map()).set(lane, { by, did });
  }

  report(
    does: string,
    tensor: Tensor,
    offsets: Float64Array,
    shape: readonly number[],
    sanitizer: Sanitizer,
    at: At,
  ): void {
    const met = this.#met;
    if (met === undefined) return;
    const marked = new Uint8Array(offsets.length);
    for (const lane of met.keys()) marked[lane] = 1;
    sanitizer.lanes(this.code, marked, shape, at, (lane) => {
      const { by, did } = met.get(lane)!;
      return this.describe(tensor.nameOf(offsets[lane]!), does, WORDS[did]!, by, sanitizer);
    });
  }

  abstract readonly code: FindingCode;
  abstract describe(element: string, does: string, did: string, by: number, of: Sanitizer): Message<FindingCode>;
}

/** Lanes whose element another program accessed before, which has this stamp. */
class Meetings extends Conflicts {
  readonly code = race.code;

  describe(element: string, does: string, did: string, stamp: number, of: Sanitizer): Message<FindingCode> {
    return race(element, does, did, of.program(of.order.owner(stamp)).join(", "));
  }
}

/** Lanes whose element another lane of the program accessed since the last barrier, which has this key. */
class Unordered extends Conflicts {
  readonly code = unorderedLanes.code;

  describe(element: string, does: string, did: string, key: number): Message<FindingCode> {
    return unorderedLanes(element, does, did, nameOfLane(key));
  }
}

function reportEmpty(
  empty: Uint8Array | undefined,
  tensor: Tensor,
  offsets: Float64Array,
  shape: readonly number[],
  sanitizer: Sanitizer,
  at: At,
): void {
  if (empty === undefined) return;
  sanitizer.lanes(uninitialized.code, empty, shape, at, (lane) => uninitialized.memory(tensor.nameOf(offsets[lane]!)));
}
