/** What the parts of every pipeline have: the count of turns, its barriers, and the rows of one consumer. */
import { type Argument, isList, isValue, type OpStatement, type Scope, type Variable } from "../../../ir/nodes.js";
import { type BlockAccess, onAxes } from "../pattern/block-access.js";
import type { BlockIndex } from "../pattern/block-index.js";
import type { BarrierName, PipelineStep } from "../pattern/pipeline.js";
import { constexprType } from "../../../types/types.js";
import type { Dim } from "../../../types/shape.js";
import type { Expression } from "../../syntax/py.js";
import * as py from "../../syntax/py-build.js";
import type { PipelineNames, Staged } from "./partition-names.js";
import { INTEGER, PartitionBuilder } from "./partition-builder.js";

/** The tile of a slot's block, as a product takes it: `k_blocks.index(slot).reshape([BLOCK_N, HEAD_DIM]).permute((1, 0))`. */
export function tileIn(staged: Staged, isSwapped: boolean, sizes: readonly Expression[], slot: Expression): Expression {
  const block = py.call(py.attribute(staged.blocks, "index"), slot);
  const shape = isSwapped ? sizes.toReversed() : sizes;
  const isMatrix = staged.tensor.dims.length === 2;
  const tile = isMatrix ? block : py.call(py.attribute(block, "reshape"), py.list(...shape));
  return isSwapped ? py.call(py.attribute(tile, "permute"), py.tuple(py.number("1"), py.number("0"))) : tile;
}

export class PipelinePartition extends PartitionBuilder {
  readonly count: Variable;
  readonly slot: Variable;
  /** The slot is written anew after each count. */
  #isSlotKnown = false;

  constructor(
    scope: Scope,
    /** The dimension of the rows. */
    readonly rowsDim: Dim,
    readonly shared: PipelineNames,
  ) {
    super(scope);
    this.count = this.variable("turn");
    this.slot = this.variable("slot");
  }

  /** `slot = turn % STAGES` */
  takeSlot(): void {
    const slot = this.value(INTEGER, (count) => py.binary(count!, "%", this.shared.stages), this.read(this.count));
    if (this.#isSlotKnown) this.write(this.slot, slot);
    else this.let(this.slot, slot);
    this.#isSlotKnown = true;
  }

  /** What a block begins with its own slot. */
  forgetSlot(): void {
    this.#isSlotKnown = false;
  }

  advance(): void {
    this.write(
      this.count,
      this.value(INTEGER, (count) => py.binary(count!, "+", py.number("1")), this.read(this.count)),
    );
  }

  wait({ barrier, before }: Extract<PipelineStep, { kind: "wait" }>): void {
    this.do(
      (slot, count) => {
        const parity = py.binary(py.binary(count!, "//", this.shared.stages), "&", py.number("1"));
        const waited = before ? py.binary(parity, "^", py.number("1")) : parity;
        return py.call("mbarrier.wait", this.barrier(barrier, slot!), waited);
      },
      this.read(this.slot),
      this.read(this.count),
    );
  }

  barrier(barrier: BarrierName, place: Expression): Expression {
    return py.call(py.attribute(this.shared.barriers.get(barrier)!, "index"), place);
  }

  /** The first row of a consumer: `start + part * (BLOCK_M // CONSUMERS)`. */
  rowsFrom(start: Expression, part: Expression): Expression {
    return py.binary(start, "+", py.binary(part, "*", this.rowsOfPart()));
  }

  rowsOfPart(): Expression {
    return py.binary(this.shared.rows, "//", this.shared.consumers);
  }

  /** A statement of the author's on the rows of one consumer. */
  inRows(statement: OpStatement, layout?: Expression): OpStatement {
    const { op, operands } = statement;
    const isRows = (argument: Argument | undefined) =>
      isValue(argument) && argument.type.kind === "constexpr" && argument.type.text === this.rowsDim;
    if (isRows(op.facts.exclusiveUpperBound?.(operands))) {
      const given = layout ? [py.keyword("layout", layout)] : [];
      const build = () =>
        this.rowsFrom(py.call("tl.arange", py.number("0"), this.rowsOfPart(), ...given), this.shared.part);
      return { ...statement, op: this.op("pure", build, 0), operands: [] };
    }
    const kinds = Object.values(op.operands);
    const own = (dim: Argument) =>
      isRows(dim) ? this.value(constexprType("int", "rows"), () => this.rowsOfPart()) : dim;
    const shaped = operands.map((operand, i) =>
      kinds[i]?.startsWith("shape") && operand && isList(operand) ? operand.map(own) : operand,
    );
    return { ...statement, operands: shaped };
  }

  /** Where a block lies. */
  starts({ lead, first, axes }: BlockAccess): readonly Argument[] {
    const [own, last] = axes.map((axis) => this.startOf(axis));
    return onAxes(lead, first, [own!, last!]);
  }

  /** Where a consumer's rows of a block lie, on the axis that has them. */
  inPart(axis: number, starts: readonly Expression[], part: Expression): Expression {
    return py.list(...starts.map((start, i) => (i === axis ? this.rowsFrom(start, part) : start)));
  }

  startOf({ starts }: BlockIndex): Argument {
    if (starts.length === 1) return starts[0]!;
    if (starts.length === 0) return { kind: "literal", value: 0 };
    return this.value(INTEGER, (...parts) => parts.reduce((sum, part) => py.binary(sum, "+", part)), ...starts);
  }
}
