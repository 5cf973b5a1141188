/** Tensor descriptors, which load and store blocks of a tensor with TMA. */
import {
  inferDescriptor,
  type LoadTensorDescriptor,
  type MakeTensorDescriptor,
  type StoreTensorDescriptor,
  whyBlockOffsets,
  whyBlockValue,
  whyBlockWrite,
  noDescriptor,
} from "../rules/descriptor-rules.js";
import { type DescriptorType, none, tileType } from "../types/types.js";
import { blockAt, descriptorAt, paddingOf } from "../values/addresses.js";
import { defineOp, withRecord } from "./define.js";
import type { TypedArguments } from "../ir/op.js";
import type { RuleError } from "../types/rule-error.js";
import { Message } from "../diagnostics/message.js";

const makeDescriptor = defineOp<
  (base: unknown, shape: unknown, strides: unknown, block: unknown, options: object) => unknown
>()({
  name: "makeTensorDescriptor",
  operands: { base: "address", shape: "values?", strides: "values?", blockShape: "shape" },
  options: { paddingOption: "constant?" },
  effect: "pure",
  spelling: { form: "call", name: "tl.make_tensor_descriptor", keywords: ["shape", "strides", "blockShape"] },
  lowering: { describes: true },
  infer: inferDescriptor,
  evaluate: (args, context) => descriptorAt(args, context),
});

/**
 * Creates a descriptor: `tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[stride_am, 1], block_shape=[BLOCK_M,
 * BLOCK_K])`. For a tensor `a`, write `tl.makeTensorDescriptor(a, [BLOCK_M, BLOCK_K])`. For a pointer, pass its shape
 * and strides before the block shape. The last axis must be contiguous. The address and all other strides must be
 * multiples of 16 bytes, and a block must be at least 16 bytes wide along the last axis. For a tensor, the wrapper
 * checks these conditions.
 */
export const makeTensorDescriptor = withRecord<MakeTensorDescriptor>(makeDescriptor, ((...args: unknown[]) => {
  const isExplicit = Array.isArray(args[2]);
  const [base, block, ...options] = args;
  return isExplicit
    ? (makeDescriptor as (...all: unknown[]) => unknown)(...args)
    : (makeDescriptor as (...all: unknown[]) => unknown)(base, undefined, undefined, block, ...options);
}) as MakeTensorDescriptor);

const blockOperands = { desc: "descriptor", offsets: "values" } as const;

/** The type of the descriptor, after a check of the block's offsets. */
function blockOf(op: string, { desc, offsets }: TypedArguments<typeof blockOperands>): DescriptorType | RuleError {
  const { type } = desc;
  if (type.kind !== "descriptor") return noDescriptor(op);
  const offsetTypes = offsets.items.map((item) => item.type);
  return whyBlockOffsets(op, type.shape, offsetTypes) || type;
}

/** The type of the descriptor, after a check of a write of a block. */
export function writtenBlock(
  op: string,
  args: TypedArguments<typeof blockOperands & { value: "tile" }>,
): DescriptorType | RuleError {
  const type = blockOf(op, args);
  if (type instanceof Message) return type;
  return whyBlockWrite(op, type) || whyBlockValue(op, type.to, type.shape, args.value.type) || type;
}

/**
 * Loads the block that starts at these offsets, one per axis: `a_desc.load([i, k])`. Also a method of descriptors:
 * `desc.load(offsets)`.
 */
export const loadTensorDescriptor = defineOp<LoadTensorDescriptor>()({
  name: "loadTensorDescriptor",
  calledAs: ".load",
  operands: { desc: "descriptor", offsets: "values" },
  effect: "read",
  spelling: { form: "method", name: "load" },
  infer: (args) => {
    const block = blockOf("load", args);
    return block instanceof Message ? block : tileType(block.to, block.shape);
  },
  evaluate: ({ desc, offsets }, context) => {
    const { address, inBounds: mask } = blockAt(desc, offsets, context);
    return context.load(address, mask, paddingOf(desc));
  },
  proof: { memoryOperands: { address: "desc", offsets: "offsets" } },
});

/**
 * Stores the part of a block that is within the tensor: `c_desc.store([i, j], acc)`. Also a method of descriptors:
 * `desc.store(offsets, value)`.
 */
export const storeTensorDescriptor = defineOp<StoreTensorDescriptor>()({
  name: "storeTensorDescriptor",
  calledAs: ".store",
  operands: { desc: "descriptor", offsets: "values", value: "tile" },
  effect: "write",
  spelling: { form: "method", name: "store" },
  infer: (args) => {
    const block = writtenBlock("store", args);
    return block instanceof Message ? block : none;
  },
  evaluate: ({ desc, offsets, value }, context) => {
    const { address, inBounds: mask } = blockAt(desc, offsets, context);
    context.store(address, value, mask);
    return [];
  },
  proof: { memoryOperands: { address: "desc", offsets: "offsets", value: "value" } },
});
