/** The addresses of a view, lane by lane, while a kernel is evaluated. */
import { broadcastShapes, broadcastTo, expandDims, full, permute, sizeOf, type TileArray } from "../ir/array.js";
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
  const tiles = indices.map((index) => (isTile(index) ? index : full([], index, "int32")));
  const spread = layout === "grid" ? toGrid(tiles) : tiles;
  const shape = spread.reduce<readonly number[]>((sofar, tile) => broadcastShapes(sofar, tile.shape), []);
  const size = sizeOf(shape);
  const offsets = new Float64Array(size);
  const inside = new Uint8Array(size).fill(1);
  const broken = new Uint8Array(size);
  const claims = { axis: new Uint8Array(size), index: new Float64Array(size) };
  const poison = new Uint8Array(size);
  spread.forEach((tile, place) => {
    const axis = order?.[place] ?? place;
    const index = broadcastTo(tile, shape);
    const limit = allocation.shape[axis]!;
    const stride = allocation.strides[axis]!;
    const isClaimed = claimed?.[place] === true;
    for (let i = 0; i < size; i++) {
      const position = Number(index.data[i]);
      offsets[i] = offsets[i]! + position * stride;
      if (position >= 0 && position < limit) continue;
      if (!isClaimed) {
        inside[i] = 0;
        continue;
      }
      broken[i] = 1;
      claims.axis[i] = axis;
      claims.index[i] = position;
    }
    if (index.poison) for (let i = 0; i < size; i++) poison[i] = poison[i]! | index.poison[i]!;
  });
  return {
    kind: "addresses",
    allocation,
    dtype: allocation.dtype,
    shape,
    offsets,
    inside,
    ...(broken.includes(1) && { broken, claims }),
    ...(poison.includes(1) && { poison }),
  };
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
