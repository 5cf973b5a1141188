/** Evaluates tensor descriptors: their creation, and the addresses of their blocks and rows. */
import type { Message } from "../diagnostics/message.js";
import { misaligned } from "../diagnostics/catalog/finding-codes.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import { DESCRIPTOR_BYTES } from "../types/limits.js";
import { either, sizeOf, spread, type TileArray, tileArray } from "../numerics/array.js";
import { dtypeTable } from "../types/dtype.js";
import { atAxis, permuteAxes } from "../types/axis.js";
import { ones, allocateUninitialized } from "../numerics/buffer-pool.js";
import type { Addresses, Context, DescriptorRuntime, Runtime, TensorRuntime } from "./runtime-values.js";
import { type TensorAxis, offsetsOf, outOfBoundsLanes, maskLanes } from "./axis-lanes.js";
import { isAddresses, isTile } from "./operands.js";

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
export interface BlockLanes {
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
