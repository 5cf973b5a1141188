/** What Triton and GPUs allow at most, and what ops need at least. */
import type { Dim } from "./shape.js";

/** Elements of a tile: `TRITON_MAX_TENSOR_NUMEL`. */
export const MAX_NUMEL = 1_048_576;

/** Elements that int32 offsets reach. Masked lanes may lie up to one tile behind the last element. */
export const INT32_REACH = 2 ** 31 - MAX_NUMEL;

/** The copy engine's unit in bytes: addresses, strides and the length of the last axis are multiples of it. */
export const DESCRIPTOR_BYTES = 16;

/** Programs along each axis of a grid: CUDA's limits. AMD's are not lower. */
export const MAX_GRID: readonly [number, number, number] = [2 ** 31 - 1, 65_535, 65_535];

/** A lower bound of a dimension, and the words for it: `the inner dimension BLOCK_K is 8; 16-bit operands need at least 16`. */
export interface MinimumDim {
  readonly what: string;
  readonly dim: Dim;
  /** What needs that size: a plural noun, `16-bit operands`. */
  readonly who: string;
  readonly least: number;
}

/** The sentence for a size below the bound; `where` names the config. */
export function belowMinimumDim({ what, dim, who, least }: MinimumDim, size: number, where = ""): string | undefined {
  return size < least ? `${what} ${dim} is ${size}${where}; ${who} need at least ${least}` : undefined;
}
