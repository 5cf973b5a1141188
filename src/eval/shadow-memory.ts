/**
 * Records the program and the lane of the last accesses to each element, to detect races and reads of uninitialized
 * elements. Two accesses of an element race if their programs are not ordered; atomics never race with atomics. Two
 * lanes of one program are unordered unless a barrier, or an atomic on one element, separates their accesses.
 */
import type { Location } from "../diagnostics/diagnostic.js";
import type { Message } from "../diagnostics/message.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import { race, uninitialized, unorderedLanes } from "../diagnostics/catalog/finding-codes.js";
import type { NumberData } from "../numerics/numeric-int.js";
import type { Addresses } from "../values/runtime-values.js";
import type { Sanitizer } from "./sanitizer.js";
import { type Tensor, type LaneKey, LastAccesses, SEVERAL_LANES, type Order, type Stamp } from "./tensor.js";
import { coordinates } from "./findings.js";

/** Maximum number of lanes of a Triton tile. */
const LANES = 2 ** 20;
/**
 * Limit on shape ids, so that keys fit into 32 bits. Further shapes share ids, which can hide a conflict but never
 * invents one.
 */
const MAX_SHAPES = 2 ** 11 - 1;

const shapes: (readonly number[])[] = [];
const shapeIds = new Map<string, number>();

/**
 * The key of a tile's first lane. The keys of other lanes follow, in row-major order. Triton distributes the lanes of a
 * shape over threads, which run concurrently, so program order holds only between equal keys.
 */
function firstKey(shape: readonly number[]): LaneKey {
  const text = shape.join();
  let shapeId = shapeIds.get(text);
  if (shapeId === undefined) {
    shapeId = shapeIds.size % MAX_SHAPES;
    shapes[shapeId] = shape;
    shapeIds.set(text, shapeId);
  }
  return shapeId * LANES;
}

/** `lane (3) of a [64] tile` */
function formatLane(key: LaneKey): string {
  if (key === SEVERAL_LANES) return "several lanes";
  const shape = shapes[Math.floor(key / LANES)]!;
  if (shape.length === 0) return "a scalar access";
  return `lane (${coordinates(shape, key % LANES).join(", ")}) of a [${shape.join(", ")}] tile`;
}

type OptionalLocation = Location | undefined;

/** True if a tensor is uninitialized before the first program runs. */
function isInitiallyPoison({ role, zeroed }: Tensor): boolean {
  return role === "out" && !zeroed;
}

/** Records a read. Returns the lanes whose element is uninitialized. */
export function recordRead(
  tensor: Tensor,
  address: Addresses,
  performed: Uint8Array,
  sanitizer: Sanitizer,
  location: OptionalLocation,
): Uint8Array | undefined {
  if (!tensor.shadow) return undefined;
  const { writes, reads, atomics } = tensor.shadow;
  const { offsets, shape } = address;
  const { order } = sanitizer;
  const { stamp } = order;
  const races = new Races(order);
  const conflicts = new LaneConflicts();
  let poisonLanes: Uint8Array | undefined;
  const isPoison = isInitiallyPoison(tensor);
  const first = firstKey(shape);
  for (let i = 0; i < performed.length; i++) {
    if (!performed[i]) continue;
    const offset = offsets[i]!;
    const lane = first + i;
    const writeStamp = writes.stampAt(offset);
    const atomicStamp = atomics === undefined ? 0 : atomics.stampAt(offset);
    reads.add(offset, stamp, lane);
    if (writes.isByOtherLane(offset, stamp, lane)) conflicts.add(i, writes.laneAt(offset), "written");
    else if (atomics?.isByOtherLane(offset, stamp, lane)) conflicts.add(i, atomics.laneAt(offset), CHANGED);
    // Fast path: most elements have no other access.
    if (writeStamp !== 0 || atomicStamp !== 0) races.addFirst(i, writeStamp, atomicStamp, 0);
    else if (isPoison) (poisonLanes ??= new Uint8Array(performed.length))[i] = 1;
  }
  races.report("read", tensor, address, sanitizer, location);
  conflicts.report("read", tensor, address, sanitizer, location);
  reportPoison(poisonLanes, tensor, address, sanitizer, location);
  return poisonLanes;
}

/** Records a write. Returns true if the program already wrote one of the elements, possibly in the same store. */
export function recordWrite(
  tensor: Tensor,
  address: Addresses,
  performed: Uint8Array,
  values: NumberData,
  sanitizer: Sanitizer,
  location: OptionalLocation,
): boolean {
  if (!tensor.shadow) return false;
  const { writes, reads, atomics } = tensor.shadow;
  const { numberView: memory } = tensor;
  const { offsets, shape } = address;
  const { order } = sanitizer;
  const { stamp } = order;
  const races = new Races(order);
  const conflicts = new LaneConflicts();
  let isRepeated = false;
  const first = firstKey(shape);
  for (let i = 0; i < performed.length; i++) {
    if (!performed[i]) continue;
    const offset = offsets[i]!;
    const lane = first + i;
    const writeStamp = writes.stampAt(offset);
    const readStamp = reads.stampAt(offset);
    const atomicStamp = atomics === undefined ? 0 : atomics.stampAt(offset);
    if (writeStamp === stamp) {
      isRepeated = true;
      const previousLane = writes.laneAt(offset);
      const isConflict = previousLane !== lane && isChanged(memory, values, offset, i);
      if (isConflict && !isOfThisStore(previousLane - first, i, offsets, performed))
        conflicts.add(i, previousLane, "written");
    }
    writes.set(offset, stamp, lane);
    if (reads.isByOtherLane(offset, stamp, lane) && isChanged(memory, values, offset, i))
      conflicts.add(i, reads.laneAt(offset), "read");
    if (atomics?.isByOtherLane(offset, stamp, lane)) conflicts.add(i, atomics.laneAt(offset), CHANGED);
    // Fast path: most elements have no other access.
    if ((writeStamp === 0 || writeStamp === stamp) && atomicStamp === 0 && (readStamp === 0 || readStamp === stamp))
      continue;
    races.addFirst(i, writeStamp, atomicStamp, readStamp);
  }
  races.report("written", tensor, address, sanitizer, location);
  conflicts.report("written", tensor, address, sanitizer, location);
  return isRepeated;
}

/** True if a lane of a store changes the element. Any two NaNs are equal here. */
function isChanged(memory: NumberData, values: NumberData, offset: number, lane: number): boolean {
  const [stored, value] = [memory[offset]!, values[lane]!];
  return stored !== value && !(stored !== stored && value !== value);
}

/** True if an earlier lane of the same store wrote the element. Lanes of one store are compared by value. */
function isOfThisStore(previousLane: number, lane: number, offsets: Float64Array, performed: Uint8Array): boolean {
  return (
    previousLane >= 0 && previousLane < lane && performed[previousLane] === 1 && offsets[previousLane] === offsets[lane]
  );
}

/** Records an atomic. Returns the lanes whose element is uninitialized. */
export function recordAtomic(
  tensor: Tensor,
  address: Addresses,
  performed: Uint8Array,
  access: { readonly reads: boolean; readonly writes: boolean },
  sanitizer: Sanitizer,
  location: OptionalLocation,
): Uint8Array | undefined {
  if (!tensor.shadow) return undefined;
  const { writes, reads } = tensor.shadow;
  const atomics = (tensor.shadow.atomics ??= new LastAccesses(tensor.data.length));
  const { offsets, shape } = address;
  const { order } = sanitizer;
  const { stamp } = order;
  const races = new Races(order);
  const conflicts = new LaneConflicts();
  let poisonLanes: Uint8Array | undefined;
  const isPoison = access.reads && isInitiallyPoison(tensor);
  const first = firstKey(shape);
  for (let i = 0; i < performed.length; i++) {
    if (!performed[i]) continue;
    const offset = offsets[i]!;
    const lane = first + i;
    const writeStamp = writes.stampAt(offset);
    if (writes.isByOtherLane(offset, stamp, lane)) conflicts.add(i, writes.laneAt(offset), "written");
    else if (access.writes && reads.isByOtherLane(offset, stamp, lane)) conflicts.add(i, reads.laneAt(offset), "read");
    if (isPoison && writeStamp === 0 && atomics.stampAt(offset) === 0)
      (poisonLanes ??= new Uint8Array(performed.length))[i] = 1;
    races.addFirst(i, writeStamp, 0, access.writes ? reads.stampAt(offset) : 0);
    if (access.writes) atomics.add(offset, stamp, lane);
  }
  races.report(CHANGED, tensor, address, sanitizer, location);
  conflicts.report(CHANGED, tensor, address, sanitizer, location);
  reportPoison(poisonLanes, tensor, address, sanitizer, location);
  return poisonLanes;
}

const CHANGED = "changed by an atomic";
type Verb = "written" | "read" | typeof CHANGED;

interface Conflict {
  readonly lane: number;
  readonly opponent: number;
  readonly verb: Verb;
}

/** Lanes that conflict with an earlier access of the same element. Most accesses have none. */
abstract class Conflicts {
  readonly #lanes: number[] = [];
  #first: Conflict | undefined;

  add(lane: number, opponent: number, verb: Verb): void {
    this.#lanes.push(lane);
    if (this.#first === undefined || this.#first.lane === lane) this.#first = { lane, opponent, verb };
  }

  report(verb: Verb, tensor: Tensor, address: Addresses, sanitizer: Sanitizer, location: OptionalLocation): void {
    const first = this.#first;
    if (first === undefined) return;
    const flags = new Uint8Array(address.offsets.length);
    for (const lane of this.#lanes) flags[lane] = 1;
    sanitizer.reportLanes(this.code, flags, address.shape, location, (lane) =>
      this.describe(tensor.formatLane(address, lane), verb, first.verb, first.opponent, sanitizer),
    );
  }

  abstract readonly code: FindingCode;
  abstract describe(
    element: string,
    verb: Verb,
    otherVerb: Verb,
    opponent: number,
    sanitizer: Sanitizer,
  ): Message<FindingCode>;
}

/** Conflicts with another program. The opponent is a stamp. */
class Races extends Conflicts {
  readonly code = race.code;

  constructor(readonly order: Order) {
    super();
  }

  /** Adds the first of these accesses that is not ordered before the program. */
  addFirst(lane: number, writeStamp: Stamp, atomicStamp: Stamp, readStamp: Stamp): void {
    if (!this.order.isOrderedBefore(writeStamp)) this.add(lane, writeStamp, "written");
    else if (!this.order.isOrderedBefore(atomicStamp)) this.add(lane, atomicStamp, CHANGED);
    else if (!this.order.isOrderedBefore(readStamp)) this.add(lane, readStamp, "read");
  }

  describe(element: string, verb: Verb, otherVerb: Verb, stamp: Stamp, sanitizer: Sanitizer): Message<FindingCode> {
    return race(element, verb, otherVerb, sanitizer.program(sanitizer.order.owner(stamp)).join(", "));
  }
}

/** Conflicts with another lane of the program since the last barrier. The opponent is a lane key. */
class LaneConflicts extends Conflicts {
  readonly code = unorderedLanes.code;

  describe(element: string, verb: Verb, otherVerb: Verb, key: LaneKey): Message<FindingCode> {
    return unorderedLanes(element, verb, otherVerb, formatLane(key));
  }
}

function reportPoison(
  poisonLanes: Uint8Array | undefined,
  tensor: Tensor,
  address: Addresses,
  sanitizer: Sanitizer,
  location: OptionalLocation,
): void {
  if (poisonLanes === undefined) return;
  sanitizer.reportLanes(uninitialized.code, poisonLanes, address.shape, location, (lane) =>
    uninitialized.memory(tensor.formatLane(address, lane)),
  );
}
