/**
 * Configs of a warp-specialized kernel: the author's configs that fit, with the sizes of the ring buffer and the
 * partitions.
 */
import type { Config } from "../../../compiled/compiled-kernel.js";
import { configsFor } from "../../../compiled/gpus.js";
import type { KernelIR } from "../../../ir/nodes.js";
import type { Consumers } from "./attention-configs.js";
import { type GemmPattern, mayPromote } from "./gemm-pattern.js";
import { notSpecializable } from "./not-specializable.js";
import { HALF_SHARED_BYTES, SHARED_BYTES } from "./launch-constraints.js";
import { GROUP_ROWS, MAX_COLUMNS, MAX_PROMOTED, MIN_ACCUMULATORS, stagesIn, tileFootprint } from "./tile-footprint.js";
import { isProductRowCountIndependent } from "./product-row-count.js";

export interface PipelineConfig {
  /** The author's config. */
  readonly config: Config;
  /** Number of consumer warp groups (four warps each). Each multiplies an equal part of the rows. */
  readonly consumers: Consumers;
  readonly stages: number;
  /** Number of column pieces in which a tile is stored, and number of piece buffers. */
  readonly pieces: number;
  readonly depth: number;
  /** If sums may be promoted: the number of products, side by side, that make the width of a tile. */
  readonly products?: number;
  /** If the ring buffer takes scales: the number of products in flight. */
  readonly inFlight?: 1 | 2;
  /** Registers per thread, if two programs share a multiprocessor. */
  readonly registers?: number;
}

const HOPPER = ["cuda", 90] as const;
/** float32 accumulators that a warp group can keep in registers along with its other values. */
const MAX_ACCUMULATORS = 64 * 256;
/** Columns of a mixed product: each thread of the widener has one. */
const WIDENED_COLUMNS = 128;
/** Registers per thread if two programs of eight warps each share a multiprocessor. */
const HALF_REGISTERS = 128;

/**
 * The configs that fit, and the pattern: without scales in the ring buffer, if no config fits with them.
 * @throws {@link NotSpecializable} if no config fits.
 */
export function ringConfigs(
  ir: KernelIR,
  matched: GemmPattern,
): { readonly pattern: GemmPattern; readonly configs: readonly PipelineConfig[] } {
  const { configs } = ir.tuning;
  const canShare = hasSeveralProgramsPerProcessor(ir);
  const indices = configsFor(configs, HOPPER);
  const authorConfigs = configs.filter((_, i) => indices.includes(i));
  const scaled = authorConfigs.flatMap((config) => scaledConfigs(config, ir, matched));
  const isScaled = scaled.length > 0;
  const pattern = isScaled ? matched : { ...matched, rowScales: undefined };
  const configsOf = (config: Config) =>
    pattern.widening ? mixedConfigs(config, pattern) : pipelineConfigsOf(config, pattern, canShare);
  const pipelineConfigs = isScaled ? scaled : authorConfigs.flatMap(configsOf);
  const columns = pattern.widening ? String(WIDENED_COLUMNS) : `up to ${MAX_COLUMNS}`;
  if (pipelineConfigs.length === 0)
    notSpecializable(
      `none of its configs has tiles that fit: of 64, 128 or 256 rows, ${columns} columns, and at least ${MIN_ACCUMULATORS} sums for each group of four warps`,
      ir.at,
    );
  const textOf = (each: PipelineConfig) => JSON.stringify({ ...each, config: each.config.values });
  const distinct = pipelineConfigs.filter(
    (each, i) => pipelineConfigs.findIndex((other) => textOf(other) === textOf(each)) === i,
  );
  return { pattern, configs: distinct };
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
  const footprint = tileFootprint(config, pattern);
  if (!footprint) return [];
  const { rows, columns, maxPieces } = footprint;
  const consumers = rows > GROUP_ROWS ? 2 : 1;
  const accumulators = (rows / consumers) * columns;
  if (accumulators > MAX_ACCUMULATORS || accumulators < MIN_ACCUMULATORS) return [];
  const isPromoted = mayPromote(pattern.accumulation);
  const promotion = isPromoted ? { products: Math.max(1, accumulators / MAX_PROMOTED) } : {};
  const buffering = [
    { pieces: 1, depth: 1 },
    { pieces: Math.min(4, maxPieces), depth: 2 },
  ];
  const exclusive = buffering.flatMap(({ pieces, depth }, i): readonly PipelineConfig[] => {
    if (i > 0 && pieces < 2) return [];
    const stages = stagesIn(SHARED_BYTES, footprint, pieces, depth);
    return stages < 2 ? [] : [{ config, consumers, stages, pieces, depth, ...promotion }];
  });
  const stages = stagesIn(HALF_SHARED_BYTES, footprint, 1, 1);
  const fitsTwice = config.numWarps === 4 && consumers === 2 && rows * columns <= MAX_ACCUMULATORS && stages >= 2;
  return canShare && fitsTwice && !isPromoted
    ? [...exclusive, { config, consumers: 1, stages, pieces: 1, depth: 1, registers: HALF_REGISTERS }]
    : exclusive;
}

/** The config with most stages of a mixed product: pieces may be so narrow that they leave memory for one more. */
function mixedConfigs(config: Config, pattern: GemmPattern): readonly PipelineConfig[] {
  const footprint = tileFootprint(config, pattern);
  if (footprint?.columns !== WIDENED_COLUMNS) return [];
  const { rows, maxPieces } = footprint;
  const consumers = rows > GROUP_ROWS ? 2 : 1;
  const [wide, narrow] = [maxPieces, 2 * maxPieces].map((pieces): PipelineConfig => {
    return { config, consumers, stages: stagesIn(SHARED_BYTES, footprint, pieces, 1), pieces, depth: 1 };
  });
  const best = wide && narrow && narrow.stages > wide.stages ? narrow : wide;
  return best && best.stages >= 2 ? [best] : [];
}

// If scales pass through the ring buffer, a consumer holds one product beside its sum, or two.

function scaledConfigs(config: Config, ir: KernelIR, pattern: GemmPattern): readonly PipelineConfig[] {
  if (!pattern.rowScales) return [];
  const [rows] = pattern.shape;
  const rowCount = typeof rows === "string" ? config.values[rows] : rows;
  if (rowCount !== GROUP_ROWS && rowCount !== 2 * GROUP_ROWS) return [];
  const first = scaledConfig(config, pattern, rowCount === GROUP_ROWS ? 1 : 2);
  if (!first) return [];
  // Two products in flight take the registers of a third consumer.
  const all: readonly PipelineConfig[] = [first, { ...first, inFlight: 2 }];
  if (first.consumers === 1 || !isProductRowCountIndependent(ir, pattern)) return all;
  const larger = { ...config, values: { ...config.values, [rows]: 3 * GROUP_ROWS } };
  // Narrower pieces leave memory for one more stage.
  return [...all, ...[scaledConfig(larger, pattern, 3, 2 * first.pieces) ?? []].flat()];
}

/** The config with one product in flight, if it fits. */
function scaledConfig(
  config: Config,
  pattern: GemmPattern,
  consumers: Consumers,
  wantedPieces?: number,
): PipelineConfig | undefined {
  const footprint = tileFootprint(config, pattern);
  if (!footprint || (footprint.rows / consumers) * footprint.columns !== MAX_PROMOTED) return undefined;
  const pieces = wantedPieces ?? Math.max(1, Math.min(4, footprint.maxPieces));
  const stages = stagesIn(SHARED_BYTES, footprint, pieces, 1);
  return stages < 2 ? undefined : { config, consumers, stages, pieces, depth: 1, inFlight: 1 };
}
