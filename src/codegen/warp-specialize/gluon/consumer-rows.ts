/** The rows of a tile that one consumer computes. */
import { type Argument, isList, isValue, type OpStatement, type Value } from "../../../ir/nodes.js";
import { constexprType } from "../../../types/types.js";
import type { Dim } from "../../../types/shape.js";
import type { Expression } from "../../syntax/py.js";
import * as py from "../../syntax/py-build.js";
import { INTEGER, type PartitionBuilder } from "./partition-builder.js";
import type { PipelineNames } from "./partition-names.js";

export class ConsumerRows {
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
