/** A tensor's memory during evaluation: its elements, laid out by its strides, and shadow memory for its accesses. */
import type { Layout, TensorData } from "../compiled/compiled-kernel.js";
import type { Location } from "../diagnostics/diagnostic.js";
import { fromNumbers, sizeOf, stridedIndex, stridesOf, take, tileArray } from "../numerics/array.js";
import type { DTypeName } from "../types/dtype.js";
import { allocate, copyView } from "../numerics/buffer-pool.js";
import type { NumberData, TileData } from "../numerics/numeric-int.js";
import type { Addresses, Allocation } from "../values/runtime-values.js";
import { coordinates } from "./findings.js";

// Shadow memory: for each offset of a tensor, the interval and the lane of the last access of one kind.

/** A lane of a tile. Lanes with different keys are unordered within one interval. */
export type LaneKey = number;

/** Key of an element that several lanes accessed. */
export const SEVERAL_LANES: LaneKey = -1;

export class LastAccesses {
  readonly #stamps: Int32Array;
  readonly #lanes: Int32Array;

  constructor(extent: number) {
    this.#stamps = new Int32Array(extent);
    this.#lanes = new Int32Array(extent);
  }

  /** The stamp of the last access; 0 if there was none. */
  stampAt(offset: number): Stamp {
    return this.#stamps[offset]!;
  }

  laneAt(offset: number): LaneKey {
    return this.#lanes[offset]!;
  }

  /** True if another lane accessed the element in this interval. */
  isByOtherLane(offset: number, stamp: Stamp, lane: LaneKey): boolean {
    return this.#stamps[offset] === stamp && this.#lanes[offset] !== lane;
  }

  set(offset: number, stamp: Stamp, lane: LaneKey): void {
    this.#stamps[offset] = stamp;
    this.#lanes[offset] = lane;
  }

  /** Adds an access that does not replace those of other lanes in the same interval. */
  add(offset: number, stamp: Stamp, lane: LaneKey): void {
    this.set(offset, stamp, this.isByOtherLane(offset, stamp, lane) ? SEVERAL_LANES : lane);
  }
}

/** The last accesses of a tensor that programs may write. */
interface ShadowMemory {
  readonly writes: LastAccesses;
  readonly reads: LastAccesses;
  /** Atomics that changed an element. Undefined before the first atomic. */
  atomics: LastAccesses | undefined;
}

// The happens-before order of programs, as vector clocks. Only atomics order accesses of different programs. A release
// on an element orders earlier accesses before those that follow a later acquire on that element.

/** Identifies an interval of a program between two of its releases or barriers. */
export type Stamp = number;
/** For each program, the latest stamp that is ordered before this point. */
type Clock = Map<number, Stamp>;

export class Order {
  /** The program of each stamp; stamps count from 1. */
  readonly #owners: number[] = [0];
  /** The clock of the last release on each element. */
  readonly #releaseClocks = new Map<string, Clock>();
  #program = 0;
  #clock: Clock = new Map();
  /** The stamp of the running program's next accesses. */
  stamp: Stamp = 0;

  begin(program: number): void {
    this.#program = program;
    this.#clock = new Map();
    this.barrier();
  }

  /** Orders earlier accesses of the running program's lanes before later ones. */
  barrier(): void {
    this.stamp = this.#owners.push(this.#program) - 1;
  }

  owner(stamp: Stamp): number {
    return this.#owners[stamp]!;
  }

  /** True if the access with this stamp is ordered before the running program. */
  isOrderedBefore(stamp: Stamp): boolean {
    if (stamp === 0 || stamp === this.stamp) return true;
    const owner = this.owner(stamp);
    return owner === this.#program || (this.#clock.get(owner) ?? 0) >= stamp;
  }

  /** Records an atomic of the running program on one element. */
  recordAtomic(element: string, order: string): void {
    if (order === "relaxed") return;
    const clock = this.#releaseClocks.get(element);
    if (order !== "release" && clock) merge(this.#clock, clock);
    if (order === "acquire") return;
    const released: Clock = clock ?? new Map<number, Stamp>();
    merge(released, this.#clock);
    released.set(this.#program, this.stamp);
    this.#releaseClocks.set(element, released);
    this.barrier();
  }
}

function merge(target: Clock, source: Clock): void {
  for (const [program, stamp] of source) if (stamp > (target.get(program) ?? 0)) target.set(program, stamp);
}

/** Distance between allocations. An address therefore determines its allocation. */
export const ALLOCATION_GAP = 2n ** 44n;

export class Tensor implements Allocation {
  base = 0n;
  readonly strides: readonly number[];
  /** Indexed by offset. Strides may leave gaps. */
  readonly data: TileData;
  /** The same memory, viewed as a type for copying elements. */
  readonly numberView: NumberData;
  /** Offset of each element in row-major order. Undefined for a contiguous tensor. */
  readonly #offsets: Int32Array | undefined;
  /** 1 at the offsets of elements. Undefined if there are no gaps. */
  readonly #elements: Uint8Array | undefined;
  /** Undefined for inputs. */
  readonly shadow: ShadowMemory | undefined;
  /** Locations of the statements that wrote to this tensor. */
  readonly writtenAt = new Set<Location>();

  constructor(
    readonly name: string,
    readonly role: "in" | "out" | "inout",
    readonly dtype: DTypeName,
    readonly shape: readonly number[],
    layout: Layout = "contiguous",
    /** True if the tensor is zeroed before the first program runs. */
    readonly zeroed = false,
  ) {
    this.strides = layoutStrides(shape, layout);
    const size = sizeOf(shape);
    const extent = size === 0 ? 0 : shape.reduce((sum, dim, axis) => sum + (dim - 1) * this.strides[axis]!, 1);
    this.data = allocate(dtype, extent);
    this.numberView = copyView(this.data);
    if (size > 0 && this.strides.join() !== stridesOf(shape).join()) this.#offsets = stridedIndex(shape, this.strides);
    if (this.#offsets && extent !== size) {
      this.#elements = new Uint8Array(extent);
      for (const offset of this.#offsets) this.#elements[offset] = 1;
    }
    if (role !== "in")
      this.shadow = { writes: new LastAccesses(extent), reads: new LastAccesses(extent), atomics: undefined };
  }

  /** True if there is an element at this offset. */
  hasElement(offset: number): boolean {
    return offset >= 0 && offset < this.data.length && (this.#elements === undefined || this.#elements[offset] === 1);
  }

  /** `c[3, 5]`, or `c + offset` for an offset without an element. */
  formatElement(offset: number): string {
    const contiguousPosition = this.hasElement(offset) ? offset : -1;
    const position = this.#offsets ? this.#offsets.indexOf(offset) : contiguousPosition;
    return position >= 0 ? `${this.name}[${coordinates(this.shape, position).join(", ")}]` : `${this.name} + ${offset}`;
  }

  /** The element that a lane accesses. */
  formatLane({ offsets }: Addresses, lane: number): string {
    return this.formatElement(offsets[lane]!);
  }

  /** Sets all elements, in row-major order. */
  fill({ data, shape, dtype }: TensorData): void {
    if (dtype !== this.dtype) throw new Error(`${this.name} must be ${this.dtype}, got ${dtype}`);
    if (shape.join() !== this.shape.join())
      throw new Error(`${this.name} must have shape [${this.shape.join(", ")}], got [${shape.join(", ")}]`);
    const isSameStorage = data.constructor === this.data.constructor && data.length === sizeOf(shape);
    const values = isSameStorage ? data : fromNumbers(this.dtype, shape, data as ArrayLike<number | bigint>).data;
    const [offsets, memory] = [this.#offsets, this.data];
    if (!offsets) (memory as NumberData).set(values as NumberData);
    else values.forEach((value: number | bigint, i: number) => (memory[offsets[i]!] = value));
  }

  /** All elements in row-major order. */
  read(): TensorData {
    if (!this.#offsets) return { dtype: this.dtype, shape: this.shape, data: this.data.slice() };
    return take(tileArray(this.dtype, [this.data.length], this.data), this.shape, this.#offsets);
  }

  /** The number of elements that no program wrote, and the indices of the first. */
  findUnwritten(): { readonly count: number; readonly first: readonly number[] } {
    let count = 0;
    let first = -1;
    const size = sizeOf(this.shape);
    for (let i = 0; i < size; i++) {
      const offset = this.#offsets?.[i] ?? i;
      if (this.shadow?.writes.stampAt(offset) || this.shadow?.atomics?.stampAt(offset)) continue;
      if (count++ === 0) first = i;
    }
    return { count, first: coordinates(this.shape, Math.max(first, 0)) };
  }
}

/**
 * The strides of a layout. `offset` has the strides of `contiguous`. Accesses are checked against the tensor itself, so
 * its offset in the storage is irrelevant.
 */
export function layoutStrides(shape: readonly number[], layout: Layout): number[] {
  const rank = shape.length;
  if (typeof layout !== "string") return [...layout];
  if (layout === "sliced" && rank > 0) return stridesOf(shape).map((stride) => stride * 2);
  if (layout === "expanded") return stridesOf(shape).map((stride, axis) => (axis === 0 ? 0 : stride));
  if (layout !== "transposed" || rank < 2) return stridesOf(shape);
  return swapLastAxes(stridesOf(swapLastAxes(shape)));
}

const swapLastAxes = (sizes: readonly number[]): number[] => [...sizes.slice(0, -2), ...sizes.slice(-2).toReversed()];

/** Thrown for an address outside all known tensors. */
export class UnknownAddress extends Error {
  override readonly name = "UnknownAddress";
}

export function tensorAt(memory: readonly Tensor[], address: bigint, dtype: DTypeName): Tensor {
  const tensor = memory[Number(address / ALLOCATION_GAP) - 1];
  if (!tensor || tensor.dtype !== dtype)
    throw new UnknownAddress("an address from memory points to no known tensor, so the kernel was not evaluated");
  return tensor;
}
