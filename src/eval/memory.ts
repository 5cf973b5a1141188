/**
 * Loads and stores. A lane that must not be performed is reported and left out; a lane that is read without a value,
 * because it was masked off by hand without `other` or because there is nothing to read, is poison.
 */
import type { Location } from "../diagnostics.js";
import { broadcastTo, full, sameWidth, type TileArray, tileArray } from "../ir/array.js";
import { cast } from "../ir/array-cast.js";
import type { DTypeName } from "../ir/dtype.js";
import { allocate, type BigData, isBig, type NumberData, type TileData } from "../ir/numeric.js";
import type { Addresses } from "../ir/runtime.js";
import { noteRead, noteWrite } from "./accesses.js";
import { coordinates } from "./findings.js";
import { lanesOf, type Mask } from "./lanes.js";
import type { Sanitiser } from "./sanitiser.js";
import { Tensor } from "./tensor.js";

type Value = TileArray | number | bigint | boolean;
type At = Location | undefined;

export function load(
  address: Addresses,
  mask: Mask,
  other: Value | undefined,
  sanitiser: Sanitiser,
  at: At,
): TileArray {
  const tensor = tensorOf(address);
  const { shape } = address;
  const { performed, masked, refused } = lanesOf(tensor, address, mask, "read", sanitiser, at);
  const empty = noteRead(tensor, address, performed, sanitiser, at);
  const rest = other === undefined ? undefined : spread(other, tensor.dtype, shape);
  // What a view masks holds 0 unless the author says otherwise.
  const data = rest ? (rest.data.slice() as TileData) : allocate(tensor.dtype, performed.length);
  move(tensor.dtype, tensor.data, data, address.offsets, performed, "gather");
  const unset = [refused, empty, rest ? rest.poison && off(rest.poison, performed) : masked];
  return tileArray(tensor.dtype, shape, data, union(unset));
}

export function store(address: Addresses, value: Value, mask: Mask, sanitiser: Sanitiser, at: At): void {
  const tensor = tensorOf(address);
  const { shape, offsets } = address;
  const { performed } = lanesOf(tensor, address, mask, "written", sanitiser, at);
  if (tensor.role === "in") {
    const describe = (): string =>
      `${tensor.name} is an input and is written; declare it tensor.out(…) or tensor.inout(…)`;
    sanitiser.lanes("write-to-input", performed, shape, at, describe);
    return;
  }
  if (at) tensor.writtenAt.add(at);
  const { data, poison } = spread(value, tensor.dtype, shape);
  if (poison) {
    const stored = poison.map((flag, i) => flag & performed[i]!);
    sanitiser.lanes("uninitialised", stored, shape, at, (lane) => {
      return `${tensor.nameOf(offsets[lane]!)} gets a value that comes from a lane that was never given one; load it with other, or mask this store`;
    });
  }
  noteWrite(tensor, address, performed, sanitiser, at);
  move(tensor.dtype, data, tensor.data, offsets, performed, "scatter");
  reportConflicts(tensor, address, data, performed, sanitiser, at);
}

/** Lanes of one store that meet at an element with different values: memory does not hold then what each of them wrote. */
function reportConflicts(
  tensor: Tensor,
  { offsets, shape }: Addresses,
  values: TileData,
  performed: Uint8Array,
  sanitiser: Sanitiser,
  at: At,
): void {
  const lost = (isBig(tensor.dtype) ? lostBigs : lostNumbers)(
    values as never,
    tensor.data as never,
    offsets,
    performed,
  );
  if (lost < 0) return;
  const offset = offsets[lost]!;
  const winner = offsets.findLastIndex((other, lane) => other === offset && performed[lane] === 1);
  const marked = new Uint8Array(performed.length);
  marked[lost] = 1;
  sanitiser.lanes("lane-conflict", marked, shape, at, () => {
    const other = `lane (${coordinates(shape, winner).join(", ")})`;
    return `${tensor.nameOf(offset)} gets ${values[lost]} from this lane and ${values[winner]} from ${other} of the same store, and which of them stays is not known; mask all lanes but one, reduce them first, or use an atomic`;
  });
}

/** The first lane whose value is not in memory, or -1. NaN is in memory where a NaN is. */
function lostNumbers(values: NumberData, memory: NumberData, offsets: Float64Array, performed: Uint8Array): number {
  const [from, held] = [sameWidth(values), sameWidth(memory)];
  for (let i = 0; i < performed.length; i++) {
    if (!performed[i]) continue;
    const [value, there] = [from[i]!, held[offsets[i]!]!];
    if (value !== there && !(value !== value && there !== there)) return i;
  }
  return -1;
}

function lostBigs(values: BigData, memory: BigData, offsets: Float64Array, performed: Uint8Array): number {
  for (let i = 0; i < performed.length; i++) if (performed[i] && values[i] !== memory[offsets[i]!]) return i;
  return -1;
}

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
  const given = masks.filter((mask) => mask !== undefined);
  const [first, ...others] = given;
  const all = others.reduce<Uint8Array | undefined>((sum, mask) => sum?.map((flag, i) => flag | mask[i]!), first);
  return all?.includes(1) ? all : undefined;
}

/** Copies the performed lanes between a tile and a tensor. Bigints go apart, so that the loops meet few kinds of array. */
function move(
  dtype: DTypeName,
  from: TileData,
  to: TileData,
  offsets: Float64Array,
  performed: Uint8Array,
  direction: "gather" | "scatter",
): void {
  const isGather = direction === "gather";
  if (isBig(dtype)) (isGather ? gatherBigs : scatterBigs)(from as BigData, to as BigData, offsets, performed);
  else {
    const [source, target] = [sameWidth(from as NumberData), sameWidth(to as NumberData)];
    (isGather ? gather : scatter)(source, target, offsets, performed);
  }
}

type Words = ReturnType<typeof sameWidth>;

function gather(from: Words, to: Words, offsets: Float64Array, performed: Uint8Array): void {
  for (let i = 0; i < performed.length; i++) if (performed[i]) to[i] = from[offsets[i]!]!;
}

function scatter(from: Words, to: Words, offsets: Float64Array, performed: Uint8Array): void {
  for (let i = 0; i < performed.length; i++) if (performed[i]) to[offsets[i]!] = from[i]!;
}

function gatherBigs(from: BigData, to: BigData, offsets: Float64Array, performed: Uint8Array): void {
  for (let i = 0; i < performed.length; i++) if (performed[i]) to[i] = from[offsets[i]!]!;
}

function scatterBigs(from: BigData, to: BigData, offsets: Float64Array, performed: Uint8Array): void {
  for (let i = 0; i < performed.length; i++) if (performed[i]) to[offsets[i]!] = from[i]!;
}
