/** Computes the addresses of a view, lane by lane. */
import {
  broadcastShapes,
  broadcastTo,
  either,
  full,
  permute,
  sizeOf,
  type Spread,
  spread,
  spreadOf,
  type TileArray,
} from "../numerics/array.js";
import { type BigData, isBig, type NumberData } from "../numerics/numeric.js";
import { ones, poolGeneration } from "../numerics/buffer-pool.js";
import type { Addresses, Allocation, Indexed } from "./runtime-values.js";
import { type TensorAxis, offsetsOf, outOfBoundsLanes, maskLanes } from "./axis-lanes.js";
import { isTile } from "./operands.js";

/**
 * The addresses of a view. With layout `grid` each rank-1 index spans its own axis, in order; with `lanes` all indices
 * broadcast to one shape. A lane is inside if each index is in `[0, size)`; indices claimed to be in bounds do not
 * count.
 */
export function viewAddresses(
  allocation: Allocation,
  indices: readonly (TileArray | number)[],
  claimed: readonly boolean[] | undefined,
  layout: "grid" | "lanes",
  order?: readonly number[],
): Addresses {
  const generation = poolGeneration();
  for (const view of latest)
    if (
      view.generation === generation &&
      view.layout === layout &&
      isSame(view.indices, indices) &&
      isSame(view.shape, allocation.shape) &&
      isSame(view.strides, allocation.strides) &&
      isSame(view.claimed, claimed) &&
      isSame(view.order, order)
    )
      return addressesOf(allocation, view.lanes);
  const lanes = computeLanes(allocation, indices, claimed, layout, order);
  if (latest.length === REMEMBERED) latest.shift();
  const { shape, strides } = allocation;
  latest.push({ indices, shape, strides, claimed, layout, order, lanes, generation });
  return addressesOf(allocation, lanes);
}

/** Whether a view masks an axis: unless the author says that its index is in bounds. Lowering asks here too. */
export function masksAxis(claimed: readonly boolean[] | undefined, axis: number): boolean {
  return claimed?.[axis] !== true;
}

/** A view without its allocation. */
interface Lanes {
  readonly shape: readonly number[];
  readonly offsets: Float64Array;
  readonly inside: Uint8Array;
  readonly broken: Uint8Array | undefined;
  readonly claims: Claims | undefined;
  readonly poison: Uint8Array | undefined;
  readonly indexed: Indexed;
}

interface View {
  readonly indices: readonly (TileArray | number)[];
  /** The tensor's shape. */
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly claimed: readonly boolean[] | undefined;
  readonly layout: "grid" | "lanes";
  readonly order: readonly number[] | undefined;
  readonly lanes: Lanes;
  /** The pool's generation when it was computed: its lanes are invalid in any other. */
  readonly generation: number;
}

/** The latest views. Views with the same indices of tensors with the same layout share their lanes. */
const latest: View[] = [];
const REMEMBERED = 4;

function addressesOf(
  allocation: Allocation,
  { shape, offsets, inside, broken, claims, poison, indexed }: Lanes,
): Addresses {
  const { dtype } = allocation;
  if (!broken && !poison) return { kind: "addresses", allocation, dtype, shape, offsets, inside, indexed };
  return {
    kind: "addresses",
    allocation,
    dtype,
    shape,
    offsets,
    inside,
    indexed,
    ...(broken && claims && { broken, claims }),
    ...(poison && { poison }),
  };
}

function isSame(a: readonly unknown[] = [], b: readonly unknown[] = []): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

function computeLanes(
  allocation: Allocation,
  indices: readonly (TileArray | number)[],
  claimed: readonly boolean[] | undefined,
  layout: "grid" | "lanes",
  order?: readonly number[],
): Lanes {
  const tiles = indices.map((index) => (isTile(index) ? index : full([], index, "int32")));
  const { shape, placed } = (layout === "grid" ? onGrid : onLanes)(tiles);
  const size = sizeOf(shape);
  const inside = ones(size);
  let claims: Claims | undefined;
  let poison: Uint8Array | undefined;
  const axes = placed.map(({ tile, along }, place): TensorAxis => {
    const axis = order?.[place] ?? place;
    const positions = positionsOf(tile);
    const outside = outOfBoundsLanes(positions, allocation.shape[axis]!, tile.poison);
    if (outside && !masksAxis(claimed, place)) {
      claims ??= { broken: new Uint8Array(size), axis: new Uint8Array(size), index: new Float64Array(size) };
      noteClaims(claims, spread(outside, along), axis, spread(Float64Array.from(positions), along));
    } else if (outside) maskLanes(inside, outside, along);
    if (tile.poison) poison = either(poison, spread(tile.poison, along));
    return { axis, positions, along, stride: allocation.strides[axis]! };
  });
  const offsets = offsetsOf(axes, size);
  const unknown = poison?.includes(1) ? poison : undefined;
  return { shape, offsets, inside, broken: claims?.broken, claims, poison: unknown, indexed: { axes, shape } };
}

interface Placed {
  readonly shape: readonly number[];
  readonly placed: readonly { readonly tile: TileArray; readonly along: Spread }[];
}

/** Each rank-1 tile spans its own axis. */
function onGrid(tiles: readonly TileArray[]): Placed {
  const shape = tiles.flatMap((tile) => tile.shape);
  const size = sizeOf(shape);
  let outer = 1;
  const placed = tiles.map((tile) => {
    const count = tile.data.length;
    const along = { outer, count, inner: size / (outer * count) };
    outer *= count;
    return { tile, along };
  });
  return { shape, placed };
}

/** All tiles broadcast to one shape. */
function onLanes(tiles: readonly TileArray[]): Placed {
  const shape = tiles.reduce<readonly number[]>((sofar, tile) => broadcastShapes(sofar, tile.shape), []);
  const placed = tiles.map((tile) => {
    const along = spreadOf(tile.shape, shape);
    if (along) return { tile, along };
    return { tile: broadcastTo(tile, shape), along: { outer: 1, count: sizeOf(shape), inner: 1 } };
  });
  return { shape, placed };
}

/** Lanes whose index is claimed to be in bounds but is not, with the last such axis and its index. */
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

/** The same addresses with permuted axes. */
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
    ...(view.indexed && { indexed: permuted(view.indexed, order) }),
  };
}

function permuted({ order: before, ...indexed }: Indexed, order: readonly number[]): Indexed {
  return { ...indexed, order: before ? order.map((axis) => before[axis]!) : order };
}
