/** The objects that emit one partition of a warp-specialized kernel. */
import type { SpecializedAttention } from "../pattern/attention-plan.js";
import type { SpecializedGemm } from "../pattern/gemm-plan.js";
import type { Specialized } from "../pattern/specialize.js";
import { ConsumerRows } from "./consumer-rows.js";
import { PartitionBuilder } from "./partition-builder.js";
import type { AttentionNames, GemmNames, PipelineNames, SizeOf } from "./partition-names.js";
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

export function partitionContext<Plan extends Specialized, Names extends PipelineNames>(
  specialized: Plan,
  names: Names,
  size: SizeOf,
  role: PartitionRole,
): PartitionContext<Plan, Names> {
  const { accumulator, shape } = specialized.pattern;
  const builder = new PartitionBuilder(accumulator.variable.scope);
  return {
    specialized,
    names,
    size,
    isConsumer: role === "consumer",
    builder,
    pipeline: new PipelineState(builder, names),
    rows: new ConsumerRows(builder, names, shape[0]),
    tileLoop: new TileLoop(builder),
  };
}
