/** Output tensors of a wrapper: checks the caller's tensors and allocates the others. */
import { writtenPointers } from "../../analysis/memory-effects.js";
import type { KernelIR, PointerParam, TensorParam } from "../../ir/nodes.js";
import * as py from "../syntax/py-build.js";
import { flatText as printExpression } from "../syntax/layout-expression.js";
import type { Block, Expression } from "../syntax/py.js";
import {
  hasSameShape,
  DEVICE,
  binderDType,
  contiguousCheck,
  deviceHolder,
  ifNotNone,
  argumentDisplayName,
  torchDType,
} from "./checks.js";
import type { WrapperContext } from "./scope.js";

/** Helpers of the module that these checks call. */
export const CHECK_OUT = "_check_out";
export const CHECK_MEMORY = "_check_memory";

/** Allocates an output, or checks the caller's: its shape, dtype, device, and memory overlap. */
export function outputChecks(context: WrapperContext, param: TensorParam): Block {
  const first = deviceHolder(context);
  const argument = py.name(argumentDisplayName(context, param));
  const tensor = context.tensor(param);
  const { shape, dtype } = outputType(context, param);
  const template = allocationTemplate(context, param);
  const allocation = template
    ? py.call("torch.empty_like", context.tensor(template))
    : first
      ? py.call(
          py.attribute(context.tensor(first), "new_empty"),
          shape,
          ...(hasSameDType(first, param) ? [] : [py.keyword("dtype", dtype)]),
        )
      : py.call("torch.empty", shape, ...py.keywords({ device: DEVICE, dtype }));
  const checkCall = outputCheck(context, param);
  const zero = param.zeroed ? [py.expression(py.call(py.attribute(tensor, "zero_")))] : [];
  const allocateBranch = { test: py.compare(argument, ["is", py.none]), body: [py.assign(tensor, allocation)] };
  const otherwise = [
    printExpression(argument) === printExpression(tensor) ? py.expression(checkCall) : py.assign(tensor, checkCall),
    ...contiguousCheck(context, param),
  ];
  if (!param.optional) return [{ kind: "if", branches: [allocateBranch], otherwise }, ...zero];
  const isOmitted = py.boolOp(
    "or",
    ...[py.none, py.boolean(false)].map((value) => py.compare(argument, ["is", value])),
  );
  const branches = [
    { test: isOmitted, body: [py.assign(tensor, py.none)] },
    { ...allocateBranch, test: py.compare(argument, ["is", py.boolean(true)]) },
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
export function outputCheck(context: WrapperContext, param: TensorParam): Expression {
  const argument = argumentDisplayName(context, param);
  const { shape, dtype } = outputType(context, param);
  const otherTensors = nonOverlappingByName(context, param);
  return py.call(
    CHECK_OUT,
    py.string(`${context.names.wrapper}: ${argument}`),
    py.name(argument),
    shape,
    dtype,
    DEVICE,
    otherTensors,
  );
}

/** A contiguous input with the output's shape and dtype, for `torch.empty_like`. */
function allocationTemplate(context: WrapperContext, param: TensorParam): TensorParam | undefined {
  return context.tensors.find(
    (other) =>
      other.role !== "out" &&
      other.contiguous &&
      !other.given &&
      hasSameDType(other, param) &&
      hasSameShape(context, other, param),
  );
}

function hasSameDType({ dtype: x }: TensorParam | PointerParam, { dtype: y }: TensorParam): boolean {
  return typeof x === "string" || typeof y === "string" ? x === y : x.name === y.name;
}

/** A tensor that is updated in place or written through a raw pointer must not overlap itself or another tensor. */
export function memoryCheck(context: WrapperContext, param: TensorParam | PointerParam): Block {
  if (param.kind === "tensor" && param.role !== "inout") return [];
  const text = py.string(`${context.names.wrapper}: ${argumentDisplayName(context, param)}`);
  return [py.expression(py.call(CHECK_MEMORY, text, context.tensor(param), nonOverlappingByName(context, param)))];
}

/**
 * The tensors that a written tensor must not overlap: inputs, and tensors written before it. Raw pointers may overlap
 * each other unless their `numel` is declared, because a kernel may write in place.
 */
export function nonOverlapping(
  context: WrapperContext,
  param: TensorParam | PointerParam,
): readonly (TensorParam | PointerParam)[] {
  const { ir, tensors } = context;
  if (param.kind === "pointer") {
    const inputs = tensors.filter(({ role }) => role === "in");
    return param.numel === undefined ? inputs : [...inputs, ...earlierPointers(ir, param)];
  }
  const isWrittenEarlier = (other: TensorParam) =>
    other.role === param.role && tensors.indexOf(other) < tensors.indexOf(param);
  const others = tensors.filter(
    (other) =>
      other !== param &&
      (other.role === "in" || (other.role === "inout" && param.role === "out") || isWrittenEarlier(other)),
  );
  return [...others, ...ir.params.filter((other) => other.kind === "pointer")];
}

/** Pointers with a declared `numel` that are only read, or that are written before this one. */
function earlierPointers(ir: KernelIR, param: PointerParam): readonly PointerParam[] {
  const writtenParams = writtenPointers(ir);
  const isBefore = (other: PointerParam): boolean => writtenParams.indexOf(other) < writtenParams.indexOf(param);
  return ir.params
    .filter((other) => other.kind === "pointer")
    .filter((other) => other.numel !== undefined && isBefore(other));
}

/** The tensors of {@link nonOverlapping} as a dict, under the caller's names. */
function nonOverlappingByName(context: WrapperContext, param: TensorParam | PointerParam): Expression {
  const params = nonOverlapping(context, param);
  return py.dict(
    ...params.map((other) => ({ key: py.string(argumentDisplayName(context, other)), value: context.tensor(other) })),
  );
}
