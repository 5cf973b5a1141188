/** The loads of attention's producer, and what both parts wait for. */
import type { Argument, Block, Value } from "../../../ir/nodes.js";
import type { AttentionLoop } from "../pattern/attention-pattern.js";
import { onAxes } from "../pattern/block-access.js";
import { attentionPipeline, type BarrierName, type PipelineStep, VALUES } from "../pattern/pipeline.js";
import type { SpecializedAttention } from "../pattern/attention-plan.js";
import { constexprType } from "../../../types/types.js";
import type { Expression, Name } from "../../syntax/py.js";
import * as py from "../../syntax/py-build.js";
import { AttentionBounds } from "./attention-bounds.js";
import { LOAD_BLOCK } from "./helpers.js";
import type { AttentionNames, SizeOf, Staged } from "./partition-names.js";
import { INTEGER } from "./partition-builder.js";

/** Whether the step waits for or signals a consumer's own barrier. */
export const isPerConsumerBarrier = (
  step: PipelineStep,
): step is Extract<PipelineStep, { readonly barrier: BarrierName }> =>
  "barrier" in step && attentionPipeline.barriers[step.barrier]?.per === "consumer";

export class AttentionLoads extends AttentionBounds {
  /** The loop that is being written. */
  loop: AttentionLoop;
  /** How many tiles the program computed before; undefined where it computes one. */
  lap: Value | undefined;

  constructor(
    specialized: SpecializedAttention,
    names: AttentionNames,
    isConsumer: boolean,
    readonly size: SizeOf,
  ) {
    super(specialized, names, isConsumer);
    this.loop = specialized.form.loops[0]!;
  }

  eachConsumer(body: (part: Value) => void): void {
    const index = this.fresh(INTEGER);
    const [start, step] = [0, 1].map((value): Argument => ({ kind: "literal", value }));
    const end = this.value(INTEGER, () => this.names.consumers);
    const block = this.block(() => body(index));
    this.append({
      kind: "for",
      index,
      start: start!,
      end,
      step: step!,
      options: {},
      unrolled: true,
      body: block,
      at: undefined,
    });
  }

  loadQueries(part: Value): void {
    const { queries } = this.names;
    const bytes = py.attribute(py.attribute(queries.descriptor, "block_type"), "nbytes");
    const barrier = (place: Expression) => this.barrier("queriesFilled", place);
    if (this.lap) this.awaitOwn("queriesEmptied", part, true);
    this.do((place) => py.call("mbarrier.expect", barrier(place!), bytes), part);
    const starts = this.starts(this.specialized.form.queries);
    this.do(
      (place, ...given) => {
        const block = py.call(py.attribute(queries.blocks, "index"), place!);
        return py.call(
          LOAD_BLOCK,
          queries.descriptor,
          this.inPart(queries.first, given, place!),
          barrier(place!),
          block,
        );
      },
      part,
      ...starts,
    );
  }

  expect({ descriptor }: Staged, { barrier }: Extract<PipelineStep, { kind: "expect" }>): void {
    const bytes = py.attribute(py.attribute(descriptor, "block_type"), "nbytes");
    this.do((slot) => py.call("mbarrier.expect", this.barrier(barrier, slot!), bytes), this.read(this.slot));
  }

  copy({ operand, barrier }: Extract<PipelineStep, { kind: "copy" }>): void {
    const { keys, values } = this.loop;
    const [{ block }, { descriptor, blocks }] =
      operand === VALUES ? [values, this.names.values] : [keys, this.names.keys];
    this.do(
      (slot, ...starts) => {
        const into = py.call(py.attribute(blocks, "index"), slot!);
        return py.call(LOAD_BLOCK, descriptor, py.list(...starts), this.barrier(barrier, slot!), into);
      },
      this.read(this.slot),
      ...this.starts(block),
    );
  }

  /** Rows before the first one: the copy engine brings zeros. */
  blank({ barrier }: Extract<PipelineStep, { kind: "blank" }>): void {
    const { descriptor, blocks } = this.names.values;
    const [, columns] = this.specialized.form.shape;
    const zero = py.number("0");
    const { lead, first } = this.loop.values.block;
    const none = lead.map(() => zero);
    const starts = onAxes<Expression>(none, first, [py.unary("-", this.size(columns)), zero]);
    this.do((slot) => {
      const into = py.call(py.attribute(blocks, "index"), slot!);
      return py.call(LOAD_BLOCK, descriptor, py.list(...starts), this.barrier(barrier, slot!), into);
    }, this.read(this.slot));
  }

  /** Waits for a consumer's own barrier, which has a phase for each tile. */
  awaitOwn(barrier: BarrierName, place: Value | Name, isBefore = false): void {
    const parityIn = (lap: Expression | undefined): Expression => {
      const parity = lap ? py.binary(lap, "&", py.number("1")) : py.number("0");
      return isBefore ? py.binary(parity, "^", py.number("1")) : parity;
    };
    const isName = place.kind === "name";
    this.do(
      (...given) => {
        const [own, lap] = isName ? [place, given[0]] : given;
        return py.call("mbarrier.wait", this.barrier(barrier, own!), parityIn(lap));
      },
      ...(isName ? [] : [place]),
      ...(this.lap ? [this.lap] : []),
    );
  }

  /** What some configs do. */
  where(test: Expression, body: () => void): void {
    const condition = this.value(constexprType("bool", this.names.consumers.id), () => test);
    const otherwise: Block = { statements: [], yields: [] };
    this.append({ kind: "if", condition, then: this.block(body), otherwise, results: [], at: undefined });
  }
}
