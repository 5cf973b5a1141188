/** Memory accesses of programs, recorded by the evaluator for pictures. */
import type { Location } from "../diagnostics/diagnostic.js";

/** `atomic` reads and writes an element; `poll` is an atomic that only reads. */
export type AccessKind = "load" | "store" | "atomic" | "poll";

/** One access of one program: a tile of lanes, each with an element of a tensor. */
export interface Access {
  readonly kind: AccessKind;
  /** The kernel, and the index of its launch in the operator. */
  readonly kernel: string;
  readonly launch: number;
  /** The size of the grid, and the program's id on each of its axes. */
  readonly grid: readonly number[];
  readonly program: readonly number[];
  readonly tensor: string;
  /** The tensor's shape. */
  readonly shape: readonly number[];
  readonly at?: Location | undefined;
  /** The tile's shape. Lanes are in row-major order. */
  readonly tile: readonly number[];
  /**
   * The index of each lane, for each axis of the tensor. A masked lane's index may be out of bounds. For a raw pointer,
   * the indices of the element that contains the address.
   */
  readonly indices: readonly Float64Array[];
  /** 1 for each lane that is read or written. */
  readonly active: Uint8Array;
  /** 1 for each unmasked lane with a finding: out of bounds, or with poison in its address or mask. */
  readonly refused: Uint8Array;
}

/** One program by its ids (omitted axes are 0), or every program. */
export type WantedAccesses = readonly number[] | "all";
