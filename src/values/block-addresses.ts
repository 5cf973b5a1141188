/** Tensor descriptors during evaluation: how they are made, and the addresses of their blocks and rows. */
import type { Message } from "../diagnostics/catalog/define-code.js";
import { misaligned } from "../diagnostics/catalog/finding-codes.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import { DESCRIPTOR_BYTES } from "../types/limits.js";
import { either, sizeOf, spread, type TileArray, tileArray } from "../numerics/array.js";
import { dtypeTable } from "../types/dtype.js";
import { ones, allocateUninitialized } from "../numerics/buffer-pool.js";
import type { Addresses, Context, DescriptorRuntime, Runtime, TensorRuntime } from "./runtime-values.js";
import { type TensorAxis, offsetsOf, outOfBoundsLanes, maskLanes } from "./axis-lanes.js";
import { isAddresses, isTile } from "./operands.js";

type Args = Readonly<Record<string, Runtime | undefined>>;

const number = (x: Runtime): number => Number(isTile(x) ? x.data[0] : x);
const numbers = (list: Runtime | undefined): number[] => (list as readonly Runtime[]).map(number);

/** `evaluate` of `makeTensorDescriptor`. Reports a base or strides that the hardware cannot address. */
export function descriptorAt(
  { base, shape, strides, blockShape, paddingOption }: Args,
  context: Context,
): DescriptorRuntime {
  const of = base as Addresses | TensorRuntime;
  const { allocation } = of;
  const axes = isAddresses(of) ? undefined : (of.order ?? allocation.shape.map((_, axis) => axis));
  const descriptor: DescriptorRuntime = {
    kind: "descriptor",
    allocation,
    start: isAddresses(of) ? of.offsets[0]! : 0,
    shape: axes ? axes.map((axis) => allocation.shape[axis]!) : numbers(shape),
    strides: axes ? axes.map((axis) => allocation.strides[axis]!) : numbers(strides),
    block: numbers(blockShape),
    axes,
    padding: paddingOption === "nan" ? "nan" : "zero",
  };
  reportMisaligned(descriptor, context);
  return descriptor;
}

function reportMisaligned({ allocation, start, strides }: DescriptorRuntime, context: Context): void {
  const bytes = dtypeTable[allocation.dtype].bits / 8;
  const isOdd = (elements: number): boolean => (elements * bytes) % DESCRIPTOR_BYTES !== 0;
  const report = (said: Message<FindingCode>) => context.report(said, [], ONE);
  const { name } = allocation;
  const stride = strides.slice(0, -1).find(isOdd);
  if (strides.at(-1) !== 1) report(misaligned.lastStride(name, strides.at(-1)));
  else if (stride !== undefined) report(misaligned.stride(name, stride * bytes));
  else if (isOdd(start)) report(misaligned.base(name, start * bytes));
}

const ONE = Uint8Array.of(1);

/** The value that loads give outside the tensor. */
export const paddingOf = ({ padding }: DescriptorRuntime): number => (padding === "nan" ? Number.NaN : 0);

/** Addresses, and a mask of those in the tensor. */
export interface Lanes {
  readonly address: Addresses;
  readonly inside: TileArray;
}

/** The lanes of the block that starts at these offsets. */
export function blockAt(descriptor: DescriptorRuntime, offsets: readonly Runtime[], context: Context): Lanes {
  const axes = offsets.map((offset, axis) => counting(offset, descriptor.block[axis]!));
  return lanesOf(descriptor, axes, context);
}

/** The lanes of some rows, one block wide from a column on. */
export function rowsAt(descriptor: DescriptorRuntime, rows: TileArray, column: Runtime, context: Context): Lanes {
  const positions = Float64Array.from(rows.data as ArrayLike<number | bigint>, Number);
  return lanesOf(descriptor, [{ positions, poison: rows.poison }, counting(column, descriptor.block[1]!)], context);
}

/** Positions along one axis, and a mark for those computed from a poisoned value. */
interface Axis {
  readonly positions: Float64Array;
  readonly poison: Uint8Array | undefined;
}

function counting(offset: Runtime, length: number): Axis {
  const positions = allocateUninitialized(Float64Array, length);
  const first = number(offset);
  for (let i = 0; i < length; i++) positions[i] = first + i;
  return { positions, poison: isTile(offset) && offset.poison?.[0] === 1 ? ones(length) : undefined };
}

/** The lanes of every combination of one position per axis. */
function lanesOf(descriptor: DescriptorRuntime, axes: readonly Axis[], context: Context): Lanes {
  const { allocation, start, shape: limits, strides, axes: of } = descriptor;
  reportOffset(descriptor, axes.at(-1)!, context);
  const shape = axes.map(({ positions }) => positions.length);
  const size = sizeOf(shape);
  const inside = ones(size);
  let unknown: Uint8Array | undefined;
  let inner = size;
  const placed = axes.map(({ positions, poison }, axis): TensorAxis => {
    inner /= positions.length;
    const along = { outer: size / (inner * positions.length), count: positions.length, inner };
    const outside = outOfBoundsLanes(positions, limits[axis]!, poison);
    if (outside) maskLanes(inside, outside, along);
    if (poison) unknown = either(unknown, spread(poison, along));
    return { axis: of?.[axis] ?? axis, positions, along, stride: strides[axis]! };
  });
  const { dtype } = allocation;
  const address = { kind: "addresses", allocation, dtype, shape, offsets: offsetsOf(placed, size, start) } as const;
  return {
    address: {
      ...address,
      ...(unknown?.includes(1) && { poison: unknown }),
      ...(of && { indexed: { axes: placed, shape } }),
    },
    inside: tileArray("int1", shape, inside),
  };
}

/** Reports an offset along the last axis that is not a multiple of 16 bytes, as the hardware requires. */
function reportOffset({ allocation }: DescriptorRuntime, { positions, poison }: Axis, context: Context): void {
  const offset = positions[0]! * (dtypeTable[allocation.dtype].bits / 8);
  if (poison?.[0] || offset % DESCRIPTOR_BYTES === 0) return;
  context.report(misaligned.offset(allocation.name, positions[0]!, offset), [], ONE);
}
