/** The objects that emit one partition of a warp-specialized kernel. */
import type { SpecializedAttention } from "../pattern/attention-plan.js";
import type { SpecializedGemm } from "../pattern/gemm-plan.js";
import type { SpecializedStream } from "../pattern/streamed-plan.js";
import type { Specialized } from "../pattern/specialize.js";
import { ConsumerRows } from "./consumer-rows.js";
import { PartitionBuilder } from "./partition-builder.js";
import type { AttentionNames, GemmNames, PipelineNames, ScoresNames, SizeOf } from "./partition-names.js";
import { PipelineState } from "./pipeline-state.js";
import { TileLoop } from "./tile-loop.js";

export type PartitionRole = "producer" | "consumer";

export interface PartitionContext<Plan extends Specialized, Names extends PipelineNames> {
  readonly specialized: Plan;
  readonly names: Names;
  readonly size: SizeOf;
  readonly isConsumer: boolean;
  readonly builder: PartitionBuilder;
  readonly pipeline: PipelineState;
  readonly rows: ConsumerRows;
  readonly tileLoop: TileLoop;
}

export type GemmContext = PartitionContext<SpecializedGemm, GemmNames>;
export type AttentionContext = PartitionContext<SpecializedAttention, AttentionNames>;
/** The context of a form with scores and sums. */
export type ScoresContext = PartitionContext<SpecializedAttention | SpecializedStream, ScoresNames>;

export function partitionContext<Plan extends Specialized, Names extends PipelineNames>(
  specialized: Plan,
  names: Names,
  size: SizeOf,
  role: PartitionRole,
): PartitionContext<Plan, Names> {
  const { pattern } = specialized;
  const { variable } = "sums" in pattern ? pattern.sums[0] : pattern.accumulator;
  const builder = new PartitionBuilder(variable.scope);
  return {
    specialized,
    names,
    size,
    isConsumer: role === "consumer",
    builder,
    pipeline: new PipelineState(builder, names),
    rows: new ConsumerRows(builder, names, pattern.shape[0]),
    tileLoop: new TileLoop(builder),
  };
}
