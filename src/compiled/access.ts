/** What programs read and write, as the evaluator keeps it for pictures. */
import type { Location } from "../diagnostics/diagnostic.js";

/** `atomic` reads and writes an element; `poll` is an atomic that only reads. */
export type AccessKind = "load" | "store" | "atomic" | "poll";

/** One access of one program: a tile of lanes, each with an element of a tensor. */
export interface Access {
  readonly kind: AccessKind;
  /** The kernel, and the place of its launch among those of an operator, from 0. */
  readonly kernel: string;
  readonly launch: number;
  /** The size of the grid, and the program's id on each of its axes. */
  readonly grid: readonly number[];
  readonly program: readonly number[];
  readonly tensor: string;
  /** The tensor's shape. */
  readonly shape: readonly number[];
  readonly at?: Location | undefined;
  /** The tile's shape. Lanes are in its row-major order. */
  readonly tile: readonly number[];
  /**
   * For each axis of the tensor, the index of each lane. That of a lane which is not active may lie outside the tensor. A
   * raw pointer has the indices of the element that its address belongs to.
   */
  readonly indices: readonly Float64Array[];
  /** 1 for each lane that is read or written. */
  readonly active: Uint8Array;
  /** 1 for each lane that would be and has a finding: out of bounds, or an address or mask without a value. */
  readonly refused: Uint8Array;
}

/** One program by its ids (axes that are left out are 0), or every program. */
export type WantedAccesses = readonly number[] | "all";
