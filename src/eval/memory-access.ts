/**
 * Evaluates loads and stores. An invalid lane is reported and not performed. A loaded lane is poison if an explicit
 * mask turned it off without `other`, or if its element is uninitialized.
 */
import type { Location } from "../diagnostics/diagnostic.js";
import { laneConflict, uninitialized, writeToInput } from "../diagnostics/catalog/finding-codes.js";
import { broadcastTo, either, full, type TileArray, tileArray } from "../numerics/array.js";
import { cast } from "../numerics/array-cast.js";
import type { DTypeName } from "../types/dtype.js";
import { kindOf, loopsOf, copyView } from "../numerics/lane-loops.js";
import { isBig, type NumberData, type TileData } from "../numerics/numeric.js";
import { allocateUninitialized, allocate } from "../numerics/buffer-pool.js";
import type { Addresses, Constant } from "../values/runtime-values.js";
import { recordRead, recordWrite } from "./shadow-memory.js";
import { coordinates } from "./findings.js";
import { intersect, lanesOf, type Mask } from "./lanes.js";
import type { Sanitizer } from "./sanitizer.js";
import { Tensor } from "./tensor.js";

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

export function tensorOf({ allocation }: Addresses): Tensor {
  if (!(allocation instanceof Tensor)) throw new TypeError(`${allocation.name} has no memory here`);
  return allocation;
}

/** Broadcasts a value to a shape, in the tensor's dtype. */
export function spread(value: Value, dtype: DTypeName, shape: readonly number[]): TileArray {
  if (typeof value === "object") return broadcastTo(cast(value, dtype), shape);
  return full(shape, isBig(dtype) ? BigInt(value) : Number(value), dtype);
}

const inMaskedLanes = (poison: Uint8Array, performed: Uint8Array): Uint8Array =>
  poison.map((flag, i) => (performed[i] ? 0 : flag));

export function union(masks: readonly (Uint8Array | undefined)[]): Uint8Array | undefined {
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
