/** The shared memory and the registers of a product's tile. */
import type { Config } from "../../../compiled/compiled-kernel.js";
import type { Dim } from "../../../types/shape.js";
import { extentDim } from "./block-index.js";
import type { GemmPattern } from "./gemm-pattern.js";
import { bytesOf } from "./launch-constraints.js";

/** Rows of a warp group's tensor-core instruction, and its maximum number of columns. */
export const GROUP_ROWS = 64;
export const MAX_COLUMNS = 256;
/** Bytes of each row that the instruction takes at once. */
export const INSTRUCTION_BYTES = 32;
/** With fewer accumulators per tile, the tensor cores wait for loads. */
export const MIN_ACCUMULATORS = 64 * 128;
/** A product that registers hold along with a tile's accumulators, to which it is added. */
export const MAX_PROMOTED = 64 * 128;
/** Minimum bytes per row of a piece, so that the shared-memory swizzle uses all banks. */
const MIN_PIECE_BYTES = 128;
const MAX_STAGES = 8;

/** The shared memory of a config: bytes of a stage and of a tile's outputs, and the pieces that they may have. */
export interface Footprint {
  readonly rows: number;
  readonly columns: number;
  readonly stageBytes: number;
  readonly outputBytes: (pieces: number, depth: number) => number;
  readonly maxPieces: number;
}

/** Undefined if the tensor cores have no instruction for the tile. */
export function tileFootprint(config: Config, pattern: GemmPattern): Footprint | undefined {
  const {
    shape,
    operands: [a, b],
    rowScales,
    widening,
    stores,
  } = pattern;
  const [rows, columns, inner] = shape.map((dim) => sizeOf(dim, config));
  const { packing = 1 } = widening ?? {};
  const minInner = INSTRUCTION_BYTES / bytesOf(a.block.tensor.dtype);
  if (!rows || !columns || !inner || columns > MAX_COLUMNS || columns < 16 || inner < minInner) return undefined;
  if (rows % GROUP_ROWS !== 0 || rows > 4 * GROUP_ROWS) return undefined;
  const outputs = new Map(stores.map(({ tensor, axes }) => [tensor, { axes, bytes: bytesOf(tensor.dtype) }]));
  const widths = [...outputs.values()].map(({ axes, bytes }) => ({
    width: sizeOf(extentDim(axes[1].extent), config) ?? 0,
    bytes,
  }));
  return {
    rows,
    columns,
    stageBytes:
      rows * (inner * bytesOf(a.block.tensor.dtype) + (rowScales ? bytesOf(rowScales.tensor.dtype) : 0)) +
      inner * columns * (bytesOf(b.block.tensor.dtype) / packing + (widening ? bytesOf(a.block.tensor.dtype) : 0)),
    outputBytes: (pieces, depth) =>
      widths.reduce((sum, { width, bytes }) => sum + (rows * width * bytes * depth) / pieces, 0),
    maxPieces: Math.min(...widths.map(({ width, bytes }) => (width * bytes) / MIN_PIECE_BYTES)),
  };
}

export const stagesIn = (
  bytes: number,
  { stageBytes, outputBytes }: Footprint,
  pieces: number,
  depth: number,
): number => Math.min(MAX_STAGES, Math.floor((bytes - outputBytes(pieces, depth)) / stageBytes));

function sizeOf(dim: Dim, { values }: Config): number | undefined {
  const size = typeof dim === "number" ? dim : values[dim];
  return typeof size === "number" ? size : undefined;
}
