/** Views of tensors: the methods `x.at(…)`, `x.gather(…)` and `x.permute(…)`. Lowering replaces them by pointers. */
import { operandKind, needsAddress } from "../diagnostics/catalog/rule-codes.js";
import { type Argument, isLiteral } from "../ir/nodes.js";
import type { TileArray } from "../numerics/array.js";
import { permuteShape, whyPermute } from "../types/dims.js";
import { foreignMethods, foreignToPointers } from "../types/unsupported-names.js";
import { gatherShape, spans, whyCount, whyIndex, whyInside } from "../rules/memory-rules.js";
import type { TensorType, ViewType, Typed } from "../types/types.js";
import { defineOp } from "./define.js";
import { isAddresses, listOf } from "../values/operands.js";
import { permuteAddresses, viewAddresses } from "../values/addresses.js";
import type { RuleError } from "../types/rule-error.js";
import { Message } from "../diagnostics/message.js";

function tensorTypeOf(op: string, { tensor: { type } }: { readonly tensor: Typed }): TensorType | RuleError {
  if (type.kind === "tensor") return type;
  if (op === "at" && type.kind === "tile") return operandKind("at: this tile has none", `write ${foreignMethods.at}`);
  if (op === "at" && type.kind === "pointer")
    return operandKind("at: this pointer has none", `write ${foreignToPointers.at}`);
  return needsAddress(
    `${op}: needs a tensor argument of the kernel`,
    `write x.${op}(…) of a param x: tensor(dtype, dims)`,
  );
}

function viewOf(tensor: TensorType, shape: ViewType["shape"]): ViewType {
  return { kind: "view", to: tensor.to, shape, access: tensor.access };
}

/**
 * `x.at(i, j)`: one index per axis. A scalar index removes its axis. Each rank-1 tile becomes an axis of the view, in
 * order. The view is masked at the bounds of the tensor.
 */
export const at = defineOp<(tensor: unknown, indices: readonly unknown[], options: object) => unknown>()({
  name: "at",
  calledAs: ".at",
  operands: { tensor: "tensor", indices: "values" },
  options: { claimed: "constants?" },
  effect: "pure",
  spelling: { form: "lowered" },
  lowering: { view: "grid" },
  infer: (args) => {
    const tensor = tensorTypeOf("at", args);
    if (tensor instanceof Message) return tensor;
    const indices = args.indices.items.map((item) => item.type);
    const why = whyCount("at", tensor.dims, indices) || indices.map(whyIndex).find((error) => error !== undefined);
    const error = why || whyInside(tensor.dims, indices);
    return error || viewOf(tensor, spans(indices));
  },
  evaluate: ({ tensor, indices, claimed }) =>
    viewAddresses(tensor.allocation, indices as (TileArray | number)[], claimed as boolean[], "grid", tensor.order),
});

/**
 * `x.gather(i, j)`: one index tile per axis. The index tiles are broadcast to one shape. The view is masked as in `at`.
 */
export const gather = defineOp<(tensor: unknown, indices: readonly unknown[], options: object) => unknown>()({
  name: "gather",
  calledAs: ".gather",
  operands: { tensor: "tensor", indices: "values" },
  options: { claimed: "constants?" },
  effect: "pure",
  spelling: { form: "lowered" },
  lowering: { view: "lanes" },
  infer: (args) => {
    const tensor = tensorTypeOf("gather", args);
    if (tensor instanceof Message) return tensor;
    const indices = args.indices.items.map((item) => item.type);
    const why = whyCount("gather", tensor.dims, indices);
    if (why) return why;
    const shape = gatherShape(indices);
    return shape instanceof Message ? shape : viewOf(tensor, shape);
  },
  evaluate: ({ tensor, indices, claimed }) =>
    viewAddresses(tensor.allocation, indices as (TileArray | number)[], claimed as boolean[], "lanes", tensor.order),
});

/** `x.permute([1, 0, 2])` permutes the axes of a tensor or a view. It does not move data. */
export const permuteAxes = defineOp<(address: unknown, order: readonly number[]) => unknown>()({
  name: "permute",
  calledAs: ".permute",
  operands: { address: "tensorOrView", order: "constants" },
  effect: "pure",
  spelling: { form: "lowered" },
  lowering: {
    permutes: ([, order]) => (order as readonly Argument[]).map((axis) => Number(isLiteral(axis) && axis.value)),
  },
  infer: ({ address, order }) => {
    const { type } = address;
    const axes = (order.items ?? []).map(({ literal }) => Number(literal));
    if (type.kind === "tensor") return whyPermute(type.dims, axes) || { ...type, dims: permuteShape(type.dims, axes) };
    if (type.kind !== "view") return needsAddress("permute: needs a tensor or a view of one");
    return whyPermute(type.shape, axes) || { ...type, shape: permuteShape(type.shape, axes) };
  },
  evaluate: ({ address, order }) => {
    const axes = listOf(order).map(Number);
    if (isAddresses(address)) return permuteAddresses(address, axes);
    const { kind, allocation, order: previousOrder } = address;
    return { kind, allocation, order: axes.map((axis) => previousOrder?.[axis] ?? axis) };
  },
});
