/** Blocks of tensors that pass through shared memory. */
import type { Argument } from "../../../ir/nodes.js";
import { type BlockAccess, perTensorAxis } from "../pattern/block-access.js";
import type { BlockIndex } from "../pattern/block-index.js";
import type { LoweredStore } from "../pattern/tensor-blocks.js";
import type { Expression } from "../../syntax/py.js";
import * as py from "../../syntax/py-build.js";
import { LOAD_BLOCK } from "./helpers.js";
import { INTEGER, type PartitionBuilder } from "./partition-builder.js";
import type { PipelineNames, StagedTensor } from "./partition-names.js";

/** The output that a stored block belongs to. */
export function stagedOutput({ outputs }: PipelineNames, { tensor }: BlockAccess): StagedTensor {
  const output = outputs.get(tensor);
  if (!output) throw new Error(`${tensor.name} has no shared memory for its blocks`);
  return output;
}

export const bufferAt = ({ blocks }: Pick<StagedTensor, "blocks">, index: Expression): Expression =>
  py.call(py.attribute(blocks, "index"), index);

/** The buffer at an index as a product's operand: `k_blocks.index(slot).reshape([BLOCK_N, HEAD_DIM]).permute((1, 0))`. */
export function operandTile(
  staged: StagedTensor,
  isSwapped: boolean,
  sizes: readonly Expression[],
  index: Expression,
): Expression {
  const block = bufferAt(staged, index);
  const shape = isSwapped ? sizes.toReversed() : sizes;
  const isMatrix = staged.tensor.dims.length === 2;
  const tile = isMatrix ? block : py.call(py.attribute(block, "reshape"), py.list(...shape));
  return isSwapped ? transposed(tile) : tile;
}

export const transposed = (block: Expression): Expression =>
  py.call(py.attribute(block, "permute"), py.tuple(py.number("1"), py.number("0")));

export const blockBytes = ({ descriptor }: StagedTensor): Expression =>
  py.attribute(py.attribute(descriptor, "block_type"), "nbytes");

/** Copies a block to the buffer at an index. */
export const loadBlock = (staged: StagedTensor, offset: Expression, barrier: Expression, index: Expression) =>
  py.call(LOAD_BLOCK, staged.descriptor, offset, barrier, bufferAt(staged, index));

/** Appends the author's store of a block. `build` prints it from the value and {@link blockStarts}. */
export function appendBlockStore(
  builder: PartitionBuilder,
  { statement, value, block }: LoweredStore<BlockAccess>,
  build: (value: Expression, ...starts: readonly Expression[]) => Expression,
): void {
  builder.append(builder.replaceOp(statement, build, value, ...blockStarts(builder, block)));
}

/** The offset of a block on each axis of its tensor. */
export function blockStarts(builder: PartitionBuilder, { lead, firstAxis, axes }: BlockAccess): readonly Argument[] {
  const [first, last] = axes;
  return perTensorAxis(lead, firstAxis, [sumOf(builder, first.starts), sumOf(builder, last.starts)]);
}

/** The sum of the scalars that an index starts from. */
export function sumOf(builder: PartitionBuilder, starts: BlockIndex["starts"]): Argument {
  const [start, extra] = starts;
  if (start === undefined) return { kind: "literal", value: 0 };
  if (extra === undefined) return start;
  return builder.value(INTEGER, (...terms) => terms.reduce((sum, term) => py.binary(sum, "+", term)), ...starts);
}
