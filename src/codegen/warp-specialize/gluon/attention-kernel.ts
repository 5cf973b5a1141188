/** The `@gluon.jit` functions of warp-specialized attention. */
import { hasLongHeads } from "../pattern/attention-configs.js";
import { bytesOf } from "../pattern/launch-constraints.js";
import { attentionPipeline } from "../pattern/pipeline.js";
import type { SpecializedAttention } from "../pattern/attention-plan.js";
import * as py from "../../syntax/py-build.js";
import type { Name } from "../../syntax/py.js";
import { attentionPartition } from "./attention-partitions.js";
import {
  type BlockSizes,
  type Emission,
  type GluonConfig,
  GluonEmitter,
  type PartitionFunctions,
  ringConfigs,
  type StagedBlock,
} from "./emitter.js";
import type { PartitionRole } from "./partition-context.js";
import type { AttentionNames, StagedTensor } from "./partition-names.js";

export class AttentionEmitter extends GluonEmitter<AttentionNames> {
  readonly shared: AttentionNames;

  constructor(
    emission: Emission,
    readonly specialized: SpecializedAttention,
  ) {
    super(emission, attentionPipeline);
    const { pattern, dims } = specialized;
    const { queries } = pattern;
    const { keys, values } = pattern.loops[0];
    const [q, ks, vs] = [queries, keys.block, values.block].map(({ tensor }) => tensor.name);
    this.shared = {
      queries: this.stagedTensor(queries),
      keys: this.stagedTensor(keys.block),
      values: this.stagedTensor(values.block),
      outputs: this.stagedOutputs(pattern.stores.flatMap(({ block }) => block ?? [])),
      barriers: this.barrierNames({
        queriesFilled: `${q}_filled`,
        queriesEmptied: `${q}_emptied`,
        keysFilled: `${ks}_filled`,
        keysEmptied: `${ks}_emptied`,
        valuesFilled: `${vs}_filled`,
        valuesEmptied: `${vs}_emptied`,
        turnGiven: "turn_given",
      }),
      stages: this.claimName("STAGES"),
      consumers: this.claimName("CONSUMERS"),
      ...(specialized.configs.some(hasLongHeads) && { pieces: this.claimName("PIECES") }),
      consumerIndex: this.claimName("part"),
      rows: this.dimension(dims.rows) as Name,
      scoresLayout: this.claimName("scores_layout"),
      accumulatorLayout: this.claimName("layout"),
    };
  }

  stagedTensors(): readonly StagedTensor[] {
    const { queries, keys, values, outputs } = this.shared;
    return [queries, keys, values, ...outputs.values()];
  }

  constants(): readonly Name[] {
    const { consumers, stages, pieces } = this.shared;
    return [consumers, stages, ...(pieces ? [pieces] : [])];
  }

  configs(): readonly GluonConfig[] {
    return ringConfigs(this.shared, this.specialized.configs);
  }

  functions(): PartitionFunctions {
    const { names } = this.emission;
    const { specialized, shared } = this;
    const { dims } = specialized;
    const size = (dim: string | number) => this.dimension(dim);
    const partition = (role: PartitionRole) => attentionPartition(specialized, shared, size, role);
    const producer = this.partitionFunction(`_${names.wrapper}_load`, partition("producer"), []);
    const bytes = bytesOf(shared.queries.tensor.dtype);
    const layouts = [
      this.productLayout(shared.scoresLayout, size(dims.columns), bytes),
      this.productLayout(shared.accumulatorLayout, size(dims.width), bytes),
    ];
    const consumer = this.partitionFunction(`_${names.wrapper}_multiply`, partition("consumer"), layouts);
    const { consumers, stages, queries, keys, values, outputs } = shared;
    const kernel = this.kernelFunction([
      this.allocation(queries, consumers),
      this.allocation(keys, stages),
      this.allocation(values, stages),
      ...[...outputs.values()].map((each) => this.allocation(each, consumers)),
      ...this.barrierSetup(),
      ...this.startPartitions(
        producer,
        consumer,
        specialized.configs.map((config) => config.consumers),
      ),
    ]);
    return { producer, consumer, kernel };
  }

  /** The block shape of each descriptor. */
  blocks({ dim, constant }: BlockSizes): readonly StagedBlock[] {
    const { pattern } = this.specialized;
    const [rows, columns, inner, width] = pattern.shape;
    const [loop] = pattern.loops;
    const { queries, keys, values, outputs, pieces } = this.shared;
    const outputColumns = pieces ? py.binary(dim(width), "//", constant(pieces)) : dim(width);
    const consumerRows = py.binary(dim(rows), "//", constant(this.shared.consumers));
    return [
      this.blockOf(queries, [consumerRows, dim(inner)]),
      this.blockOf(keys, [dim(inner), dim(columns)], loop.keys.isSwapped),
      this.blockOf(values, [dim(columns), dim(width)], loop.values.isSwapped),
      ...[...outputs.values()].map((output) => this.blockOf(output, [consumerRows, outputColumns])),
    ];
  }
}
