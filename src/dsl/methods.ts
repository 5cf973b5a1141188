/** Defines the methods and properties of handles: those of ops, and some of tensors. */
import { fail } from "../diagnostics/diagnostic.js";
import { missingProperty } from "../diagnostics/catalog/operand-codes.js";
import { hiddenCoercion } from "../diagnostics/catalog/source-codes.js";
import { captureLocation, whileReading } from "../diagnostics/callsite.js";
import { activeBuilder, builder } from "../ir/builder.js";
import { permuteAxes } from "../types/dims.js";
import { type Elem, dtype as dtypeVariable, dtypes } from "../types/dtype.js";
import { Handle, isHandle, valueOf } from "../ir/handle.js";
import { type Argument, isList, isValue, type Literal, type TensorParam, type Value } from "../ir/nodes.js";
import { showType } from "../types/types.js";
import * as ops from "../ops/index.js";
import * as pointers from "../ops/pointer.js";
import "../ops/cast.js";
import * as descriptors from "../ops/descriptor-methods.js";
import * as views from "../ops/view.js";
import { opOf } from "../ops/define.js";
import { foreignMethodMessage, missingPropertyMessage, rejectUnknownNames } from "./unknown-names.js";
import { readText } from "../types/constexpr-text.js";

// A dim of a tile as a value that authors can compute with.

/** A constexpr handle, or a number. */
type Operand = any;

/** The ops without their signatures: instantiating those for `any` is 6 % of this package's type instantiations. */
const untypedOps: Readonly<Record<keyof typeof ops, (...operands: Operand[]) => Operand>> = ops as never;

/** The value of a dim such as `BLOCK` or `BLOCK * 2`. Reuses the kernel's value if that is in scope. */
function dimValue(text: string): Operand {
  const constexpr = builder("shape").constexprs.get(text);
  if (constexpr && !constexpr.scope.isClosed) return new Handle(constexpr);
  return readText<Operand>(text, {
    number: (value) => value,
    name: (name) => new Handle(builder("shape").constexprOf(name)),
    neg: untypedOps.neg,
    not: untypedOps.not,
    isString: (name, choice) => {
      const value = builder("shape").constexprs.get(name);
      const isText = value?.type.kind === "constexpr" && value.type.of === "string";
      return isText ? untypedOps.eq(new Handle(value), choice) : undefined;
    },
    binary: {
      "+": untypedOps.add,
      "-": untypedOps.sub,
      "*": untypedOps.mul,
      "//": untypedOps.floorDiv,
      "/": untypedOps.div,
      "%": untypedOps.mod,
      "<": untypedOps.lt,
      "<=": untypedOps.le,
      ">": untypedOps.gt,
      ">=": untypedOps.ge,
      "==": untypedOps.eq,
      "!=": untypedOps.ne,
    },
    call: {
      choose: untypedOps.choose,
      and: untypedOps.and,
      or: untypedOps.or,
      cdiv: untypedOps.cdiv,
      min: untypedOps.minimum,
      max: untypedOps.maximum,
      shl: untypedOps.shl,
      shr: untypedOps.shr,
      bit_length: untypedOps.bitLength,
      next_power_of_2: untypedOps.nextPowerOf2,
    },
  });
}

type AnyFunction = (...args: unknown[]) => unknown;

for (const opFunction of Object.values<unknown>(ops)) {
  const op = opOf(opFunction);
  if (!op?.method) continue;
  Object.defineProperty(Handle.prototype, op.name, {
    configurable: true,
    value(this: Handle, ...args: unknown[]) {
      return (opFunction as AnyFunction)(this, ...args);
    },
  });
}

/** The tensor params of the kernels being traced, by value. */
const tensors = new WeakMap<object, TensorParam>();

export function registerTensor(param: TensorParam): void {
  tensors.set(param.value, param);
}

/** The presence flag of each optional argument. */
const presenceFlags = new WeakMap<object, Value>();

export function registerPresenceFlag(value: Value, presenceFlag: Value): void {
  presenceFlags.set(value, presenceFlag);
}

function tensorOf(handle: Handle, name: string): TensorParam {
  const param = tensors.get(valueOf(handle));
  return param ?? fail(missingProperty.tensor(name, showType(valueOf(handle).type)), captureLocation());
}

function defineProperty(name: string, get: (handle: Handle) => unknown): void {
  Object.defineProperty(Handle.prototype, name, {
    get(this: Handle) {
      return whileReading(name, () => get(this));
    },
  });
}

function defineMethod(name: string, call: (handle: Handle, ...args: unknown[]) => unknown): void {
  Object.defineProperty(Handle.prototype, name, {
    configurable: true,
    value(this: Handle, ...args: unknown[]) {
      return call(this, ...args);
    },
  });
}

defineProperty("dtype", (handle) => {
  const elem = elemOfHandle(handle);
  if (typeof elem !== "string")
    activeBuilder()?.rejectComparison((operator) => hiddenCoercion.dtype(operator, elem.name, elem.members));
  return dtypeToken(elem);
});
defineProperty("shape", (handle) => {
  const { type } = valueOf(handle);
  if (type.kind === "tensor") fail(missingPropertyMessage("shape"), captureLocation());
  const dims = "shape" in type ? type.shape : [];
  const symbolicDim = dims.find((dim) => typeof dim === "string");
  if (symbolicDim !== undefined)
    activeBuilder()?.rejectComparison((operator) => hiddenCoercion.dimension(operator, symbolicDim));
  return dims.map((dim) => (typeof dim === "number" ? dim : dimValue(dim)));
});
defineProperty("col", (handle) => expandVector("col", handle, 1));
defineProperty("row", (handle) => expandVector("row", handle, 0));
defineProperty("T", (handle) => {
  const { type } = valueOf(handle);
  if (type.kind !== "tensor") return (ops.trans as unknown as AnyFunction)(handle);
  if (type.dims.length === 2) return permuteTensor(handle, [1, 0]);
  return fail(missingProperty.transposed(showType(type)), captureLocation());
});
defineProperty("ptr", (handle) => new Handle(tensorOf(handle, "ptr").pointer));

defineProperty("given", (handle) => {
  const presenceFlag = presenceFlags.get(valueOf(handle));
  if (!presenceFlag) fail(missingProperty.given(), captureLocation());
  activeBuilder()?.recordFlagUse(presenceFlag);
  return new Handle(presenceFlag);
});

defineMethod("at", (handle, ...indices) => views.at(handle, indices, { claimed: inBoundsClaims(indices) }));
// A method of constexpr conditions only; for tiles there is tl.where.
defineMethod("choose", (handle, ...args) => (ops.choose as unknown as AnyFunction)(handle, ...args));
// `gather` creates a view of a tensor, permutes the elements of a tile, or loads rows of a descriptor.
defineMethod("gather", (handle, ...args) => {
  const { kind } = valueOf(handle).type;
  if (kind === "descriptor") return descriptors.descriptorGather(handle, ...args);
  return kind === "tile"
    ? (ops.gather as unknown as AnyFunction)(handle, ...args)
    : views.gather(handle, args, { claimed: inBoundsClaims(args) });
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
  defineMethod(name, (handle, ...args) => {
    const message = foreignMethodMessage(handle, name);
    return message ? fail(message, captureLocation()) : (call as AnyFunction)(handle, ...args);
  });
const castTile = Object.getOwnPropertyDescriptor(Handle.prototype, "to")?.value as AnyFunction;
defineMethod("to", (handle, ...args) =>
  valueOf(handle).type.kind === "pointer" ? pointers.toAddress(handle, args[0] as never) : castTile.apply(handle, args),
);

const permuteTile = Object.getOwnPropertyDescriptor(Handle.prototype, "permute")?.value as AnyFunction | undefined;
defineMethod("permute", (handle, ...args) => {
  const { kind } = valueOf(handle).type;
  if (kind === "tile" && permuteTile) return permuteTile.apply(handle, args);
  return permuteTensor(handle, args.flat() as number[]);
});

/** A tensor or view with its axes reordered. */
function permuteTensor(handle: Handle, order: readonly number[]): Handle {
  const result = views.permuteAxes(handle, order) as Handle;
  const param = tensors.get(valueOf(handle));
  if (param) {
    const { dims, dimNames, strides } = param;
    registerTensor({
      ...param,
      value: valueOf(result),
      dims: permuteAxes(dims, order),
      dimNames: permuteAxes(dimNames, order),
      strides: permuteAxes(strides, order),
    });
  }
  return result;
}

defineMethod("stride", (handle, axis) => {
  const { strides, offsets } = tensorOf(handle, "stride");
  const stride = strides[Number(axis)];
  if (stride === undefined) fail(missingProperty.stride(axis), captureLocation());
  if (!isList(stride)) return toScalar(stride);
  // The sizes of a contiguous tensor. Their product fits 32 bits if all offsets do.
  const sizes = stride.map(toScalar);
  if (sizes.length > 1 && offsets === "int64") fail(missingProperty.wideStride(), captureLocation());
  return sizes.reduce((product, size) => (ops.mul as unknown as AnyFunction)(product, size));
});

/** Converts a size or a number to an int32 scalar. */
function toScalar(argument: Argument): unknown {
  if (isValue(argument) && argument.type.kind === "tile") return new Handle(argument);
  const number = isValue(argument) ? new Handle(argument) : (argument as Literal).value;
  return (ops.full as unknown as AnyFunction)([], number, dtypes.int32);
}

function inBoundsClaims(indices: readonly unknown[]): readonly boolean[] {
  return indices.map((index) => isHandle(index) && valueOf(index).definingOp?.facts.claimsInBounds === true);
}

function elemOfHandle(handle: Handle): Elem {
  const { type } = valueOf(handle);
  if (type.kind === "tile") return type.dtype;
  if ("to" in type) return type.to;
  return fail(missingProperty.dtype(showType(type)), captureLocation());
}

function dtypeToken(elem: Elem): unknown {
  if (typeof elem === "string") return dtypes[elem];
  return dtypeVariable(
    elem.name,
    elem.members.map((name) => dtypes[name]),
  );
}

function expandVector(name: string, handle: Handle, axis: 0 | 1): unknown {
  const { type } = valueOf(handle);
  if (type.kind !== "tile" || type.shape.length !== 1)
    fail(missingProperty.spread(name, showType(type)), captureLocation());
  return (ops.expandDims as unknown as AnyFunction)(handle, axis);
}

rejectUnknownNames(Object.keys(ops));
