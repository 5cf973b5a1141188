/** The `@gluon.jit` functions of a warp-specialized product. */
import { gemmPipeline } from "../pattern/pipeline.js";
import type { SpecializedGemm } from "../pattern/gemm-plan.js";
import { extentDim } from "../pattern/block-index.js";
import * as py from "../../syntax/py-build.js";
import type { Expression, FunctionDef, Name } from "../../syntax/py.js";
import type { TensorParam } from "../../../ir/nodes.js";
import type { Dim } from "../../../types/shape.js";
import type { BlockSizes, GluonConfig } from "./kernel.js";
import { type Emission, GluonEmitter } from "./emitter.js";
import type { PartNames, Staged } from "./partition-names.js";
import { consumerPartition, producerPartition } from "./partitions.js";

export class GemmEmitter extends GluonEmitter<PartNames> {
  readonly shared: PartNames;

  constructor(
    emission: Emission,
    readonly specialized: SpecializedGemm,
  ) {
    super(emission, gemmPipeline);
    const { form } = specialized;
    const [a, b] = form.operands.map(({ block }) => this.stagedOf(block));
    this.shared = {
      operands: [a!, b!],
      outputs: this.stagedOutputs(form.stores),
      barriers: this.barrierNames({}),
      stages: this.takeName("STAGES"),
      consumers: this.takeName("CONSUMERS"),
      pieces: this.takeName("PIECES"),
      depth: this.takeName("DEPTH"),
      part: this.takeName("part"),
      rows: this.dimension(form.shape[0]) as Name,
      layout: this.takeName("layout"),
    };
  }

  staged(): readonly Staged[] {
    return [...this.shared.operands, ...this.shared.outputs.values()];
  }

  constants(): readonly Name[] {
    const { consumers, stages, pieces, depth } = this.shared;
    return [consumers, stages, pieces, depth];
  }

  functions(): readonly FunctionDef[] {
    const { ir, names } = this.emission;
    const { specialized, shared } = this;
    const size = (dim: Dim) => this.dimension(dim);
    const producer = this.partFunction(`_${names.wrapper}_load`, producerPartition(ir, specialized, shared, size), []);
    const layout = this.productLayout(shared.layout, specialized.form.shape[1]);
    const consumer = this.partFunction(`_${names.wrapper}_multiply`, consumerPartition(ir, specialized, shared, size), [
      layout,
    ]);
    const { stages, consumers, depth, operands, outputs } = shared;
    const [a, b] = operands;
    const kernel = this.kernelFunction([
      this.allocated(a, py.binary(stages, "*", consumers)),
      this.allocated(b, stages),
      ...[...outputs.values()].map((each) => this.allocated(each, py.binary(consumers, "*", depth))),
      ...this.barriers(),
      ...this.partitions(
        producer,
        consumer,
        specialized.configs.map((config) => config.consumers),
      ),
    ]);
    return [producer, consumer, kernel];
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

  /** The block of each descriptor. */
  blocks({ dim, constant }: BlockSizes): readonly (readonly [Staged, readonly Expression[]])[] {
    const { form } = this.specialized;
    const [rows, columns, inner] = form.shape;
    const part = py.binary(dim(rows), "//", constant(this.shared.consumers));
    const given = [
      [part, dim(inner)],
      [dim(inner), dim(columns)],
    ].map((block, i) => (form.operands[i]!.swapped ? block.toReversed() : block));
    const written = (tensor: TensorParam) => {
      const store = form.stores.find((each) => each.tensor === tensor)!;
      return [part, py.binary(dim(extentDim(store.axes[1]!.extent)), "//", constant(this.shared.pieces))];
    };
    return this.staged().map((staged, i) => [staged, this.blockOf(staged, given[i] ?? written(staged.tensor))]);
  }
}
