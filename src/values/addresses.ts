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
  tileArray,
} from "../numerics/array.js";
import { type BigData, isBig, type NumberData } from "../numerics/numeric-int.js";
import { atAxis, permuteAxes } from "../types/dims.js";
import { ones, poolGeneration, allocateUninitialized } from "../numerics/buffer-pool.js";
import {
  type Addresses,
  type Allocation,
  type Indexed,
  type Context,
  type DescriptorRuntime,
  type Runtime,
  type TensorRuntime,
  type TensorAxis,
  offsetsOf,
  outOfBoundsLanes,
  maskLanes,
} from "./runtime-values.js";
import { isTile, isAddresses } from "./operands.js";
import type { Message } from "../diagnostics/message.js";
import { misaligned } from "../diagnostics/catalog/finding-codes.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import { DESCRIPTOR_BYTES } from "../types/limits.js";
import { dtypeTable } from "../types/dtype.js";

/**
 * The addresses of a view. With layout `grid` each rank-1 index spans its own axis, in order; with `lanes` all indices
 * broadcast to one shape. A lane is in bounds if each index is in `[0, size)`. Indices claimed to be in bounds are not
 * checked here.
 */
export function viewAddresses(
  allocation: Allocation,
  indices: readonly (TileArray | number)[],
  claimedInBounds: readonly boolean[] | undefined,
  layout: "grid" | "lanes",
  order?: readonly number[],
): Addresses {
  const generation = poolGeneration();
  for (const view of recentViews)
    if (
      view.generation === generation &&
      view.layout === layout &&
      isSame(view.indices, indices) &&
      isSame(view.shape, allocation.shape) &&
      isSame(view.strides, allocation.strides) &&
      isSame(view.claimed, claimedInBounds) &&
      isSame(view.order, order)
    )
      return addressesOf(allocation, view.lanes);
  const lanes = computeLanes(allocation, indices, claimedInBounds, layout, order);
  if (recentViews.length === MAX_RECENT_VIEWS) recentViews.shift();
  const { shape, strides } = allocation;
  recentViews.push({ indices, shape, strides, claimed: claimedInBounds, layout, order, lanes, generation });
  return addressesOf(allocation, lanes);
}

/**
 * True if a view masks an axis, which it does unless the author claims that its index is in bounds. Lowering also uses
 * this rule.
 */
export function isAxisMasked(claimed: readonly boolean[] | undefined, axis: number): boolean {
  return claimed?.[axis] !== true;
}

/** The lanes of a view, independent of its allocation. */
interface ViewLanes {
  readonly shape: readonly number[];
  readonly offsets: Float64Array;
  readonly inBounds: Uint8Array;
  readonly broken: Uint8Array | undefined;
  readonly claims: Claims | undefined;
  readonly poison: Uint8Array | undefined;
  readonly indexed: Indexed;
}

interface CachedView {
  readonly indices: readonly (TileArray | number)[];
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly claimed: readonly boolean[] | undefined;
  readonly layout: "grid" | "lanes";
  readonly order: readonly number[] | undefined;
  readonly lanes: ViewLanes;
  /** Generation of the pool at the time of computation. The lanes are invalid in any other. */
  readonly generation: number;
}

/** The most recent views. Views with the same indices, of tensors with the same layout, share their lanes. */
const recentViews: CachedView[] = [];
const MAX_RECENT_VIEWS = 4;

function addressesOf(
  allocation: Allocation,
  { shape, offsets, inBounds, broken, claims, poison, indexed }: ViewLanes,
): Addresses {
  const { dtype } = allocation;
  if (!broken && !poison) return { kind: "addresses", allocation, dtype, shape, offsets, inBounds, indexed };
  return {
    kind: "addresses",
    allocation,
    dtype,
    shape,
    offsets,
    inBounds,
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
): ViewLanes {
  const tiles = indices.map((index) => (isTile(index) ? index : full([], index, "int32")));
  const { shape, placed } = (layout === "grid" ? placeOnGrid : placeOnLanes)(tiles);
  const size = sizeOf(shape);
  const inBounds = ones(size);
  let claims: Claims | undefined;
  let poison: Uint8Array | undefined;
  const axes = placed.map(({ tile, along }, position): TensorAxis => {
    const axis = order?.[position] ?? position;
    const positions = positionsOf(tile);
    const outOfBounds = outOfBoundsLanes(positions, atAxis(allocation.shape, axis), tile.poison);
    if (outOfBounds && !isAxisMasked(claimed, position)) {
      claims ??= { broken: new Uint8Array(size), axis: new Uint8Array(size), index: new Float64Array(size) };
      recordClaims(claims, outOfBounds, axis, positions, along);
    } else if (outOfBounds) maskLanes(inBounds, outOfBounds, along);
    if (tile.poison) poison = either(poison, spread(tile.poison, along));
    return { axis, positions, along, stride: atAxis(allocation.strides, axis) };
  });
  const offsets = offsetsOf(axes, size);
  const poisonLanes = poison?.includes(1) ? poison : undefined;
  return { shape, offsets, inBounds, broken: claims?.broken, claims, poison: poisonLanes, indexed: { axes, shape } };
}

interface PlacedTiles {
  readonly shape: readonly number[];
  readonly placed: readonly { readonly tile: TileArray; readonly along: Spread }[];
}

/** Each rank-1 tile spans its own axis. */
function placeOnGrid(tiles: readonly TileArray[]): PlacedTiles {
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
function placeOnLanes(tiles: readonly TileArray[]): PlacedTiles {
  const shape = tiles.reduce<readonly number[]>((result, tile) => broadcastShapes(result, tile.shape), []);
  const placed = tiles.map((tile) => {
    const along = spreadOf(tile.shape, shape);
    if (along) return { tile, along };
    return { tile: broadcastTo(tile, shape), along: { outer: 1, count: sizeOf(shape), inner: 1 } };
  });
  return { shape, placed };
}

/** Lanes whose index is wrongly claimed to be in bounds, with the last such axis and its index. */
interface Claims {
  readonly broken: Uint8Array;
  readonly axis: Uint8Array;
  readonly index: Float64Array;
}

function recordClaims(
  claims: Claims,
  outOfBounds: Uint8Array,
  axis: number,
  positions: NumberData,
  along: Spread,
): void {
  const isBroken = spread(outOfBounds, along);
  spread(Float64Array.from(positions), along).forEach((index, lane) => {
    if (!isBroken[lane]) return;
    claims.broken[lane] = 1;
    claims.axis[lane] = axis;
    claims.index[lane] = index;
  });
}

function positionsOf({ dtype, data }: TileArray): NumberData {
  return isBig(dtype) ? Float64Array.from(data as BigData, Number) : (data as NumberData);
}

/** The same addresses with permuted axes. */
export function permuteAddresses(view: Addresses, order: readonly number[]): Addresses {
  const permuteData = <T extends Float64Array | Uint8Array>(data: T, dtype: "float64" | "int1"): T =>
    permute({ dtype, shape: view.shape, data }, order).data as T;
  return {
    ...view,
    shape: permuteAxes(view.shape, order),
    offsets: permuteData(view.offsets, "float64"),
    ...(view.inBounds && { inBounds: permuteData(view.inBounds, "int1") }),
    ...(view.broken && { broken: permuteData(view.broken, "int1") }),
    ...(view.claims && {
      claims: { axis: permuteData(view.claims.axis, "int1"), index: permuteData(view.claims.index, "float64") },
    }),
    ...(view.poison && { poison: permuteData(view.poison, "int1") }),
    ...(view.indexed && { indexed: permuteIndexed(view.indexed, order) }),
  };
}

function permuteIndexed({ order: currentOrder, ...indexed }: Indexed, order: readonly number[]): Indexed {
  return { ...indexed, order: currentOrder ? permuteAxes(currentOrder, order) : order };
}

// Evaluates tensor descriptors: their creation, and the addresses of their blocks and rows.

type Args = Readonly<Record<string, Runtime | undefined>>;

const number = (x: Runtime): number => Number(isTile(x) ? x.data[0] : x);
const numbers = (list: Runtime | undefined): number[] => (list as readonly Runtime[]).map(number);

/** `evaluate` of `makeTensorDescriptor`. Reports a base or strides that TMA cannot address. */
export function descriptorAt(
  { base, shape, strides, blockShape, paddingOption }: Args,
  context: Context,
): DescriptorRuntime {
  const source = base as Addresses | TensorRuntime;
  const { allocation } = source;
  const axes = isAddresses(source) ? undefined : (source.order ?? allocation.shape.map((_, axis) => axis));
  const [start = 0] = isAddresses(source) ? source.offsets : [];
  const descriptor: DescriptorRuntime = {
    kind: "descriptor",
    allocation,
    start,
    shape: axes ? permuteAxes(allocation.shape, axes) : numbers(shape),
    strides: axes ? permuteAxes(allocation.strides, axes) : numbers(strides),
    block: numbers(blockShape),
    axes,
    padding: paddingOption === "nan" ? "nan" : "zero",
  };
  reportMisaligned(descriptor, context);
  return descriptor;
}

function reportMisaligned({ allocation, start, strides }: DescriptorRuntime, context: Context): void {
  const bytes = dtypeTable[allocation.dtype].bits / 8;
  const isUnaligned = (elements: number): boolean => (elements * bytes) % DESCRIPTOR_BYTES !== 0;
  const report = (message: Message<FindingCode>) => context.report(message, [], ONE_LANE);
  const { name } = allocation;
  const stride = strides.slice(0, -1).find(isUnaligned);
  if (strides.at(-1) !== 1) report(misaligned.lastStride(name, strides.at(-1)));
  else if (stride !== undefined) report(misaligned.stride(name, stride * bytes));
  else if (isUnaligned(start)) report(misaligned.base(name, start * bytes));
}

const ONE_LANE = Uint8Array.of(1);

/** The value of out-of-bounds elements in a load. */
export const paddingOf = ({ padding }: DescriptorRuntime): number => (padding === "nan" ? Number.NaN : 0);

/** The addresses of a block, and the mask of those in bounds. */
interface BlockLanes {
  readonly address: Addresses;
  readonly inBounds: TileArray;
}

/** The lanes of the block at these offsets. */
export function blockAt(descriptor: DescriptorRuntime, offsets: readonly Runtime[], context: Context): BlockLanes {
  const axes = offsets.map((offset, axis) => consecutivePositions(offset, atAxis(descriptor.block, axis)));
  return lanesOf(descriptor, axes, context);
}

/** The lanes of several rows, as wide as the block, from a column on. */
export function rowsAt(descriptor: DescriptorRuntime, rows: TileArray, column: Runtime, context: Context): BlockLanes {
  const positions = Float64Array.from(rows.data as ArrayLike<number | bigint>, Number);
  return lanesOf(
    descriptor,
    [{ positions, poison: rows.poison }, consecutivePositions(column, atAxis(descriptor.block, 1))],
    context,
  );
}

/** Positions along one axis, flagged if they were computed from poison. */
interface Axis {
  readonly positions: Float64Array;
  readonly poison: Uint8Array | undefined;
}

function consecutivePositions(offset: Runtime, length: number): Axis {
  const positions = allocateUninitialized(Float64Array, length);
  const first = number(offset);
  for (let i = 0; i < length; i++) positions[i] = first + i;
  return { positions, poison: isTile(offset) && offset.poison?.[0] === 1 ? ones(length) : undefined };
}

/** The lanes of all combinations of one position per axis. */
function lanesOf(descriptor: DescriptorRuntime, axes: readonly Axis[], context: Context): BlockLanes {
  const { allocation, start, shape: limits, strides, axes: tensorAxes } = descriptor;
  reportOffset(descriptor, atAxis(axes, axes.length - 1), context);
  const shape = axes.map(({ positions }) => positions.length);
  const size = sizeOf(shape);
  const inBounds = ones(size);
  let poisonLanes: Uint8Array | undefined;
  let inner = size;
  const laneAxes = axes.map(({ positions, poison }, axis): TensorAxis => {
    inner /= positions.length;
    const along = { outer: size / (inner * positions.length), count: positions.length, inner };
    const outOfBounds = outOfBoundsLanes(positions, atAxis(limits, axis), poison);
    if (outOfBounds) maskLanes(inBounds, outOfBounds, along);
    if (poison) poisonLanes = either(poisonLanes, spread(poison, along));
    return { axis: tensorAxes?.[axis] ?? axis, positions, along, stride: atAxis(strides, axis) };
  });
  const { dtype } = allocation;
  const address = { kind: "addresses", allocation, dtype, shape, offsets: offsetsOf(laneAxes, size, start) } as const;
  return {
    address: {
      ...address,
      ...(poisonLanes?.includes(1) && { poison: poisonLanes }),
      ...(tensorAxes && { indexed: { axes: laneAxes, shape } }),
    },
    inBounds: tileArray("int1", shape, inBounds),
  };
}

/** Reports an offset along the last axis that is not a multiple of 16 bytes, as TMA requires. */
function reportOffset({ allocation }: DescriptorRuntime, { positions, poison }: Axis, context: Context): void {
  const [first] = positions;
  if (first === undefined || poison?.[0]) return;
  const offset = first * (dtypeTable[allocation.dtype].bits / 8);
  if (offset % DESCRIPTOR_BYTES === 0) return;
  context.report(misaligned.offset(allocation.name, first, offset), [], ONE_LANE);
}
