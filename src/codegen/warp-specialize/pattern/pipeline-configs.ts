/** The configs of a warp-specialized kernel: those of the author that fit, with the sizes of the ring and of its parts. */
import type { Config } from "../../../compiled/compiled-kernel.js";
import { configsFor } from "../../../compiled/configs-by-gpu.js";
import type { KernelIR } from "../../../ir/nodes.js";
import type { Dim } from "../../../types/shape.js";
import { extentDim } from "./block-index.js";
import type { GemmPattern } from "./gemm-pattern.js";
import { bytesOf, HALF_SHARED_BYTES, SHARED_BYTES } from "./shared-memory.js";
import { notSpecializable } from "./not-specializable.js";

export interface PipelineConfig {
  /** The author's. */
  readonly config: Config;
  /** Groups of four warps that multiply, each half of the rows, or all of them. */
  readonly consumers: 1 | 2;
  readonly stages: number;
  /** How many pieces of columns a stored tile goes out in, and how many of them at a time. */
  readonly pieces: number;
  readonly depth: number;
  /** Registers of a thread, where two programs share a multiprocessor. */
  readonly registers?: number;
}

const HOPPER = ["cuda", 90] as const;
/** Rows of a group of four warps, as the tensor cores take them, and the most columns. */
const GROUP_ROWS = 64;
const MOST_COLUMNS = 256;
/** float32 sums that a group of four warps keeps in registers, beside what else it needs. */
const MOST_SUMS = 64 * 256;
/** A tile with fewer sums keeps the tensor cores waiting for its loads. */
const LEAST_SUMS = 64 * 128;
/** A piece's rows are at least this wide, so that shared memory is swizzled over all its banks. */
const PIECE_BYTES = 128;
const MOST_STAGES = 8;
/** Two programs on a multiprocessor, of eight warps each: what one of them has. */
const HALF_REGISTERS = 128;

/** @throws Unsuited if no config fits. */
export function ringConfigs(ir: KernelIR, form: GemmPattern): readonly PipelineConfig[] {
  const { configs } = ir.tuning;
  const mayShare = launchesSeveral(ir);
  const found = configsFor(configs, HOPPER).flatMap((place) => ringsOf(configs[place]!, form, mayShare));
  if (found.length === 0)
    notSpecializable(
      `none of its configs has tiles that fit: of 64, 128 or 256 rows, up to ${MOST_COLUMNS} columns, and at least ${LEAST_SUMS} sums for each group of four warps`,
      ir.at,
    );
  const texts = found.map((each) => JSON.stringify({ ...each, config: each.config.values }));
  return found.filter((_, i) => texts.indexOf(texts[i]!) === i);
}

/** Whether the grid has several programs for each multiprocessor, which take tiles in turn. */
function launchesSeveral({ params, grid }: KernelIR): boolean {
  const counts = params.flatMap(({ kind, value }) => (kind === "device" ? [value] : []));
  return grid.block.statements.some(
    (statement) =>
      statement.kind === "op" &&
      statement.op.facts.integer === "product" &&
      statement.operands.some((operand) => counts.some((count) => count === operand)),
  );
}

/**
 * The rings of a config. One with tiles for a group of four warps may have two programs on a multiprocessor: one multiplies
 * while the other is in its epilogue.
 */
function ringsOf(config: Config, form: GemmPattern, mayShare: boolean): readonly PipelineConfig[] {
  const { shape, operands, stores } = form;
  const [rows, columns, inner] = shape.map((dim) => sizeOf(dim, config));
  if (!rows || !columns || !inner || columns > MOST_COLUMNS || columns < 16 || inner < 16) return [];
  if (rows % GROUP_ROWS !== 0 || rows > 4 * GROUP_ROWS) return [];
  const consumers = rows > GROUP_ROWS ? 2 : 1;
  const sums = (rows / consumers) * columns;
  if (sums > MOST_SUMS || sums < LEAST_SUMS) return [];
  const [a, b] = operands.map(({ block }) => bytesOf(block.tensor.dtype));
  const turn = rows * inner * a! + inner * columns * b!;
  const outputs = new Map(stores.map(({ tensor, axes }) => [tensor, { axes, bytes: bytesOf(tensor.dtype) }]));
  const widths = [...outputs.values()].map(({ axes, bytes }) => ({
    width: sizeOf(extentDim(axes[1]!.extent), config) ?? 0,
    bytes,
  }));
  const least = Math.min(...widths.map(({ width, bytes }) => (width * bytes) / PIECE_BYTES));
  const staged = (pieces: number, depth: number) =>
    widths.reduce((sum, { width, bytes }) => sum + (rows * width * bytes * depth) / pieces, 0);
  const ways = [
    { pieces: 1, depth: 1 },
    { pieces: Math.min(4, least), depth: 2 },
  ];
  const stagesIn = (bytes: number, pieces: number, depth: number) =>
    Math.min(MOST_STAGES, Math.floor((bytes - staged(pieces, depth)) / turn));
  const alone = ways.flatMap(({ pieces, depth }, i): readonly PipelineConfig[] => {
    if (i > 0 && pieces < 2) return [];
    const stages = stagesIn(SHARED_BYTES, pieces, depth);
    return stages < 2 ? [] : [{ config, consumers, stages, pieces, depth }];
  });
  const stages = stagesIn(HALF_SHARED_BYTES, 1, 1);
  const isHalf = config.numWarps === 4 && consumers === 2 && rows * columns <= MOST_SUMS && stages >= 2;
  return mayShare && isHalf
    ? [...alone, { config, consumers: 1, stages, pieces: 1, depth: 1, registers: HALF_REGISTERS }]
    : alone;
}

function sizeOf(dim: Dim, { values }: Config): number | undefined {
  const size = typeof dim === "number" ? dim : values[dim];
  return typeof size === "number" ? size : undefined;
}
