/** The addresses of a view, lane by lane, while a kernel is evaluated. */
import {
  broadcastShapes,
  broadcastTo,
  either,
  expandDims,
  full,
  permute,
  sizeOf,
  type Spread,
  spreadOf,
  type TileArray,
  tileArray,
} from "../ir/array.js";
import { type BigData, isBig, type NumberData } from "../ir/numeric.js";
import { poolGeneration } from "../ir/pool.js";
import type { Addresses, Allocation } from "../ir/runtime.js";
import { isTile } from "./evaluate.js";

/**
 * `grid`: each rank-1 index spans an axis of its own, in order; `lanes`: all indices broadcast to one shape. A lane is
 * inside where every index that is not claimed to be in bounds is below its size and not negative.
 */
export function viewAddresses(
  allocation: Allocation,
  indices: readonly (TileArray | number)[],
  claimed: readonly boolean[] | undefined,
  layout: "grid" | "lanes",
  order?: readonly number[],
): Addresses {
  const { shape, strides, dtype } = allocation;
  const [first] = indices;
  const last = isTile(first) ? latest.get(first) : undefined;
  if (
    last?.generation === poolGeneration() &&
    last.layout === layout &&
    isSame(last.indices, indices) &&
    isSame(last.addresses.allocation.shape, shape) &&
    isSame(last.addresses.allocation.strides, strides) &&
    isSame(last.claimed, claimed) &&
    isSame(last.order, order)
  )
    return { ...last.addresses, allocation, dtype };
  const addresses = computeAddresses(allocation, indices, claimed, layout, order);
  if (isTile(first))
    latest.set(first, { indices, claimed, layout, order, addresses, generation: poolGeneration() });
  return addresses;
}

interface Latest {
  readonly indices: readonly (TileArray | number)[];
  readonly claimed: readonly boolean[] | undefined;
  readonly layout: "grid" | "lanes";
  readonly order: readonly number[] | undefined;
  readonly addresses: Addresses;
  /** When it was computed: its lanes are gone once buffers were taken back. */
  readonly generation: number;
}

/** The last view that began with an index: where tensors are alike, the next view by the same indices has the same lanes. */
const latest = new WeakMap<TileArray, Latest>();

function isSame(a: readonly unknown[] = [], b: readonly unknown[] = []): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function computeAddresses(
  allocation: Allocation,
  indices: readonly (TileArray | number)[],
  claimed: readonly boolean[] | undefined,
  layout: "grid" | "lanes",
  order?: readonly number[],
): Addresses {
  const tiles = indices.map((index) => (isTile(index) ? index : full([], index, "int32")));
  const spread = layout === "grid" ? toGrid(tiles) : tiles;
  const shape = spread.reduce<readonly number[]>((sofar, tile) => broadcastShapes(sofar, tile.shape), []);
  const size = sizeOf(shape);
  const offsets = new Float64Array(size);
  const inside = new Uint8Array(size).fill(1);
  let claims: Claims | undefined;
  let poison: Uint8Array | undefined;
  spread.forEach((tile, place) => {
    const axis = order?.[place] ?? place;
    const along = spreadOf(tile.shape, shape);
    const index = along ? tile : broadcastTo(tile, shape);
    const positions = positionsOf(index);
    addSteps(offsets, positions, allocation.strides[axis]!, along ?? { outer: 1, count: size, inner: 1 });
    const everywhere = (marks: Uint8Array): Uint8Array =>
      broadcastTo(tileArray("int1", index.shape, marks), shape).data as Uint8Array;
    const outside = outsideOf(positions, allocation.shape[axis]!);
    if (outside && claimed?.[place]) {
      claims ??= { broken: new Uint8Array(size), axis: new Uint8Array(size), index: new Float64Array(size) };
      const indices = broadcastTo(tileArray("float64", index.shape, Float64Array.from(positions)), shape)
        .data as Float64Array;
      noteClaims(claims, everywhere(outside), axis, indices);
    } else if (outside) everywhere(outside).forEach((mark, i) => void (mark && (inside[i] = 0)));
    if (index.poison) poison = either(poison, everywhere(index.poison));
  });
  return {
    kind: "addresses",
    allocation,
    dtype: allocation.dtype,
    shape,
    offsets,
    inside,
    ...(claims && { broken: claims.broken, claims }),
    ...(poison?.includes(1) && { poison }),
  };
}

/** Lanes whose index is claimed to be in bounds and is not: the last such axis, and the index there. */
interface Claims {
  readonly broken: Uint8Array;
  readonly axis: Uint8Array;
  readonly index: Float64Array;
}

function noteClaims(claims: Claims, outside: Uint8Array, axis: number, indices: Float64Array): void {
  for (let i = 0; i < outside.length; i++) {
    if (!outside[i]) continue;
    claims.broken[i] = 1;
    claims.axis[i] = axis;
    claims.index[i] = indices[i]!;
  }
}

function positionsOf({ dtype, data }: TileArray): NumberData {
  return isBig(dtype) ? Float64Array.from(data as BigData, Number) : (data as NumberData);
}

function outsideOf(positions: NumberData, limit: number): Uint8Array | undefined {
  let marks: Uint8Array | undefined;
  for (let i = 0; i < positions.length; i++)
    if (!(positions[i]! >= 0 && positions[i]! < limit)) (marks ??= new Uint8Array(positions.length))[i] = 1;
  return marks;
}

function addSteps(offsets: Float64Array, positions: NumberData, stride: number, { outer, count, inner }: Spread): void {
  let lane = 0;
  for (let repeat = 0; repeat < outer; repeat++) {
    if (inner === 1) for (let j = 0; j < count; j++, lane++) offsets[lane] = offsets[lane]! + positions[j]! * stride;
    else
      for (let j = 0; j < count; j++) {
        const step = positions[j]! * stride;
        for (const end = lane + inner; lane < end; lane++) offsets[lane] = offsets[lane]! + step;
      }
  }
}

/** The same addresses, axes in another order. */
export function permuteAddresses(view: Addresses, order: readonly number[]): Addresses {
  const move = <T extends Float64Array | Uint8Array>(data: T, dtype: "float64" | "int1"): T =>
    permute({ dtype, shape: view.shape, data }, order).data as T;
  return {
    ...view,
    shape: order.map((axis) => view.shape[axis]!),
    offsets: move(view.offsets, "float64"),
    ...(view.inside && { inside: move(view.inside, "int1") }),
    ...(view.broken && { broken: move(view.broken, "int1") }),
    ...(view.claims && {
      claims: { axis: move(view.claims.axis, "int1"), index: move(view.claims.index, "float64") },
    }),
    ...(view.poison && { poison: move(view.poison, "int1") }),
  };
}

/** Gives each rank-1 tile an axis of its own: `[M]` and `[N]` become `[M, 1]` and `[1, N]`. */
function toGrid(tiles: readonly TileArray[]): readonly TileArray[] {
  const rank = tiles.filter((tile) => tile.shape.length === 1).length;
  let axis = 0;
  return tiles.map((tile) => {
    if (tile.shape.length === 0) return tile;
    const position = axis++;
    let grown = tile;
    for (let i = 0; i < position; i++) grown = expandDims(grown, 0);
    for (let i = position + 1; i < rank; i++) grown = expandDims(grown, -1);
    return grown;
  });
}
