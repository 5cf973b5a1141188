/** The partitions of warp-specialized attention: the author's statements, interleaved with the pipeline's steps. */
import type { ForStatement, Statement } from "../../../ir/nodes.js";
import type { AttentionLoop } from "../pattern/attention-pattern.js";
import type { SpecializedAttention } from "../pattern/attention-plan.js";
import type { BlockAccess } from "../pattern/block-access.js";
import { attentionPipeline, KEYS, type PipelineStep } from "../pattern/pipeline.js";
import { constexprType } from "../../../types/types.js";
import { hasBlock, type LoweredStore } from "../pattern/tensor-blocks.js";
import type { Expression } from "../../syntax/py.js";
import * as py from "../../syntax/py-build.js";
import { hasConsumerEnds, keyEnd, unmaskedKeyEnd } from "./attention-bounds.js";
import {
  copyBlock,
  copyZeros,
  expectBlock,
  isPerConsumerBarrier,
  loadQueries,
  waitPerConsumer,
} from "./attention-loads.js";
import { AttentionProducts, spillCondition } from "./attention-products.js";
import { AttentionStatements } from "./attention-statements.js";
import { WRITE_BLOCK, WRITE_PIECES } from "./helpers.js";
import { INTEGER, type WarpPartition } from "./partition-builder.js";
import { type AttentionContext, partitionContext, type PartitionRole } from "./partition-context.js";
import type { AttentionNames, SizeOf } from "./partition-names.js";
import { sinkDefinitions } from "./sink-definitions.js";
import { appendBlockStore, bufferAt, stagedOutput } from "./staged-blocks.js";

export function attentionPartition(
  specialized: SpecializedAttention,
  names: AttentionNames,
  size: SizeOf,
  role: PartitionRole,
): WarpPartition {
  return new AttentionPartition(partitionContext(specialized, names, size, role)).build(attentionPipeline[role]);
}

class AttentionPartition {
  readonly #statements: AttentionStatements;
  readonly #products: AttentionProducts;
  /** The loop that is being emitted. */
  #loop: AttentionLoop;
  /** The loop from the end of a consumer's own keys to the end of the tile's keys. */
  #idleLoop: ForStatement | undefined;

  constructor(readonly context: AttentionContext) {
    this.#statements = new AttentionStatements(context);
    this.#products = new AttentionProducts(context, this.#statements);
    this.#loop = context.specialized.pattern.loops[0];
  }

  build(steps: readonly PipelineStep[]): WarpPartition {
    const { builder, pipeline } = this.context;
    return builder.partition(() => {
      pipeline.declareCounter();
      this.#steps(steps);
    });
  }

  /** Emits the tiles of the grid that a program computes, or its only tile. */
  #tiles(body: readonly PipelineStep[]): void {
    const { builder, specialized, tileLoop } = this.context;
    const tile = (): void => builder.append(...sinkDefinitions(builder.block(() => this.#tile(body))).statements);
    if (specialized.grid) tileLoop.forEachTileInRounds(specialized.grid, specialized.longestLast, tile);
    else tile();
  }

  #tile(steps: readonly PipelineStep[]): void {
    const { specialized, pipeline, isConsumer } = this.context;
    const { body, loops } = specialized;
    const isLoop = (each: Statement) => loops.has(each);
    const [firstLoop, lastLoop] = [body.findIndex(isLoop), body.findLastIndex(isLoop)];
    const iterationStep = steps.find((step) => step.kind === "iterations");
    if (!iterationStep) throw new Error("the pipeline has no step for iterations");
    const stepIndex = steps.indexOf(iterationStep);
    this.#statements.appendNeeded(body.slice(0, firstLoop));
    if (!isConsumer) pipeline.declareSlot();
    this.#steps(steps.slice(0, stepIndex));
    for (const statement of body.slice(firstLoop, lastLoop + 1)) {
      const loop = loops.get(statement);
      if (loop && statement.kind === "for") this.#emitLoops(statement, loop, iterationStep.body);
      else this.#statements.appendNeeded([statement]);
    }
    pipeline.declareSlot();
    this.#steps(steps.slice(stepIndex + 1));
  }

  // ---- loops --------------------------------------------------------------------------------------------------------

  /** Emits one loop, or two if masks limit the keys: the iterations that need no mask, then the others. */
  #emitLoops(loop: ForStatement, matched: AttentionLoop, body: readonly PipelineStep[]): void {
    const { context } = this;
    const { specialized, isConsumer } = context;
    this.#loop = matched;
    const masks = specialized.masks.get(loop);
    const isPerConsumer = hasConsumerEnds(context, loop);
    const end = masks ? keyEnd(context, loop, masks, isPerConsumer) : loop.end;
    if (!masks || !isConsumer) return this.#emitLoop({ ...loop, end }, body);
    const unmaskedEnd = unmaskedKeyEnd(context, loop, masks, isPerConsumer);
    this.#statements.withSubstitutions(masks.unmasked, () => this.#emitLoop({ ...loop, end: unmaskedEnd }, body));
    this.#statements.inSecondCopy(() => {
      const index = this.#statements.currentResult(loop.index);
      this.#emitLoop({ ...loop, start: unmaskedEnd, end, index }, body);
    });
    if (isPerConsumer) this.#idleLoop = { ...loop, start: end, end: keyEnd(context, loop, masks, false) };
  }

  /** Emits the iterations of the tile that a consumer skips. */
  #emitIdleLoop(body: readonly PipelineStep[]): void {
    const { builder, pipeline } = this.context;
    const loop = this.#idleLoop;
    if (!loop) return;
    const start = builder.value(
      INTEGER,
      (end, keys) => py.binary(py.call("tl.cdiv", end, keys), "*", keys),
      loop.start,
      loop.step,
    );
    const block = builder.block(() => {
      pipeline.declareSlot();
      this.#steps(body);
    });
    builder.append({ ...loop, start, index: builder.freshValue(INTEGER), options: {}, body: block });
  }

  #emitLoop(loop: ForStatement, body: readonly PipelineStep[]): void {
    const { builder, pipeline, isConsumer } = this.context;
    const block = builder.block(() => {
      if (!isConsumer) this.#statements.appendNeeded(loop.body.statements);
      pipeline.declareSlot();
      this.#steps(body, loop.body.statements);
    });
    builder.append({ ...loop, options: {}, body: block });
  }

  // ---- steps --------------------------------------------------------------------------------------------------------

  /** @param iteration The author's statements, for steps of an iteration. */
  #steps(steps: readonly PipelineStep[], iteration: readonly Statement[] = []): void {
    const { context } = this;
    const perConsumer = steps.filter((step) => isPerConsumerBarrier(step) && !context.isConsumer);
    for (const step of steps)
      if (!perConsumer.includes(step)) this.#step(step, step === steps.at(-1), iteration);
      else if (step === perConsumer[0]) context.rows.forEachConsumer((index) => loadQueries(context, index));
  }

  #step(step: PipelineStep, isLast: boolean, iteration: readonly Statement[]): void {
    const { context } = this;
    const { builder, pipeline } = context;
    switch (step.kind) {
      case "tiles":
        return this.#tiles(step.body);
      case "wait":
        return isPerConsumerBarrier(step)
          ? waitPerConsumer(context, step.barrier, context.names.consumerIndex)
          : pipeline.wait(step);
      case "await turn":
        return this.#ifSeveralConsumers(() => this.#awaitTurn());
      case "give turn":
        return this.#ifSeveralConsumers(() => this.#giveTurn());
      case "expect":
        return expectBlock(context, step);
      case "copy":
        return copyBlock(context, this.#loop, step);
      case "idle iterations":
        return this.#emitIdleLoop(step.body);
      case "blank":
        return copyZeros(context, this.#loop, step);
      case "take":
        return this.#products.loadQueries();
      case "multiply":
        return step.operands.includes(KEYS)
          ? this.#products.multiplyKeys(this.#loop)
          : this.#products.multiplyValues(this.#loop);
      case "settle":
        return step.pending > 0 ? this.#awaitScores(iteration) : this.#products.awaitAccumulator(this.#loop);
      case "compute":
        return step.target === "weights" ? this.#emitWeights(iteration) : this.#emitAccumulatorUpdates(iteration);
      case "release":
        if (step.when === "stay" || step.when === "leave") return this.#releaseQueries(step.when);
        return builder.appendEffect(
          (slot) => py.call("mbarrier.arrive", pipeline.barrier(step.barrier, slot)),
          pipeline.readSlot(),
        );
      case "advance":
        pipeline.advance();
        return context.isConsumer || isLast ? undefined : pipeline.updateSlot();
      case "epilogue":
        return this.#epilogue();
      case "drain":
        return builder.appendEffect(() => py.call("tma.store_wait", py.number("0")));
      case "iterations":
      case "pairs":
      case "sum":
      case "promote":
      case "widen":
      case "add":
      case "use":
      case "stage":
      case "fence":
      case "send":
        throw new Error(`${step.kind} stands elsewhere`);
      default:
        return step satisfies never;
    }
  }

  /** Statements that only some configs execute. */
  #appendIf(test: Expression, body: () => void): void {
    const { builder, names } = this.context;
    builder.appendIf(
      builder.value(constexprType("bool", names.consumers.id), () => test),
      body,
    );
  }

  /** Statements that only configs with several consumers execute. */
  #ifSeveralConsumers(body: () => void): void {
    this.#appendIf(py.compare(this.context.names.consumers, [">", py.number("1")]), body);
  }

  /** The first consumer starts. */
  #awaitTurn(): void {
    const { builder, pipeline, names } = this.context;
    const { consumerIndex } = names;
    builder.appendEffect((count) => {
      const isFirst = py.compare(consumerIndex, ["==", py.number("0")]);
      const initialParity = py.conditional(py.number("1"), isFirst, py.number("0"));
      const parity = py.binary(py.binary(count, "&", py.number("1")), "^", initialParity);
      return py.call("mbarrier.wait", pipeline.barrier("turnGiven", consumerIndex), parity);
    }, pipeline.readCounter());
  }

  #giveTurn(): void {
    const { builder, pipeline, names } = this.context;
    const next = py.binary(py.binary(names.consumerIndex, "+", py.number("1")), "%", names.consumers);
    builder.appendEffect(() => py.call("mbarrier.arrive", pipeline.barrier("turnGiven", next)));
  }

  /** Lets the producer load the next tile's queries, as soon as this tile's queries are in registers or multiplied. */
  #releaseQueries(when: "stay" | "leave"): void {
    const { builder, pipeline, names, tileLoop } = this.context;
    const { consumerIndex } = names;
    if (!tileLoop.round) return;
    const arrive = (): void => {
      // Reads into registers use the generic proxy and TMA writes the async proxy, so a fence is needed.
      if (when === "stay") builder.appendEffect(() => py.call("fence_async_shared"));
      builder.appendEffect(() => py.call("mbarrier.arrive", pipeline.barrier("queriesEmptied", consumerIndex)));
    };
    const condition = spillCondition(this.context, when === "leave");
    if (typeof condition !== "boolean") this.#appendIf(condition, arrive);
    else if (condition) arrive();
  }

  // ---- the author's statements --------------------------------------------------------------------------------------

  /** Performs the iteration's other loads while the products run. */
  #awaitScores(iteration: readonly Statement[]): void {
    const { registerLoads } = this.context.specialized;
    this.#statements.appendNeeded(iteration.filter((each) => registerLoads.has(each)));
    this.#products.awaitScores(this.#loop);
  }

  /**
   * Emits everything but the loads and the statements that depend on the accumulator, which a product still updates.
   */
  #emitWeights(iteration: readonly Statement[]): void {
    const { accumulatorUpdates, registerLoads } = this.context.specialized;
    this.#statements.appendNeeded(
      iteration.filter((each) => !accumulatorUpdates.has(each) && !registerLoads.has(each)),
    );
  }

  #emitAccumulatorUpdates(iteration: readonly Statement[]): void {
    const { accumulatorUpdates } = this.context.specialized;
    this.#statements.appendNeeded(iteration.filter((each) => accumulatorUpdates.has(each)));
    this.#products.updateOperands(this.#loop);
  }

  #epilogue(): void {
    const { builder, specialized } = this.context;
    const { body, loops, stores } = specialized;
    const lastLoop = body.findLastIndex((each) => loops.has(each));
    for (const statement of body.slice(lastLoop + 1)) {
      const store = stores.get(statement);
      if (!store) this.#statements.appendNeeded([statement]);
      else if (hasBlock(store)) this.#storeBlock(store);
      else builder.append(statement);
    }
  }

  #storeBlock(store: LoweredStore<BlockAccess>): void {
    const { builder, rows, names } = this.context;
    const output = stagedOutput(names, store.block);
    const { consumerIndex, pieces } = names;
    appendBlockStore(builder, store, (value, ...starts) => {
      const target = [value, output.descriptor, rows.offset(output.firstAxis, starts)];
      return pieces
        ? py.call(WRITE_PIECES, ...target, output.blocks, consumerIndex, pieces, py.number("1"))
        : py.call(WRITE_BLOCK, ...target, bufferAt(output, consumerIndex));
    });
  }
}
