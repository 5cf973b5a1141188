/**
 * The partitions of a warp-specialized GEMM: the author's statements that each partition needs, interleaved with the
 * pipeline's steps.
 */
import type {
  Argument,
  Block,
  IfStatement,
  KernelIR,
  LetStatement,
  OpStatement,
  Statement,
  Value,
} from "../../../ir/nodes.js";
import { walk } from "../../../ir/walk.js";
import { axisOf, isProgram } from "../pattern/tile-schedule.js";
import { axisIn, type BlockAccess } from "../pattern/block-access.js";
import { type BarrierName, type PipelineStep, ROW_SCALES } from "../pattern/pipeline.js";
import {
  consumerStatements,
  producerStatements,
  type SpecializedGemm,
  widenerStatements,
} from "../pattern/gemm-plan.js";
import type { SumOfProducts } from "../pattern/gemm-pattern.js";
import type { LoweredStore } from "../pattern/tensor-blocks.js";
import type { Expression } from "../../syntax/py.js";
import * as py from "../../syntax/py-build.js";
import { ADD_PRODUCT, JOIN_SUM, SPLIT_SUM, WRITE_PIECES } from "./helpers.js";
import type { OpPrinter, WarpPartition } from "./partition-builder.js";
import { type GemmContext, partitionContext, type ProductRole } from "./partition-context.js";
import type { GemmNames, SizeOf } from "./partition-names.js";
import { ScaledSum } from "./scaled-sum.js";
import {
  appendBlockStore,
  blockBytes,
  blockStarts,
  bufferAt,
  loadBlock,
  operandTile,
  stagedOutput,
  sumOf,
  transposed,
} from "./staged-blocks.js";
import { WideningLoop } from "./widening-loop.js";

export function gemmPartition(
  ir: KernelIR,
  specialized: SpecializedGemm,
  names: GemmNames,
  size: SizeOf,
  role: ProductRole,
): WarpPartition {
  const steps = specialized.pipeline[role] ?? [];
  return new GemmPartition(ir, partitionContext(specialized, names, size, role)).build(steps);
}

const STATEMENTS: Readonly<Record<ProductRole, (specialized: SpecializedGemm) => readonly Statement[]>> = {
  producer: producerStatements,
  widener: widenerStatements,
  consumer: consumerStatements,
};

class GemmPartition {
  /** The author's statements that the partition computes. */
  readonly #partitionStatements: ReadonlySet<Statement>;

  /** The factors of the promoted sum that is emitted. */
  #promotedFactors: readonly Argument[] = [];
  /** The loops of a consumer, if the ring buffer takes scales. */
  readonly #scaled: ScaledSum | undefined;
  readonly #widening: WideningLoop | undefined;

  constructor(
    readonly ir: KernelIR,
    readonly context: GemmContext,
  ) {
    const { specialized, isConsumer, role } = context;
    this.#partitionStatements = new Set(STATEMENTS[role](specialized));
    const { scales, pattern } = specialized;
    const { rowScales } = context.names;
    this.#widening =
      role === "widener" && pattern.widening && specialized.widening
        ? new WideningLoop(context, pattern.widening, specialized.widening, {
            run: (steps) => this.#steps(steps),
            append: (statement) => this.#appendStatement(statement),
          })
        : undefined;
    this.#scaled =
      isConsumer && scales && rowScales
        ? new ScaledSum(context, scales, rowScales, {
            run: (steps) => this.#steps(steps),
            append: (statement) => this.#appendStatement(statement),
            blocks: (slot) => this.#blocks(slot),
            bufferIndex: (slot, consumerIndex) => this.#bufferIndex(slot, consumerIndex),
          })
        : undefined;
  }

  build(steps: readonly PipelineStep[]): WarpPartition {
    const { builder, pipeline, specialized } = this.context;
    return builder.partition(() => {
      pipeline.declareCounter();
      this.#appendNeeded(specialized.prologue);
      this.#steps(steps);
    });
  }

  #steps(steps: readonly PipelineStep[]): void {
    for (const step of steps) this.#step(step, step === steps.at(-1));
  }

  #step(step: PipelineStep, isLast: boolean): void {
    const { builder, pipeline } = this.context;
    const scaled = this.#scaled;
    switch (step.kind) {
      case "tiles":
        return this.#tiles(step.body);
      case "iterations":
        return this.#iterations(step.body);
      case "pairs":
        return scaled?.pairs(step.body);
      case "epilogue":
        return this.#epilogue();
      case "wait":
        return pipeline.wait(step);
      case "expect":
        return builder.appendEffect(
          (slot) => py.call("mbarrier.expect", pipeline.barrier(step.barrier, slot), this.#bytes(step.barrier)),
          pipeline.readSlot(),
        );
      case "copy":
        return step.operand === ROW_SCALES
          ? this.#copyRowScales()
          : this.#copy(step.operand === 0 ? 0 : 1, step.barrier);
      case "widen":
        return this.#widening?.widen();
      case "sum":
        return this.#sum(step);
      case "multiply":
        return scaled ? scaled.multiply() : this.#multiply();
      case "take":
        return scaled?.take();
      case "add":
        return scaled?.add();
      case "promote":
        return this.#promote();
      case "settle":
        return scaled ? scaled.awaitProducts(step.pending) : this.#awaitSum(step.pending);
      case "release":
        return this.#release(step);
      case "advance":
        pipeline.advance();
        return isLast ? undefined : pipeline.updateSlot();
      case "fence":
        return builder.appendEffect(() => py.call("fence_async_shared"));
      case "drain":
        return builder.appendEffect(() => py.call("tma.store_wait", py.number("0")));
      case "idle iterations":
      case "blank":
      case "await turn":
      case "give turn":
      case "compute":
      case "use":
      case "stage":
      case "send":
        throw new Error(`${step.kind} stands in no product's pipeline`);
      default:
        return step satisfies never;
    }
  }

  // ---- loops --------------------------------------------------------------------------------------------------------

  #tiles(body: readonly PipelineStep[]): void {
    const { builder, specialized, tileLoop, isConsumer } = this.context;
    const { pattern, tile } = specialized;
    const inner = (): void => {
      this.#appendNeeded(tile);
      if (isConsumer) this.#initialize(pattern.accumulator);
      this.#steps(body);
    };
    if (pattern.tileLoop) return builder.append({ ...pattern.tileLoop, options: {}, body: builder.block(inner) });
    tileLoop.forEachTile(this.ir.grid.block, this.#onlyProgramQuery(), inner);
  }

  /** The only program-id query of the kernel, if it is on the grid's first axis. */
  #onlyProgramQuery(): OpStatement | undefined {
    const queries: OpStatement[] = [];
    walk(this.ir.body, (statement) => {
      if (isProgram(statement)) queries.push(statement);
    });
    const [query, extra] = queries;
    if (!query || extra || axisOf(query) !== 0) return undefined;
    return this.context.specialized.tile.includes(query) ? query : undefined;
  }

  #iterations(body: readonly PipelineStep[]): void {
    if (this.#scaled) return this.#scaled.singles(body);
    if (this.#widening) return this.#widening.run(body);
    this.#kLoop(body);
  }

  #kLoop(body: readonly PipelineStep[]): void {
    const { builder, pipeline, specialized } = this.context;
    const block = builder.block(() => {
      this.#appendNeeded(specialized.iteration);
      pipeline.declareSlot();
      this.#steps(body);
    });
    builder.append({ ...specialized.pattern.kLoop, options: {}, body: block });
  }

  #sum({ whole, promoted }: Extract<PipelineStep, { kind: "sum" }>): void {
    const { builder, specialized } = this.context;
    const { condition, arms } = specialized.pattern.accumulation;
    const [first, second] = arms;
    const sum = (arm: SumOfProducts): void => (arm.isPromoted ? this.#promotedSum(promoted, arm) : this.#steps(whole));
    if (condition === undefined || !second) return sum(first);
    const [then, otherwise] = [builder.block(() => sum(first)), builder.block(() => sum(second))];
    builder.append({ kind: "if", condition, then, otherwise, results: [], location: undefined });
  }

  /** The accumulator is split into the pieces of its products around the loop. */
  #promotedSum(steps: readonly PipelineStep[], { factors }: SumOfProducts): void {
    const { products, productLayout, layout } = this.context.names;
    this.#promotedFactors = factors;
    this.#updateAccumulator((sum) => py.call(SPLIT_SUM, sum, products, productLayout));
    this.#steps(steps);
    this.#updateAccumulator((sum) => py.call(JOIN_SUM, sum, layout));
  }

  // ---- steps --------------------------------------------------------------------------------------------------------

  /** The bytes of an iteration that arrive at a barrier. */
  #bytes(barrier: BarrierName): Expression {
    const { consumers, operands, rowScales, widenedBlocks } = this.context.names;
    const [a, b] = operands;
    if (barrier === "packedFilled") return blockBytes(b);
    const rows = rowScales ? py.binary(blockBytes(a), "+", blockBytes(rowScales)) : blockBytes(a);
    const ofConsumers = py.binary(consumers, "*", rows);
    return widenedBlocks ? ofConsumers : py.binary(ofConsumers, "+", blockBytes(b));
  }

  /** Copies the operand's block. The rows' operand has one block per consumer. */
  #copy(operand: 0 | 1, barrier: BarrierName): void {
    const { builder, pipeline, rows, specialized, names } = this.context;
    const { block, isSwapped } = specialized.pattern.operands[operand];
    const rowAxis = axisIn(block, isSwapped ? 1 : 0);
    const load = (slot: Expression, offset: Expression, bufferIndex: Expression) =>
      loadBlock(names.operands[operand], offset, pipeline.barrier(barrier, slot), bufferIndex);
    if (operand === 1) {
      const starts = blockStarts(builder, block);
      builder.appendEffect((slot, ...offsets) => load(slot, py.list(...offsets), slot), pipeline.readSlot(), ...starts);
    } else
      rows.forEachConsumer((consumerIndex) => {
        const starts = blockStarts(builder, block);
        builder.appendEffect(
          (slot, index, ...offsets) => load(slot, rows.offset(rowAxis, offsets, index), this.#bufferIndex(slot, index)),
          pipeline.readSlot(),
          consumerIndex,
          ...starts,
        );
      });
  }

  /** Copies the scales of each consumer's rows. */
  #copyRowScales(): void {
    const { builder, pipeline, rows, specialized, names } = this.context;
    const { rowScales } = names;
    const { lead, index } = specialized.pattern.rowScales ?? {};
    if (!rowScales || !lead || !index) return;
    rows.forEachConsumer((consumerIndex) => {
      builder.appendEffect(
        (slot, part, ...offsets) =>
          loadBlock(
            rowScales,
            rows.offset(lead.length, offsets, part),
            pipeline.barrier("filled", slot),
            this.#bufferIndex(slot, part),
          ),
        pipeline.readSlot(),
        consumerIndex,
        ...lead,
        sumOf(builder, index.starts),
      );
    });
  }

  /** The buffer of a consumer's rows in a slot. */
  #bufferIndex(slot: Expression, consumerIndex: Expression): Expression {
    return py.binary(py.binary(slot, "*", this.context.names.consumers), "+", consumerIndex);
  }

  #multiply(): void {
    this.#updateAccumulator(
      (sum, slot) => py.call("warpgroup_mma", ...this.#blocks(slot), sum, py.keyword("is_async", py.boolean(true))),
      this.context.pipeline.readSlot(),
    );
  }

  #awaitSum(pending: number): void {
    this.#updateAccumulator((sum) =>
      py.call("warpgroup_mma_wait", py.number(String(pending)), py.keyword("deps", py.tuple(sum))),
    );
  }

  #promote(): void {
    const { pipeline, names } = this.context;
    this.#updateAccumulator(
      (sums, slot, ...factors) =>
        py.call(ADD_PRODUCT, sums, ...this.#blocks(slot), py.tuple(...factors), names.productLayout),
      pipeline.readSlot(),
      ...this.#promotedFactors,
    );
  }

  /** The blocks of a slot that are multiplied. */
  #blocks(slot: Expression): readonly [Expression, Expression] {
    const { rows, specialized, names, size } = this.context;
    const { operands, shape } = specialized.pattern;
    const [, , inner] = shape;
    const [left] = operands;
    const [a] = names.operands;
    const bufferIndex = this.#bufferIndex(slot, names.consumerIndex);
    return [operandTile(a, left.isSwapped, [rows.count(), size(inner)], bufferIndex), this.#rightBlock(slot)];
  }

  #rightBlock(slot: Expression): Expression {
    const { specialized, names, size } = this.context;
    const { operands, shape, widening } = specialized.pattern;
    const { widenedBlocks: blocks } = names;
    if (blocks)
      return (widening?.packing ?? 1) > 1 ? transposed(bufferAt({ blocks }, slot)) : bufferAt({ blocks }, slot);
    const [, columns, inner] = shape;
    return operandTile(names.operands[1], operands[1].isSwapped, [size(inner), size(columns)], slot);
  }

  #release({ barrier, age, when }: Extract<PipelineStep, { kind: "release" }>): void {
    const { builder, pipeline, specialized, names } = this.context;
    const slotBefore = (count: Expression) => {
      const iteration = py.binary(py.binary(count, "+", names.stages), "-", py.number(String(age)));
      return py.binary(iteration, "%", names.stages);
    };
    if (when === "always" && age > 0)
      return builder.appendEffect(
        (count) => py.call("mbarrier.arrive", pipeline.barrier(barrier, slotBefore(count))),
        pipeline.readCounter(),
      );
    if (when === "always")
      return builder.appendEffect(
        (slot) => py.call("mbarrier.arrive", pipeline.barrier(barrier, slot)),
        pipeline.readSlot(),
      );
    const { start, end, index } = specialized.pattern.kLoop;
    builder.appendEffect(
      (count, left, right) => {
        const predicate = py.compare(left, [when === "later" ? ">" : "<", right]);
        return py.call("mbarrier.arrive", pipeline.barrier(barrier, slotBefore(count)), py.keyword("pred", predicate));
      },
      pipeline.readCounter(),
      ...(when === "later" ? ([index, start] as const) : ([start, end] as const)),
    );
  }

  /** The author's initial accumulator, in the layout of the product. */
  #initialize(accumulator: LetStatement): void {
    const { builder, names } = this.context;
    const initial = builder.value(
      accumulator.variable.type,
      (first) => py.call("gl.set_auto_layout", first, names.layout),
      accumulator.initial,
    );
    builder.append({ ...accumulator, initial });
  }

  #updateAccumulator<const Operands extends readonly Argument[]>(
    build: OpPrinter<readonly [Value, ...Operands]>,
    ...operands: Operands
  ): void {
    const { builder, specialized } = this.context;
    const { variable } = specialized.pattern.accumulator;
    builder.write(variable, builder.value(variable.type, build, builder.read(variable), ...operands));
  }

  #epilogue(): void {
    const { epilogue, stores } = this.context.specialized;
    for (const statement of epilogue) {
      const store = stores.get(statement);
      if (store) this.#storePieces(store);
      else this.#appendNeeded([statement]);
    }
  }

  #storePieces(store: LoweredStore<BlockAccess>): void {
    const { builder, rows, names } = this.context;
    const { consumerIndex, pieces, depth } = names;
    const { descriptor, blocks, firstAxis } = stagedOutput(names, store.block);
    appendBlockStore(builder, store, (value, ...starts) => {
      const offset = rows.offset(firstAxis, starts);
      return py.call(WRITE_PIECES, value, descriptor, offset, blocks, consumerIndex, pieces, depth);
    });
  }

  // ---- statements ---------------------------------------------------------------------------------------------------

  #appendNeeded(statements: readonly Statement[]): void {
    for (const statement of statements) if (this.#partitionStatements.has(statement)) this.#appendStatement(statement);
  }

  #appendStatement(statement: Statement): void {
    const { builder, rows, tileLoop, role } = this.context;
    if (statement.kind === "if") this.#appendBranch(statement);
    else if (statement.kind !== "op") builder.append(statement);
    else if (statement.op.facts.queries === "program") tileLoop.appendProgramId(statement);
    else builder.append(role === "widener" ? statement : rows.restrict(statement));
  }

  /** A branch is appended as a whole. */
  #appendBranch(statement: IfStatement): void {
    const { builder } = this.context;
    const neededBlock = ({ statements, yields }: Block): Block => {
      const branch = builder.block(() => {
        for (const inner of statements) this.#appendStatement(inner);
      });
      return { ...branch, yields };
    };
    const then = neededBlock(statement.then);
    const otherwise = neededBlock(statement.otherwise);
    builder.append({ ...statement, then, otherwise });
  }
}
