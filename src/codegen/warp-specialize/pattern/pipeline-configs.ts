/**
 * Configs of a warp-specialized kernel: the author's configs that fit, with the sizes of the ring buffer and the
 * partitions.
 */
import type { Config } from "../../../compiled/compiled-kernel.js";
import { configsFor } from "../../../compiled/gpus.js";
import type { KernelIR } from "../../../ir/nodes.js";
import type { Dim } from "../../../types/shape.js";
import { extentDim } from "./block-index.js";
import { type GemmPattern, mayPromote } from "./gemm-pattern.js";
import { bytesOf, HALF_SHARED_BYTES, SHARED_BYTES } from "./shared-memory.js";
import { notSpecializable } from "./not-specializable.js";

export interface PipelineConfig {
  /** The author's config. */
  readonly config: Config;
  /** Number of consumer warp groups (four warps each). Each multiplies all rows or half of them. */
  readonly consumers: 1 | 2;
  readonly stages: number;
  /** Number of column pieces in which a tile is stored, and number of piece buffers. */
  readonly pieces: number;
  readonly depth: number;
  /** If sums may be promoted: the number of products, side by side, that make the width of a tile. */
  readonly products?: number;
  /** Registers per thread, if two programs share a multiprocessor. */
  readonly registers?: number;
}

const HOPPER = ["cuda", 90] as const;
/** Rows of a warp group's tensor-core instruction, and its maximum number of columns. */
const GROUP_ROWS = 64;
const MAX_COLUMNS = 256;
/** Bytes of each row that the instruction takes at once. */
export const INSTRUCTION_BYTES = 32;
/** float32 accumulators that a warp group can keep in registers along with its other values. */
const MAX_ACCUMULATORS = 64 * 256;
/** With fewer accumulators per tile, the tensor cores wait for loads. */
const MIN_ACCUMULATORS = 64 * 128;
/** A product that registers hold along with {@link MAX_ACCUMULATORS}, to which it is added. */
const MAX_PROMOTED = 64 * 128;
/** Minimum bytes per row of a piece, so that the shared-memory swizzle uses all banks. */
const MIN_PIECE_BYTES = 128;
const MAX_STAGES = 8;
/** Registers per thread if two programs of eight warps each share a multiprocessor. */
const HALF_REGISTERS = 128;

/** @throws {@link NotSpecializable} if no config fits. */
export function ringConfigs(ir: KernelIR, pattern: GemmPattern): readonly PipelineConfig[] {
  const { configs } = ir.tuning;
  const canShare = hasSeveralProgramsPerProcessor(ir);
  const indices = configsFor(configs, HOPPER);
  const pipelineConfigs = configs
    .filter((_, i) => indices.includes(i))
    .flatMap((config) => pipelineConfigsOf(config, pattern, canShare));
  if (pipelineConfigs.length === 0)
    notSpecializable(
      `none of its configs has tiles that fit: of 64, 128 or 256 rows, up to ${MAX_COLUMNS} columns, and at least ${MIN_ACCUMULATORS} sums for each group of four warps`,
      ir.at,
    );
  const textOf = (each: PipelineConfig) => JSON.stringify({ ...each, config: each.config.values });
  return pipelineConfigs.filter(
    (each, i) => pipelineConfigs.findIndex((other) => textOf(other) === textOf(each)) === i,
  );
}

/** True if the grid is a multiple of the number of multiprocessors, so that they process tiles alternately. */
function hasSeveralProgramsPerProcessor({ params, grid }: KernelIR): boolean {
  const processorCounts = params.flatMap(({ kind, value }) => (kind === "device" ? [value] : []));
  return grid.block.statements.some(
    (statement) =>
      statement.kind === "op" &&
      statement.op.facts.integer === "product" &&
      statement.operands.some((operand) => processorCounts.some((count) => count === operand)),
  );
}

/**
 * The pipeline configs of a config. If a tile fits a single warp group, two programs may share a multiprocessor: one
 * multiplies during the epilogue of the other.
 */
function pipelineConfigsOf(config: Config, pattern: GemmPattern, canShare: boolean): readonly PipelineConfig[] {
  const { shape, operands, stores, accumulation } = pattern;
  const [rows, columns, inner] = shape.map((dim) => sizeOf(dim, config));
  const minInner = INSTRUCTION_BYTES / bytesOf(operands[0].block.tensor.dtype);
  if (!rows || !columns || !inner || columns > MAX_COLUMNS || columns < 16 || inner < minInner) return [];
  if (rows % GROUP_ROWS !== 0 || rows > 4 * GROUP_ROWS) return [];
  const consumers = rows > GROUP_ROWS ? 2 : 1;
  const accumulators = (rows / consumers) * columns;
  if (accumulators > MAX_ACCUMULATORS || accumulators < MIN_ACCUMULATORS) return [];
  const [a, b] = operands;
  const stageBytes = rows * inner * bytesOf(a.block.tensor.dtype) + inner * columns * bytesOf(b.block.tensor.dtype);
  const outputs = new Map(stores.map(({ tensor, axes }) => [tensor, { axes, bytes: bytesOf(tensor.dtype) }]));
  const widths = [...outputs.values()].map(({ axes, bytes }) => ({
    width: sizeOf(extentDim(axes[1].extent), config) ?? 0,
    bytes,
  }));
  const maxPieces = Math.min(...widths.map(({ width, bytes }) => (width * bytes) / MIN_PIECE_BYTES));
  const outputBytes = (pieces: number, depth: number) =>
    widths.reduce((sum, { width, bytes }) => sum + (rows * width * bytes * depth) / pieces, 0);
  const isPromoted = mayPromote(accumulation);
  const promotion = isPromoted ? { products: Math.max(1, accumulators / MAX_PROMOTED) } : {};
  const buffering = [
    { pieces: 1, depth: 1 },
    { pieces: Math.min(4, maxPieces), depth: 2 },
  ];
  const stagesIn = (bytes: number, pieces: number, depth: number) =>
    Math.min(MAX_STAGES, Math.floor((bytes - outputBytes(pieces, depth)) / stageBytes));
  const exclusive = buffering.flatMap(({ pieces, depth }, i): readonly PipelineConfig[] => {
    if (i > 0 && pieces < 2) return [];
    const stages = stagesIn(SHARED_BYTES, pieces, depth);
    return stages < 2 ? [] : [{ config, consumers, stages, pieces, depth, ...promotion }];
  });
  const stages = stagesIn(HALF_SHARED_BYTES, 1, 1);
  const fitsTwice = config.numWarps === 4 && consumers === 2 && rows * columns <= MAX_ACCUMULATORS && stages >= 2;
  return canShare && fitsTwice && !isPromoted
    ? [...exclusive, { config, consumers: 1, stages, pieces: 1, depth: 1, registers: HALF_REGISTERS }]
    : exclusive;
}

function sizeOf(dim: Dim, { values }: Config): number | undefined {
  const size = typeof dim === "number" ? dim : values[dim];
  return typeof size === "number" ? size : undefined;
}
