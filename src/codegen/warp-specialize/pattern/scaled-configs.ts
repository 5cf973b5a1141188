/** Configs of a product whose scales pass through the ring buffer. A consumer holds one product beside its sum, or two. */
import type { Config } from "../../../compiled/compiled-kernel.js";
import type { KernelIR } from "../../../ir/nodes.js";
import type { Consumers } from "./attention-configs.js";
import type { GemmPattern } from "./gemm-pattern.js";
import type { PipelineConfig } from "./pipeline-configs.js";
import { isProductRowCountIndependent } from "./product-row-count.js";
import { SHARED_BYTES } from "./shared-memory.js";
import { GROUP_ROWS, MAX_PROMOTED, stagesIn, tileFootprint } from "./tile-footprint.js";

export function scaledConfigs(config: Config, ir: KernelIR, pattern: GemmPattern): readonly PipelineConfig[] {
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
