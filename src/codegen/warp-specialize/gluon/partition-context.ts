/** The objects that emit one partition of a warp-specialized kernel. */
import type { SpecializedAttention } from "../pattern/attention-plan.js";
import type { SpecializedGemm } from "../pattern/gemm-plan.js";
import type { SpecializedStream } from "../pattern/streamed-plan.js";
import type { Specialized } from "../pattern/specialize.js";
import { PartitionBuilder, INTEGER } from "./partition-builder.js";
import {
  type AttentionNames,
  type GemmNames,
  type PipelineNames,
  type ScoresNames,
  type SizeOf,
  barrierName,
} from "./partition-names.js";
import { TileLoop } from "./tile-loop.js";
import { type Argument, isList, isValue, type OpStatement, type Value, type Variable } from "../../../ir/nodes.js";
import { constexprType } from "../../../types/types.js";
import type { Dim } from "../../../types/shape.js";
import type { Expression } from "../../syntax/py.js";
import * as py from "../../syntax/py-build.js";
import type { BarrierName, PipelineStep } from "../pattern/pipeline.js";

class PipelineState {
  readonly #counter: Variable;
  readonly #slot: Variable;
  /** False if the slot variable has to be declared first. */
  #isSlotDeclared = false;

  constructor(
    readonly builder: PartitionBuilder,
    readonly names: PipelineNames,
  ) {
    this.#counter = builder.variable("iteration");
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

  /** `slot = iteration % STAGES` */
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

class ConsumerRows {
  constructor(
    readonly builder: PartitionBuilder,
    readonly names: PipelineNames,
    /** The dimension of the tile's rows. */
    readonly dim: Dim,
  ) {}

  forEachConsumer(body: (consumerIndex: Value) => void): void {
    const index = this.builder.freshValue(INTEGER);
    const end = this.builder.value(INTEGER, () => this.names.consumers);
    this.builder.appendFor(index, end, () => body(index), { unrolled: true });
  }

  count(): Expression {
    return py.binary(this.names.rows, "//", this.names.consumers);
  }

  /** The first row of a consumer: `start + part * (BLOCK_M // CONSUMERS)`. */
  firstRow(start: Expression, consumerIndex: Expression = this.names.consumerIndex): Expression {
    return py.binary(start, "+", py.binary(consumerIndex, "*", this.count()));
  }

  /** The offset of a consumer's rows of a block. Only the offset on the axis of rows differs. */
  offset(axis: number, starts: readonly Expression[], consumerIndex?: Expression): Expression {
    return py.list(...starts.map((start, i) => (i === axis ? this.firstRow(start, consumerIndex) : start)));
  }

  /** The author's statement, restricted to the rows of one consumer. */
  restrict(statement: OpStatement, layout?: Expression): OpStatement {
    const { op, operands } = statement;
    const isRowCount = (argument: Argument | undefined) =>
      isValue(argument) && argument.type.kind === "constexpr" && argument.type.text === this.dim;
    if (isRowCount(op.facts.exclusiveUpperBound?.(operands))) {
      const keywords = layout ? [py.keyword("layout", layout)] : [];
      const build = () => this.firstRow(py.call("tl.arange", py.number("0"), this.count(), ...keywords));
      return this.builder.replaceOp(statement, build);
    }
    const kinds = Object.values(op.operands);
    const toConsumerDim = (dim: Argument) =>
      isRowCount(dim) ? this.builder.value(constexprType("int", "rows"), () => this.count()) : dim;
    const consumerOperands = operands.map((operand, i) =>
      kinds[i]?.startsWith("shape") && operand && isList(operand) ? operand.map(toConsumerDim) : operand,
    );
    return { ...statement, operands: consumerOperands };
  }
}

export type PartitionRole = "producer" | "consumer";
export type ProductRole = PartitionRole | "widener";

export interface PartitionContext<Plan extends Specialized, Names extends PipelineNames> {
  readonly specialized: Plan;
  readonly names: Names;
  readonly size: SizeOf;
  readonly role: ProductRole;
  readonly isConsumer: boolean;
  readonly builder: PartitionBuilder;
  readonly pipeline: PipelineState;
  readonly rows: ConsumerRows;
  readonly tileLoop: TileLoop;
}

export type GemmContext = PartitionContext<SpecializedGemm, GemmNames>;
export type AttentionContext = PartitionContext<SpecializedAttention, AttentionNames>;
/** The context of a form with scores and sums. */
export type ScoresContext = PartitionContext<SpecializedAttention | SpecializedStream, ScoresNames>;

export function partitionContext<Plan extends Specialized, Names extends PipelineNames>(
  specialized: Plan,
  names: Names,
  size: SizeOf,
  role: ProductRole,
): PartitionContext<Plan, Names> {
  const { pattern } = specialized;
  const { variable } = "sums" in pattern ? pattern.sums[0] : pattern.accumulator;
  const builder = new PartitionBuilder(variable.scope);
  return {
    specialized,
    names,
    size,
    role,
    isConsumer: role === "consumer",
    builder,
    pipeline: new PipelineState(builder, names),
    rows: new ConsumerRows(builder, names, pattern.shape[0]),
    tileLoop: new TileLoop(builder),
  };
}
