/** Calls a function for the elements of tiles, lane by lane, such as a combine function. */
import { broadcastTo, flip, full, sizeOf, slice, tileArray, type TileArray } from "./array.js";
import { allocate } from "./buffer-pool.js";
import type { TileData } from "./numeric.js";

type Lanes = readonly TileArray[];

/** The element at a row-major position, as a scalar. */
function scalarAt(tile: TileArray, place: number): TileArray {
  const { data } = full([], tile.data[place]!, tile.dtype);
  return tileArray(tile.dtype, [], data, tile.poison?.[place] ? new Uint8Array([1]) : undefined);
}

/** Tiles that are filled one element at a time. */
class Filled {
  readonly #data: TileData[] = [];
  readonly #poison: (Uint8Array | undefined)[] = [];
  readonly #dtypes: TileArray["dtype"][] = [];

  constructor(readonly shape: readonly number[]) {}

  put(place: number, scalars: Lanes): void {
    const size = sizeOf(this.shape);
    scalars.forEach(({ dtype, data, poison }, i) => {
      const own = (this.#data[i] ??= allocate(dtype, size));
      this.#dtypes[i] = dtype;
      own[place] = data[0]!;
      if (poison?.[0]) (this.#poison[i] ??= new Uint8Array(size))[place] = 1;
    });
  }

  tiles(): Lanes {
    return this.#data.map((data, i) => tileArray(this.#dtypes[i]!, this.shape, data, this.#poison[i]));
  }
}

/** The inclusive prefix folds along an axis, first element to last; `combine` takes one scalar of each tile. */
export function foldLanes(
  tiles: Lanes,
  axis: number,
  combine: (left: Lanes, right: Lanes) => Lanes,
  reverse = false,
): Lanes {
  if (reverse) {
    const turned = tiles.map((tile) => flip(tile, axis));
    return foldLanes(turned, axis, combine).map((tile) => flip(tile, axis));
  }
  const { shape } = tiles[0]!;
  const distance = sizeOf(shape.slice(axis + 1));
  const block = distance * shape[axis]!;
  const filled = new Filled(shape);
  for (let start = 0; start < sizeOf(shape); start += block)
    for (let lane = start; lane < start + distance; lane++) {
      let sofar = tiles.map((tile) => scalarAt(tile, lane));
      filled.put(lane, sofar);
      for (let place = lane + distance; place < start + block; place += distance) {
        const next = tiles.map((tile) => scalarAt(tile, place));
        sofar = [...combine(sofar, next)];
        filled.put(place, sofar);
      }
    }
  return filled.tiles();
}

/** The last elements along an axis, which the result lacks. For prefix folds this is the fold of all elements. */
export function lastAlongAxis(tile: TileArray, axis: number): TileArray {
  return slice(tile, axis, tile.shape[axis]! - 1);
}

/** Calls a function of scalars for every element of tiles that broadcast to a shape. */
export function mapLanes(tiles: Lanes, shape: readonly number[], call: (lanes: Lanes) => Lanes): Lanes {
  const spread = tiles.map((tile) => broadcastTo(tile, shape));
  const filled = new Filled(shape);
  for (let place = 0; place < sizeOf(shape); place++) {
    filled.put(place, call(spread.map((tile) => scalarAt(tile, place))));
  }
  return filled.tiles();
}
