/** Gives handles their methods and properties: those that op records name, and a few of tensors. */
import { fail } from "../diagnostics/diagnostic.js";
import { missingProperty } from "../diagnostics/catalog/operand-codes.js";
import { hiddenCoercion } from "../diagnostics/catalog/source-codes.js";
import { captureLocation, readingProperty } from "../diagnostics/callsite.js";
import { activeBuilder } from "../ir/builder.js";
import { type Elem, dtype as dtypeVariable, dtypes } from "../types/dtype.js";
import { Handle, isHandle, valueOf } from "../ir/handle.js";
import { type Argument, isList, isValue, type Literal, type TensorParam, type Value } from "../ir/nodes.js";
import { showType } from "../types/types.js";
import * as ops from "../ops/index.js";
import * as pointers from "../ops/pointer.js";
import "../ops/reflect.js";
import "../ops/narrow.js";
import * as descriptors from "../ops/descriptor-methods.js";
import * as views from "../ops/view.js";
import { opOf } from "../ops/define.js";
import { dimValue } from "./dimension.js";
import { foreignMethodMessage, missingPropertyMessage, refuseUnknownNames } from "./unknown-names.js";

type AnyFunction = (...args: unknown[]) => unknown;

for (const candidate of Object.values<unknown>(ops)) {
  const op = opOf(candidate);
  if (!op?.method) continue;
  Object.defineProperty(Handle.prototype, op.name, {
    configurable: true,
    value(this: Handle, ...args: unknown[]) {
      return (candidate as AnyFunction)(this, ...args);
    },
  });
}

/** The tensor params of the kernels being traced, by value. */
const tensors = new WeakMap<object, TensorParam>();

export function registerTensor(param: TensorParam): void {
  tensors.set(param.value, param);
}

/** For each optional argument, the value that says whether the caller gave it. */
const givens = new WeakMap<object, Value>();

export function registerGiven(value: Value, given: Value): void {
  givens.set(value, given);
}

function tensorOf(handle: Handle, what: string): TensorParam {
  const param = tensors.get(valueOf(handle));
  return param ?? fail(missingProperty.tensor(what, showType(valueOf(handle).type)), captureLocation());
}

function property(name: string, get: (handle: Handle) => unknown): void {
  Object.defineProperty(Handle.prototype, name, {
    get(this: Handle) {
      return readingProperty(name, () => get(this));
    },
  });
}

function method(name: string, call: (handle: Handle, ...args: unknown[]) => unknown): void {
  Object.defineProperty(Handle.prototype, name, {
    configurable: true,
    value(this: Handle, ...args: unknown[]) {
      return call(this, ...args);
    },
  });
}

property("dtype", (handle) => {
  const elem = elementOf(handle);
  if (typeof elem !== "string")
    activeBuilder()?.refuseCompared((how) => hiddenCoercion.dtype(how, elem.name, elem.members));
  return tokenOf(elem);
});
property("shape", (handle) => {
  const { type } = valueOf(handle);
  if (type.kind === "tensor") fail(missingPropertyMessage("shape"), captureLocation());
  const dims = "shape" in type ? type.shape : [];
  const later = dims.find((dim) => typeof dim === "string");
  if (later !== undefined) activeBuilder()?.refuseCompared((how) => hiddenCoercion.dimension(how, later));
  return dims.map((dim) => (typeof dim === "number" ? dim : dimValue(dim)));
});
property("col", (handle) => vector("col", handle, 1));
property("row", (handle) => vector("row", handle, 0));
property("T", (handle) => {
  const { type } = valueOf(handle);
  if (type.kind !== "tensor") return (ops.trans as unknown as AnyFunction)(handle);
  if (type.dims.length === 2) return permuted(handle, [1, 0]);
  return fail(missingProperty.transposed(showType(type)), captureLocation());
});
property("ptr", (handle) => new Handle(tensorOf(handle, "ptr").pointer));

property("given", (handle) => {
  const given = givens.get(valueOf(handle));
  if (!given) fail(missingProperty.given(), captureLocation());
  activeBuilder()?.askFor(given);
  return new Handle(given);
});

method("at", (handle, ...indices) => views.at(handle, indices, { claimed: claims(indices) }));
// Only truth values that Triton knows choose constexprs; tiles are chosen by tl.where.
method("choose", (handle, ...args) => (ops.choose as unknown as AnyFunction)(handle, ...args));
// `gather` makes a view of a tensor, moves the elements of a tile, and loads rows of a descriptor.
method("gather", (handle, ...args) => {
  const { kind } = valueOf(handle).type;
  if (kind === "descriptor") return descriptors.descriptorGather(handle, ...args);
  return kind === "tile"
    ? (ops.gather as unknown as AnyFunction)(handle, ...args)
    : views.gather(handle, args, { claimed: claims(args) });
});
for (const [name, call] of Object.entries<unknown>({
  load: ops.loadTensorDescriptor,
  store: ops.storeTensorDescriptor,
  scatter: descriptors.descriptorScatter,
  atomicAdd: descriptors.descriptorAtomicAdd,
  atomicMax: descriptors.descriptorAtomicMax,
  atomicMin: descriptors.descriptorAtomicMin,
  atomicAnd: descriptors.descriptorAtomicAnd,
  atomicOr: descriptors.descriptorAtomicOr,
  atomicXor: descriptors.descriptorAtomicXor,
}))
  method(name, (handle, ...args) => {
    const foreign = foreignMethodMessage(handle, name);
    return foreign ? fail(foreign, captureLocation()) : (call as AnyFunction)(handle, ...args);
  });
const castTile = Object.getOwnPropertyDescriptor(Handle.prototype, "to")!.value as AnyFunction;
method("to", (handle, ...args) =>
  valueOf(handle).type.kind === "pointer" ? pointers.toAddress(handle, args[0] as never) : castTile.apply(handle, args),
);

const permuteTile = Object.getOwnPropertyDescriptor(Handle.prototype, "permute")?.value as AnyFunction | undefined;
method("permute", (handle, ...args) => {
  const { kind } = valueOf(handle).type;
  if (kind === "tile" && permuteTile) return permuteTile.apply(handle, args);
  return permuted(handle, args.flat() as number[]);
});

/** A tensor or view with its axes reordered. */
function permuted(handle: Handle, order: readonly number[]): Handle {
  const result = views.permuteAxes(handle, order) as Handle;
  const param = tensors.get(valueOf(handle));
  if (param) {
    const reorder = <T>(items: readonly T[]): T[] => order.map((axis) => items[axis]!);
    const { dims, dimNames, strides } = param;
    registerTensor({
      ...param,
      value: valueOf(result),
      dims: reorder(dims),
      dimNames: reorder(dimNames),
      strides: reorder(strides),
    });
  }
  return result;
}

method("stride", (handle, axis) => {
  const { strides, offsets } = tensorOf(handle, "stride");
  const stride = strides[Number(axis)];
  if (stride === undefined) fail(missingProperty.stride(axis), captureLocation());
  if (!isList(stride)) return scalar(stride);
  // Of a contiguous tensor: sizes, whose product fits 32 bits where all offsets do.
  const sizes = stride.map(scalar);
  if (sizes.length > 1 && offsets === "int64") fail(missingProperty.wideStride(), captureLocation());
  return sizes.reduce((product, size) => (ops.mul as unknown as AnyFunction)(product, size));
});

/** A size or a number as an int32. */
function scalar(argument: Argument): unknown {
  if (isValue(argument) && argument.type.kind === "tile") return new Handle(argument);
  const number = isValue(argument) ? new Handle(argument) : (argument as Literal).value;
  return (ops.full as unknown as AnyFunction)([], number, dtypes.int32);
}

function claims(indices: readonly unknown[]): readonly boolean[] {
  return indices.map((index) => isHandle(index) && valueOf(index).by?.facts.claimsInBounds === true);
}

function elementOf(handle: Handle): Elem {
  const { type } = valueOf(handle);
  if (type.kind === "tile") return type.dtype;
  if ("to" in type) return type.to;
  return fail(missingProperty.dtype(showType(type)), captureLocation());
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
    fail(missingProperty.spread(name, showType(type)), captureLocation());
  return (ops.expandDims as unknown as AnyFunction)(handle, axis);
}

refuseUnknownNames(Object.keys(ops));
