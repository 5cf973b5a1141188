/** The partitions of streamed products: the author's statements, interleaved with the pipeline's steps. */
import type { Argument, ForStatement, Statement, Value } from "../../../ir/nodes.js";
import { extentDim } from "../pattern/block-index.js";
import type { PipelineStep } from "../pattern/pipeline.js";
import type { ScheduledLoop, SpecializedStream } from "../pattern/streamed-plan.js";
import { streamOperand, vectorOperand } from "../pattern/streamed-schedule.js";
import { matrixShape } from "../pattern/tensor-blocks.js";
import * as py from "../../syntax/py-build.js";
import type { Expression } from "../../syntax/py.js";
import { AttentionStatements } from "./attention-statements.js";
import type { WarpPartition } from "./partition-builder.js";
import { type PartitionContext, partitionContext, type PartitionRole } from "./partition-context.js";
import type { SizeOf, StagedTensor, StreamedNames } from "./partition-names.js";
import { sinkDefinitions } from "./sink-definitions.js";
import { blockBytes, blockStarts, bufferAt, loadBlock, operandTile, sumOf } from "./staged-blocks.js";

type StreamedContext = PartitionContext<SpecializedStream, StreamedNames>;
type StepOf<Kind extends PipelineStep["kind"]> = Extract<PipelineStep, { readonly kind: Kind }>;

export function streamedPartition(
  specialized: SpecializedStream,
  names: StreamedNames,
  size: SizeOf,
  role: PartitionRole,
): WarpPartition {
  return new StreamedPartition(partitionContext(specialized, names, size, role)).build(specialized.pipeline[role]);
}

class StreamedPartition {
  readonly #statements: AttentionStatements;
  /** Products in flight, by their numbers. */
  readonly #pending = new Map<number, Value>();

  constructor(readonly context: StreamedContext) {
    this.#statements = new AttentionStatements(context);
  }

  build(steps: readonly PipelineStep[]): WarpPartition {
    const { builder, pipeline, specialized } = this.context;
    const { body, loops } = specialized;
    const isLoop = (each: Statement) => loops.has(each);
    const [firstLoop, lastLoop] = [body.findIndex(isLoop), body.findLastIndex(isLoop)];
    const iterationStep = steps.find((step) => step.kind === "iterations");
    if (!iterationStep) throw new Error("the pipeline has no step for iterations");
    const program = builder.block(() => {
      pipeline.declareCounter();
      this.#statements.appendNeeded(body.slice(0, firstLoop));
      this.#beforeLoops(steps.slice(0, steps.indexOf(iterationStep)));
      for (const statement of body.slice(firstLoop, lastLoop + 1)) {
        const scheduled = loops.get(statement);
        if (scheduled && statement.kind === "for") this.#loop(statement, scheduled, iterationStep.body);
        else this.#statements.appendNeeded([statement]);
      }
      if (this.context.isConsumer) this.#epilogue(body.slice(lastLoop + 1));
    });
    return builder.partition(() => builder.append(...sinkDefinitions(program).statements));
  }

  // ---- around the loops ---------------------------------------------------------------------------------------------

  /** The producer loads the blocks that consumers keep, and each consumer waits for its own. */
  #beforeLoops(steps: readonly PipelineStep[]): void {
    const { builder, pipeline, names, rows, specialized, isConsumer } = this.context;
    const { residents } = specialized.pattern;
    const barrier = (index: Expression) => pipeline.barrier("ownFilled", index);
    if (isConsumer) {
      const wait = () => py.call("mbarrier.wait", barrier(names.consumerIndex), py.number("0"));
      return builder.appendEffect(wait);
    }
    rows.forEachConsumer((consumer) => {
      for (const step of steps)
        if (step.kind === "expect")
          builder.appendEffect(
            (index) => py.call("mbarrier.expect", barrier(index), bytesOfAll(names.residents)),
            consumer,
          );
        else if (step.kind === "copy") {
          const [staged, block] = [names.residents[step.operand], residents[step.operand]];
          if (!staged || !block) throw new Error("the pipeline keeps other blocks than the pattern");
          builder.appendEffect(
            (index, ...starts) =>
              loadBlock(staged, rows.offset(staged.firstAxis, starts, index), barrier(index), index),
            consumer,
            ...blockStarts(builder, block),
          );
        }
    });
  }

  /** Stores write from registers, each consumer its own rows. */
  #epilogue(statements: readonly Statement[]): void {
    const { builder, specialized } = this.context;
    for (const statement of statements)
      if (specialized.stores.has(statement)) builder.append(statement);
      else this.#statements.appendNeeded([statement]);
  }

  // ---- iterations ---------------------------------------------------------------------------------------------------

  #loop(forStatement: ForStatement, scheduled: ScheduledLoop, steps: readonly PipelineStep[]): void {
    const { builder, pipeline, isConsumer } = this.context;
    const { statements } = forStatement.body;
    const body = builder.block(() => {
      if (!isConsumer) this.#statements.appendNeeded(statements);
      pipeline.declareSlot();
      for (const step of steps) this.#step(step, steps, scheduled, statements);
    });
    builder.append({ ...forStatement, options: {}, body });
  }

  #step(
    step: PipelineStep,
    steps: readonly PipelineStep[],
    scheduled: ScheduledLoop,
    statements: readonly Statement[],
  ): void {
    const { builder, pipeline } = this.context;
    switch (step.kind) {
      case "wait":
        return pipeline.wait(step);
      case "expect":
        return this.#expect(step, steps);
      case "copy":
        return this.#copy(step, scheduled);
      case "multiply":
        return this.#multiply(step, scheduled);
      case "settle":
        return this.#awaitProduct(step, scheduled);
      case "take":
        return this.#take(step, scheduled);
      case "use":
        return this.#statements.appendNeeded(statements.filter((each) => scheduled.phases[step.phase]?.has(each)));
      case "fence":
        return builder.appendEffect(() => py.call("fence_async_shared"));
      case "release":
        return builder.appendEffect(
          (slot) => py.call("mbarrier.arrive", pipeline.barrier(step.barrier, slot)),
          pipeline.readSlot(),
        );
      case "advance":
        return pipeline.advance();
      case "tiles":
      case "iterations":
      case "pairs":
      case "idle iterations":
      case "await turn":
      case "give turn":
      case "blank":
      case "sum":
      case "promote":
      case "widen":
      case "add":
      case "compute":
      case "epilogue":
      case "drain":
      case "stage":
      case "send":
        throw new Error(`${step.kind} stands in no iteration of streamed products`);
      default:
        return step satisfies never;
    }
  }

  #expect({ barrier }: StepOf<"expect">, steps: readonly PipelineStep[]): void {
    const { builder, pipeline } = this.context;
    const copied = steps.flatMap((step) =>
      step.kind === "copy" && step.barrier === barrier ? [this.#staged(step.operand)] : [],
    );
    builder.appendEffect(
      (slot) => py.call("mbarrier.expect", pipeline.barrier(barrier, slot), bytesOfAll(copied)),
      pipeline.readSlot(),
    );
  }

  #copy({ operand, barrier }: StepOf<"copy">, { loop }: ScheduledLoop): void {
    const { builder, pipeline } = this.context;
    const block = loop.streams.find((_, i) => streamOperand(this.context.specialized.pattern, i) === operand);
    const vector = this.#vector(operand, loop);
    const vectorStarts = vector && [...vector.lead, sumOf(builder, vector.starts)];
    const starts = block ? blockStarts(builder, block) : vectorStarts;
    if (!starts) throw new Error("the pipeline copies another operand than the loop has");
    builder.appendEffect(
      (slot, ...offsets) =>
        loadBlock(this.#staged(operand), py.list(...offsets), pipeline.barrier(barrier, slot), slot),
      pipeline.readSlot(),
      ...starts,
    );
  }

  #multiply({ product: number = 0 }: StepOf<"multiply">, { loop }: ScheduledLoop): void {
    const { builder, pipeline, names, rows, size, specialized } = this.context;
    const product = loop.products[number];
    if (!product) throw new Error("the pipeline has another product than the loop");
    const { dot, resident, stream, isSwapped, sum } = product;
    const layout = sum ? names.accumulatorLayout : names.scoresLayout;
    const [inner, columns] = matrixShape(dot.operands[1]);
    const factor = (value: Expression): Expression => {
      const block = resident === undefined ? undefined : names.residents[resident];
      if (block && resident !== undefined) {
        const width = size(extentDim(specialized.pattern.residents[resident]?.axes[1].extent ?? dot.operands[0]));
        return operandTile(block, false, [rows.count(), width], names.consumerIndex);
      }
      const operand = py.call("gl.DotOperandLayout", py.number("0"), layout, py.number("2"));
      return py.call("gl.convert_layout", value, operand);
    };
    const zeros = py.call("gl.zeros", py.list(rows.count(), size(columns)), py.dotted("gl.float32"), layout);
    const first: Argument = resident === undefined ? dot.operands[0] : { kind: "literal", value: 0 };
    const addend: Argument = sum ? builder.read(sum) : { kind: "literal", value: 0 };
    const pending = builder.namedValue(
      sum ? "adding" : "scoring",
      dot.results[0].type,
      (value, sumBefore, slot) => {
        const staged = names.streams[stream];
        if (!staged) throw new Error("a product has no loaded block");
        const tile = operandTile(staged, isSwapped, [size(inner), size(columns)], slot);
        const keywords = py.keywords({
          use_acc: sum ? undefined : py.boolean(false),
          is_async: py.boolean(true),
        });
        return py.call("warpgroup_mma", factor(value), tile, sum ? sumBefore : zeros, ...keywords);
      },
      first,
      addend,
      pipeline.readSlot(),
    );
    this.#pending.set(number, pending);
  }

  #awaitProduct({ pending, product: number = 0 }: StepOf<"settle">, { loop }: ScheduledLoop): void {
    const { builder } = this.context;
    const [product, running] = [loop.products[number], this.#pending.get(number)];
    if (!product || !running) throw new Error("the pipeline waits for a product that it has not started");
    const wait = (value: Expression) =>
      py.call("warpgroup_mma_wait", py.number(String(pending)), py.keyword("deps", py.tuple(value)));
    if (product.sum) builder.write(product.sum, builder.value(product.sum.type, wait, running));
    else builder.assign("products", product.dot, wait, running);
  }

  /** Reads a vector into registers, one number for each column of the scores. */
  #take({ operand }: StepOf<"take">, { loop }: ScheduledLoop): void {
    const { builder, pipeline, names, size, specialized } = this.context;
    const vector = this.#vector(operand, loop);
    if (!vector) throw new Error("the pipeline reads another vector than the loop has");
    const layout = py.call("gl.SliceLayout", py.number("0"), names.scoresLayout);
    builder.assign(
      "vector",
      vector.statement,
      (slot) => {
        const block = bufferAt(this.#staged(operand), slot);
        const row = py.call(py.attribute(block, "reshape"), py.list(size(specialized.dims.columns)));
        return py.call(py.attribute(row, "load"), layout);
      },
      pipeline.readSlot(),
    );
  }

  #vector(operand: number, { vectors }: ScheduledLoop["loop"]) {
    return vectors.find((_, i) => vectorOperand(this.context.specialized.pattern, i) === operand);
  }

  /** The shared memory of an operand of the ring buffer. */
  #staged(operand: number): StagedTensor {
    const { names, specialized } = this.context;
    const { pattern, channels } = specialized;
    const usedVectors = [...channels.keys()].filter((i) => channels[i] !== undefined);
    const staged =
      names.streams.find((_, i) => streamOperand(pattern, i) === operand) ??
      names.vectors.find((_, i) => vectorOperand(pattern, usedVectors[i] ?? -1) === operand);
    if (!staged) throw new Error(`the ring buffer has no operand ${operand}`);
    return staged;
  }
}

const bytesOfAll = (tensors: readonly StagedTensor[]): Expression =>
  tensors.map(blockBytes).reduce((sum, bytes) => py.binary(sum, "+", bytes));
