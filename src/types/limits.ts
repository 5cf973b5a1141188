/** Limits of Triton and GPUs, and minimum dimensions of ops. */
import type { MessageParts } from "../diagnostics/message.js";
import type { Dim } from "./shape.js";

/** The maximum number of elements of a tile: `TRITON_MAX_TENSOR_NUMEL`. */
export const MAX_NUMEL = 1_048_576;

/** The alignment of TMA in bytes: addresses, strides and the length of the last axis are multiples of it. */
export const DESCRIPTOR_BYTES = 16;

/** The limits of integers, tiles and grids. */
export interface Limits {
  readonly int32Bits: number;
  /** One more than the largest int32. */
  readonly int32End: number;
  /** The maximum number of elements of a tile. */
  readonly maxNumel: number;
  /** The extent that int32 offsets can address. Offsets of masked lanes may exceed the last element by up to one tile. */
  readonly int32Reach: number;
  /** The maximum number of programs along each axis of a grid on CUDA. AMD's limits are not lower. */
  readonly maxGrid: readonly [number, number, number];
  /** More elements than an output has in any GPU's memory. */
  readonly maxOutput: number;
  /** What a power of two of the real limits is here. */
  scaled(power: number): number;
}

/**
 * The limits where an int32 has this width, in proportion to those of 32 bits. Each int32 of 8 to 12 bits can be tried,
 * so tests compare proofs with evaluations of all launches.
 */
export function limitsOf(int32Bits: number): Limits {
  const int32End = 2 ** (int32Bits - 1);
  const scaled = (power: number): number => 2 ** Math.round((Math.log2(power) * (int32Bits - 1)) / 31);
  const maxNumel = scaled(MAX_NUMEL);
  const maxPrograms = scaled(2 ** 16) - 1;
  return {
    int32Bits,
    int32End,
    maxNumel,
    int32Reach: int32End - maxNumel,
    maxGrid: [int32End - 1, maxPrograms, maxPrograms],
    maxOutput: scaled(2 ** 40),
    scaled,
  };
}

/** The limits of GPUs. A kernel has others only in tests. */
export const LIMITS = limitsOf(32);

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
  { subject, dim, consumers, minimum: real }: MinimumDim,
  size: number,
  limits: Limits,
  suffix = "",
): MessageParts | undefined {
  const minimum = limits.scaled(real);
  if (size >= minimum) return undefined;
  return { problem: `${subject} ${dim} is ${size}${suffix}`, remedy: `${consumers} need at least ${minimum}` };
}
