/**
 * Evaluates loads, stores and atomics. An invalid lane is reported and not performed. A loaded lane is poison if an
 * explicit mask turned it off without `other`, or if its element is uninitialized.
 */
import type { Location } from "../diagnostics/diagnostic.js";
import {
  laneConflict,
  uninitialized,
  writeToInput,
  falseInBounds,
  outOfBounds,
  waitsForever,
} from "../diagnostics/catalog/finding-codes.js";
import { broadcastTo, either, full, type TileArray, tileArray, sizeOf, cast } from "../numerics/array.js";
import type { DTypeName } from "../types/dtype.js";
import { isBig, type NumberData, type TileData } from "../numerics/numeric-int.js";
import { allocateUninitialized, allocate, ones, zeros, kindOf, loopsOf, copyView } from "../numerics/buffer-pool.js";
import type { Addresses, Constant, AtomicAccess } from "../values/runtime-values.js";
import { recordRead, recordWrite, recordAtomic } from "./shadow-memory.js";
import { coordinates } from "./findings.js";
import type { Sanitizer, Describe, AccessLanes } from "./sanitizer.js";
import { Tensor } from "./tensor.js";
import type { AccessKind } from "../compiled/access.js";
import type { Message } from "../diagnostics/message.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
// Evaluates atomics lane by lane, in program order.

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

type Value = TileArray | Constant;
type OptionalLocation = Location | undefined;

export function load(
  address: Addresses,
  mask: Mask,
  other: Value | undefined,
  sanitizer: Sanitizer,
  location: OptionalLocation,
): TileArray {
  const tensor = tensorOf(address);
  const { shape } = address;
  const { performed, maskedLanes, rejected } = lanesOf(tensor, address, mask, "load", sanitizer, location);
  const empty = recordRead(tensor, address, performed, sanitizer, location);
  const otherLanes = other === undefined ? undefined : spread(other, tensor.dtype, shape);
  // Lanes masked by a view are 0 unless there is `other`.
  const data = otherLanes ? copyOf(otherLanes.data) : allocate(tensor.dtype, performed.length);
  const target = copyView(data);
  gather(kindOf(target))(tensor.numberView, target, address.offsets, performed);
  const maskedPoison = otherLanes ? otherLanes.poison && inMaskedLanes(otherLanes.poison, performed) : maskedLanes;
  const poison = union([rejected, empty, maskedPoison]);
  if (poison && location) sanitizer.poisonSources.set(location, undefined);
  return tileArray(tensor.dtype, shape, data, poison);
}

function copyOf(data: TileData): TileData {
  const copy = allocateUninitialized(kindOf(data), data.length);
  (copy as NumberData).set(data as NumberData);
  return copy;
}

export function store(
  address: Addresses,
  value: Value,
  mask: Mask,
  sanitizer: Sanitizer,
  location: OptionalLocation,
): void {
  const tensor = tensorOf(address);
  const { shape, offsets } = address;
  const { performed } = lanesOf(tensor, address, mask, "store", sanitizer, location);
  if (tensor.role === "in") {
    sanitizer.reportLanes(writeToInput.code, performed, shape, location, () => writeToInput.store(tensor.name));
    return;
  }
  if (location) tensor.writtenAt.add(location);
  const { data, poison } = spread(value, tensor.dtype, shape);
  const storedPoison = poison && intersect(poison, performed);
  if (storedPoison)
    sanitizer.reportLanes(uninitialized.code, storedPoison, shape, location, (lane) =>
      uninitialized.stored(tensor.formatLane(address, lane)),
    );
  const values = copyView(data);
  const isRepeated = recordWrite(tensor, address, performed, values, sanitizer, location);
  scatter(kindOf(tensor.numberView))(values, tensor.numberView, offsets, performed);
  if (isRepeated) reportConflicts(tensor, address, data, performed, sanitizer, location);
}

/** Reports lanes of one store that write different values to the same element. */
function reportConflicts(
  tensor: Tensor,
  address: Addresses,
  values: TileData,
  performed: Uint8Array,
  sanitizer: Sanitizer,
  location: OptionalLocation,
): void {
  const { offsets, shape } = address;
  const lostLane = firstLostLane(kindOf(values))(values as NumberData, tensor.data as NumberData, offsets, performed);
  if (lostLane < 0) return;
  const winner = offsets.findLastIndex((offset, lane) => offset === offsets[lostLane] && performed[lane] === 1);
  const conflicts = new Uint8Array(performed.length);
  conflicts[lostLane] = 1;
  sanitizer.reportLanes(laneConflict.code, conflicts, shape, location, () => {
    const winnerName = `lane (${coordinates(shape, winner).join(", ")})`;
    return laneConflict(
      tensor.formatLane(address, lostLane),
      String(values[lostLane]),
      String(values[winner]),
      winnerName,
    );
  });
}

/** The first lane whose value is not in memory, or -1. Any two NaNs are equal here. */
const firstLostLane = loopsOf(
  () =>
    (values: NumberData, memory: NumberData, offsets: Float64Array, performed: Uint8Array): number => {
      for (let i = 0; i < performed.length; i++) {
        if (!performed[i]) continue;
        const [value, stored] = [values[i]!, memory[offsets[i]!]!];
        if (value !== stored && !(value !== value && stored !== stored)) return i;
      }
      return -1;
    },
);

function tensorOf({ allocation }: Addresses): Tensor {
  if (!(allocation instanceof Tensor)) throw new TypeError(`${allocation.name} has no memory here`);
  return allocation;
}

/** Broadcasts a value to a shape, in the tensor's dtype. */
function spread(value: Value, dtype: DTypeName, shape: readonly number[]): TileArray {
  if (typeof value === "object") return broadcastTo(cast(value, dtype), shape);
  return full(shape, isBig(dtype) ? BigInt(value) : Number(value), dtype);
}

const inMaskedLanes = (poison: Uint8Array, performed: Uint8Array): Uint8Array =>
  poison.map((flag, i) => (performed[i] ? 0 : flag));

function union(masks: readonly (Uint8Array | undefined)[]): Uint8Array | undefined {
  const all = masks.reduce(either, undefined);
  return all?.includes(1) ? all : undefined;
}

/**
 * Copies the performed lanes from a tensor. {@link loopsOf} compiles a loop per kind of array, so the cast to numbers
 * is safe.
 */
const gather = loopsOf(() => (from: NumberData, to: NumberData, offsets: Float64Array, performed: Uint8Array): void => {
  for (let i = 0; i < performed.length; i++) if (performed[i]) to[i] = from[offsets[i]!]!;
});

/** Copies the performed lanes to a tensor. */
const scatter = loopsOf(
  () =>
    (from: NumberData, to: NumberData, offsets: Float64Array, performed: Uint8Array): void => {
      for (let i = 0; i < performed.length; i++) if (performed[i]) to[offsets[i]!] = from[i]!;
    },
);

// Determines the performed lanes of an access: active lanes with a valid address.

type Mask = TileArray | boolean | undefined;

function lanesOf(
  tensor: Tensor,
  address: Addresses,
  mask: Mask,
  kind: AccessKind,
  sanitizer: Sanitizer,
  location: Location | undefined,
): AccessLanes {
  const lanes = resolveLanes(tensor, address, mask, accessVerbs[kind], sanitizer, location);
  sanitizer.recordAccess(kind, address, lanes, location);
  return lanes;
}

const accessVerbs: Readonly<Record<AccessKind, "read" | "written">> = {
  load: "read",
  store: "written",
  atomic: "written",
  poll: "read",
};

function resolveLanes(
  tensor: Tensor,
  address: Addresses,
  mask: Mask,
  verb: "read" | "written",
  sanitizer: Sanitizer,
  location: Location | undefined,
): AccessLanes {
  const { shape, inBounds, broken, poison, offsets } = address;
  const size = sizeOf(shape);
  if (inBounds && mask === undefined && !broken && !poison) return { performed: inBounds };
  const performed = ones(size);
  if (inBounds) performed.set(inBounds);
  let rejected: Uint8Array | undefined;
  const reject = (code: FindingCode, invalid: Uint8Array, describe: Describe): void => {
    const rejectedLanes = intersect(invalid, performed);
    if (!rejectedLanes) return;
    sanitizer.reportLanes(code, rejectedLanes, shape, location, describe);
    rejected = either(rejected, rejectedLanes);
    turnOff(performed, rejectedLanes, 1);
  };

  const bits = mask === undefined ? undefined : maskLanes(mask, shape);
  if (bits?.poison) {
    reject(uninitialized.code, bits.poison, () => uninitialized.mask(tensor.name, verb));
  }
  const maskedLanes = bits && turnOff(performed, bits.on, 0);
  if (poison) {
    reject(uninitialized.code, poison, () => uninitialized.address(tensor.name, verb));
  }
  if (broken) reject(falseInBounds.code, broken, (lane) => falseClaim(tensor, address, lane));
  if (!inBounds) {
    const outOfBoundsLanes = lanesOutOfBounds(tensor, offsets, performed);
    if (outOfBoundsLanes)
      reject(outOfBounds.code, outOfBoundsLanes, (lane) => outOfBoundsMessage(tensor, offsets[lane]!, verb));
  }
  return { performed, maskedLanes, rejected };
}

/** The performed lanes whose address is not that of an element. */
function lanesOutOfBounds(tensor: Tensor, offsets: Float64Array, performed: Uint8Array): Uint8Array | undefined {
  let flags: Uint8Array | undefined;
  for (let i = 0; i < performed.length; i++)
    if (performed[i] && !tensor.hasElement(offsets[i]!)) (flags ??= new Uint8Array(offsets.length))[i] = 1;
  return flags;
}

function maskLanes(
  mask: TileArray | boolean,
  shape: readonly number[],
): { on: Uint8Array; poison?: Uint8Array | undefined } {
  if (typeof mask === "boolean") return { on: mask ? ones(sizeOf(shape)) : zeros(Uint8Array, sizeOf(shape)) };
  const { data, poison } = broadcastTo(mask, shape);
  return { on: data as Uint8Array, poison };
}

/** Turns off the lanes with this flag. Returns those that were active. */
function turnOff(performed: Uint8Array, flags: Uint8Array, flag: 0 | 1): Uint8Array | undefined {
  let disabled: Uint8Array | undefined;
  for (let i = 0; i < performed.length; i++) {
    if (flags[i] !== flag || !performed[i]) continue;
    (disabled ??= zeros(Uint8Array, performed.length))[i] = 1;
    performed[i] = 0;
  }
  return disabled;
}

/** The lanes set in both masks. Undefined if there are none. */
function intersect(a: Uint8Array, b: Uint8Array): Uint8Array | undefined {
  let intersection: Uint8Array | undefined;
  for (let i = 0; i < a.length; i++) if (a[i] && b[i]) (intersection ??= zeros(Uint8Array, a.length))[i] = 1;
  return intersection;
}

function falseClaim(tensor: Tensor, { claims }: Addresses, lane: number): Message<FindingCode> {
  const axis = claims?.axis[lane] ?? 0;
  return falseInBounds(tensor.name, axis, claims?.index[lane], tensor.shape[axis]);
}

function outOfBoundsMessage(
  { name, shape, strides }: Tensor,
  offset: number,
  verb: "read" | "written",
): Message<FindingCode> {
  return outOfBounds(name, offset, verb, [`[${shape.join(", ")}]`, `[${strides.join(", ")}]`]);
}
