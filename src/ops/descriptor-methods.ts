/** Gather, scatter and atomic reductions of tensor descriptors. */
import type { MinimumDim } from "../types/limits.js";
import { bitwise, greatest, least, sum, type Change } from "../numerics/array-map.js";
import { atAxis } from "../types/dims.js";
import { dtypeTable, members } from "../types/dtype.js";
import {
  type ReduceKind,
  rowsShape,
  whyBlockOffset,
  whyBlockValue,
  whyBlockWrite,
  noDescriptor,
  whyReduced,
  whyRows,
} from "../rules/descriptor-rules.js";
import { type DescriptorType, none, tileType, type Typed } from "../types/types.js";
import { blockAt, paddingOf, rowsAt } from "../values/addresses.js";
import { defineOp } from "./define.js";
import { writtenBlock } from "./descriptor.js";
import type { RuleError } from "../types/rule-error.js";
import { Message } from "../diagnostics/message.js";

type Rows = Readonly<Record<"desc" | "rows" | "column", Typed>>;
/** An untyped signature: authors call these ops as methods, which `rules/tensor-types.ts` types. */
type Method = (desc: unknown, ...args: unknown[]) => unknown;

function rowsOf(op: string, { desc, rows, column }: Rows): DescriptorType | RuleError {
  const { type } = desc;
  if (type.kind !== "descriptor") return noDescriptor(op);
  return whyRows(op, type, rows.type) || whyBlockOffset(op, column.type) || type;
}

/** TMA transfers four rows at a time, of at least 32 bytes each. */
function minimumRowDims(op: string, { desc, rows }: Rows): readonly MinimumDim[] {
  const { type } = desc;
  if (type.kind !== "descriptor" || rows.type.kind !== "tile") return [];
  const narrowest = Math.min(...members(type.to).map((name) => dtypeTable[name].bits));
  return [
    { subject: `${op}: the number of rows`, dim: atAxis(rows.type.shape, 0), consumers: "descriptors", minimum: 8 },
    {
      subject: `${op}: the length of a row`,
      dim: atAxis(type.shape, 1),
      consumers: `${narrowest}-bit elements`,
      minimum: Math.floor(32 / narrowest) * 8,
    },
  ];
}

/**
 * Loads rows by index, starting at a column, through a descriptor with blocks `[1, N]`: `x_desc.gather(rows, j)`. On
 * NVIDIA GPUs it needs sm_100 or later.
 */
export const descriptorGather = defineOp<Method>()({
  name: "descriptorGather",
  calledAs: ".gather",
  operands: { desc: "descriptor", rows: "tile", column: "index" },
  effect: "read",
  spelling: { form: "method", name: "gather" },
  infer: (args) => {
    const type = rowsOf("gather", args);
    return type instanceof Message ? type : tileType(type.to, rowsShape(type, args.rows.type));
  },
  evaluate: ({ desc, rows, column }, context) => {
    const { address, inBounds: mask } = rowsAt(desc, rows, column, context);
    return context.load(address, mask, paddingOf(desc));
  },
  needs: { minimumDims: (args) => minimumRowDims("gather", args) },
  proof: { memoryOperands: { address: "desc", rows: "rows", column: "column" } },
});

/** Writes rows by index: `x_desc.scatter(value, rows, j)`. On NVIDIA GPUs it needs sm_100 or later. */
export const descriptorScatter = defineOp<Method>()({
  name: "descriptorScatter",
  calledAs: ".scatter",
  operands: { desc: "descriptor", value: "tile", rows: "tile", column: "index" },
  effect: "write",
  spelling: { form: "method", name: "scatter" },
  infer: (args) => {
    const type = rowsOf("scatter", args);
    if (type instanceof Message) return type;
    const shape = rowsShape(type, args.rows.type);
    return whyBlockWrite("scatter", type) || whyBlockValue("scatter", type.to, shape, args.value.type) || none;
  },
  evaluate: ({ desc, value, rows, column }, context) => {
    const { address, inBounds: mask } = rowsAt(desc, rows, column, context);
    context.store(address, value, mask);
    return [];
  },
  needs: { minimumDims: (args) => minimumRowDims("scatter", args) },
  proof: { memoryOperands: { address: "desc", rows: "rows", column: "column", value: "value" } },
});

function reduction<Name extends string>(
  name: Name,
  methodName: string,
  python: string,
  kind: ReduceKind,
  change: Change,
) {
  return defineOp<Method>()({
    name,
    calledAs: `.${methodName}`,
    operands: { desc: "descriptor", offsets: "values", value: "tile" },
    effect: "atomic",
    spelling: { form: "method", name: python },
    infer: (args) => {
      const block = writtenBlock(methodName, args);
      return block instanceof Message ? block : whyReduced(methodName, kind, block.to) || none;
    },
    evaluate: ({ desc, offsets, value }, context) => {
      const { address, inBounds: mask } = blockAt(desc, offsets, context);
      context.atomic(address, mask, {
        operands: [value],
        change: change(address.dtype),
        reads: true,
        order: "relaxed",
      });
      return [];
    },
    proof: { memoryOperands: { address: "desc", offsets: "offsets", value: "value" } },
  });
}

/** Adds a block to memory, each element atomically: `c_desc.atomic_add([i, j], x)`. */
export const descriptorAtomicAdd = reduction("descriptorAtomicAdd", "atomicAdd", "atomic_add", "add", sum);
/** Atomic maximum of each element: `c_desc.atomic_max([i, j], x)`. Floats need sm_90 or later. */
export const descriptorAtomicMax = reduction("descriptorAtomicMax", "atomicMax", "atomic_max", "extreme", greatest);
/** Atomic minimum of each element: `c_desc.atomic_min([i, j], x)`. Floats need sm_90 or later. */
export const descriptorAtomicMin = reduction("descriptorAtomicMin", "atomicMin", "atomic_min", "extreme", least);
/** Bitwise and: `c_desc.atomic_and([i, j], x)`. */
export const descriptorAtomicAnd = reduction("descriptorAtomicAnd", "atomicAnd", "atomic_and", "bits", bitwise("and"));
/** Bitwise or: `c_desc.atomic_or([i, j], x)`. */
export const descriptorAtomicOr = reduction("descriptorAtomicOr", "atomicOr", "atomic_or", "bits", bitwise("or"));
/** Bitwise exclusive or: `c_desc.atomic_xor([i, j], x)`. */
export const descriptorAtomicXor = reduction("descriptorAtomicXor", "atomicXor", "atomic_xor", "bits", bitwise("xor"));
