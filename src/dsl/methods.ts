/** Gives handles the methods and properties that authors call: those that op records name, and a few of tensors. */
import { fail } from "../diagnostics.js";
import { builder } from "../ir/builder.js";
import { captureLocation } from "../ir/callsite.js";
import { type Elem, dtype as dtypeVariable, dtypes } from "../ir/dtype.js";
import { Handle, isHandle, valueOf } from "../ir/handle.js";
import type { TensorParam } from "../ir/nodes.js";
import { showType } from "../ir/types.js";
import * as ops from "../ops/index.js";
import "../ops/reflect.js";
import * as views from "../ops/view.js";
import { opOf } from "../ops/define.js";

type AnyFunction = (...args: unknown[]) => unknown;

for (const candidate of Object.values(ops)) {
  const op = opOf(candidate);
  if (!op?.method) continue;
  Object.defineProperty(Handle.prototype, op.name, {
    value(this: Handle, ...args: unknown[]) {
      return (candidate as unknown as AnyFunction)(this, ...args);
    },
  });
}

/** The tensor parameters of the kernels that are being traced, by the value that stands for each. */
const tensors = new WeakMap<object, TensorParam>();

export function registerTensor(param: TensorParam): void {
  tensors.set(param.value, param);
}

function tensorOf(handle: Handle, what: string): TensorParam {
  const param = tensors.get(valueOf(handle));
  return (
    param ??
    fail(
      "type",
      `${what}: needs a tensor argument of the kernel, this is ${showType(valueOf(handle).type)}`,
      captureLocation(),
    )
  );
}

function property(name: string, get: (handle: Handle) => unknown): void {
  Object.defineProperty(Handle.prototype, name, {
    get(this: Handle) {
      return get(this);
    },
  });
}

function method(name: string, call: (handle: Handle, ...args: unknown[]) => unknown): void {
  Object.defineProperty(Handle.prototype, name, {
    value(this: Handle, ...args: unknown[]) {
      return call(this, ...args);
    },
  });
}

property("dtype", (handle) => tokenOf(elementOf(handle)));
property("shape", (handle) => {
  const { type } = valueOf(handle);
  const dims = "shape" in type ? type.shape : [];
  const { constexprs } = builder("shape");
  return dims.map((dim) => (typeof dim === "number" ? dim : new Handle(constexprs.get(dim)!)));
});
property("col", (handle) => vector("col", handle, 1));
property("row", (handle) => vector("row", handle, 0));
property("T", (handle) => (ops.trans as unknown as AnyFunction)(handle));
property("ptr", (handle) => new Handle(tensorOf(handle, "ptr").pointer));

method("at", (handle, ...indices) => views.at(handle, indices, { claimed: claims(indices) }));
method("gather", (handle, ...indices) => views.gather(handle, indices, { claimed: claims(indices) }));
method("stride", (handle, axis) => {
  const stride = tensorOf(handle, "stride").strides[Number(axis)];
  if (stride === undefined) fail("type", `stride: there is no axis ${String(axis)}`, captureLocation());
  return "kind" in stride && stride.kind === "value" ? new Handle(stride) : (stride as { value: number }).value;
});

function claims(indices: readonly unknown[]): readonly boolean[] {
  return indices.map((index) => isHandle(index) && valueOf(index).by?.claimsInBounds === true);
}

function elementOf(handle: Handle): Elem {
  const { type } = valueOf(handle);
  if (type.kind === "tile") return type.dtype;
  if (type.kind === "pointer" || type.kind === "view" || type.kind === "tensor") return type.to;
  return fail("type", `dtype: ${showType(type)} has none; give it one with .to(tl.int32)`, captureLocation());
}

function tokenOf(elem: Elem): unknown {
  if (typeof elem === "string") return dtypes[elem];
  return dtypeVariable(
    elem.name,
    elem.members.map((name) => dtypes[name]),
  );
}

function vector(name: string, handle: Handle, axis: 0 | 1): unknown {
  const { type } = valueOf(handle);
  if (type.kind !== "tile" || type.shape.length !== 1)
    fail("type", `${name}: needs a tile of rank 1, this is ${showType(type)}; use expandDims`, captureLocation());
  return (ops.expandDims as unknown as AnyFunction)(handle, axis);
}
