/** Views of tensors. Authors call them as methods, `x.at(…)` and `x.gather(…)`; emission writes them as pointers. */
import type { TileArray } from "../ir/array.js";
import type { Typed } from "../ir/op.js";
import type { TensorRuntime } from "../ir/runtime.js";
import { gatherShape, spans, whyCount, whyIndex } from "../ir/signatures-memory.js";
import type { TensorType, ViewType } from "../ir/types.js";
import { defineOp } from "./define.js";
import { viewAddresses } from "./view-addresses.js";

type Typeds = Readonly<Record<string, Typed | undefined>>;

function tensorTypeOf(op: string, { tensor }: Typeds): TensorType | string {
  return tensor!.type.kind === "tensor" ? tensor!.type : `${op}: needs a tensor argument of the kernel`;
}

function viewOf(tensor: TensorType, shape: ViewType["shape"]): ViewType {
  return { kind: "view", to: tensor.to, shape, access: tensor.access };
}

/**
 * `x.at(i, j)`: one index an axis. A scalar drops its axis, rank-1 tiles span theirs in order. Masked to the tensor on
 * each axis; `claimed` marks the axes whose index is in bounds by `tl.inBounds`.
 */
export const at = defineOp<(tensor: unknown, indices: readonly unknown[], options: object) => unknown>({
  name: "at",
  operands: { tensor: "address", indices: "values" },
  options: { claimed: "constant?" },
  effect: "pure",
  spelling: { form: "lowered" },
  infer: (args) => {
    const tensor = tensorTypeOf("at", args);
    if (typeof tensor === "string") return tensor;
    const indices = args.indices!.items!.map((item) => item.type);
    const why = whyCount("at", tensor.dims, indices) || indices.map(whyIndex).find((sentence) => sentence !== "");
    return why || viewOf(tensor, spans(indices));
  },
  evaluate: ({ tensor, indices, claimed }) =>
    viewAddresses(
      (tensor as TensorRuntime).allocation,
      indices as (TileArray | number)[],
      claimed as boolean[],
      "grid",
    ),
});

/** `x.gather(i, j)`: index tiles that broadcast to one shape, one an axis, masked as in `at`. */
export const gather = defineOp<(tensor: unknown, indices: readonly unknown[], options: object) => unknown>({
  name: "gather",
  operands: { tensor: "address", indices: "values" },
  options: { claimed: "constant?" },
  effect: "pure",
  spelling: { form: "lowered" },
  infer: (args) => {
    const tensor = tensorTypeOf("gather", args);
    if (typeof tensor === "string") return tensor;
    const indices = args.indices!.items!.map((item) => item.type);
    const why = whyCount("gather", tensor.dims, indices);
    if (why) return why;
    const shape = gatherShape(indices);
    return typeof shape === "string" ? shape : viewOf(tensor, shape);
  },
  evaluate: ({ tensor, indices, claimed }) =>
    viewAddresses(
      (tensor as TensorRuntime).allocation,
      indices as (TileArray | number)[],
      claimed as boolean[],
      "lanes",
    ),
});
