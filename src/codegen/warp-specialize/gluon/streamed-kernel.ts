/** The `@gluon.jit` functions of warp-specialized streamed products. */
import { extentDim } from "../pattern/block-index.js";
import type { BlockAccess } from "../pattern/block-access.js";
import { bytesOf } from "../pattern/launch-constraints.js";
import type { SpecializedStream } from "../pattern/streamed-plan.js";
import * as py from "../../syntax/py-build.js";
import type { Name } from "../../syntax/py.js";
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
import type { StagedTensor, StreamedNames } from "./partition-names.js";
import { streamedPartition } from "./streamed-partitions.js";

export class StreamedEmitter extends GluonEmitter<StreamedNames> {
  readonly shared: StreamedNames;

  constructor(
    emission: Emission,
    readonly specialized: SpecializedStream,
  ) {
    super(emission, specialized.pipeline);
    const { pattern, channels } = specialized;
    const { residents, loops, shape } = pattern;
    const [{ streams, vectors }] = loops;
    const names = streams.flatMap(({ tensor: { name } }, i) => [
      [`filled ${i}`, `${name}_filled`],
      [`emptied ${i}`, `${name}_emptied`],
    ]);
    this.shared = {
      residents: residents.map((each) => this.stagedTensor(each)),
      streams: streams.map((each) => this.stagedTensor(each)),
      vectors: vectors.flatMap(({ tensor }, i) =>
        channels[i] === undefined ? [] : [this.stagedTensor({ tensor, firstAxis: 0 })],
      ),
      outputs: new Map(),
      barriers: this.barrierNames({ ownFilled: "own_filled", ...Object.fromEntries(names) }),
      stages: this.claimName("STAGES"),
      consumers: this.claimName("CONSUMERS"),
      consumerIndex: this.claimName("part"),
      rows: this.dimension(shape[0]) as Name,
      scoresLayout: this.claimName("scores_layout"),
      accumulatorLayout: this.claimName("layout"),
    };
  }

  stagedTensors(): readonly StagedTensor[] {
    const { residents, streams, vectors } = this.shared;
    return [...residents, ...streams, ...vectors];
  }

  constants(): readonly Name[] {
    return [this.shared.consumers, this.shared.stages];
  }

  configs(): readonly GluonConfig[] {
    return ringConfigs(this.shared, this.specialized.configs);
  }

  functions(): PartitionFunctions {
    const { wrapper } = this.emission.names;
    const { specialized, shared } = this;
    const { pattern, dims, configs } = specialized;
    const partition = (role: PartitionRole) =>
      streamedPartition(specialized, shared, (dim) => this.dimension(dim), role);
    const producer = this.partitionFunction(`_${wrapper}_load`, partition("producer"), []);
    const bytes = bytesOf(pattern.residents[0]?.tensor.dtype ?? "float16");
    const consumer = this.partitionFunction(`_${wrapper}_multiply`, partition("consumer"), [
      this.productLayout(shared.scoresLayout, this.dimension(dims.columns), bytes),
      this.productLayout(shared.accumulatorLayout, this.dimension(dims.width), bytes),
    ]);
    const { consumers, stages, residents, streams, vectors } = shared;
    const counts = configs.map((config) => config.consumers);
    const kernel = this.kernelFunction([
      ...residents.map((each) => this.allocation(each, consumers)),
      ...[...streams, ...vectors].map((each) => this.allocation(each, stages)),
      ...this.barrierSetup(),
      ...this.startPartitions(producer, consumer, counts),
    ]);
    return { producer, consumer, kernel };
  }

  /** The block shape of each descriptor. */
  blocks({ dim, constant }: BlockSizes): readonly StagedBlock[] {
    const { residents, loops, shape } = this.specialized.pattern;
    const [rows, columns] = shape;
    const { residents: residentTensors, streams, vectors, consumers } = this.shared;
    const consumerRows = py.binary(dim(rows), "//", constant(consumers));
    const widthOf = (block: BlockAccess | undefined) => dim(extentDim(block?.axes[1].extent ?? ZERO));
    return [
      ...residentTensors.map((each, i) => this.blockOf(each, [consumerRows, widthOf(residents[i])])),
      ...streams.map((each, i) => this.blockOf(each, [dim(columns), widthOf(loops[0].streams[i])])),
      ...vectors.map((each): StagedBlock => {
        const lead = Array.from({ length: each.tensor.dims.length - 1 }, () => py.number("1"));
        return [each, [...lead, dim(columns)]];
      }),
    ];
  }
}

const ZERO = { kind: "literal", value: 0 } as const;
