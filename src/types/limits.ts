/** Limits of Triton and GPUs, and minimum dimensions of ops. */
import type { MessageParts } from "../diagnostics/message.js";
import type { Dim } from "./shape.js";

/** The maximum number of elements of a tile: `TRITON_MAX_TENSOR_NUMEL`. */
export const MAX_NUMEL = 1_048_576;

/** The extent that int32 offsets can address. Offsets of masked lanes may exceed the last element by up to one tile. */
export const INT32_REACH = 2 ** 31 - MAX_NUMEL;

/** The alignment of TMA in bytes: addresses, strides and the length of the last axis are multiples of it. */
export const DESCRIPTOR_BYTES = 16;

/** The maximum number of programs along each axis of a grid on CUDA. AMD's limits are not lower. */
export const MAX_GRID: readonly [number, number, number] = [2 ** 31 - 1, 65_535, 65_535];

/** A lower bound of a dimension, for messages: `the inner dimension BLOCK_K is 8; 16-bit operands need at least 16`. */
export interface MinimumDim {
  readonly subject: string;
  readonly dim: Dim;
  /** A plural noun, such as `16-bit operands`. */
  readonly consumers: string;
  readonly minimum: number;
}

/** The problem of a size below the bound, and the bound. `suffix` names the config. */
export function belowMinimumDim(
  { subject, dim, consumers, minimum }: MinimumDim,
  size: number,
  suffix = "",
): MessageParts | undefined {
  if (size >= minimum) return undefined;
  return { problem: `${subject} ${dim} is ${size}${suffix}`, remedy: `${consumers} need at least ${minimum}` };
}
