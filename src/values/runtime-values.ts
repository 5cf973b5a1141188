/** Run-time values of the evaluator, and the context that it passes to ops. */
import type { Message } from "../diagnostics/message.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import type { TileArray, Spread } from "../numerics/array.js";
import type { DTypeName } from "../types/dtype.js";
import type { NumberData } from "../numerics/numeric-int.js";
import { allocateUninitialized } from "../numerics/buffer-pool.js";

/** A tensor's memory. Offsets count elements from the first. */
export interface Allocation {
  readonly name: string;
  readonly dtype: DTypeName;
  readonly shape: readonly number[];
  /** Strides in elements, one per axis. */
  readonly strides: readonly number[];
  readonly role: "in" | "out" | "inout";
  /** Address of the first element, in bytes. Allocations lie far apart. */
  readonly base?: bigint;
}

/** A tile of addresses in one allocation. */
export interface Addresses {
  readonly kind: "addresses";
  readonly allocation: Allocation;
  readonly dtype: DTypeName;
  readonly shape: readonly number[];
  /** Element offsets from the allocation's first element, exact up to 2^53. */
  readonly offsets: Float64Array;
  /** The in-bounds lanes of a view. Undefined for raw pointers, which need explicit masks. */
  readonly inBounds?: Uint8Array;
  /** Lanes with an index that `tl.inBounds` wrongly declares in bounds. */
  readonly broken?: Uint8Array;
  /** For each broken lane, the axis whose index is out of bounds, and that index. */
  readonly claims?: { readonly axis: Uint8Array; readonly index: Float64Array };
  /** Lanes whose address was computed from poison. */
  readonly poison?: Uint8Array;
  /** The indices that the addresses were computed from. Undefined for raw pointers. */
  readonly indexed?: Indexed;
}

/** Indices of lanes on the axes of an allocation. */
export interface Indexed {
  readonly axes: readonly TensorAxis[];
  /** The shape of the lanes, before `order` permutes its axes. */
  readonly shape: readonly number[];
  readonly order?: readonly number[];
}

/** A tensor parameter. Its views are masked at the bounds of its allocation. */
export interface TensorRuntime {
  readonly kind: "tensor";
  readonly allocation: Allocation;
  /** For each axis, the axis of the allocation. Undefined if they are in order. */
  readonly order?: readonly number[];
}

/** A tensor descriptor: a tensor in an allocation, and the block shape of an access. */
export interface DescriptorRuntime {
  readonly kind: "descriptor";
  readonly allocation: Allocation;
  /** Offset of the tensor's first element in the allocation. */
  readonly start: number;
  readonly shape: readonly number[];
  /** Strides in elements. */
  readonly strides: readonly number[];
  readonly block: readonly number[];
  /** For each axis, the axis of the allocation. Undefined for a descriptor of a raw pointer. */
  readonly axes?: readonly number[] | undefined;
  /** The value that loads return outside `shape`. */
  readonly padding: "zero" | "nan";
}

export type Runtime =
  | TileArray
  | Addresses
  | TensorRuntime
  | DescriptorRuntime
  | Constant
  | DTypeRuntime
  | FunctionRuntime
  | readonly Runtime[];
/** The run-time forms of an IR value. Other forms occur only as special operands. */
export type ValueRuntime = TileArray | Addresses | Constant;
export type Constant = number | bigint | boolean | string;
export interface DTypeRuntime {
  readonly kind: "dtype";
  readonly dtype: DTypeName;
}

/** A helper function of the kernel. */
export interface FunctionRuntime {
  readonly kind: "function";
  call(args: readonly Runtime[]): readonly Runtime[];
}

/** The type of a result with dtype variables and dims bound. */
export interface ResultType {
  readonly dtype: DTypeName;
  readonly shape: readonly number[];
}

/** An atomic for the evaluator to perform. */
export interface AtomicAccess {
  /** Broadcast to the address's shape and cast to the tensor's dtype by the evaluator. */
  readonly operands: readonly (TileArray | Constant)[];
  /** Computes the new element from the old one and up to two operands. Undefined if the atomic only reads. */
  readonly change:
    ((old: number | bigint, first: number | bigint, second: number | bigint) => number | bigint) | undefined;
  /** True if the result depends on the old element. */
  readonly reads: boolean;
  /** Triton's `sem`. */
  readonly order: string;
}

/** The interface of the evaluator for ops. */
export interface Context {
  readonly results: readonly ResultType[];
  /** The first result. Most ops have only one. */
  readonly result: ResultType;
  /** The running program's id on each axis of the grid. */
  readonly program: readonly [number, number, number];
  readonly grid: readonly [number, number, number];
  load(address: Addresses, mask: TileArray | boolean | undefined, other: TileArray | Constant | undefined): TileArray;
  store(address: Addresses, value: TileArray | Constant, mask: TileArray | boolean | undefined): void;
  /** Performs an atomic lane by lane and returns the old elements. */
  atomic(address: Addresses, mask: TileArray | boolean | undefined, atomic: AtomicAccess): TileArray;
  /** Compares memory with the expected value, lane by lane. Programs run one at a time, so waiting is pointless. */
  poll(
    address: Addresses,
    expected: TileArray | Constant,
    options: { readonly order: string; readonly forever: boolean },
  ): TileArray;
  /**
   * The tensor that contains an address.
   *
   * @throws UnknownAddress if no tensor of this dtype contains it.
   */
  allocationAt(address: bigint, dtype: DTypeName): Allocation & { readonly base: bigint };
  /** Synchronizes all lanes of the program. */
  barrier(): void;
  /** Prints each element of each value, with its program and lane. */
  print(prefix: string, values: readonly ValueRuntime[], hex: boolean): void;
  /** Reports a finding in the flagged lanes, which are in row-major order of `shape`. */
  report(message: Message<FindingCode>, shape: readonly number[], lanes: Uint8Array): void;
  /** Records the reason why the running op returned poison. It is reported if the poison is stored or used. */
  undefine(message: Message<FindingCode>): void;
}

/** All buffers of values that must outlive their scope in the pool. */
export function buffersOf(values: readonly (Runtime | undefined)[]): ReadonlySet<ArrayBufferLike> {
  const buffers = new Set<ArrayBufferLike>();
  for (const value of values) collectBuffers(value, buffers);
  return buffers;
}

function collectBuffers(value: Runtime | undefined, buffers: Set<ArrayBufferLike>): void {
  if (typeof value !== "object") return;
  if (Array.isArray(value)) (value as readonly Runtime[]).forEach((item) => collectBuffers(item, buffers));
  else if ("data" in value) {
    buffers.add(value.data.buffer);
    if (value.poison) buffers.add(value.poison.buffer);
  } else if ("kind" in value && value.kind === "addresses") {
    const { offsets, inBounds, broken, claims, poison, indexed } = value;
    for (const array of [offsets, inBounds, broken, claims?.axis, claims?.index, poison])
      if (array) buffers.add(array.buffer);
    for (const { positions } of indexed?.axes ?? []) buffers.add(positions.buffer);
  }
}

// Lanes of an access, axis by axis, for views and for descriptor blocks.

/** The positions of lanes along one axis of a tensor. */
interface AxisLanes {
  readonly positions: NumberData;
  /** The lanes of each position. */
  readonly along: Spread;
  /** The tensor's stride along this axis, in elements. */
  readonly stride: number;
}

/** An axis of a tensor, and the positions of lanes along it. */
export interface TensorAxis extends AxisLanes {
  readonly axis: number;
}

/** Writes the position of each lane along an axis. */
export function stepsAlong(target: Float64Array, { positions, along }: AxisLanes): void {
  setSteps(target, { positions, along, stride: 1 }, 0);
}

/** `start + Σ position * stride` of every lane. */
export function offsetsOf(axes: readonly AxisLanes[], size: number, start = 0): Float64Array {
  const offsets = allocateUninitialized(Float64Array, size);
  let constant = start;
  for (const { along, positions, stride } of axes)
    if (along.count === 1) for (const position of positions) constant += position * stride;
  let isFirst = true;
  for (const axis of axes) {
    if (axis.along.count === 1) continue;
    if (isFirst) setSteps(offsets, axis, constant);
    else addSteps(offsets, axis);
    isFirst = false;
  }
  return isFirst ? offsets.fill(constant) : offsets;
}

function setSteps(offsets: Float64Array, { positions, stride, along }: AxisLanes, start: number): void {
  const { outer, count, inner } = along;
  for (let j = 0, lane = 0; j < count; j++) {
    const offset = start + positions[j]! * stride;
    for (const end = lane + inner; lane < end; lane++) offsets[lane] = offset;
  }
  const row = count * inner;
  for (let filled = row; filled < outer * row; filled *= 2) offsets.copyWithin(filled, 0, filled);
}

function addSteps(offsets: Float64Array, { positions, stride, along }: AxisLanes): void {
  const { outer, count, inner } = along;
  for (let repeat = 0, lane = 0; repeat < outer; repeat++)
    if (inner === 1) for (let j = 0; j < count; j++, lane++) offsets[lane] = offsets[lane]! + positions[j]! * stride;
    else
      for (let j = 0; j < count; j++) {
        const step = positions[j]! * stride;
        for (const end = lane + inner; lane < end; lane++) offsets[lane] = offsets[lane]! + step;
      }
}

/** Flags the positions outside `[0, limit)`, except unknown positions. Undefined if there are none. */
export function outOfBoundsLanes(positions: NumberData, limit: number, unknown?: Uint8Array): Uint8Array | undefined {
  let flags: Uint8Array | undefined;
  for (let i = 0; i < positions.length; i++) {
    const position = positions[i]!;
    if (!(position >= 0 && position < limit) && !unknown?.[i]) (flags ??= new Uint8Array(positions.length))[i] = 1;
  }
  return flags;
}

/** Turns off the lanes whose position is flagged. */
export function maskLanes(lanes: Uint8Array, flags: Uint8Array, { outer, count, inner }: Spread): void {
  for (let repeat = 0, lane = 0; repeat < outer; repeat++)
    if (inner === 1) {
      for (let j = 0; j < count; j++, lane++) if (flags[j]) lanes[lane] = 0;
    } else for (let j = 0; j < count; j++, lane += inner) if (flags[j]) lanes.fill(0, lane, lane + inner);
}
