/** Keeps the accesses of a run, of one program or of all. */
import type { Access, AccessKind, WantedAccesses } from "../compiled/access.js";
import type { Location } from "../diagnostics/diagnostic.js";
import { permute, sizeOf } from "../numerics/array.js";
import { stepsAlong } from "../values/axis-lanes.js";
import type { Addresses, Allocation } from "../values/runtime-values.js";
import type { AccessLanes } from "./lanes.js";

/** How many lanes are kept: with two axes, about 70 MB. */
const MOST_LANES = 4_000_000;

export class AccessRecord {
  readonly accesses: Access[] = [];
  readonly #grids: (readonly number[])[] = [];
  #kernel = "";
  #lanes = 0;
  #left = 0;

  constructor(readonly wanted: WantedAccesses) {}

  /** Starts a launch. */
  launch(kernel: string, grid: readonly number[]): void {
    this.#kernel = kernel;
    this.#grids.push(grid);
  }

  note(
    kind: AccessKind,
    address: Addresses,
    lanes: AccessLanes,
    at: Location | undefined,
    program: readonly number[],
  ): void {
    const { wanted } = this;
    if (wanted !== "all" && program.some((id, axis) => id !== (wanted[axis] ?? 0))) return;
    const { allocation, shape: tile } = address;
    const { performed, refused } = lanes;
    if (this.#lanes + performed.length > MOST_LANES) {
      this.#left += performed.length;
      return;
    }
    this.#lanes += performed.length;
    // Lanes lie in pooled buffers, so they are copied.
    this.accesses.push({
      kind,
      kernel: this.#kernel,
      launch: this.#grids.length - 1,
      grid: this.#grids.at(-1)!,
      program,
      tensor: allocation.name,
      shape: allocation.shape,
      at,
      tile: [...tile],
      indices: indicesOf(address),
      active: performed.slice(),
      refused: refused?.slice() ?? new Uint8Array(performed.length),
    });
  }

  /**
   * What is not kept, in words.
   *
   * @throws Error if no launch has the wanted program.
   */
  leftOut(): readonly string[] {
    const { wanted } = this;
    if (wanted !== "all" && this.#grids.length > 0 && !this.#grids.some((grid) => holds(grid, wanted))) {
      const grids = this.#grids.map((grid) => `(${grid.join(", ")})`).join(", ");
      throw new Error(`accesses: there is no program (${wanted.join(", ")}) in a grid of ${grids}; ids count from 0`);
    }
    if (this.#left === 0) return [];
    return [`${this.#left} lanes of accesses are not kept: ask for one program, or for smaller sizes`];
  }
}

function holds(grid: readonly number[], wanted: readonly number[]): boolean {
  const axes = Math.max(grid.length, wanted.length);
  return Array.from({ length: axes }, (_, axis) => axis).every((axis) => (wanted[axis] ?? 0) < (grid[axis] ?? 1));
}

/** The index of each lane on each axis of the tensor. */
function indicesOf({ allocation, offsets, indexed }: Addresses): readonly Float64Array[] {
  if (!indexed) return elementsOf(allocation, offsets);
  const { axes, shape, order } = indexed;
  const found = allocation.shape.map(() => new Float64Array(sizeOf(shape)));
  for (const { axis, ...placed } of axes) stepsAlong(found[axis]!, placed);
  if (!order) return found;
  return found.map((data) => permute({ dtype: "float64", shape, data }, order).data as Float64Array);
}

/** The indices of the element at each offset. Offsets before or behind the tensor continue its longest stride. */
function elementsOf({ shape, strides }: Allocation, offsets: Float64Array): readonly Float64Array[] {
  const found = shape.map(() => new Float64Array(offsets.length));
  const order = [...strides.keys()].filter((axis) => shape[axis]! > 1 && strides[axis]! > 0);
  // Of a tensor with one element, any offset is one along its last axis.
  if (order.length === 0 && shape.length > 0) found.at(-1)!.set(offsets);
  order.sort((a, b) => strides[b]! - strides[a]!);
  for (let lane = 0; lane < offsets.length; lane++) {
    let rest = offsets[lane]!;
    for (const axis of order) {
      const index = Math.floor(rest / strides[axis]!);
      found[axis]![lane] = index;
      rest -= index * strides[axis]!;
    }
  }
  return found;
}
