/** Records the memory accesses of a run, of one program or of all programs. */
import type { Access, AccessKind, WantedAccesses } from "../compiled/access.js";
import type { Location } from "../diagnostics/diagnostic.js";
import { permute, sizeOf } from "../numerics/array.js";
import { stepsAlong } from "../values/axis-lanes.js";
import type { Addresses, Allocation } from "../values/runtime-values.js";

/** Maximum number of recorded lanes. With two axes this is about 70 MB. */
const MAX_LANES = 4_000_000;

export class AccessRecord {
  readonly accesses: Access[] = [];
  readonly #grids: (readonly number[])[] = [];
  #kernel = "";
  #lanes = 0;
  #omittedLanes = 0;

  constructor(readonly filter: WantedAccesses) {}

  /** Starts a launch. */
  launch(kernel: string, grid: readonly number[]): void {
    this.#kernel = kernel;
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
      kernel: this.#kernel,
      launch: this.#grids.length - 1,
      grid: this.#grids.at(-1)!,
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
  const indices = allocation.shape.map(() => new Float64Array(sizeOf(shape)));
  for (const { axis, ...axisLanes } of axes) stepsAlong(indices[axis]!, axisLanes);
  if (!order) return indices;
  return indices.map((data) => permute({ dtype: "float64", shape, data }, order).data as Float64Array);
}

/** Indices of the element at each offset. Offsets outside the tensor extend its axis of longest stride. */
function elementsOf({ shape, strides }: Allocation, offsets: Float64Array): readonly Float64Array[] {
  const indices = shape.map(() => new Float64Array(offsets.length));
  const order = [...strides.keys()].filter((axis) => shape[axis]! > 1 && strides[axis]! > 0);
  // In a tensor with one element, every offset counts along the last axis.
  if (order.length === 0 && shape.length > 0) indices.at(-1)!.set(offsets);
  order.sort((a, b) => strides[b]! - strides[a]!);
  for (let lane = 0; lane < offsets.length; lane++) {
    let remainder = offsets[lane]!;
    for (const axis of order) {
      const index = Math.floor(remainder / strides[axis]!);
      indices[axis]![lane] = index;
      remainder -= index * strides[axis]!;
    }
  }
  return indices;
}

export interface AccessLanes {
  readonly performed: Uint8Array;
  /** Lanes that an explicit mask turns off, except those that the view already masks. */
  readonly maskedLanes?: Uint8Array | undefined;
  /** Lanes with a finding, which are not performed. */
  readonly rejected?: Uint8Array | undefined;
}
