/** The `@gluon.jit` functions of a warp-specialized GEMM. */
import { type SpecializedGemm, widenerStatements } from "../pattern/gemm-plan.js";
import type { BlockAccess } from "../pattern/block-access.js";
import { extentDim } from "../pattern/block-index.js";
import * as py from "../../syntax/py-build.js";
import type { Block, Name } from "../../syntax/py.js";
import { type Accumulation, mayPromote } from "../pattern/gemm-pattern.js";
import { bytesOf } from "../pattern/launch-constraints.js";
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
import type { ProductRole } from "./partition-context.js";
import type { GemmNames, StagedTensor } from "./partition-names.js";
import { rowsOfPacked, wideningLayout } from "./widening-loop.js";

/** True if pieces are all that a sum consists of, or if they are multiplied by factors. */
const isPiecewise = ({ arms }: Accumulation): boolean =>
  arms.every((arm) => !arm || arm.isPromoted) || arms.some((arm) => arm && arm.factors.length > 0);

export class GemmEmitter extends GluonEmitter<GemmNames> {
  readonly shared: GemmNames;

  constructor(
    emission: Emission,
    readonly specialized: SpecializedGemm,
  ) {
    super(emission, specialized.pipeline);
    const { pattern } = specialized;
    const { rowScales } = pattern;
    const [a, b] = pattern.operands;
    const layout = this.claimName("layout");
    this.shared = {
      operands: [this.stagedTensor(a.block), this.stagedTensor(b.block)],
      ...(pattern.widening && { widenedBlocks: this.claimName("widened_blocks") }),
      ...(rowScales && { rowScales: this.stagedTensor({ tensor: rowScales.tensor, firstAxis: 0 }) }),
      outputs: this.stagedOutputs(pattern.stores),
      barriers: this.barrierNames({}),
      stages: this.claimName("STAGES"),
      consumers: this.claimName("CONSUMERS"),
      pieces: this.claimName("PIECES"),
      depth: this.claimName("DEPTH"),
      consumerIndex: this.claimName("part"),
      rows: this.dimension(pattern.shape[0]) as Name,
      layout,
      products: this.claimName("PRODUCTS"),
      inFlight: this.claimName("IN_FLIGHT"),
      // One layout for both lets rows of factors and of the epilogue share one, too.
      productLayout: isPiecewise(pattern.accumulation) ? layout : this.claimName("product_layout"),
    };
  }

  stagedTensors(): readonly StagedTensor[] {
    const { operands, rowScales, outputs } = this.shared;
    return [...operands, ...(rowScales ? [rowScales] : []), ...outputs.values()];
  }

  constants(): readonly Name[] {
    const { consumers, stages, pieces, depth, products, inFlight } = this.shared;
    return [consumers, stages, pieces, depth, products, inFlight];
  }

  functions(): PartitionFunctions {
    const { ir, names } = this.emission;
    const { specialized, shared } = this;
    const size = (dim: Dim) => this.dimension(dim);
    const partition = (role: ProductRole) => gemmPartition(ir, specialized, shared, size, role);
    const producer = this.partitionFunction(`_${names.wrapper}_load`, partition("producer"), []);
    const widening = specialized.pattern.widening;
    const helpers = this.helperFunctions(widenerStatements(specialized));
    const widener =
      widening &&
      this.partitionFunction(
        `_${names.wrapper}_widen`,
        partition("widener"),
        [wideningLayout(shared.layout, widening)],
        helpers,
      );
    const consumer = this.partitionFunction(
      `_${names.wrapper}_multiply`,
      partition("consumer"),
      this.#productLayouts(),
    );
    const { stages, consumers, depth, operands, rowScales, outputs } = shared;
    const [a, b] = operands;
    const ofConsumers = py.binary(stages, "*", consumers);
    const kernel = this.kernelFunction([
      this.allocation(a, ofConsumers),
      this.allocation(b, stages),
      ...(rowScales ? [this.allocation(rowScales, ofConsumers)] : []),
      ...this.#widenedAllocation(),
      ...[...outputs.values()].map((each) => this.allocation(each, py.binary(consumers, "*", depth))),
      ...this.barrierSetup(),
      ...this.startPartitions(
        producer,
        consumer,
        specialized.configs.map((config) => config.consumers),
        widener,
      ),
    ]);
    return { others: [...helpers.definitions, ...(widener ? [widener] : [])], producer, consumer, kernel };
  }

  override sharedBlocks(): readonly Name[] {
    const { widenedBlocks } = this.shared;
    return [...super.sharedBlocks(), ...(widenedBlocks ? [widenedBlocks] : [])];
  }

  /** The blocks of a computed factor: along the sum if a thread computes whole columns. */
  #widenedAllocation(): Block {
    const { pattern } = this.specialized;
    const { operands, widenedBlocks, stages } = this.shared;
    if (!widenedBlocks || !pattern.widening) return [];
    const [columns, inner] = [this.dimension(pattern.shape[1]), this.dimension(pattern.shape[2])];
    const block = pattern.widening.packing > 1 ? [columns, inner] : [inner, columns];
    const dtype = py.attribute(operands[0].descriptor, "dtype");
    const layout = py.call("gl.NVMMASharedLayout.get_default_for", py.list(...block), dtype);
    const shape = py.list(stages, ...block);
    return [py.assign(widenedBlocks, py.call("gl.allocate_shared_memory", dtype, shape, layout))];
  }

  #productLayouts(): Block {
    const { shape, operands, accumulation, rowScales } = this.specialized.pattern;
    const { layout, products, productLayout } = this.shared;
    const columns = this.dimension(shape[1]);
    const bytes = bytesOf(operands[0].block.tensor.dtype);
    if (rowScales) return [this.productLayout(layout, columns, bytes)];
    const pieceLayout = () => this.productLayout(productLayout, py.binary(columns, "//", products), bytes);
    if (productLayout === layout) return [pieceLayout()];
    const whole = this.productLayout(layout, columns, bytes);
    return mayPromote(accumulation) ? [whole, pieceLayout()] : [whole];
  }

  configs(): readonly GluonConfig[] {
    const { shared } = this;
    return this.specialized.configs.map(
      ({ config, consumers, stages, pieces, depth, products, inFlight, registers }) => ({
        config,
        registers,
        constants: {
          [shared.consumers.id]: consumers,
          [shared.stages.id]: stages,
          [shared.pieces.id]: pieces,
          [shared.depth.id]: depth,
          ...(products !== undefined && { [shared.products.id]: products }),
          ...(inFlight !== undefined && { [shared.inFlight.id]: inFlight }),
        },
      }),
    );
  }

  /** The block shape of each descriptor. */
  blocks({ dim, constant }: BlockSizes): readonly StagedBlock[] {
    const { pattern } = this.specialized;
    const [rows, columns, inner] = pattern.shape;
    const consumerRows = py.binary(dim(rows), "//", constant(this.shared.consumers));
    const [left, right] = pattern.operands;
    const { widening } = pattern;
    const { operands, rowScales } = this.shared;
    const [a, b] = operands;
    const scales = rowScales?.tensor.dims.map((_, axis, { length }) =>
      axis === length - 1 ? consumerRows : py.number("1"),
    );
    const storedShape = ({ axes: [, columnAxis] }: BlockAccess) =>
      [consumerRows, py.binary(dim(extentDim(columnAxis.extent)), "//", constant(this.shared.pieces))] as const;
    return [
      this.blockOf(a, [consumerRows, dim(inner)], left.isSwapped),
      this.blockOf(b, [widening ? rowsOfPacked(dim(inner), widening) : dim(inner), dim(columns)], right.isSwapped),
      ...(rowScales && scales ? [[rowScales, scales] as const] : []),
      ...[...this.shared.outputs.values()].map((output) => this.blockOf(output, storedShape(output.store))),
    ];
  }
}
