/** The `@gluon.jit` functions of a warp-specialized GEMM. */
import { gemmPipeline } from "../pattern/pipeline.js";
import type { SpecializedGemm } from "../pattern/gemm-plan.js";
import type { BlockAccess } from "../pattern/block-access.js";
import { extentDim } from "../pattern/block-index.js";
import * as py from "../../syntax/py-build.js";
import type { Name } from "../../syntax/py.js";
import type { Dim } from "../../../types/shape.js";
import {
  type BlockSizes,
  type Emission,
  type GluonConfig,
  GluonEmitter,
  type PartitionFunctions,
  type StagedBlock,
} from "./emitter.js";
import { gemmPartition } from "./gemm-partitions.js";
import type { PartitionRole } from "./partition-context.js";
import type { GemmNames, StagedTensor } from "./partition-names.js";

export class GemmEmitter extends GluonEmitter<GemmNames> {
  readonly shared: GemmNames;

  constructor(
    emission: Emission,
    readonly specialized: SpecializedGemm,
  ) {
    super(emission, gemmPipeline);
    const { pattern } = specialized;
    const [a, b] = pattern.operands;
    this.shared = {
      operands: [this.stagedTensor(a.block), this.stagedTensor(b.block)],
      outputs: this.stagedOutputs(pattern.stores),
      barriers: this.barrierNames({}),
      stages: this.claimName("STAGES"),
      consumers: this.claimName("CONSUMERS"),
      pieces: this.claimName("PIECES"),
      depth: this.claimName("DEPTH"),
      consumerIndex: this.claimName("part"),
      rows: this.dimension(pattern.shape[0]) as Name,
      layout: this.claimName("layout"),
    };
  }

  stagedTensors(): readonly StagedTensor[] {
    return [...this.shared.operands, ...this.shared.outputs.values()];
  }

  constants(): readonly Name[] {
    const { consumers, stages, pieces, depth } = this.shared;
    return [consumers, stages, pieces, depth];
  }

  functions(): PartitionFunctions {
    const { ir, names } = this.emission;
    const { specialized, shared } = this;
    const size = (dim: Dim) => this.dimension(dim);
    const partition = (role: PartitionRole) => gemmPartition(ir, specialized, shared, size, role);
    const producer = this.partitionFunction(`_${names.wrapper}_load`, partition("producer"), []);
    const layout = this.productLayout(shared.layout, specialized.pattern.shape[1]);
    const consumer = this.partitionFunction(`_${names.wrapper}_multiply`, partition("consumer"), [layout]);
    const { stages, consumers, depth, operands, outputs } = shared;
    const [a, b] = operands;
    const kernel = this.kernelFunction([
      this.allocation(a, py.binary(stages, "*", consumers)),
      this.allocation(b, stages),
      ...[...outputs.values()].map((each) => this.allocation(each, py.binary(consumers, "*", depth))),
      ...this.barrierSetup(),
      ...this.startPartitions(
        producer,
        consumer,
        specialized.configs.map((config) => config.consumers),
      ),
    ]);
    return { producer, consumer, kernel };
  }

  configs(): readonly GluonConfig[] {
    const { shared } = this;
    return this.specialized.configs.map(({ config, consumers, stages, pieces, depth, registers }) => ({
      config,
      registers,
      constants: {
        [shared.consumers.id]: consumers,
        [shared.stages.id]: stages,
        [shared.pieces.id]: pieces,
        [shared.depth.id]: depth,
      },
    }));
  }

  /** The block shape of each descriptor. */
  blocks({ dim, constant }: BlockSizes): readonly StagedBlock[] {
    const { pattern } = this.specialized;
    const [rows, columns, inner] = pattern.shape;
    const consumerRows = py.binary(dim(rows), "//", constant(this.shared.consumers));
    const [left, right] = pattern.operands;
    const [a, b] = this.shared.operands;
    const storedShape = ({ axes: [, columnAxis] }: BlockAccess) =>
      [consumerRows, py.binary(dim(extentDim(columnAxis.extent)), "//", constant(this.shared.pieces))] as const;
    return [
      this.blockOf(a, [consumerRows, dim(inner)], left.isSwapped),
      this.blockOf(b, [dim(inner), dim(columns)], right.isSwapped),
      ...[...this.shared.outputs.values()].map((output) => this.blockOf(output, storedShape(output.store))),
    ];
  }
}
