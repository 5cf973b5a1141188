/** Loads of attention's producer, and waits for barriers that each consumer has. */
import type { Value } from "../../../ir/nodes.js";
import type { AttentionLoop } from "../pattern/attention-pattern.js";
import { perTensorAxis } from "../pattern/block-access.js";
import { attentionPipeline, type BarrierName, type PipelineStep, VALUES } from "../pattern/pipeline.js";
import type { Expression, Name } from "../../syntax/py.js";
import * as py from "../../syntax/py-build.js";
import type { AttentionContext } from "./partition-context.js";
import { blockBytes, blockStarts, loadBlock } from "./staged-blocks.js";

type StepOf<Kind extends PipelineStep["kind"]> = Extract<PipelineStep, { readonly kind: Kind }>;

/** True if the step waits for or signals a barrier that each consumer has. */
export const isPerConsumerBarrier = (
  step: PipelineStep,
): step is Extract<PipelineStep, { readonly barrier: BarrierName }> =>
  "barrier" in step && attentionPipeline.barriers[step.barrier]?.per === "consumer";

export function loadQueries(context: AttentionContext, consumerIndex: Value): void {
  const { builder, pipeline, rows, specialized, tileLoop } = context;
  const { queries } = context.names;
  const barrier = (index: Expression) => pipeline.barrier("queriesFilled", index);
  if (tileLoop.round) waitPerConsumer(context, "queriesEmptied", consumerIndex, true);
  const bytes = blockBytes(queries);
  builder.appendEffect((index) => py.call("mbarrier.expect", barrier(index), bytes), consumerIndex);
  builder.appendEffect(
    (index, ...starts) => loadBlock(queries, rows.offset(queries.firstAxis, starts, index), barrier(index), index),
    consumerIndex,
    ...blockStarts(builder, specialized.pattern.queries),
  );
}

export function expectBlock({ builder, pipeline, names }: AttentionContext, { barrier }: StepOf<"expect">): void {
  const bytes = blockBytes(barrier === "keysFilled" ? names.keys : names.values);
  builder.appendEffect(
    (slot) => py.call("mbarrier.expect", pipeline.barrier(barrier, slot), bytes),
    pipeline.readSlot(),
  );
}

export function copyBlock(
  { builder, pipeline, names }: AttentionContext,
  { keys, values }: AttentionLoop,
  { operand, barrier }: StepOf<"copy">,
): void {
  const [{ block }, staged] = operand === VALUES ? [values, names.values] : [keys, names.keys];
  builder.appendEffect(
    (slot, ...starts) => loadBlock(staged, py.list(...starts), pipeline.barrier(barrier, slot), slot),
    pipeline.readSlot(),
    ...blockStarts(builder, block),
  );
}

/** Copies rows before the tensor's first one, for which TMA writes zeros. */
export function copyZeros(
  { builder, pipeline, specialized, names, size }: AttentionContext,
  { values }: AttentionLoop,
  { barrier }: StepOf<"blank">,
): void {
  const [, columns] = specialized.pattern.shape;
  const { lead, firstAxis } = values.block;
  const zero = py.number("0");
  const leadOffsets = lead.map(() => zero);
  const starts = perTensorAxis<Expression>(leadOffsets, firstAxis, [py.unary("-", size(columns)), zero]);
  builder.appendEffect(
    (slot) => loadBlock(names.values, py.list(...starts), pipeline.barrier(barrier, slot), slot),
    pipeline.readSlot(),
  );
}

/** Waits for a per-consumer barrier, which completes one phase per tile. */
export function waitPerConsumer(
  { builder, pipeline, tileLoop: { round } }: AttentionContext,
  barrier: BarrierName,
  index: Value | Name,
  isPreviousPhase = false,
): void {
  const parityOf = (roundExpression: Expression | undefined): Expression => {
    const parity = roundExpression ? py.binary(roundExpression, "&", py.number("1")) : py.number("0");
    return isPreviousPhase ? py.binary(parity, "^", py.number("1")) : parity;
  };
  const wait = (barrierIndex: Expression, roundExpression?: Expression) =>
    py.call("mbarrier.wait", pipeline.barrier(barrier, barrierIndex), parityOf(roundExpression));
  const rounds = round ? [round] : [];
  if (index.kind === "value") builder.appendEffect(wait, index, ...rounds);
  else builder.appendEffect((roundExpression?: Expression) => wait(index, roundExpression), ...rounds);
}
