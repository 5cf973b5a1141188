/**
 * Loads and stores. An invalid lane is reported and not performed. A loaded lane without a value is poison: an explicit
 * mask turned it off without `other`, or its element has no value.
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
import { lanesOf, type Mask } from "./lanes.js";
import type { Sanitizer } from "./sanitizer.js";
import { Tensor } from "./tensor.js";

type Value = TileArray | Constant;
type At = Location | undefined;

export function load(
  address: Addresses,
  mask: Mask,
  other: Value | undefined,
  sanitizer: Sanitizer,
  at: At,
): TileArray {
  const tensor = tensorOf(address);
  const { shape } = address;
  const { performed, masked, refused } = lanesOf(tensor, address, mask, "load", sanitizer, at);
  const empty = recordRead(tensor, address, performed, sanitizer, at);
  const rest = other === undefined ? undefined : spread(other, tensor.dtype, shape);
  // Lanes that a view masks hold 0 unless there is `other`.
  const data = rest ? copyOf(rest.data) : allocate(tensor.dtype, performed.length);
  const to = copyView(data);
  gather(kindOf(to))(tensor.words, to, address.offsets, performed);
  const left = rest ? rest.poison && off(rest.poison, performed) : masked;
  const poison = union([refused, empty, left]);
  if (poison && at) sanitizer.unset.set(at, undefined);
  return tileArray(tensor.dtype, shape, data, poison);
}

function copyOf(data: TileData): TileData {
  const copy = allocateUninitialized(kindOf(data), data.length);
  (copy as NumberData).set(data as NumberData);
  return copy;
}

export function store(address: Addresses, value: Value, mask: Mask, sanitizer: Sanitizer, at: At): void {
  const tensor = tensorOf(address);
  const { shape, offsets } = address;
  const { performed } = lanesOf(tensor, address, mask, "store", sanitizer, at);
  if (tensor.role === "in") {
    sanitizer.lanes(writeToInput.code, performed, shape, at, () => writeToInput.store(tensor.name));
    return;
  }
  if (at) tensor.writtenAt.add(at);
  const { data, poison } = spread(value, tensor.dtype, shape);
  if (poison) {
    const stored = poison.map((flag, i) => flag & performed[i]!);
    sanitizer.lanes(uninitialized.code, stored, shape, at, (lane) =>
      uninitialized.stored(tensor.nameOf(offsets[lane]!)),
    );
  }
  const values = copyView(data);
  const isRepeated = recordWrite(tensor, address, performed, values, sanitizer, at);
  scatter(kindOf(tensor.words))(values, tensor.words, offsets, performed);
  if (isRepeated) reportConflicts(tensor, address, data, performed, sanitizer, at);
}

/** Reports lanes of one store that write different values to the same element. */
function reportConflicts(
  tensor: Tensor,
  { offsets, shape }: Addresses,
  values: TileData,
  performed: Uint8Array,
  sanitizer: Sanitizer,
  at: At,
): void {
  const lost = firstLost(kindOf(values))(values as NumberData, tensor.data as NumberData, offsets, performed);
  if (lost < 0) return;
  const offset = offsets[lost]!;
  const winner = offsets.findLastIndex((other, lane) => other === offset && performed[lane] === 1);
  const marked = new Uint8Array(performed.length);
  marked[lost] = 1;
  sanitizer.lanes(laneConflict.code, marked, shape, at, () => {
    const other = `lane (${coordinates(shape, winner).join(", ")})`;
    return laneConflict(tensor.nameOf(offset), String(values[lost]), String(values[winner]), other);
  });
}

/** The first lane whose value memory does not hold, or -1. Any two NaNs are equal here. */
const firstLost = loopsOf(
  () =>
    (values: NumberData, memory: NumberData, offsets: Float64Array, performed: Uint8Array): number => {
      for (let i = 0; i < performed.length; i++) {
        if (!performed[i]) continue;
        const [value, there] = [values[i]!, memory[offsets[i]!]!];
        if (value !== there && !(value !== value && there !== there)) return i;
      }
      return -1;
    },
);

export function tensorOf({ allocation }: Addresses): Tensor {
  if (!(allocation instanceof Tensor)) throw new TypeError(`${allocation.name} has no memory here`);
  return allocation;
}

/** A value in every lane of a shape, in the tensor's dtype. */
export function spread(value: Value, dtype: DTypeName, shape: readonly number[]): TileArray {
  if (typeof value === "object") return broadcastTo(cast(value, dtype), shape);
  return full(shape, isBig(dtype) ? BigInt(value) : Number(value), dtype);
}

const off = (poison: Uint8Array, performed: Uint8Array): Uint8Array =>
  poison.map((flag, i) => flag & (1 - performed[i]!));

export function union(masks: readonly (Uint8Array | undefined)[]): Uint8Array | undefined {
  const all = masks.reduce(either, undefined);
  return all?.includes(1) ? all : undefined;
}

/** Copies the performed lanes out of a tensor. Each kind of array has its own loop, so the cast to numbers is safe. */
const gather = loopsOf(() => (from: NumberData, to: NumberData, offsets: Float64Array, performed: Uint8Array): void => {
  for (let i = 0; i < performed.length; i++) if (performed[i]) to[i] = from[offsets[i]!]!;
});

/** Copies the performed lanes into a tensor. */
const scatter = loopsOf(
  () =>
    (from: NumberData, to: NumberData, offsets: Float64Array, performed: Uint8Array): void => {
      for (let i = 0; i < performed.length; i++) if (performed[i]) to[offsets[i]!] = from[i]!;
    },
);
