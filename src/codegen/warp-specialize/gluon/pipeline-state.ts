/** The state of a pipeline in one partition: the iteration counter, the slot of the ring buffer, and the barriers. */
import type { Value, Variable } from "../../../ir/nodes.js";
import type { BarrierName, PipelineStep } from "../pattern/pipeline.js";
import type { Expression } from "../../syntax/py.js";
import * as py from "../../syntax/py-build.js";
import { INTEGER, type PartitionBuilder } from "./partition-builder.js";
import { barrierName, type PipelineNames } from "./partition-names.js";

export class PipelineState {
  readonly #counter: Variable;
  readonly #slot: Variable;
  /** False if the slot variable has to be declared first. */
  #isSlotDeclared = false;

  constructor(
    readonly builder: PartitionBuilder,
    readonly names: PipelineNames,
  ) {
    this.#counter = builder.variable("turn");
    this.#slot = builder.variable("slot");
  }

  declareCounter(): void {
    this.builder.let(this.#counter, { kind: "literal", value: 0 });
  }

  readCounter(): Value {
    return this.builder.read(this.#counter);
  }

  advance(): void {
    const next = this.builder.value(INTEGER, (count) => py.binary(count, "+", py.number("1")), this.readCounter());
    this.builder.write(this.#counter, next);
  }

  readSlot(): Value {
    return this.builder.read(this.#slot);
  }

  /** `slot = turn % STAGES` */
  updateSlot(): void {
    const { stages } = this.names;
    const slot = this.builder.value(INTEGER, (count) => py.binary(count, "%", stages), this.readCounter());
    if (this.#isSlotDeclared) this.builder.write(this.#slot, slot);
    else this.builder.let(this.#slot, slot);
    this.#isSlotDeclared = true;
  }

  /** {@link updateSlot} at the start of a block that declares its own slot variable. */
  declareSlot(): void {
    this.#isSlotDeclared = false;
    this.updateSlot();
  }

  barrier(barrier: BarrierName, index: Expression): Expression {
    return py.call(py.attribute(barrierName(this.names.barriers, barrier), "index"), index);
  }

  wait({ barrier, isPreviousPhase }: Extract<PipelineStep, { kind: "wait" }>): void {
    this.builder.appendEffect(
      (slot, count) => {
        const parity = py.binary(py.binary(count, "//", this.names.stages), "&", py.number("1"));
        const phase = isPreviousPhase ? py.binary(parity, "^", py.number("1")) : parity;
        return py.call("mbarrier.wait", this.barrier(barrier, slot), phase);
      },
      this.readSlot(),
      this.readCounter(),
    );
  }
}
