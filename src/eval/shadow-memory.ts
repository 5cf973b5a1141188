/**
 * Records the program and the lane of the last accesses to each element, to detect races and reads of uninitialized
 * elements. Two accesses of an element race if their programs are not ordered; atomics never race with atomics. Two
 * lanes of one program are unordered unless a barrier, or an atomic on one element, separates their accesses.
 */
import type { Location } from "../diagnostics/diagnostic.js";
import type { Message } from "../diagnostics/message.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import { race, uninitialized, unorderedLanes } from "../diagnostics/catalog/finding-codes.js";
import type { NumberData } from "../numerics/numeric.js";
import type { Addresses } from "../values/runtime-values.js";
import type { Sanitizer } from "./sanitizer.js";
import type { Tensor } from "./tensor.js";
import { coordinates } from "./findings.js";

/**
 * A lane of a tile: the id of the shape, and the lane's index in row-major order. Triton distributes lanes over threads,
 * which run concurrently, so program order holds only between equal keys.
 */
type Key = number;

/** Maximum number of lanes of a Triton tile. */
const LANES = 2 ** 20;
/**
 * Limit on shape ids, so that keys fit into 32 bits. Further shapes share ids, which can hide a conflict but never
 * invents one.
 */
const MAX_SHAPES = 2 ** 11 - 1;

const shapes: (readonly number[])[] = [];
const shapeIds = new Map<string, number>();

/** The key of a tile's first lane. The keys of other lanes follow. */
function firstKey(shape: readonly number[]): Key {
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
function formatLane(key: Key): string {
  if (key === MULTIPLE_READERS) return "several lanes";
  const shape = shapes[Math.floor(key / LANES)]!;
  if (shape.length === 0) return "a scalar access";
  return `lane (${coordinates(shape, key % LANES).join(", ")}) of a [${shape.join(", ")}] tile`;
}

/** Key of an element that several lanes have read. */
const MULTIPLE_READERS: Key = -1;

type OptionalLocation = Location | undefined;

/** True if a tensor is uninitialized before the first program runs. */
function isInitiallyPoison({ role, zeroed }: Tensor): boolean {
  return role === "out" && !zeroed;
}

/** Records a read. Returns the lanes whose element is uninitialized. */
export function recordRead(
  tensor: Tensor,
  { offsets, shape }: Addresses,
  performed: Uint8Array,
  sanitizer: Sanitizer,
  location: OptionalLocation,
): Uint8Array | undefined {
  const { writers, readers, atomics, lanes } = tensor;
  if (!writers || !readers || !lanes) return undefined;
  const races = new Races();
  const conflicts = new LaneConflicts();
  let poisonLanes: Uint8Array | undefined;
  const isPoison = isInitiallyPoison(tensor);
  const { order } = sanitizer;
  const { stamp } = order;
  const first = firstKey(shape);
  for (let i = 0; i < performed.length; i++) {
    if (!performed[i]) continue;
    const offset = offsets[i]!;
    const writer = writers[offset]!;
    const atomicStamp = atomics === undefined ? 0 : atomics[offset]!;
    const lane = first + i;
    lanes.readers[offset] = readers[offset] === stamp && lanes.readers[offset] !== lane ? MULTIPLE_READERS : lane;
    readers[offset] = stamp;
    if (writer === stamp && lanes.writers[offset] !== lane) conflicts.add(i, lanes.writers[offset]!, WRITTEN);
    else if (atomicStamp === stamp && lanes.atomics![offset] !== lane)
      conflicts.add(i, lanes.atomics![offset]!, CHANGED);
    if (writer === 0 && atomicStamp === 0) {
      if (isPoison) (poisonLanes ??= new Uint8Array(performed.length))[i] = 1;
    } else if (writer !== stamp && !order.isOrderedBefore(writer)) races.add(i, writer, WRITTEN);
    else if (!order.isOrderedBefore(atomicStamp)) races.add(i, atomicStamp, CHANGED);
  }
  races.report("read", tensor, offsets, shape, sanitizer, location);
  conflicts.report("read", tensor, offsets, shape, sanitizer, location);
  reportPoison(poisonLanes, tensor, offsets, shape, sanitizer, location);
  return poisonLanes;
}

/** Records a write. Returns true if the program already wrote one of the elements, possibly in the same store. */
export function recordWrite(
  tensor: Tensor,
  { offsets, shape }: Addresses,
  performed: Uint8Array,
  values: NumberData,
  sanitizer: Sanitizer,
  location: OptionalLocation,
): boolean {
  const { writers, readers, atomics, lanes, numberView: memory } = tensor;
  if (!writers || !readers || !lanes) return false;
  const races = new Races();
  const conflicts = new LaneConflicts();
  let isRepeated = false;
  const { order } = sanitizer;
  const { stamp } = order;
  const first = firstKey(shape);
  for (let i = 0; i < performed.length; i++) {
    if (!performed[i]) continue;
    const offset = offsets[i]!;
    const writer = writers[offset]!;
    const reader = readers[offset]!;
    const atomicStamp = atomics === undefined ? 0 : atomics[offset]!;
    const lane = first + i;
    const previousLane = lanes.writers[offset]!;
    writers[offset] = stamp;
    lanes.writers[offset] = lane;
    if (writer === stamp) {
      isRepeated = true;
      if (
        previousLane !== lane &&
        isChanged(memory, values, offset, i) &&
        !isOfThisStore(previousLane - first, i, offsets, performed)
      )
        conflicts.add(i, previousLane, WRITTEN);
    }
    if (reader === stamp && lanes.readers[offset] !== lane && isChanged(memory, values, offset, i))
      conflicts.add(i, lanes.readers[offset]!, READ);
    if (atomicStamp === stamp && atomicStamp !== 0 && lanes.atomics![offset] !== lane)
      conflicts.add(i, lanes.atomics![offset]!, CHANGED);
    // Fast path: most elements have no other access.
    if ((writer === 0 || writer === stamp) && atomicStamp === 0 && (reader === 0 || reader === stamp)) continue;
    if (writer !== stamp && !order.isOrderedBefore(writer)) races.add(i, writer, WRITTEN);
    else if (!order.isOrderedBefore(atomicStamp)) races.add(i, atomicStamp, CHANGED);
    else if (reader !== stamp && !order.isOrderedBefore(reader)) races.add(i, reader, READ);
  }
  races.report("written", tensor, offsets, shape, sanitizer, location);
  conflicts.report("written", tensor, offsets, shape, sanitizer, location);
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
  { offsets, shape }: Addresses,
  performed: Uint8Array,
  access: { readonly reads: boolean; readonly writes: boolean },
  sanitizer: Sanitizer,
  location: OptionalLocation,
): Uint8Array | undefined {
  const { writers, readers, lanes } = tensor;
  if (!writers || !readers || !lanes) return undefined;
  const atomics = (tensor.atomics ??= new Int32Array(writers.length));
  const atomicLanes = (lanes.atomics ??= new Int32Array(writers.length));
  const races = new Races();
  const conflicts = new LaneConflicts();
  let poisonLanes: Uint8Array | undefined;
  const isPoison = isInitiallyPoison(tensor);
  const { order } = sanitizer;
  const { stamp } = order;
  const first = firstKey(shape);
  for (let i = 0; i < performed.length; i++) {
    if (!performed[i]) continue;
    const offset = offsets[i]!;
    const writer = writers[offset]!;
    const reader = readers[offset]!;
    const lane = first + i;
    if (writer === stamp && lanes.writers[offset] !== lane) conflicts.add(i, lanes.writers[offset]!, WRITTEN);
    else if (access.writes && reader === stamp && lanes.readers[offset] !== lane)
      conflicts.add(i, lanes.readers[offset]!, READ);
    if (isPoison && access.reads && writer === 0 && atomics[offset] === 0)
      (poisonLanes ??= new Uint8Array(performed.length))[i] = 1;
    if (!order.isOrderedBefore(writer)) races.add(i, writer, WRITTEN);
    else if (access.writes && !order.isOrderedBefore(reader)) races.add(i, reader, READ);
    if (!access.writes) continue;
    atomicLanes[offset] = atomics[offset] === stamp && atomicLanes[offset] !== lane ? MULTIPLE_READERS : lane;
    atomics[offset] = stamp;
  }
  races.report("changed by an atomic", tensor, offsets, shape, sanitizer, location);
  conflicts.report("changed by an atomic", tensor, offsets, shape, sanitizer, location);
  reportPoison(poisonLanes, tensor, offsets, shape, sanitizer, location);
  return poisonLanes;
}

const [WRITTEN, READ, CHANGED] = [1, 2, 3];
const VERBS = ["", "written", "read", "changed by an atomic"];

/** Lanes that conflict with an earlier access of the same element. */
abstract class Conflicts {
  /** Conflicts by lane. Undefined for most accesses. */
  #conflicts: Map<number, { readonly opponent: number; readonly kind: number }> | undefined;

  add(lane: number, opponent: number, kind: number): void {
    (this.#conflicts ??= new Map()).set(lane, { opponent, kind });
  }

  report(
    verb: string,
    tensor: Tensor,
    offsets: Float64Array,
    shape: readonly number[],
    sanitizer: Sanitizer,
    location: OptionalLocation,
  ): void {
    const conflicts = this.#conflicts;
    if (conflicts === undefined) return;
    const flags = new Uint8Array(offsets.length);
    for (const lane of conflicts.keys()) flags[lane] = 1;
    sanitizer.reportLanes(this.code, flags, shape, location, (lane) => {
      const { opponent, kind } = conflicts.get(lane)!;
      return this.describe(tensor.formatElement(offsets[lane]!), verb, VERBS[kind]!, opponent, sanitizer);
    });
  }

  abstract readonly code: FindingCode;
  abstract describe(
    element: string,
    verb: string,
    otherVerb: string,
    opponent: number,
    sanitizer: Sanitizer,
  ): Message<FindingCode>;
}

/** Conflicts with another program. The opponent is a stamp. */
class Races extends Conflicts {
  readonly code = race.code;

  describe(
    element: string,
    verb: string,
    otherVerb: string,
    stamp: number,
    sanitizer: Sanitizer,
  ): Message<FindingCode> {
    return race(element, verb, otherVerb, sanitizer.program(sanitizer.order.owner(stamp)).join(", "));
  }
}

/** Conflicts with another lane of the program since the last barrier. The opponent is a lane key. */
class LaneConflicts extends Conflicts {
  readonly code = unorderedLanes.code;

  describe(element: string, verb: string, otherVerb: string, key: number): Message<FindingCode> {
    return unorderedLanes(element, verb, otherVerb, formatLane(key));
  }
}

function reportPoison(
  poisonLanes: Uint8Array | undefined,
  tensor: Tensor,
  offsets: Float64Array,
  shape: readonly number[],
  sanitizer: Sanitizer,
  location: OptionalLocation,
): void {
  if (poisonLanes === undefined) return;
  sanitizer.reportLanes(uninitialized.code, poisonLanes, shape, location, (lane) =>
    uninitialized.memory(tensor.formatElement(offsets[lane]!)),
  );
}
