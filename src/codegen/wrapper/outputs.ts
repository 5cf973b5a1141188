/** Output tensors of a wrapper: checks those of the caller and allocates the others. */
import { writtenPointers } from "../../analysis/memory-effects.js";
import type { KernelIR, PointerParam, TensorParam } from "../../ir/nodes.js";
import * as py from "../syntax/py-build.js";
import { flatText as printExpression } from "../syntax/layout-expression.js";
import type { Block, Expression } from "../syntax/py.js";
import {
  sameShape,
  DEVICE,
  binderDType,
  contiguousCheck,
  deviceHolder,
  ifNotNone,
  argumentDisplayName,
  torchDType,
} from "./checks.js";
import type { WrapperContext } from "./scope.js";

/** Functions of the module that these checks call. */
export const CHECK_OUT = "_check_out";
export const CHECK_MEMORY = "_check_memory";

/** Allocates an output, or checks the one that was given: its shape, dtype, device, and that it overlaps nothing. */
export function outputChecks(context: WrapperContext, param: TensorParam): Block {
  const first = deviceHolder(context);
  const given = py.name(argumentDisplayName(context, param));
  const tensor = context.tensor(param);
  const { shape, dtype } = outputType(context, param);
  const like = twinOf(context, param);
  const allocated = like
    ? py.call("torch.empty_like", context.tensor(like))
    : first
      ? py.call(
          py.attribute(context.tensor(first), "new_empty"),
          shape,
          ...(sameDType(first, param) ? [] : [py.keyword("dtype", dtype)]),
        )
      : py.call("torch.empty", shape, ...py.keywords({ device: DEVICE, dtype }));
  const checked = checkedOutput(context, param);
  const zero = param.zeroed ? [py.expression(py.call(py.attribute(tensor, "zero_")))] : [];
  const allocate = { test: py.compare(given, ["is", py.none]), body: [py.assign(tensor, allocated)] };
  const otherwise = [
    printExpression(given) === printExpression(tensor) ? py.expression(checked) : py.assign(tensor, checked),
    ...contiguousCheck(context, param),
  ];
  if (!param.optional) return [{ kind: "if", branches: [allocate], otherwise }, ...zero];
  const isLeftOut = py.boolOp("or", ...[py.none, py.boolean(false)].map((value) => py.compare(given, ["is", value])));
  const branches = [
    { test: isLeftOut, body: [py.assign(tensor, py.none)] },
    { ...allocate, test: py.compare(given, ["is", py.boolean(true)]) },
  ];
  return [{ kind: "if", branches, otherwise }, ...ifNotNone(context, param, zero)];
}

function outputType(context: WrapperContext, param: TensorParam) {
  return {
    shape: py.tuple(...param.dims.map((_, axis) => context.dim(param, axis))),
    dtype: typeof param.dtype === "string" ? torchDType(param.dtype) : binderDType(context, param.dtype.name),
  };
}

/** Checks an output that the caller passed. */
export function checkedOutput(context: WrapperContext, param: TensorParam): Expression {
  const given = argumentDisplayName(context, param);
  const { shape, dtype } = outputType(context, param);
  const others = namedBefore(context, param);
  return py.call(
    CHECK_OUT,
    py.string(`${context.names.wrapper}: ${given}`),
    py.name(given),
    shape,
    dtype,
    DEVICE,
    others,
  );
}

/** A contiguous input of the output's shape and dtype. */
function twinOf(context: WrapperContext, param: TensorParam): TensorParam | undefined {
  return context.tensors.find(
    (other) =>
      other.role !== "out" &&
      other.contiguous &&
      !other.given &&
      sameDType(other, param) &&
      sameShape(context, other, param),
  );
}

function sameDType({ dtype: left }: TensorParam | PointerParam, { dtype: right }: TensorParam): boolean {
  return typeof left === "string" || typeof right === "string" ? left === right : left.name === right.name;
}

/** What is updated in place, or written through a raw pointer, may not overlap itself or another. */
export function memoryCheck(context: WrapperContext, param: TensorParam | PointerParam): Block {
  if (param.kind === "tensor" && param.role !== "inout") return [];
  const text = py.string(`${context.names.wrapper}: ${argumentDisplayName(context, param)}`);
  return [py.expression(py.call(CHECK_MEMORY, text, context.tensor(param), namedBefore(context, param)))];
}

/**
 * The memory that what is written must not overlap: inputs, and what is written before it. Raw pointers may meet each
 * other unless all their elements are declared: a kernel may be called to write where it reads.
 */
export function tensorsBefore(
  context: WrapperContext,
  param: TensorParam | PointerParam,
): readonly (TensorParam | PointerParam)[] {
  const { ir, tensors } = context;
  if (param.kind === "pointer") {
    const inputs = tensors.filter(({ role }) => role === "in");
    return param.numel === undefined ? inputs : [...inputs, ...declaredBefore(ir, param)];
  }
  const written = (other: TensorParam) => other.role === param.role && tensors.indexOf(other) < tensors.indexOf(param);
  const before = tensors.filter(
    (other) =>
      other !== param && (other.role === "in" || (other.role === "inout" && param.role === "out") || written(other)),
  );
  return [...before, ...ir.params.filter((other) => other.kind === "pointer")];
}

/** The pointers of declared extent that are only read, and those that are written before this one. */
function declaredBefore(ir: KernelIR, param: PointerParam): readonly PointerParam[] {
  const written = writtenPointers(ir);
  const isBefore = (other: PointerParam): boolean => written.indexOf(other) < written.indexOf(param);
  return ir.params
    .filter((other) => other.kind === "pointer")
    .filter((other) => other.numel !== undefined && isBefore(other));
}

/** Those, by the caller's names. */
function namedBefore(context: WrapperContext, param: TensorParam | PointerParam): Expression {
  const others = tensorsBefore(context, param);
  return py.dict(
    ...others.map((other) => ({ key: py.string(argumentDisplayName(context, other)), value: context.tensor(other) })),
  );
}
