/** Records the accesses of the running program and reports its findings. */
import type { Message } from "../diagnostics/message.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import type { Location } from "../diagnostics/diagnostic.js";
import type { AccessKind, Access, WantedAccesses } from "../compiled/access.js";
import { type Addresses, type Allocation, stepsAlong } from "../values/runtime-values.js";
import { coordinates, Findings } from "./findings.js";
import { Order } from "./tensor.js";
import { permute, sizeOf } from "../numerics/array.js";

export type Describe = (lane: number) => Message<FindingCode>;

export class Sanitizer {
  readonly findings = new Findings();
  readonly order = new Order();
  /** Locations of loads and ops that returned poison, with the message of an op. */
  readonly poisonSources = new Map<Location, Message<FindingCode> | undefined>();
  /** Locations of accesses performed by some lane, and of executed ops that proof obligations refer to. */
  readonly reached = new Set<Location>();
  /** Number of calls of {@link Sanitizer.recordPoison}. */
  poisonCount = 0;
  /** The running program, counted from 1 in the order of the grid, its first axis fastest. */
  programNumber = 0;

  constructor(
    readonly grid: readonly number[],
    readonly record?: AccessRecord,
  ) {}

  /** Number of reports so far, of findings and of poison. */
  get reportCount(): number {
    return this.findings.count + this.poisonCount;
  }

  enterProgram(number: number): void {
    this.programNumber = number;
    this.order.begin(number);
  }

  /** The ids of a program on the axes of the grid. */
  program(number: number): readonly number[] {
    return coordinates(this.grid.toReversed(), number - 1).toReversed();
  }

  /** Records that an access was reached, and its lanes if they are requested. */
  recordAccess(kind: AccessKind, address: Addresses, lanes: AccessLanes, location: Location | undefined): void {
    if (location && !this.reached.has(location) && lanes.performed.includes(1)) this.reached.add(location);
    this.record?.add(kind, address, lanes, location, this.program(this.programNumber));
  }

  /** Records the reason why an op returned poison. */
  recordPoison(message: Message<FindingCode>, location: Location | undefined): void {
    this.poisonCount++;
    if (location && !this.poisonSources.has(location)) this.poisonSources.set(location, message);
  }

  /** Reports the flagged lanes of a tile, if any. */
  reportLanes(
    code: FindingCode,
    flags: Uint8Array,
    shape: readonly number[],
    location: Location | undefined,
    describe: Describe,
  ): void {
    const first = flags.indexOf(1);
    if (first < 0) return;
    const laneCount = flags.reduce((sum, lane) => sum + lane, 0);
    this.findings.add(code, location, laneCount, () => ({
      message: describe(first),
      program: this.program(this.programNumber),
      lane: coordinates(shape, first),
    }));
  }

  /** Reports a finding about the whole program. */
  reportProgram(message: Message<FindingCode>, location: Location | undefined): void {
    this.findings.add(message.code, location, 1, () => ({
      message,
      program: this.program(this.programNumber),
      lane: [],
    }));
  }
}

// Records the memory accesses of a run, of one program or of all programs.

/** Maximum number of recorded lanes. With two axes this is about 70 MB. */
const MAX_LANES = 4_000_000;

export class AccessRecord {
  readonly accesses: Access[] = [];
  readonly #grids: (readonly number[])[] = [];
  /** The current launch. */
  #launch: Pick<Access, "kernel" | "launch" | "grid"> = { kernel: "", launch: -1, grid: [] };
  #lanes = 0;
  #omittedLanes = 0;

  constructor(readonly filter: WantedAccesses) {}

  /** Starts a launch. */
  launch(kernel: string, grid: readonly number[]): void {
    this.#launch = { kernel, launch: this.#grids.length, grid };
    this.#grids.push(grid);
  }

  add(
    kind: AccessKind,
    address: Addresses,
    lanes: AccessLanes,
    location: Location | undefined,
    program: readonly number[],
  ): void {
    const { filter } = this;
    if (filter !== "all" && program.some((id, axis) => id !== (filter[axis] ?? 0))) return;
    const { allocation, shape: tileShape } = address;
    const { performed, rejected: refused } = lanes;
    if (this.#lanes + performed.length > MAX_LANES) {
      this.#omittedLanes += performed.length;
      return;
    }
    this.#lanes += performed.length;
    // Lanes use pooled buffers, so they are copied.
    this.accesses.push({
      kind,
      ...this.#launch,
      program,
      tensor: allocation.name,
      shape: allocation.shape,
      at: location,
      tile: [...tileShape],
      indices: indicesOf(address),
      active: performed.slice(),
      refused: refused?.slice() ?? new Uint8Array(performed.length),
    });
  }

  /**
   * Descriptions of the accesses that were not recorded.
   *
   * @throws Error if no launch contains the requested program.
   */
  describeOmissions(): readonly string[] {
    const { filter } = this;
    if (filter !== "all" && this.#grids.length > 0 && !this.#grids.some((grid) => containsProgram(grid, filter))) {
      const grids = this.#grids.map((grid) => `(${grid.join(", ")})`).join(", ");
      throw new Error(`accesses: there is no program (${filter.join(", ")}) in a grid of ${grids}; ids count from 0`);
    }
    if (this.#omittedLanes === 0) return [];
    return [`${this.#omittedLanes} lanes of accesses are not kept: ask for one program, or for smaller sizes`];
  }
}

function containsProgram(grid: readonly number[], program: readonly number[]): boolean {
  const axes = Math.max(grid.length, program.length);
  return Array.from({ length: axes }, (_, axis) => axis).every((axis) => (program[axis] ?? 0) < (grid[axis] ?? 1));
}

/** Index of each lane on each axis of the tensor. */
function indicesOf({ allocation, offsets, indexed }: Addresses): readonly Float64Array[] {
  if (!indexed) return elementsOf(allocation, offsets);
  const { axes, shape, order } = indexed;
  const indices = allocation.shape.map((_, axis) => {
    const axisIndices = new Float64Array(sizeOf(shape));
    for (const axisLanes of axes) if (axisLanes.axis === axis) stepsAlong(axisIndices, axisLanes);
    return axisIndices;
  });
  if (!order) return indices;
  return indices.map((data) => permute({ dtype: "float64", shape, data }, order).data as Float64Array);
}

/** Indices of the element at each offset. Offsets outside the tensor extend its axis of longest stride. */
function elementsOf({ shape, strides }: Allocation, offsets: Float64Array): readonly Float64Array[] {
  const axes = strides.map((stride, axis) => ({
    stride,
    size: shape[axis]!,
    indices: new Float64Array(offsets.length),
  }));
  const order = axes.filter(({ size, stride }) => size > 1 && stride > 0).toSorted((a, b) => b.stride - a.stride);
  // In a tensor with one element, every offset counts along the last axis.
  if (order.length === 0) axes.at(-1)?.indices.set(offsets);
  for (const [lane, offset] of offsets.entries()) {
    let remainder = offset;
    for (const { stride, indices } of order) {
      const index = Math.floor(remainder / stride);
      indices[lane] = index;
      remainder -= index * stride;
    }
  }
  return axes.map(({ indices }) => indices);
}

export interface AccessLanes {
  readonly performed: Uint8Array;
  /** Lanes that an explicit mask turns off, except those that the view already masks. */
  readonly maskedLanes?: Uint8Array | undefined;
  /** Lanes with a finding, which are not performed. */
  readonly rejected?: Uint8Array | undefined;
}
