/** Calls functions of scalars, such as a combine function, lane by lane. */
import { atAxis } from "../types/axis.js";
import { broadcastTo, flip, sizeOf, slice, tileArray, type TileArray } from "./array.js";
import { allocate } from "./buffer-pool.js";
import type { TileData } from "./numeric.js";

type Lanes = readonly TileArray[];

/** The element at a row-major index, as a scalar tile. */
function scalarAt(tile: TileArray, position: number): TileArray {
  const data = tile.data.slice(position, position + 1);
  return tileArray(tile.dtype, [], data, tile.poison?.[position] ? new Uint8Array([1]) : undefined);
}

/** Builds tiles one element at a time. */
class TileBuilder {
  readonly #tiles: { readonly dtype: TileArray["dtype"]; readonly data: TileData; poison?: Uint8Array }[] = [];

  constructor(readonly shape: readonly number[]) {}

  set(position: number, scalars: Lanes): void {
    const size = sizeOf(this.shape);
    scalars.forEach(({ dtype, data, poison }, i) => {
      const tile = (this.#tiles[i] ??= { dtype, data: allocate(dtype, size) });
      tile.data[position] = data[0]!;
      if (poison?.[0]) (tile.poison ??= new Uint8Array(size))[position] = 1;
    });
  }

  tiles(): Lanes {
    return this.#tiles.map((tile) => ({ ...tile, shape: this.shape }));
  }
}

/** The inclusive scan along an axis, from first to last. `combine` takes one scalar of each tile. */
export function foldLanes(
  tiles: Lanes,
  axis: number,
  combine: (lhs: Lanes, rhs: Lanes) => Lanes,
  reverse = false,
): Lanes {
  if (reverse) {
    const reversed = tiles.map((tile) => flip(tile, axis));
    return foldLanes(reversed, axis, combine).map((tile) => flip(tile, axis));
  }
  const { shape } = tiles[0]!;
  const distance = sizeOf(shape.slice(axis + 1));
  const block = distance * atAxis(shape, axis);
  const builder = new TileBuilder(shape);
  for (let start = 0; start < sizeOf(shape); start += block)
    for (let lane = start; lane < start + distance; lane++) {
      let accumulated = tiles.map((tile) => scalarAt(tile, lane));
      builder.set(lane, accumulated);
      for (let position = lane + distance; position < start + block; position += distance) {
        const next = tiles.map((tile) => scalarAt(tile, position));
        accumulated = [...combine(accumulated, next)];
        builder.set(position, accumulated);
      }
    }
  return builder.tiles();
}

/** The last elements along an axis, which the result lacks. After a scan, this is the reduction of all elements. */
export function lastAlongAxis(tile: TileArray, axis: number): TileArray {
  return slice(tile, axis, atAxis(tile.shape, axis) - 1);
}

/** Calls a function of scalars for every element of tiles that broadcast to a shape. */
export function mapLanes(tiles: Lanes, shape: readonly number[], call: (lanes: Lanes) => Lanes): Lanes {
  const operands = tiles.map((tile) => broadcastTo(tile, shape));
  const builder = new TileBuilder(shape);
  for (let position = 0; position < sizeOf(shape); position++) {
    builder.set(position, call(operands.map((tile) => scalarAt(tile, position))));
  }
  return builder.tiles();
}
